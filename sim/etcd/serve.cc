// Requests of clients: each on a fiber of the world's, as if at the process that was asked.
// Source: etcd's server/etcdserver/server.go, v3_server.go and api/v3rpc.
#include <algorithm>

#include "etcd/rpc.pb.h"
#include "http/grpc_wire.h"
#include "sim/etcd/ids.h"
#include "sim/etcd/world.h"

namespace etcdop::sim {
namespace {

namespace pb = etcdserverpb;
using namespace std::chrono_literals;
constexpr Duration kRequestLimit = 7s;  // ReqTimeout: 5 s and two election timeouts.
constexpr Duration kTick = 100ms;
constexpr int kInvalidArgument = 3;

/// One request. A function that fails has said why in `error_` and `status_`.
class Request {
 public:
  Request(EtcdWorld& world, const EtcdNet::Address& address, http::GrpcStatus& status)
      : world_(world), address_(address), status_(status) {}

  Result<std::string> unary(const std::string& path, const std::string& question) {
    if (!reach(Instant::max())) return error_;
    const bool status = path == "/etcdserverpb.Maintenance/Status";
    if (!status && asked_->dir->applied.learns(asked_->id()))
      return fail(kFailedPrecondition, "rpc not supported for learner"), error_;
    std::string answer;
    if (!(status ? status_of(answer) : call(path, question, answer))) return error_;
    if (!pause(200us, 1ms)) return error_;
    status_.code = 0;
    return answer;
  }

  Result<Done> put(const std::string& key, std::uint64_t value) {
    const Instant end = now() + kRequestLimit;
    if (!reach(end) || !takes_keys()) return unavailable();
    if (!until(end, [&] { return asked_->leader.value != 0; })) return unavailable();
    if (!forward()) return unavailable();
    Change change;
    change.kind = Change::Kind::Put;
    change.key = key;
    change.value = value;
    Process* leader = world_.leader_of(*asked_);
    const auto outcome = propose(leader, std::move(change));
    const bool done = until(end, [&] { return outcome->known; }) && pause(200us, 1ms);
    if (done) return Done{};
    if (!leader) return unavailable();
    return Error{Code::Lost, error_.message};
  }

  Result<std::uint64_t> get(const std::string& key) {
    if (!reach(now() + kRequestLimit) || !takes_keys() || !read_index()) return unavailable();
    const auto& keys = asked_->dir->applied.keys;
    const auto found = keys.find(key);
    const std::uint64_t value = found == keys.end() ? 0 : found->second;
    if (!pause(200us, 1ms)) return unavailable();
    return value;
  }

 private:
  Instant now() const { return world_.executor.now(); }

  // --- ends and waits

  bool fail(int code, const std::string& text) {
    status_ = {.code = code, .message = "etcdserver: " + text};
    error_ = {http::code_of_grpc(code), status_.message};
    return false;
  }
  Error unavailable() const { return {Code::Unavailable, error_.message}; }
  bool here() const { return asked_->phase != Process::Phase::Ended; }
  bool gone() {
    if (asked_->terminated) return fail(kUnavailable, "server stopped");
    error_ = {Code::Lost, "connection reset by peer"};
    return false;
  }
  bool given_up() {
    error_ = {Code::Cancelled, "the caller has gone"};
    return false;
  }
  bool pause(Duration low, Duration high) {
    if (world_.executor.sleep(world_.dice.between(low, high)) != Woken::Ready) return given_up();
    return here() || gone();
  }
  /// Until it holds, which is asked whenever something changes at the process.
  bool until(Instant end, const std::function<bool()>& holds) {
    while (!holds()) {
      if (!here()) return gone();
      Wait wait(world_.executor);
      asked_->watchers.push_back(&wait);
      const Woken woken = wait.until(end);
      asked_->watchers.remove(&wait);
      if (woken == Woken::Cancelled) return given_up();
      if (woken == Woken::Deadline) return fail(kUnavailable, "request timed out");
    }
    return here() || gone();
  }

  // --- the beginning of every request

  /// The connection is taken by whoever listens; it is answered once the process serves.
  bool reach(Instant end) {
    if (world_.executor.sleep(world_.dice.between(200us, 1500us)) != Woken::Ready)
      return given_up();
    asked_ = world_.at(address_);
    if (!asked_ || !asked_->listens || !here()) {
      error_ = {Code::Unavailable, address_ + ": connection refused"};
      return false;
    }
    return until(end, [&] { return asked_->serves; });
  }
  bool takes_keys() {
    if (!asked_->dir->applied.learns(asked_->id())) return true;
    return fail(kFailedPrecondition, "rpc not supported for learner");
  }

  template <class Answer>
  void fill(Answer& answer) const {
    auto* header = answer.mutable_header();
    header->set_cluster_id(asked_->dir->owner->cluster.value);
    header->set_member_id(asked_->id().value);
    header->set_raft_term(asked_->dir->term);
    header->set_revision(static_cast<std::int64_t>(1 + asked_->dir->applied.keys.size()));
  }
  template <class Answer>
  void list(Answer& answer, const std::vector<etcd::Member>& members) const {
    for (const etcd::Member& member : members) {
      auto* one = answer.add_members();
      one->set_id(member.id.value);
      one->set_name(member.name);
      one->set_islearner(member.learner);
      for (const std::string& url : member.peer_urls) one->add_peerurls(url);
      for (const std::string& url : member.client_urls) one->add_clienturls(url);
    }
  }
  std::vector<etcd::Member> applied_members() const {
    std::vector<etcd::Member> members;
    for (const auto& [id, member] : asked_->dir->applied.members) members.push_back(member);
    return members;
  }

  // --- the calls

  bool status_of(std::string& answer) const {
    const DataDir& dir = *asked_->dir;
    pb::StatusResponse status;
    fill(status);
    status.set_version(asked_->version_text);
    status.set_dbsize(static_cast<std::int64_t>(20480 + 64 * dir.last()));
    status.set_dbsizeinuse(static_cast<std::int64_t>(16384 + 64 * dir.last()));
    status.set_leader(asked_->leader.value);
    status.set_raftindex(dir.commit);
    status.set_raftterm(dir.term);
    status.set_raftappliedindex(dir.applied.index);
    status.set_islearner(dir.applied.learns(asked_->id()));
    if (asked_->leader.value == 0) status.add_errors("etcdserver: no leader");
    answer = status.SerializeAsString();
    return true;
  }

  bool call(const std::string& path, const std::string& question, std::string& answer) {
    constexpr std::string_view kCluster = "/etcdserverpb.Cluster/";
    if (path == "/etcdserverpb.Maintenance/MoveLeader") return move_leader(question, answer);
    check(path.starts_with(kCluster), ("not modelled: etcd's " + path).c_str());
    const std::string_view name = std::string_view(path).substr(kCluster.size());
    if (name == "MemberList") return member_list(question, answer);
    if (name == "MemberAdd") return member_add(question, answer);
    if (name == "MemberRemove") return member_remove(question, answer);
    check(name == "MemberPromote", ("not modelled: etcd's " + path).c_str());
    return member_promote(question, answer);
  }

  template <class Question>
  static Question parse(const std::string& bytes) {
    Question question;
    check(question.ParseFromString(bytes), "a request is the message it should be");
    return question;
  }
  bool answer_with(const std::vector<etcd::Member>& members, std::string& answer) const {
    pb::MemberListResponse response;
    fill(response);
    list(response, members);
    answer = response.SerializeAsString();
    return true;
  }

  bool member_list(const std::string& bytes, std::string& answer) {
    if (parse<pb::MemberListRequest>(bytes).linearizable() && !read_index()) return false;
    return answer_with(applied_members(), answer);
  }

  bool member_add(const std::string& bytes, std::string& answer) {
    const auto question = parse<pb::MemberAddRequest>(bytes);
    etcd::Member member;
    member.peer_urls = {question.peerurls().begin(), question.peerurls().end()};
    member.learner = question.islearner();
    if (member.peer_urls.empty() ||
        !std::ranges::all_of(member.peer_urls,
                             [](const std::string& url) { return bool(parse_url(url)); }))
      return fail(kInvalidArgument, "given member URLs are invalid");
    member.id = added_id(member.peer_urls, world_.wall.wall_now());
    if (!may_add(member)) return false;
    Change change;
    change.kind = Change::Kind::Add;
    change.member = member;
    std::vector<etcd::Member> members;
    if (!configure(std::move(change), members)) return false;
    pb::MemberAddResponse response;
    fill(response);
    list(response, members);
    response.mutable_member()->set_id(member.id.value);
    response.mutable_member()->set_islearner(member.learner);
    for (const std::string& url : member.peer_urls) response.mutable_member()->add_peerurls(url);
    answer = response.SerializeAsString();
    return true;
  }

  bool member_remove(const std::string& bytes, std::string& answer) {
    Change change;
    change.kind = Change::Kind::Remove;
    change.member.id = {parse<pb::MemberIdRequest>(bytes).id()};
    std::vector<etcd::Member> members;
    if (!may_remove(change.member.id) || !configure(std::move(change), members)) return false;
    return answer_with(members, answer);
  }

  bool member_promote(const std::string& bytes, std::string& answer) {
    const etcd::MemberId id{parse<pb::MemberIdRequest>(bytes).id()};
    std::vector<etcd::Member> members;
    if (asked_->leads ? !promote(id, members) : !promote_at_leader(id, members)) return false;
    return answer_with(members, answer);
  }

  bool move_leader(const std::string& bytes, std::string& answer) {
    const etcd::MemberId to{parse<pb::MemberIdRequest>(bytes).id()};
    if (asked_->leader != asked_->id()) return fail(kFailedPrecondition, "not leader");
    if (!asked_->dir->applied.votes(to)) return fail(kFailedPrecondition, "bad leader transferee");
    if (asked_->leader != to) {
      if (!pause(1ms, 5ms)) return false;
      (void)world_.hand_over(*asked_, to);
      // etcd looks once a tick; in vain it waits as long as the caller does.
      if (!pause(kTick, kTick)) return false;
      if (!until(Instant::max(), [&] { return asked_->leader == to; })) return false;
    }
    answer = pb::MoveLeaderResponse().SerializeAsString();  // Without a header.
    return true;
  }

  // --- what etcd asks itself before it proposes anything

  bool may_add(const etcd::Member& added) {
    const Applied& applied = asked_->dir->applied;
    const std::size_t voters = applied.voters().size();
    const std::size_t started = started_voters({});
    if (!added.learner && !(started == 1 && voters == 1) && started < (voters + 1) / 2 + 1)
      return not_enough_started();
    const std::size_t wanted =
        asked_->facts.member_add_wants == etcd::AddWants::AllVoters ? voters : (voters + 1) / 2 + 1;
    if (voters == 1 || world_.connected_voters(*asked_) >= wanted) return true;
    return fail(kUnavailable, "unhealthy cluster");
  }

  bool may_remove(etcd::MemberId id) {
    const Applied& applied = asked_->dir->applied;
    if (applied.learns(id)) return true;
    const std::size_t voters = applied.voters().size();
    const std::size_t left = voters - (applied.votes(id) ? 1 : 0);
    if (started_voters(id) < left / 2 + 1) return not_enough_started();
    if (id != asked_->id() && !world_.active_since(*asked_, id)) return true;
    if (world_.connected_voters(*asked_) >= 1 + (1 + (voters - 1) / 2)) return true;
    return fail(kUnavailable, "unhealthy cluster");
  }

  std::size_t started_voters(etcd::MemberId without) const {
    std::size_t count = 0;
    for (const auto& [id, member] : asked_->dir->applied.members)
      if (!member.learner && !member.name.empty() && id != without) ++count;
    return count;
  }
  bool not_enough_started() {
    return fail(kFailedPrecondition, "re-configuration failed due to not enough started members");
  }

  // --- consensus

  /// What was committed before now is applied here.
  bool read_index() {
    if (!pause(500us, 3ms)) return false;
    const std::uint64_t elections = asked_->elections;
    std::uint64_t index = 0;
    const auto changed = [&] { return asked_->elections != elections; };
    const bool told = until(now() + kRequestLimit, [&] {
      const Process* leader = changed() ? nullptr : world_.leader_of(*asked_);
      if (!leader || !world_.confirmed(*leader)) return changed();
      index = leader->dir->commit;
      return true;
    });
    if (!told) return false;
    if (changed()) return fail(kUnavailable, "leader changed");
    return until(Instant::max(), [&] { return asked_->dir->applied.index >= index; });
  }

  bool forward() { return asked_->leads || pause(500us, 3ms); }

  /// Whoever asked knows the outcome when it is applied at the process that was asked. Null: what
  /// was sent to a leader that is none any more is lost.
  std::shared_ptr<Outcome> propose(Process* leader, Change change) {
    auto outcome = std::make_shared<Outcome>();
    const std::uint64_t ticket = ++world_.tickets;
    asked_->awaited[ticket] = outcome;
    if (leader) (void)world_.propose(*leader, std::move(change), ticket);
    return outcome;
  }

  /// Waits as long as the caller does.
  bool configure(Change change, std::vector<etcd::Member>& members) {
    if (!until(Instant::max(), [&] { return asked_->leader.value != 0; })) return false;
    if (!forward()) return false;
    const auto outcome = propose(world_.leader_of(*asked_), std::move(change));
    if (!until(Instant::max(), [&] { return outcome->known; })) return false;
    members = outcome->members;
    if (outcome->refusal.code == 0) return true;
    status_ = {.code = outcome->refusal.code, .message = outcome->refusal.text};
    error_ = {http::code_of_grpc(status_.code), status_.message};
    return false;
  }

  /// Asked of the leader.
  bool promote(etcd::MemberId id, std::vector<etcd::Member>& members) {
    const DataDir& dir = *asked_->dir;
    if (!dir.applied.members.contains(id)) return fail(kNotFound, "member not found");
    if (10 * world_.match_of(*asked_, id) < 9 * dir.last())
      return fail(kFailedPrecondition,
                  "can only promote a learner member which is in sync with leader");
    if (started_voters({}) + 1 < (dir.applied.voters().size() + 1) / 2 + 1)
      return not_enough_started();
    Change change;
    change.kind = Change::Kind::Promote;
    change.member.id = id;
    return configure(std::move(change), members);
  }

  /// A follower asks the leader over the peers' port, again and again if it gets no clear answer.
  bool promote_at_leader(etcd::MemberId id, std::vector<etcd::Member>& members) {
    const Instant end = now() + kRequestLimit;
    while (true) {
      if (!until(end, [&] { return asked_->leader.value != 0; }))
        return here() && status_.code != 0 && now() >= end ? fail(kUnavailable, "no leader")
                                                           : false;
      if (!pause(1ms, 3ms)) return false;
      if (Process* leader = world_.leader_of(*asked_)) {
        http::GrpcStatus status;
        Request there(world_, leader->address, status);
        there.asked_ = world_.at(leader->address);
        if (there.promote(id, members)) return here() || gone();
        const int code = status.code;
        error_ = there.error_;
        status_ = status;
        if (error_.code == Code::Cancelled) return false;
        if (!here()) return gone();
        if (code == kNotFound || code == kFailedPrecondition) return false;
      }
      if (now() >= end) return fail(kUnavailable, "request timed out");
      if (!pause(kTick, kTick)) return false;
    }
  }

  EtcdWorld& world_;
  const EtcdNet::Address address_;
  http::GrpcStatus& status_;
  std::shared_ptr<Process> asked_;
  Error error_{Code::Unavailable, ""};
};

/// What the caller and the fiber that answers share: either may be gone first.
template <class T>
struct Call {
  std::optional<Result<T>> answer;
  http::GrpcStatus status;
  Wait* waiting = nullptr;
};

template <class T>
Result<T> ask(EtcdWorld& world, Executor& caller, http::GrpcStatus& status,
              std::function<Result<T>(http::GrpcStatus&)> serve) {
  auto call = std::make_shared<Call<T>>();
  const auto fiber = world.spawn([call, serve = std::move(serve)] {
    call->answer.emplace(serve(call->status));
    if (call->waiting) call->waiting->notify();
  });
  if (!fiber) return Error{Code::Unavailable, "the world has stopped"};
  Wait wait(caller);
  call->waiting = &wait;
  const Woken woken = wait.until();
  call->waiting = nullptr;
  if (woken != Woken::Ready) {
    fiber->cancel();
    return to_result(woken, "etcd").error();
  }
  status = call->status;
  return *call->answer;
}

}  // namespace

Result<std::string> EtcdNet::unary(Executor& caller, const Address& address, std::string_view path,
                                   std::string_view request, http::GrpcStatus& status) {
  status = {};
  return ask<std::string>(
      *world_, caller, status,
      [world = world_, address, to = std::string(path), bytes = std::string(request)](
          http::GrpcStatus& said) { return Request(*world, address, said).unary(to, bytes); });
}

Result<Done> EtcdNet::put(Executor& caller, const Address& address, const std::string& key,
                          std::uint64_t value) {
  http::GrpcStatus status;
  return ask<Done>(*world_, caller, status,
                   [world = world_, address, key, value](http::GrpcStatus& said) {
                     return Request(*world, address, said).put(key, value);
                   });
}

Result<std::uint64_t> EtcdNet::get(Executor& caller, const Address& address,
                                   const std::string& key) {
  http::GrpcStatus status;
  return ask<std::uint64_t>(*world_, caller, status,
                            [world = world_, address, key](http::GrpcStatus& said) {
                              return Request(*world, address, said).get(key);
                            });
}

}  // namespace etcdop::sim
