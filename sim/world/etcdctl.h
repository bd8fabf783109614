// etcd commands of a user behind the operator's back.
#pragma once
#include <memory>
#include <string>

#include "etcd/client.h"
#include "sim/etcd/net.h"

namespace etcdop::sim {

/// A client of the process at that address, as root if there are users, without faults. Use it on a
/// fiber of `person`; both arguments outlive it.
std::shared_ptr<etcd::Client> etcdctl(Executor& person, EtcdNet&, const EtcdNet::Address&);

/// As etcd raises it for a member whose data differs, or that is full; also on a fiber.
void raise_alarm(Executor& person, EtcdNet&, const EtcdNet::Address&, const etcd::Alarm&);

}  // namespace etcdop::sim
