#include "sim/world/etcdctl.h"

#include "etcd/grpc_client.h"
#include "etcd/rpc.pb.h"

namespace etcdop::sim {

namespace {

class Line final : public etcd::Connections {
 public:
  Line(Executor& person, EtcdNet& net, EtcdNet::Address address)
      : person_(person), net_(net), address_(std::move(address)) {}
  Result<std::shared_ptr<etcd::Connection>> connection() override {
    struct Open final : etcd::Connection {
      explicit Open(Line& whose) : of(whose) {}
      Result<std::string> unary(const etcd::Question& question, http::GrpcStatus& status) override {
        return of.net_.unary(of.person_, of.address_, question, status);
      }
      Result<Done> stream(const etcd::Question& question, const http::GrpcChannel::Sink& sink,
                          http::GrpcStatus& status) override {
        return of.net_.stream(of.person_, of.address_, question, sink, status);
      }
      Line& of;
    };
    return std::shared_ptr<etcd::Connection>(std::make_shared<Open>(*this));
  }

 private:
  Executor& person_;
  EtcdNet& net_;
  EtcdNet::Address address_;
};

}  // namespace

std::shared_ptr<etcd::Client> etcdctl(Executor& person, EtcdNet& net,
                                      const EtcdNet::Address& address) {
  return std::make_shared<etcd::GrpcClient>(
      person, std::make_shared<Line>(person, net, address),
      etcd::Endpoint{.address = address,
                     .server_name = {},
                     .cluster = std::nullopt,
                     .member = std::nullopt,
                     .token = std::make_shared<const Secret>(EtcdNet::kMasterKey)});
}

void raise_alarm(Executor& person, EtcdNet& net, const EtcdNet::Address& address,
                 const etcd::Alarm& alarm) {
  etcdserverpb::AlarmRequest question;
  question.set_action(etcdserverpb::AlarmRequest::ACTIVATE);
  question.set_memberid(alarm.member.value);
  question.set_alarm(static_cast<etcdserverpb::AlarmType>(alarm.kind));
  http::GrpcStatus status;
  (void)net.unary(person, address,
                  {"/etcdserverpb.Maintenance/Alarm", question.SerializeAsString(),
                   Secret(EtcdNet::kMasterKey)},
                  status);
}

}  // namespace etcdop::sim
