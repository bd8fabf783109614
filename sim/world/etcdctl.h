// What a person sends to etcd behind the operator's back.
#pragma once
#include <memory>
#include <string>

#include "etcd/client.h"
#include "sim/etcd/net.h"

namespace etcdop::sim {

/// A client of whoever has that address, as root if there are users; nothing is between them. To be
/// used on a fiber of `person`, and both outlive it.
std::shared_ptr<etcd::Client> etcdctl(Executor& person, EtcdNet&, const EtcdNet::Address&);

/// As etcd does for a member whose data it found to differ, or that is full; likewise on a fiber.
void raise_alarm(Executor& person, EtcdNet&, const EtcdNet::Address&, const etcd::Alarm&);

}  // namespace etcdop::sim
