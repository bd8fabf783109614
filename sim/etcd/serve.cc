// Requests about the cluster and its members, and the entry into the world for all requests.
// Source: etcd's server/etcdserver/server.go and api/v3rpc/member.go.
#include <algorithm>

#include "sim/etcd/ids.h"
#include "sim/etcd/request.h"

namespace etcdop::sim {
namespace {

namespace pb = etcdserverpb;
using namespace std::chrono_literals;
constexpr Duration kTick = 100ms;
constexpr std::string_view kCluster = "/etcdserverpb.Cluster/";
constexpr std::string_view kMoveLeader = "/etcdserverpb.Maintenance/MoveLeader";

class ClusterRequest final : public Request {
 public:
  using Request::Request;

 private:
  bool for_learners(const std::string&, const std::string&) const override { return false; }
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

  bool call(const std::string& path, const std::string& question, std::string& answer) override {
    if (path == kMoveLeader) return must_be(etcd::Answers::Root) && move_leader(question, answer);
    const std::string_view name = std::string_view(path).substr(kCluster.size());
    if (name == "MemberList") return member_list(question, answer);
    if (name == "MemberAdd") return member_add(question, answer);
    if (name == "MemberRemove") return member_remove(question, answer);
    check(name == "MemberPromote", ("not modelled: etcd's " + path).c_str());
    return member_promote(question, answer);
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
    if (!must_be(asked_->facts.member_list_answers)) return false;
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
    if (!must_be(etcd::Answers::Root) || !may_add(member)) return false;
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
    if (!must_be(etcd::Answers::Root)) return false;
    if (!may_remove(change.member.id) || !configure(std::move(change), members)) return false;
    return answer_with(members, answer);
  }

  bool member_promote(const std::string& bytes, std::string& answer) {
    const etcd::MemberId id{parse<pb::MemberIdRequest>(bytes).id()};
    std::vector<etcd::Member> members;
    if (!must_be(etcd::Answers::Root)) return false;
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
      // etcd looks once a tick; if the transfer fails, it waits as long as the caller does.
      if (!pause(kTick, kTick)) return false;
      if (!until(Instant::max(), [&] { return asked_->leader == to; })) return false;
    }
    answer = pb::HeaderResponse().SerializeAsString();  // Without a header.
    return true;
  }

  // --- checks before a proposal

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

  /// Waits as long as the caller does.
  bool configure(Change change, std::vector<etcd::Member>& members) {
    if (!until(Instant::max(), [&] { return asked_->leader.value != 0; })) return false;
    if (!forward()) return false;
    const auto outcome = propose(world_.leader_of(*asked_), std::move(change));
    if (!until(Instant::max(), [&] { return outcome->known; })) return false;
    members = outcome->members;
    return outcome->refusal.code == 0 || fail(outcome->refusal);
  }

  /// Runs at the leader.
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

  /// A follower asks the leader over the peer port, and retries while it gets no clear answer.
  bool promote_at_leader(etcd::MemberId id, std::vector<etcd::Member>& members) {
    const Instant end = now() + kRequestLimit;
    while (true) {
      if (!until(end, [&] { return asked_->leader.value != 0; }))
        return here() && status_.code != 0 && now() >= end ? fail(kUnavailable, "no leader")
                                                           : false;
      if (!pause(1ms, 3ms)) return false;
      const bool loses_token = users().enabled() && asked_->facts.promote_on_leader_only_with_auth;
      Process* leader = loses_token ? nullptr : world_.leader_of(*asked_);
      if (leader) {
        http::GrpcStatus status;
        ClusterRequest there(world_, leader->address, status);
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
};

/// Shared by the caller and the fiber that answers: either may end first.
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

Result<std::string> EtcdNet::unary(Executor& caller, const Address& address,
                                   const etcd::Question& question, http::GrpcStatus& status,
                                   const std::string& common_name) {
  status = {};
  return ask<std::string>(
      *world_, caller, status,
      [world = world_, address, to = std::string(question.path),
       bytes = std::string(question.message), token = question.token.reveal(),
       name = common_name](http::GrpcStatus& said) -> Result<std::string> {
        if (to.starts_with(kCluster) || to == kMoveLeader)
          return ClusterRequest(*world, address, said, token, name).unary(to, bytes);
        return DataRequest(*world, address, said, token, name).unary(to, bytes);
      });
}

Result<Done> EtcdNet::stream(Executor& caller, const Address& address,
                             const etcd::Question& question, const http::GrpcChannel::Sink& sink,
                             http::GrpcStatus& status) {
  constexpr std::size_t kPiece = 32 << 10;  // snapshotSendBufferSize
  status = {};
  check(question.path == "/etcdserverpb.Maintenance/Snapshot", "not modelled: a stream of etcd's");
  auto image = ask<std::string>(
      *world_, caller, status,
      [world = world_, address, token = question.token.reveal()](http::GrpcStatus& said) {
        return DataRequest(*world, address, said, token).snapshot();
      });
  if (!image) return image.error();
  const std::size_t sum_at = image->size() - 32;
  for (std::size_t at = 0; at < image->size();) {
    const std::size_t end = at < sum_at ? std::min(at + kPiece, sum_at) : image->size();
    pb::SnapshotResponse piece;
    piece.set_remaining_bytes(end < sum_at ? sum_at - end : 0);
    piece.set_blob(image->substr(at, end - at));
    at = end;
    if (!sink(piece.SerializeAsString())) return Done{};
    if (world_->at(address) == nullptr) return Error{Code::Lost, "connection reset by peer"};
  }
  return Done{};
}

Result<Done> EtcdNet::put(Executor& caller, const Address& address, const std::string& key,
                          std::uint64_t value, std::int64_t* revision) {
  http::GrpcStatus status;
  auto put = ask<std::int64_t>(
      *world_, caller, status, [world = world_, address, key, value](http::GrpcStatus& said) {
        return DataRequest(*world, address, said, kMasterKey).put(key, value);
      });
  if (!put) return put.error();
  if (revision) *revision = *put;
  return Done{};
}

Result<std::uint64_t> EtcdNet::get(Executor& caller, const Address& address, const std::string& key,
                                   std::int64_t* revision) {
  http::GrpcStatus status;
  auto got = ask<DataRequest::Got>(*world_, caller, status,
                                   [world = world_, address, key](http::GrpcStatus& said) {
                                     return DataRequest(*world, address, said, kMasterKey).get(key);
                                   });
  if (!got) return got.error();
  if (revision) *revision = got->revision;
  return got->value;
}

}  // namespace etcdop::sim
