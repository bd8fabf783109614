#include "etcd/grpc_client.h"

#include <set>
#include <type_traits>
#include <utility>

#include "etcd/errors.h"
#include "etcd/rpc.pb.h"
#include "etcd/snapshot_sum.h"

namespace etcdop::etcd {

/// A call of etcd's API. The limit includes a dial, if necessary.
struct GrpcClient::Method {
  std::string_view path;
  const char* name;
  Asks asks;
  Duration limit;
  std::size_t answer_max = 256 << 10;  ///< Bytes: a list of 128 members with long names.
};

namespace {

namespace pb = etcdserverpb;
using namespace std::chrono_literals;

constexpr Duration kStatusLimit = 2s;
constexpr Duration kListLimit = 3s;  // etcd itself gives up after 7 s without quorum.
constexpr Duration kSerializableListLimit = 2s;
constexpr Duration kMembershipLimit = 7s;  // etcd's own limit: 5 s and two election timeouts.

constexpr Duration kWholeLimit = 2min;  // Reading 8 GiB, the largest quota, takes half a minute.
constexpr Duration kSnapshotLimit = 1h;
constexpr Duration kSilenceMax = 1min;  // For a snapshot: longer than a defragmentation.

constexpr Duration kKeysLimit = 30s;
constexpr std::size_t kPageMax = 4 << 20, kKeyMax = 16 << 20;  // Bytes, of a page and of one key.
constexpr int kMembersMax = 128;                               // Far more than raft supports well.
constexpr int kAlarmsMax = 2 * kMembersMax;
constexpr std::size_t kVersionBytesMax = 64;  // It is copied into statuses.

/// For an answer that only confirms the call.
template <class Answer>
Result<Done> done(const Result<Answer>& answer) {
  if (!answer) return answer.error();
  return Done{};
}

Member to_member(const pb::Member& m) {
  return {.id = {m.id()},
          .name = m.name(),
          .peer_urls = {m.peerurls().begin(), m.peerurls().end()},
          .client_urls = {m.clienturls().begin(), m.clienturls().end()},
          .learner = m.islearner()};
}

Header to_header(const pb::ResponseHeader& h) {
  return {.cluster = {h.cluster_id()}, .member = {h.member_id()}, .raft_term = h.raft_term()};
}

Status to_status(const pb::StatusResponse& s) {
  return {.header = to_header(s.header()),
          .version = s.version(),
          .leader = {s.leader()},
          .raft_index = s.raftindex(),
          .raft_applied_index = s.raftappliedindex(),
          .db_size = s.dbsize(),
          .db_size_in_use = s.dbsizeinuse(),
          .learner = s.islearner(),
          .errors = {s.errors().begin(), s.errors().end()},
          .revision = s.header().revision()};
}

std::string id_request(MemberId id) {
  pb::MemberIdRequest question;
  question.set_id(id.value);
  return question.SerializeAsString();
}

/// Checks the properties on which decisions rely.
Result<Done> must_be_plausible(const MemberList& list) {
  if (list.members.size() > kMembersMax)
    return Error{Code::Corrupt, std::to_string(list.members.size()) + " members"};
  std::set<MemberId> ids;
  for (const Member& member : list.members)
    if (member.id.value == 0 || !ids.insert(member.id).second)
      return Error{Code::Corrupt, "member id " + to_hex(member.id) + " is zero or twice there"};
  return Done{};
}

}  // namespace

GrpcClient::GrpcClient(Executor& executor, std::shared_ptr<Connections> connections, Endpoint where)
    : executor_(executor), connections_(std::move(connections)), where_(std::move(where)) {
  if (where_.token) token_ = *where_.token;
}

template <class Answer>
Result<Answer> GrpcClient::call(const Method& method, const std::string& question) {
  const Within limit(executor_, method.limit);
  const std::string doing = std::string(method.name) + " at " + where_.address;
  auto connection = connections_->connection();
  if (!connection) return Error(connection.error()).during(doing);
  if (method.asks == Asks::Write) {
    if (auto ours = identify(**connection); !ours) return Error(ours.error()).during(doing);
  }
  auto answer = call_on<Answer>(**connection, method, question);
  if (!answer) return Error(answer.error()).during(doing);
  return answer;
}

template <class Answer>
Result<Answer> GrpcClient::call_on(Connection& connection, const Method& method,
                                   const std::string& question) {
  http::GrpcStatus status;
  auto bytes = connection.unary(
      {.path = method.path, .message = question, .token = token_, .answer_max = method.answer_max},
      status);
  if (!bytes) {
    if (status.code > 0) return to_error(status.code, status.message, method.asks);
    Error error = bytes.error();
    if (method.asks == Asks::Read && error.code == Code::Lost) error.code = Code::Unavailable;
    return error;
  }
  Answer answer;
  if (!answer.ParseFromString(*bytes)) return Error{Code::Corrupt, "not the message it should be"};
  if constexpr (std::is_same_v<Answer, pb::HeaderResponse>)
    if (!answer.has_header()) return answer;  // MoveLeader and the like; identify() came before.
  const Header header = to_header(answer.header());
  if (auto ours = must_be_ours(header); !ours) return ours.error();
  connection.peer = header;
  return answer;
}

/// Asks once per connection, and only if the endpoint names a cluster or member: with a Status,
/// which every member answers.
Result<Done> GrpcClient::identify(Connection& connection) {
  if (!where_.cluster && !where_.member) return Done{};
  if (connection.peer) return must_be_ours(*connection.peer);
  static constexpr Method kProbe{"/etcdserverpb.Maintenance/Status", "Status", Asks::Read,
                                 kStatusLimit};
  const Within limit(executor_, kProbe.limit);
  auto answer = call_on<pb::StatusResponse>(connection, kProbe, "");
  if (answer) return Done{};
  Error error = Error(answer.error()).during("look for a server");
  // For the caller, TimedOut of a write means "may have happened", but this write was not sent.
  if (error.code == Code::TimedOut) error.code = Code::Unavailable;
  return error;
}

Result<Done> GrpcClient::must_be_ours(const Header& header) const {
  const ClusterId cluster = where_.cluster.value_or(header.cluster);
  const MemberId member = where_.member.value_or(header.member);
  if (header.cluster == cluster && header.member == member) return Done{};
  return Error{Code::Corrupt, "member " + to_hex(header.member) + " of cluster " +
                                  to_hex(header.cluster) + " answered instead of member " +
                                  to_hex(member) + " of cluster " + to_hex(cluster)};
}

Result<Status> GrpcClient::status() {
  static constexpr Method kMethod{"/etcdserverpb.Maintenance/Status", "Status", Asks::Read,
                                  kStatusLimit};
  auto answer = call<pb::StatusResponse>(kMethod, "");
  if (!answer) return answer.error();
  if (answer->version().size() > kVersionBytesMax)
    return Error{Code::Corrupt, "Status at " + where_.address + ": a version of " +
                                    std::to_string(answer->version().size()) + " bytes"};
  return to_status(*answer);
}

Result<MemberList> GrpcClient::member_list(Read how) {
  static constexpr Method kFresh{"/etcdserverpb.Cluster/MemberList", "MemberList", Asks::Read,
                                 kListLimit};
  static constexpr Method kLocal{"/etcdserverpb.Cluster/MemberList", "MemberList (serializable)",
                                 Asks::Read, kSerializableListLimit};
  pb::MemberListRequest question;
  question.set_linearizable(how == Read::Linearizable);
  auto answer = call<pb::MemberListResponse>(how == Read::Linearizable ? kFresh : kLocal,
                                             question.SerializeAsString());
  if (!answer) return answer.error();
  MemberList list{.header = to_header(answer->header()), .members = {}};
  for (const auto& member : answer->members()) list.members.push_back(to_member(member));
  if (auto plausible = must_be_plausible(list); !plausible)
    return Error(plausible.error()).during("MemberList at " + where_.address);
  return list;
}

Result<MemberId> GrpcClient::add_learner(const std::string& peer_url) {
  static constexpr Method kMethod{"/etcdserverpb.Cluster/MemberAdd", "MemberAdd", Asks::Write,
                                  kMembershipLimit};
  pb::MemberAddRequest question;
  question.add_peerurls(peer_url);
  question.set_islearner(true);
  auto answer = call<pb::MemberAddResponse>(kMethod, question.SerializeAsString());
  if (answer.failed_with(Code::NotFound))
    return Error{Code::Unavailable, answer.error().message + " (a removed member had this id)"};
  if (!answer) return answer.error();
  if (answer->member().id() == 0)
    return Error{Code::Corrupt, "MemberAdd at " + where_.address + ": no member in the answer"};
  return MemberId{answer->member().id()};
}

Result<Done> GrpcClient::promote(MemberId id) {
  static constexpr Method kMethod{"/etcdserverpb.Cluster/MemberPromote", "MemberPromote",
                                  Asks::Write, kMembershipLimit};
  return done(call<pb::MemberListResponse>(kMethod, id_request(id)));
}

Result<Done> GrpcClient::remove(MemberId id) {
  static constexpr Method kMethod{"/etcdserverpb.Cluster/MemberRemove", "MemberRemove", Asks::Write,
                                  kMembershipLimit};
  return done(call<pb::MemberListResponse>(kMethod, id_request(id)));
}

Result<Done> GrpcClient::move_leader(MemberId to) {
  static constexpr Method kMethod{"/etcdserverpb.Maintenance/MoveLeader", "MoveLeader", Asks::Write,
                                  kMembershipLimit};
  return done(call<pb::HeaderResponse>(kMethod, id_request(to)));
}

Result<std::vector<Alarm>> GrpcClient::alarms() {
  static constexpr Method kMethod{"/etcdserverpb.Maintenance/Alarm", "Alarm", Asks::Read,
                                  kListLimit};
  auto answer = call<pb::AlarmResponse>(kMethod, pb::AlarmRequest().SerializeAsString());
  if (!answer) return answer.error();
  std::vector<Alarm> alarms;
  for (const pb::AlarmMember& alarm : answer->alarms()) {
    const bool known = alarm.alarm() == pb::NOSPACE || alarm.alarm() == pb::CORRUPT;
    if (!known || alarms.size() == kAlarmsMax)
      return Error{Code::Corrupt, "Alarm at " + where_.address + ": unknown alarm, or too many"};
    alarms.push_back({.kind = AlarmKind(alarm.alarm()), .member = {alarm.memberid()}});
  }
  return alarms;
}

Result<Done> GrpcClient::disarm(const Alarm& alarm) {
  static constexpr Method kMethod{"/etcdserverpb.Maintenance/Alarm", "Alarm (disarm)", Asks::Write,
                                  kMembershipLimit};
  pb::AlarmRequest question;
  question.set_action(pb::AlarmRequest::DEACTIVATE);
  question.set_memberid(alarm.member.value);
  question.set_alarm(pb::AlarmType(alarm.kind));
  return done(call<pb::AlarmResponse>(kMethod, question.SerializeAsString()));
}

Result<Done> GrpcClient::defragment() {
  static constexpr Method kMethod{"/etcdserverpb.Maintenance/Defragment", "Defragment", Asks::Write,
                                  kDefragmentLimit};
  return done(call<pb::HeaderResponse>(kMethod, ""));
}

Result<KeyHash> GrpcClient::hash_kv(std::int64_t revision) {
  static constexpr Method kMethod{"/etcdserverpb.Maintenance/HashKV", "HashKV", Asks::Read,
                                  kWholeLimit};
  pb::HashKVRequest question;
  question.set_revision(revision);
  auto answer = call<pb::HashKVResponse>(kMethod, question.SerializeAsString());
  if (!answer) return answer.error();
  return KeyHash{.hash = answer->hash(),
                 .revision = answer->header().revision(),
                 .compacted = answer->compact_revision()};
}

Result<KeyPage> GrpcClient::keys(const KeyQuestion& asked) {
  static constexpr Method kPage{"/etcdserverpb.KV/Range", "Range", Asks::Read, kKeysLimit,
                                kPageMax};
  static constexpr Method kOne{"/etcdserverpb.KV/Range", "Range", Asks::Read, kKeysLimit, kKeyMax};
  pb::RangeRequest question;
  question.set_key(asked.from);
  question.set_range_end(std::string(1, '\0'));  // Up to the last key.
  question.set_revision(asked.revision);
  question.set_serializable(true);
  question.set_limit(asked.limit);
  question.set_count_only(asked.limit == 0);
  auto answer =
      call<pb::RangeResponse>(asked.limit == 1 ? kOne : kPage, question.SerializeAsString());
  if (!answer) return answer.error();
  KeyPage page{.keys = {}, .count = answer->count(), .more = answer->more()};
  for (pb::KeyValue& one : *answer->mutable_kvs())
    page.keys.push_back({.key = std::move(*one.mutable_key()),
                         .value = std::move(*one.mutable_value()),
                         .created = one.create_revision(),
                         .modified = one.mod_revision(),
                         .version = one.version()});
  return page;
}

Result<WholeSnapshot> GrpcClient::snapshot(const SnapshotSink& sink) {
  const Within limit(executor_, kSnapshotLimit);
  auto taken = receive_snapshot(sink);
  if (!taken) return Error(taken.error()).during("Snapshot at " + where_.address);
  return taken;
}

Result<WholeSnapshot> GrpcClient::receive_snapshot(const SnapshotSink& sink) {
  auto connection = connections_->connection();
  if (!connection) return connection.error();
  if (auto ours = identify(**connection); !ours) return ours.error();  // Pieces have no header.
  SnapshotSum sum;
  std::optional<Error> failure;
  const auto take = [&](std::string_view bytes) {
    pb::SnapshotResponse piece;
    if (!piece.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      failure = Error{Code::Corrupt, "not the message it should be"};
    else if (auto taken = sink(piece.blob()); !taken) failure = taken.error();
    else sum.add(piece.blob());
    return !failure;
  };
  http::GrpcStatus status;
  const Question question{.path = "/etcdserverpb.Maintenance/Snapshot",
                          .message = "",
                          .token = token_,
                          .silence_max = kSilenceMax};
  auto ended = (*connection)->stream(question, take, status);
  if (failure) return *failure;
  if (ended) return sum.end();
  if (status.code > 0) return to_error(status.code, status.message, Asks::Read);
  Error error = ended.error();
  if (error.code == Code::Lost) error.code = Code::Unavailable;  // It was a read.
  return error;
}

Result<Done> GrpcClient::user_add(const std::string& name, const Secret& password) {
  static constexpr Method kMethod{"/etcdserverpb.Auth/UserAdd", "UserAdd", Asks::Write,
                                  kMembershipLimit};
  pb::AuthUserAddRequest question;
  question.set_name(name);
  question.set_password(password.reveal());
  return done(call<pb::HeaderResponse>(kMethod, question.SerializeAsString()));
}

Result<Done> GrpcClient::user_change_password(const std::string& name, const Secret& password) {
  static constexpr Method kMethod{"/etcdserverpb.Auth/UserChangePassword", "UserChangePassword",
                                  Asks::Write, kMembershipLimit};
  pb::AuthUserChangePasswordRequest question;
  question.set_name(name);
  question.set_password(password.reveal());
  return done(call<pb::HeaderResponse>(kMethod, question.SerializeAsString()));
}

Result<Done> GrpcClient::user_grant_role(const std::string& user, const std::string& role) {
  static constexpr Method kMethod{"/etcdserverpb.Auth/UserGrantRole", "UserGrantRole", Asks::Write,
                                  kMembershipLimit};
  pb::AuthUserGrantRoleRequest question;
  question.set_user(user);
  question.set_role(role);
  return done(call<pb::HeaderResponse>(kMethod, question.SerializeAsString()));
}

Result<Done> GrpcClient::auth_enable() {
  static constexpr Method kMethod{"/etcdserverpb.Auth/AuthEnable", "AuthEnable", Asks::Write,
                                  kMembershipLimit};
  return done(call<pb::HeaderResponse>(kMethod, ""));
}

Result<AuthStatus> GrpcClient::auth_status() {
  static constexpr Method kMethod{"/etcdserverpb.Auth/AuthStatus", "AuthStatus", Asks::Read,
                                  kListLimit};
  auto answer = call<pb::AuthStatusResponse>(kMethod, "");
  if (!answer) return answer.error();
  return AuthStatus{.enabled = answer->enabled(), .revision = answer->authrevision()};
}

Result<Secret> GrpcClient::authenticate(const std::string& name, const Secret& password) {
  static constexpr Method kMethod{"/etcdserverpb.Auth/Authenticate", "Authenticate", Asks::Read,
                                  kMembershipLimit};
  pb::AuthenticateRequest question;
  question.set_name(name);
  question.set_password(password.reveal());
  auto answer = call<pb::AuthenticateResponse>(kMethod, question.SerializeAsString());
  if (!answer) return answer.error();
  if (answer->token().empty())
    return Error{Code::Corrupt, "Authenticate at " + where_.address + ": no token in the answer"};
  return Secret(answer->token());
}

}  // namespace etcdop::etcd
