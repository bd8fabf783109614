// One pass over an EtcdDefrag, from top to bottom.
#include "operator/defrag/reconciler.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/defrag/health.h"
#include "operator/passes/look_again.h"
#include "operator/passes/owner.h"
#include "operator/passes/recorded_plan.h"
#include "operator/passes/side_by_side.h"
#include "operator/passes/status_patch.h"
#include "operator/passes/turns.h"
#include "runtime/conditions.h"

namespace etcdop::defrag {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr auto kRetry = 5s;      // Another pass is at this cluster, or etcd refused.
constexpr auto kPause = 1s;      // After each step, for etcd to settle.
constexpr auto kLookHolds = 2s;  // What was seen of etcd is that young when we act.
constexpr std::int64_t kQuotaDefault = 2LL << 30;  // etcd's own.

api::ObjectKey cluster_key(const v1::EtcdDefrag& run) {
  return {run.metadata.ns, run.spec.cluster_ref.name};
}

/// Whose turn it is: who runs already, else the oldest, else by name.
auto turn_of(const v1::EtcdDefrag& run) {
  return std::tuple(run.status.phase != v1::kDefragRunning, run.metadata.creation_timestamp,
                    run.metadata.name);
}

/// The run of the same cluster that is before this one; empty: none is.
std::string run_ahead(const Stores& stores, const v1::EtcdDefrag& run) {
  const v1::EtcdDefrag* first = &run;
  const auto all = stores.defrags.in_group(cluster_key(run));
  for (const auto& other : all)
    if (!other->status.finished() && !other->metadata.terminating() &&
        turn_of(*other) < turn_of(*first))
      first = &*other;
  return first == &run ? "" : first->metadata.name;
}

MemberSeen seen_as(const v1::EtcdMember& member) {
  MemberSeen out;
  out.name = member.metadata.name;
  out.terminating = member.metadata.terminating();
  out.voter = member.status.is_voter;
  const auto& options = member.spec.options;
  const std::int64_t quota = options ? options->quota_backend_bytes.value_or(0) : 0;
  out.quota = quota > 0 ? quota : kQuotaDefault;
  return out;
}

bool asks_etcd(const Step& step) {
  return std::holds_alternative<Defragment>(step) || std::holds_alternative<MoveLeader>(step) ||
         std::holds_alternative<Disarm>(step);
}

bool begins(const v1::EtcdDefrag& run, const Plan& plan) {
  return plan.status.phase == v1::kDefragRunning && run.status.phase != v1::kDefragRunning;
}

/// For its scope no other pass asks the etcd of that cluster.
class Busy {
 public:
  Busy(std::set<api::ObjectKey>& all, api::ObjectKey key) : all_(all), key_(std::move(key)) {
    all_.insert(key_);
  }
  ~Busy() { all_.erase(key_); }
  Busy(const Busy&) = delete;

 private:
  std::set<api::ObjectKey>& all_;
  const api::ObjectKey key_;
};

}  // namespace

Result<runtime::Requeue> Reconciler::reconcile(const api::ObjectKey& key) {
  forget_gone();
  const auto run = with_.stores.defrags.get(key);
  if (!run || run->metadata.terminating()) {
    if (with_.flight) with_.flight->gone(v1::EtcdDefrag::resource.kind, key);
    return runtime::Requeue{};
  }
  Memory& memory = memory_[key];
  if (memory.uid != run->metadata.uid) {
    memory = Memory{};
    memory.uid = run->metadata.uid;
  }
  // Our own writes bring the run back at once.
  if (const Duration rest = memory.rests_until - with_.executor.now(); rest > Duration(0))
    return runtime::Requeue{rest};
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.run = *run;
  seen.tried = memory.tried;
  seen.moved = memory.moved;
  seen.disarms = memory.disarms;
  seen.was_full = memory.was_full;
  if (run->status.finished()) return pass(*run, std::move(seen));
  seen.ahead = run_ahead(with_.stores, *run);
  if (!seen.ahead.empty()) return pass(*run, std::move(seen));
  if (busy_.contains(cluster_key(*run))) return runtime::Requeue{kRetry};
  const Busy alone(busy_, cluster_key(*run));
  return pass(*run, std::move(seen));
}

Result<runtime::Requeue> Reconciler::pass(const v1::EtcdDefrag& run, Observation seen) {
  const api::ObjectKey key = run.metadata.key();
  Endpoints endpoints;
  if (!run.status.finished() && seen.ahead.empty()) {
    observe_cluster(seen, endpoints);
    // Last: nothing suspends between this and the write which says that the run begins.
    seen.snapshot = snapshot_before(with_.stores, run, seen.now);
  }
  if (!seen.no_space.empty())
    if (Memory* memory = memory_of(seen)) memory->was_full = true;
  const Instant looked = with_.executor.now();
  const Plan todo = recorded_plan(with_.flight, v1::EtcdDefrag::resource.kind, key, seen);
  log_plan(seen, todo);
  if (const Duration wait = refusals_.wait(key, Refusals::kStatus, with_.executor.now());
      wait > Duration(0))
    return runtime::Requeue{wait};
  std::optional<Beginning> beginning;
  if (begins(run, todo)) {
    if (with_.stores.beginnings.contains(cluster_key(run))) return runtime::Requeue{kRetry};
    beginning.emplace(with_.stores, cluster_key(run));
  }
  const auto reported = report(seen, todo);
  beginning.reset();
  if (leaves_doubt(reported)) look_again(with_.api, with_.stores.defrags, key, run.metadata.uid);
  (void)refusals_.note(key, Refusals::kStatus, reported, with_.executor.now());
  if (!reported) return reported.error();
  if (asks_etcd(todo.step) && with_.executor.now() - looked > kLookHolds &&
      !still_so(seen, endpoints)) {
    memory_[key].rests_until = with_.executor.now() + kRetry;
    return runtime::Requeue{kRetry};
  }
  const auto acted = act(seen, endpoints, todo);
  if (seen.cluster) with_.credentials.sessions.note_change(*seen.cluster, acted);
  if (asks_etcd(todo.step))
    memory_[key].rests_until = with_.executor.now() + (acted ? kPause : kRetry);
  if (!acted && acted.failed_with(Code::Cancelled)) return acted.error();
  if (!acted) {
    with_.log.warn("defragmentation has to try again", {{"run", to_string(key)},
                                                        {"step", to_string(todo.step)},
                                                        {"error", acted.error().message}});
    return runtime::Requeue{kRetry};
  }
  if (todo.again.count() == 0) return runtime::Requeue{};
  return runtime::Requeue{todo.again};
}

/// The API server took its time: whether the cluster is still healthy, and led by the same member.
bool Reconciler::still_so(const Observation& seen, Endpoints& endpoints) const {
  Observation now = seen;
  observe_cluster(now, endpoints);
  return not_healthy(now).empty() && leader_of(now)->name == leader_of(seen)->name;
}

/// The cluster of that name, its members, and what etcd says, if the objects do not say already
/// that nothing can be done.
void Reconciler::observe_cluster(Observation& seen, Endpoints& endpoints) const {
  seen.members.clear();
  seen.strangers.clear();
  seen.cluster.reset();
  seen.corrupt.reset();
  seen.no_space.clear();
  seen.linearizable = false;
  endpoints.clear();
  const api::ObjectKey key = cluster_key(seen.run);
  const auto cluster = with_.stores.clusters.get(key);
  if (!cluster) return;
  seen.cluster = *cluster;
  for (const auto& member : with_.stores.members.in_group(key)) {
    if (!owned_by(member->metadata, cluster->metadata.uid)) continue;
    seen.members.push_back(seen_as(*member));
    if (const auto pod = with_.stores.pods.get(member->metadata.key()))
      if (auto endpoint = endpoint_of(*cluster, *member, *pod))
        endpoints.emplace(member->metadata.name, std::move(*endpoint));
  }
  if (seen.members.size() > kMembersAskedMax || !not_healthy_by_objects(seen).empty()) return;
  with_.credentials.equip(*cluster, endpoints);
  ask_etcd(seen, endpoints);
}

/// Status of every member side by side; then from one of them, rather the leader, what needs a
/// quorum: the list and the alarms.
void Reconciler::ask_etcd(Observation& seen, const Endpoints& endpoints) const {
  std::map<std::string, Result<etcd::Status>> answers;
  std::vector<std::function<void()>> calls;
  for (const auto& [name, endpoint] : endpoints) {
    auto& answer = answers.try_emplace(name, Error{Code::Unavailable, "not asked"}).first->second;
    calls.emplace_back([&answer, client = with_.etcd.at(endpoint)] { answer = client->status(); });
  }
  side_by_side(with_.executor, calls);
  std::string source;
  std::map<std::string, etcd::MemberId> ids;
  for (MemberSeen& member : seen.members) {
    const auto found = answers.find(member.name);
    if (found == answers.end() || !found->second) continue;
    const etcd::Status& status = *found->second;
    member.answer = MemberAnswer{status.leader, status.db_size, status.db_size_in_use,
                                 status.raft_applied_index};
    ids[member.name] = status.header.member;
    if (status.learner) continue;
    if (source.empty() || status.leader == status.header.member) source = member.name;
  }
  if (source.empty()) return;
  const auto client = with_.etcd.at(endpoints.at(source));
  auto list = client->member_list(true);
  if (!list) return;
  seen.linearizable = true;
  for (const etcd::Member& entry : list->members) {
    const auto member = std::ranges::find(seen.members, entry.name, &MemberSeen::name);
    if (member == seen.members.end()) {
      seen.strangers.push_back(entry.name.empty() ? to_hex(entry.id) : entry.name);
      continue;
    }
    member->id = entry.id;
    member->learner = entry.learner;
    // At its address somebody else answers, who is not it.
    if (const auto id = ids.find(entry.name); id != ids.end() && id->second != entry.id)
      member->answer.reset();
  }
  auto alarms = client->alarms();
  if (!alarms) return;
  seen.corrupt = std::ranges::any_of(
      *alarms, [](const etcd::Alarm& a) { return a.kind == etcd::AlarmKind::Corrupt; });
  for (const etcd::Alarm& alarm : *alarms)
    if (alarm.kind == etcd::AlarmKind::NoSpace) seen.no_space.push_back(alarm.member);
}

/// Status before action, under the version that the plan was made from: an operator with an older
/// view is refused here.
Result<Done> Reconciler::report(const Observation& seen, const Plan& plan) {
  const api::ObjectMeta& meta = seen.run.metadata;
  json::object status = status_patch(api::encode(seen.run.status), api::encode(plan.status));
  if (status.empty()) return Done{};
  json::object patch{{"metadata", {{"resourceVersion", meta.resource_version}}}};
  patch["status"] = std::move(status);
  auto written =
      with_.api.merge_patch<v1::EtcdDefrag, kube::Part::Status>(meta.key(), std::move(patch));
  if (!written)
    return Error(written.error()).during("write the status of EtcdDefrag " + to_string(meta.key()));
  with_.stores.defrags.wrote(std::move(*written));
  tell(seen, plan);
  return Done{};
}

/// An Event for each phase that a run comes to, in the words of its condition.
void Reconciler::tell(const Observation& seen, const Plan& plan) const {
  const auto* said = runtime::find_condition(plan.status.conditions, v1::kDefragChecked);
  if (!with_.events || !said || plan.status.phase == seen.run.status.phase) return;
  const api::ObjectMeta& meta = seen.run.metadata;
  with_.events->record({.regarding = {v1::EtcdDefrag::resource, meta.key(), meta.uid},
                        .related = std::nullopt,
                        .warning = said->status != "True" && said->reason != v1::kAnotherRunFirst &&
                                   said->reason != v1::kSnapshotFirst,
                        .reason = said->reason,
                        .action = "Defragment",
                        .note = said->message});
}

Result<Done> Reconciler::act(const Observation& seen, const Endpoints& endpoints,
                             const Plan& plan) {
  if (const auto* step = std::get_if<Defragment>(&plan.step))
    return defragment(seen, endpoints, *step);
  if (const auto* step = std::get_if<MoveLeader>(&plan.step))
    return move_leader(seen, endpoints, *step, plan.status.leader_moves);
  if (const auto* step = std::get_if<Disarm>(&plan.step)) return disarm(seen, endpoints, *step);
  if (!std::holds_alternative<DeleteRun>(plan.step)) return Done{};
  const api::ObjectMeta& meta = seen.run.metadata;
  auto going = with_.api.remove<v1::EtcdDefrag>(meta.key(), meta.uid);
  if (!going) return Error(going.error()).during("delete EtcdDefrag " + meta.name);
  if (*going) with_.stores.defrags.wrote(std::move(**going));
  else with_.stores.defrags.saw_deleted(meta.key(), meta.uid);
  return Done{};
}

/// Null: the run has gone meanwhile, or is another one.
Reconciler::Memory* Reconciler::memory_of(const Observation& seen) {
  const auto found = memory_.find(seen.run.metadata.key());
  const bool ours = found != memory_.end() && found->second.uid == seen.run.metadata.uid;
  return ours ? &found->second : nullptr;
}

/// What came of it is remembered for the next pass, which also looks.
Result<Done> Reconciler::defragment(const Observation& seen, const Endpoints& endpoints,
                                    const Defragment& step) {
  const api::ObjectKey key = seen.run.metadata.key();
  const auto done = with_.etcd.at(endpoints.at(step.name))->defragment();
  if (Memory* memory = memory_of(seen); memory && !done.failed_with(Code::Cancelled))
    memory->tried = Tried{step.name, step.attempt, done ? "" : done.error().message};
  if (!done) return Error(done.error()).during(to_string(step));
  with_.log.info("etcd member defragmented",
                 {{"run", to_string(key)}, {"member", step.name}, {"attempt", step.attempt}});
  return Done{};
}

Result<Done> Reconciler::move_leader(const Observation& seen, const Endpoints& endpoints,
                                     const MoveLeader& step, std::int32_t nth) {
  const auto done = with_.etcd.at(endpoints.at(step.from))->move_leader(step.to_id);
  if (Memory* memory = memory_of(seen); memory && !done.failed_with(Code::Cancelled))
    memory->moved = nth;
  if (!done) return Error(done.error()).during(to_string(step));
  const api::ObjectMeta& meta = seen.run.metadata;
  with_.log.info("etcd leader moved", {{"run", to_string(meta.key())}, {"step", to_string(step)}});
  if (with_.events)
    with_.events->record(
        {.regarding = {v1::EtcdDefrag::resource, meta.key(), meta.uid},
         .related = runtime::Event::Object{v1::EtcdMember::resource, {meta.ns, step.to}, ""},
         .warning = false,
         .reason = v1::kLeaderMoved,
         .action = "Defragment",
         .note = step.from + " is to be defragmented, " + step.to + " leads"});
  return Done{};
}

Result<Done> Reconciler::disarm(const Observation& seen, const Endpoints& endpoints,
                                const Disarm& step) {
  if (Memory* memory = memory_of(seen)) ++memory->disarms;
  const auto client = with_.etcd.at(endpoints.at(step.at));
  for (const etcd::MemberId member : step.alarms)
    if (auto done = client->disarm({etcd::AlarmKind::NoSpace, member}); !done)
      return Error(done.error()).during(to_string(step));
  with_.log.info("etcd alarm disarmed",
                 {{"run", to_string(seen.run.metadata.key())}, {"alarm", "NOSPACE"}});
  return Done{};
}

void Reconciler::log_plan(const Observation& seen, const Plan& plan) {
  const api::ObjectKey key = seen.run.metadata.key();
  const std::string says = to_string(plan.step);
  std::string& before = memory_[key].planned;
  if (std::exchange(before, says) != says && !std::holds_alternative<NoStep>(plan.step))
    with_.log.info("planned", {{"run", to_string(key)}, {"step", says}});
}

/// Runs that are no more; a queue that has nothing of them any more does not say so.
void Reconciler::forget_gone() {
  std::erase_if(memory_, [this](const auto& known) {
    if (with_.stores.defrags.get(known.first)) return false;
    refusals_.forget(known.first);
    if (with_.flight) with_.flight->gone(v1::EtcdDefrag::resource.kind, known.first);
    return true;
  });
}

}  // namespace etcdop::defrag
