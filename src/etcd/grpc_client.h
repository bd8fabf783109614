// etcd's API over gRPC. Protobuf stays inside grpc_client.cc.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "etcd/client.h"
#include "http/grpc_channel.h"

namespace etcdop::etcd {

/// One request; the token is sent if it is not empty.
struct Question {
  std::string_view path, message;
  const Secret& token;
  Duration silence_max = Duration::max();  ///< For a stream; a longer silence is Unavailable.
  std::size_t answer_max = 1 << 20;        ///< Bytes of a message of the answer; more: Corrupt.
};

/// One connection to one process, so its member never changes.
class Connection {
 public:
  virtual ~Connection() = default;
  /// As http::GrpcChannel::unary. May suspend.
  virtual Result<std::string> unary(const Question&, http::GrpcStatus&) = 0;
  /// As http::GrpcChannel::stream. May suspend.
  virtual Result<Done> stream(const Question&, const http::GrpcChannel::Sink&,
                              http::GrpcStatus&) = 0;
  /// The member that answered last on it; the connection's owner never changes this.
  std::optional<Header> peer;
};

/// Gives a client its connection for each call.
class Connections {
 public:
  virtual ~Connections() = default;
  /// The open connection, or a new one. May suspend. Denied: TLS. Cancelled. Otherwise Unavailable:
  /// nothing was sent.
  virtual Result<std::shared_ptr<Connection>> connection() = 0;
};

/// Guarantees: no write is sent on a connection before the header of an answer has proven that the
/// other end is the cluster and the member of the Endpoint. (A refusal has no header: "member not
/// found" from a stranger would read as "already removed".) Nothing is sent twice.
class GrpcClient final : public Client {
 public:
  /// The executor must outlive the client. `where` names the expected member; the connections lead
  /// to it.
  GrpcClient(Executor&, std::shared_ptr<Connections>, Endpoint where);
  Result<Status> status() override;
  Result<MemberList> member_list(Read) override;
  /// Unavailable also if the new member's id belonged to a removed member: etcd derives the id from
  /// the URL and the current second, so a second later it is another one.
  Result<MemberId> add_learner(const std::string& peer_url) override;
  Result<Done> promote(MemberId) override;
  Result<Done> remove(MemberId) override;
  Result<Done> move_leader(MemberId to) override;
  Result<std::vector<Alarm>> alarms() override;
  Result<Done> disarm(const Alarm&) override;
  Result<Done> defragment() override;
  Result<KeyHash> hash_kv(std::int64_t revision) override;
  Result<KeyPage> keys(const KeyQuestion&) override;
  Result<WholeSnapshot> snapshot(const SnapshotSink&) override;
  Result<Done> user_add(const std::string& name, const Secret& password) override;
  Result<Done> user_change_password(const std::string& name, const Secret& password) override;
  Result<Done> user_grant_role(const std::string& user, const std::string& role) override;
  Result<Done> auth_enable() override;
  Result<AuthStatus> auth_status() override;
  Result<Secret> authenticate(const std::string& name, const Secret& password) override;
  void use_token(Secret token) override { token_ = std::move(token); }

 private:
  struct Method;
  template <class Answer>
  Result<Answer> call(const Method&, const std::string& question);
  template <class Answer>
  Result<Answer> call_on(Connection&, const Method&, const std::string& question);
  Result<Done> identify(Connection&);
  Result<Done> must_be_ours(const Header&) const;
  Result<WholeSnapshot> receive_snapshot(const SnapshotSink&);
  Executor& executor_;
  std::shared_ptr<Connections> connections_;
  Endpoint where_;
  Secret token_;
};

}  // namespace etcdop::etcd
