// The operator's real client of etcd over simulated connections.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "etcd/grpc_client.h"
#include "sim/etcd/net.h"

namespace etcdop::sim {

/// As etcd::Pool: a connection is kept while its process lives, and never leads to another one.
/// Everything waits on `executor`, the one of the process that this is part of.
class EtcdClients final : public etcd::Clients {
 public:
  /// Both outlive it and its clients.
  EtcdClients(Executor& executor, EtcdNet& net) : executor_(executor), net_(net) {}
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint&) override;

 private:
  struct Link;
  Executor& executor_;
  EtcdNet& net_;
  std::map<std::string, std::shared_ptr<Link>> links_;  // By address.
};

}  // namespace etcdop::sim
