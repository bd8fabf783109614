// The operator's real client of etcd over simulated connections.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "etcd/grpc_client.h"
#include "sim/etcd/net.h"

namespace etcdop::sim {

/// As etcd::Pool: keeps a connection while its process lives, and never leads it to another
/// process. Everything waits on `executor`, the executor of the process that this is part of.
class EtcdClients final : public etcd::Clients {
 public:
  /// Both arguments outlive it and its clients.
  EtcdClients(Executor& executor, EtcdNet& net) : executor_(executor), net_(net) {}
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint&) override;

 private:
  struct Link;
  Executor& executor_;
  EtcdNet& net_;
  std::map<std::string, std::shared_ptr<Link>> links_;  // By address.
};

}  // namespace etcdop::sim
