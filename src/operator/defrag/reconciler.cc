// One pass over an EtcdDefrag, from top to bottom.
#include "operator/defrag/reconciler.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/defrag/health.h"
#include "operator/passes/owner.h"
#include "operator/passes/turns.h"
#include "runtime/conditions.h"

namespace etcdop::defrag {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr auto kRetry = 5s;      // Another pass works on this cluster, or etcd refused.
constexpr auto kPause = 1s;      // After each step, for etcd to settle.
constexpr auto kLookHolds = 2s;  // The greatest age of etcd's answers when we act.
constexpr std::int64_t kQuotaDefault = 2LL << 30;  // etcd's default.

api::ObjectKey cluster_key(const v1::EtcdDefrag& run) {
  return {run.metadata.ns, run.spec.cluster_ref.name};
}

/// The order of turns: first a run that is Running, then by age, then by name.
auto turn_of(const v1::EtcdDefrag& run) {
  return std::tuple(run.status.phase != v1::kDefragRunning, run.metadata.creation_timestamp,
                    run.metadata.name);
}

/// The run of the same cluster whose turn it is; empty: this one's.
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

/// The first failed probe may come at once. A probe of a TCP port does not read.
std::int64_t patience_of(const kube::Pod& pod) {
  const auto& all = pod.spec.containers;
  const auto etcd = std::ranges::find(all, std::string(v1::kEtcdContainer), &kube::Container::name);
  if (etcd == all.end() || !etcd->liveness_probe || !etcd->liveness_probe->http_get) return 0;
  const kube::Probe& probe = *etcd->liveness_probe;
  return std::max<std::int64_t>(
      1, std::int64_t{probe.period_seconds} * (std::int64_t{probe.failure_threshold} - 1));
}

bool begins(const v1::EtcdDefrag& run, const Plan& plan) {
  return plan.status.phase == v1::kDefragRunning && run.status.phase != v1::kDefragRunning;
}

}  // namespace

/// A run's own writes queue it at once, but etcd needs its rest. Only one pass asks one etcd.
std::optional<Duration> Reconciler::not_yet(const Object& run, Context& context) {
  if (const Duration rest = memory_[run.metadata.key()].rests_until - with_.executor.now();
      rest > Duration(0))
    return rest;
  if (run.status.finished()) return std::nullopt;
  context.ahead = run_ahead(with_.stores, run);
  if (!context.ahead.empty()) return std::nullopt;
  if (busy_.contains(cluster_key(run))) return kRetry;
  context.alone.emplace(busy_, cluster_key(run));
  return std::nullopt;
}

Result<Observation> Reconciler::observe(const Object& run, Context& context) {
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.run = run;
  const Memory& memory = memory_[run.metadata.key()];
  seen.tried = memory.tried;
  seen.moved = memory.moved;
  seen.disarms = memory.disarms;
  seen.was_full = memory.was_full;
  if (run.status.finished()) return seen;
  if (!context.alone) {
    seen.ahead = context.ahead;
    return seen;
  }
  observe_cluster(seen, context.endpoints);
  context.looked = with_.executor.now();
  // Last: nothing suspends between this and the write that begins the run.
  seen.snapshot = snapshot_before(with_.stores, run, seen.now);
  if (!seen.no_space.empty())
    if (Memory* known = memory_of(seen)) known->was_full = true;
  return seen;
}

/// In a cluster, one snapshot or one defragmentation begins at a time.
Reconciler::Claimed Reconciler::claims(const Observation& seen, const Plan& plan) {
  if (!begins(seen.run, plan)) return std::nullopt;
  return std::pair(&with_.stores.beginnings, cluster_key(seen.run));
}

/// After a slow answer of the API server: whether the cluster is still healthy and has the same
/// leader.
bool Reconciler::still_so(const Observation& seen) {
  Observation now = seen;
  Endpoints endpoints;
  observe_cluster(now, endpoints);
  return not_healthy(now).empty() && leader_of(now)->name == leader_of(seen)->name;
}

/// Observes the cluster, its members, and etcd, unless the objects already show that nothing can be
/// done.
void Reconciler::observe_cluster(Observation& seen, Endpoints& endpoints) {
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
  std::vector<MemberView> known;
  for (const auto& member : with_.stores.members.in_group(key)) {
    if (!is_ours(member->metadata, cluster->metadata.uid)) continue;
    seen.members.push_back(seen_as(*member));
    known.push_back({member->metadata.name, peer_url_of(*member)});
    const auto pod = with_.stores.pods.get(member->metadata.key());
    if (pod) seen.members.back().patience_s = patience_of(*pod);
    if (pod)
      if (auto endpoint = endpoint_of(*cluster, *member, *pod))
        endpoints.emplace(member->metadata.name, std::move(*endpoint));
  }
  if (seen.members.size() > kMembersAskedMax || !not_healthy_by_objects(seen).empty()) return;
  with_.credentials.certificates.equip(*cluster, endpoints);
  ask_etcd(seen, std::move(known), endpoints);
}

void Reconciler::ask_etcd(Observation& seen, std::vector<MemberView> known, Endpoints& endpoints) {
  const EtcdView view =
      observer_.observe(*seen.cluster, std::move(known), endpoints, AskForAlarms::Always);
  seen.linearizable = view.linearizable;
  for (const MemberView& member : view.members) {
    const auto ours = std::ranges::find(seen.members, member.name, &MemberSeen::name);
    if (ours == seen.members.end()) {
      seen.strangers.push_back(member.name);
      continue;
    }
    ours->answer = member.answer;
    if (!member.listed) continue;
    ours->id = member.listed->id;
    ours->learner = member.listed->learner;
  }
  if (!view.alarms) return;
  seen.corrupt = std::ranges::count(*view.alarms, etcd::AlarmKind::Corrupt, &RaisedAlarm::kind) > 0;
  for (const RaisedAlarm& alarm : *view.alarms)
    if (alarm.kind == etcd::AlarmKind::NoSpace) seen.no_space.push_back(alarm.member);
}

/// Records an Event for each new phase of a run, with the message of its condition.
void Reconciler::tell(const Observation& seen, const Plan& plan) {
  const auto* said = runtime::find_condition(plan.status.conditions, v1::kDefragChecked);
  if (!said || plan.status.phase == seen.run.status.phase) return;
  const bool waits = said->reason == v1::kAnotherRunFirst || said->reason == v1::kSnapshotFirst;
  record(seen, said->status != "True" && !waits, said->reason, "Defragment", said->message);
}

/// etcd's answers are at most kLookHolds old: the API server may have been slow since.
Outcome Reconciler::act(const Observation& seen, const Context& context, Plan& plan) {
  if (!asks_etcd(plan.step)) return take(seen, context.endpoints, plan);
  Result<Done> done = Error{Code::Conflict, "the cluster has changed since it was observed"};
  if (with_.executor.now() - context.looked <= kLookHolds || still_so(seen))
    done = take(seen, context.endpoints, plan);
  if (seen.cluster) with_.credentials.sessions.note_change(*seen.cluster, done);
  if (Memory* memory = memory_of(seen))
    memory->rests_until = with_.executor.now() + (done ? kPause : kRetry);
  return {done, false};
}

Result<Done> Reconciler::take(const Observation& seen, const Endpoints& endpoints,
                              const Plan& plan) {
  return std::visit(
      Overloads{[](const NoStep&) -> Result<Done> { return Done{}; },
                [&](const DeleteRun&) { return delete_run(seen); },
                [&](const Defragment& step) { return defragment(seen, endpoints, step); },
                [&](const MoveLeader& step) {
                  return move_leader(seen, endpoints, step, plan.status.leader_moves);
                },
                [&](const Disarm& step) { return disarm(seen, endpoints, step); }},
      plan.step);
}

Result<Done> Reconciler::delete_run(const Observation& seen) {
  const api::ObjectMeta& meta = seen.run.metadata;
  auto going = with_.api.remove<v1::EtcdDefrag>(meta.key(), meta.uid);
  if (!going) return Error(going.error()).during("delete EtcdDefrag " + meta.name);
  if (*going) with_.stores.defrags.wrote(std::move(**going));
  else with_.stores.defrags.saw_deleted(meta.key(), meta.uid);
  return Done{};
}

/// etcd's refusals pass, so the step is tried again at an even pace.
Result<runtime::Requeue> Reconciler::retry(const Observation& seen, const Plan& plan,
                                           const Error& error) {
  if (error.code == Code::Cancelled || !asks_etcd(plan.step)) return error;
  with_.log.warn("defragmentation step failed, will try again",
                 {{"run", to_string(seen.run.metadata.key())},
                  {"step", to_string(plan.step)},
                  {"error", error.message}});
  return runtime::Requeue{kRetry};
}

/// Null: the run was deleted meanwhile, or is another one.
Reconciler::Memory* Reconciler::memory_of(const Observation& seen) {
  const auto found = memory_.find(seen.run.metadata.key());
  return found != memory_.end() && is_known(seen.run) ? &found->second : nullptr;
}

/// The result is remembered for the next pass, which also observes.
Result<Done> Reconciler::defragment(const Observation& seen, const Endpoints& endpoints,
                                    const Defragment& step) {
  const api::ObjectKey key = seen.run.metadata.key();
  const auto done = with_.etcd.at(endpoints.at(step.name))->defragment();
  if (Memory* memory = memory_of(seen); memory && !done.failed_with(Code::Cancelled))
    memory->tried = Tried{step.name, step.attempt, done ? "" : done.error().message};
  if (!done) return Error(done.error()).during(step.words());
  with_.log.info("etcd member defragmented",
                 {{"run", to_string(key)}, {"member", step.name}, {"attempt", step.attempt}});
  return Done{};
}

Result<Done> Reconciler::move_leader(const Observation& seen, const Endpoints& endpoints,
                                     const MoveLeader& step, std::int32_t nth) {
  const auto done = with_.etcd.at(endpoints.at(step.from))->move_leader(step.to_id);
  if (Memory* memory = memory_of(seen); memory && !done.failed_with(Code::Cancelled))
    memory->moved = nth;
  if (!done) return Error(done.error()).during(step.words());
  const api::ObjectMeta& meta = seen.run.metadata;
  with_.log.info("etcd leader moved", {{"run", to_string(meta.key())}, {"step", step.words()}});
  if (with_.events)
    with_.events->record(
        {.regarding = {v1::EtcdDefrag::resource, meta.key(), meta.uid},
         .related = runtime::Event::Object{v1::EtcdMember::resource, {meta.ns, step.to}, ""},
         .warning = false,
         .reason = v1::kLeaderMoved,
         .action = "Defragment",
         .note = "the leader moved from " + step.from + " to " + step.to + ", so that " +
                 step.from + " can be defragmented"});
  return Done{};
}

Result<Done> Reconciler::disarm(const Observation& seen, const Endpoints& endpoints,
                                const Disarm& step) {
  if (Memory* memory = memory_of(seen)) ++memory->disarms;
  const auto client = with_.etcd.at(endpoints.at(step.at));
  for (const etcd::MemberId member : step.alarms)
    if (auto done = client->disarm({etcd::AlarmKind::NoSpace, member}); !done)
      return Error(done.error()).during(step.words());
  with_.log.info("etcd alarm disarmed",
                 {{"run", to_string(seen.run.metadata.key())}, {"alarm", "NOSPACE"}});
  return Done{};
}

}  // namespace etcdop::defrag

template class etcdop::Pass<etcdop::defrag::Kind>;
