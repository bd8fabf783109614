#include "sim/etcd/clients.h"

namespace etcdop::sim {
namespace {

class Connected final : public etcd::Connection {
 public:
  Connected(Executor& executor, EtcdNet& net, std::string address, std::uint64_t process)
      : executor_(executor), net_(net), address_(std::move(address)), process_(process) {}
  bool usable() const { return net_.process_at(address_) == process_; }
  Result<std::string> unary(const etcd::Question& question, http::GrpcStatus& status) override {
    if (!usable()) return Error{Code::Unavailable, "the connection has ended"};
    return net_.unary(executor_, address_, question, status);
  }
  Result<Done> stream(const etcd::Question& question, const http::GrpcChannel::Sink& sink,
                      http::GrpcStatus& status) override {
    if (!usable()) return Error{Code::Unavailable, "the connection has ended"};
    return net_.stream(executor_, address_, question, sink, status);
  }

 private:
  Executor& executor_;
  EtcdNet& net_;
  const std::string address_;
  const std::uint64_t process_;
};

}  // namespace

/// The connection to one address; reconnects when its process has ended.
struct EtcdClients::Link final : etcd::Connections {
  Link(Executor& e, EtcdNet& n, std::string to) : executor(e), net(n), address(std::move(to)) {}
  Result<std::shared_ptr<etcd::Connection>> connection() override {
    const auto process = net.process_at(address);
    if (!process) return Error{Code::Unavailable, address + ": connection refused"};
    if (!open || !open->usable())
      open = std::make_shared<Connected>(executor, net, address, *process);
    return std::shared_ptr<etcd::Connection>(open);
  }
  Executor& executor;
  EtcdNet& net;
  const std::string address;
  std::shared_ptr<Connected> open;
};

std::shared_ptr<etcd::Client> EtcdClients::at(const etcd::Endpoint& endpoint) {
  auto& link = links_[endpoint.address];
  if (!link) link = std::make_shared<Link>(executor_, net_, endpoint.address);
  return std::make_shared<etcd::GrpcClient>(executor_, link, endpoint);
}

}  // namespace etcdop::sim
