// One pass over an EtcdSnapshotSchedule, from top to bottom.
#include "operator/snapshot_schedule/reconciler.h"

#include <algorithm>
#include <utility>

#include "operator/agents/agent_report.h"
#include "operator/agents/stored_location.h"
#include "operator/passes/look_again.h"
#include "operator/passes/owner.h"
#include "operator/snapshot_schedule/objects.h"
#include "operator/snapshot_schedule/timetable.h"
#include "runtime/conditions.h"

namespace etcdop::snapshot_schedule {
namespace {

namespace v1 = api::v1alpha2;

RunSeen seen_as(const v1::EtcdSnapshot& snapshot, WallTime planned, const std::string& uid) {
  RunSeen out;
  out.name = snapshot.metadata.name;
  out.uid = snapshot.metadata.uid;
  out.ours = is_ours(snapshot.metadata, uid);
  out.terminating = snapshot.metadata.terminating();
  out.planned = planned;
  // With an unreadable time it would be the oldest: it counts as created when it was planned.
  out.made = from_rfc3339(snapshot.metadata.creation_timestamp).value_or(planned);
  out.phase = snapshot.status.phase;
  if (const auto* ready = runtime::find_condition(snapshot.status.conditions, v1::kReady)) {
    out.reason = ready->reason;
    out.message = ready->message;
    out.since = from_rfc3339(ready->last_transition_time);
  }
  if (const auto& artifact = snapshot.status.artifact) {
    out.uri = artifact->uri;
    out.cluster_id = artifact->cluster_id;
    out.revision = artifact->revision;
    out.displaced = is_displaced(snapshot);
  }
  out.expired = snapshot.metadata.annotations.contains(v1::kExpiredAnnotation);
  out.verifying = snapshot.verifying();
  out.verification = snapshot.status.verification;
  if (const auto* it = runtime::find_condition(snapshot.status.conditions, v1::kVerified)) {
    out.verified = it->status;
  }
  if (out.verification) {
    out.proven = out.verification->proven_time.has_value();
    out.fault = out.verification->failure;
  }
  return out;
}

/// An object that is being restored from a snapshot.
struct OpenRestore {
  std::string who, ns;
  v1::SnapshotLocation source;
};

/// Restored data has one copy until the cluster is whole: until then the snapshot is the way out.
bool is_whole(const v1::EtcdCluster& cluster) {
  const auto* grows = runtime::find_condition(cluster.status.conditions, v1::kProgressing);
  return grows && grows->reason == v1::kReconciled;
}

/// In all namespaces: buckets have none.
std::vector<OpenRestore> open_restores(const Stores& stores) {
  std::vector<OpenRestore> out;
  for (const auto& cluster : stores.clusters.all()) {
    const std::string who = "EtcdCluster " + to_string(cluster->metadata.key());
    const auto& begin = cluster->spec.bootstrap;
    if (begin && begin->restore && !is_whole(*cluster))
      out.push_back({who, cluster->metadata.ns, begin->restore->source});
    const auto& record = cluster->status.restore;
    if (record && record->stage != v1::RestoreStage::RolledBack &&
        (cluster->restoring() || !is_whole(*cluster)))
      out.push_back({who, cluster->metadata.ns, record->from.source});
  }
  for (const auto& restore : stores.restores.all())
    if (!restore->status.finished())
      out.push_back({"EtcdRestore " + to_string(restore->metadata.key()), restore->metadata.ns,
                     restore->spec.source});
  return out;
}

/// The last words of the agent that ended last, if it failed.
void add_last_words(const std::vector<std::shared_ptr<const kube::Pod>>& pods, DeletionSeen& job) {
  std::string newest;
  for (const auto& pod : pods) {
    const kube::ContainerStatus* agent = pod->container(v1::kDeleteContainer);
    if (!is_ours(pod->metadata, job.uid) || !agent || !agent->state.terminated) continue;
    if (pod->metadata.creation_timestamp < newest) continue;
    newest = pod->metadata.creation_timestamp;
    auto report = to_agent_report(agent->state.terminated->message);
    job.reason = report ? report->reason : "";
    job.message = report ? report->message : "";
  }
}

}  // namespace

/// Reads only the caches, and sends no request: a run that they do not have is found when it is
/// created, and what is to be deleted is read first. Runs are ordered by their planned time, like
/// their names.
Result<Observation> Reconciler::observe(const Object& schedule, Context&) {
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.schedule = schedule;
  const api::ObjectMeta& of = seen.schedule.metadata;
  seen.has_image = !image_.empty();
  for (const auto& snapshot : with_.stores.snapshots.named({of.ns, of.name + "-"})) {
    const auto planned = planned_of(of.name, snapshot->metadata.name);
    if (!planned) continue;
    seen.runs.push_back(observe_run(seen, *snapshot, *planned));
  }
  observe_readers(seen);
  if (const auto known = refused_.find(of.key()); known != refused_.end())
    seen.refused = known->second;
  return seen;
}

RunSeen Reconciler::observe_run(const Observation& seen, const v1::EtcdSnapshot& of,
                                WallTime planned) const {
  RunSeen out = seen_as(of, planned, seen.schedule.metadata.uid);
  observe_deletion(of, out);
  return out;
}

/// Reads all clusters, perhaps thousands, so only for runs that might be deleted.
void Reconciler::observe_readers(Observation& seen) const {
  const std::vector<std::string> names = going(seen);
  if (names.empty()) return;
  const std::vector<OpenRestore> open = open_restores(with_.stores);
  if (open.empty()) return;
  for (RunSeen& run : seen.runs) {
    const auto of = with_.stores.snapshots.get({seen.schedule.metadata.ns, run.name});
    if (!of || std::ranges::find(names, run.name) == names.end()) continue;
    const auto reader = std::ranges::find_if(
        open, [&](const OpenRestore& one) { return is_source(one.source, one.ns, *of); });
    if (reader != open.end()) run.needed_by = reader->who;
  }
}

void Reconciler::observe_deletion(const v1::EtcdSnapshot& of, RunSeen& run) const {
  const auto job = with_.stores.jobs.get({of.metadata.ns, deletion_name(of.metadata.name)});
  if (!job) return;
  DeletionSeen& out = run.deletion.emplace();
  out.uid = job->metadata.uid;
  out.ours = is_ours(job->metadata, of.metadata.uid);
  out.terminating = job->metadata.terminating();
  out.made = from_rfc3339(job->metadata.creation_timestamp).value_or(WallTime{});
  out.status = job->status;
  if (out.status.is("Failed")) add_last_words(with_.stores.agents.in_group(of.metadata.key()), out);
}

void Reconciler::planned(const Observation& seen, Plan& plan, bool) {
  if (with_.metrics) with_.metrics->saw(seen.schedule.metadata.key(), plan.status);
}

/// Records an Event for each condition with a new reason; none for a condition that begins well.
void Reconciler::tell(const Observation& seen, const Plan& plan) {
  for (const api::Condition& is : plan.status.conditions) {
    const auto* was = runtime::find_condition(seen.schedule.status.conditions, is.type);
    const bool bad_if_true = is.type == v1::kBackupStale || is.type == v1::kBackupUnverified;
    const bool good = is.status == (bad_if_true ? "False" : "True");
    if (was ? was->reason == is.reason : good) continue;
    tell(seen, !good && is.reason != v1::kSuspended, is.reason, is.message);
  }
}

void Reconciler::tell(const Observation& seen, bool warning, const std::string& reason,
                      const std::string& note) const {
  const api::ObjectMeta& meta = seen.schedule.metadata;
  with_.log.info("schedule",
                 {{"schedule", to_string(meta.key())}, {"reason", reason}, {"message", note}});
  record(seen, warning, reason, "Backup", note);
}

Outcome Reconciler::act(const Observation& seen, const Context&, Plan& plan) {
  return std::visit(
      Overloads{[](const NoStep&) -> Result<Done> { return Done{}; },
                [&](const CreateSnapshot& step) { return create_snapshot(seen, step); },
                [&](const DeleteSnapshot& step) { return delete_snapshot(seen, step); },
                [&](const CreateDeletion& step) { return create_deletion(seen, step); },
                [&](const DropDeletion& step) { return drop_deletion(seen, step); },
                [&](const AskVerification& step) { return ask_verification(seen, step); }},
      plan.step);
}

/// An existing EtcdSnapshot with that name may be ours, from a pass whose answer was lost: it is
/// read, and the next pass sees it.
Result<Done> Reconciler::create_snapshot(const Observation& seen, const CreateSnapshot& step) {
  const api::ObjectKey key{seen.schedule.metadata.ns, step.name};
  auto made = with_.api.create<v1::EtcdSnapshot>(key.ns, snapshot(seen.schedule, step.name));
  if (made.failed_with(Code::AlreadyExists)) {
    auto there = with_.api.get<v1::EtcdSnapshot>(key);
    if (there) with_.stores.snapshots.wrote(std::move(*there));
    return Done{};
  }
  if (!made) return Error(made.error()).during("create EtcdSnapshot " + key.name);
  with_.stores.snapshots.wrote(std::move(*made));
  tell(seen, false, v1::kSnapshotCreated, "EtcdSnapshot " + step.name + " was created");
  return Done{};
}

Result<Done> Reconciler::delete_snapshot(const Observation& seen, const DeleteSnapshot& step) {
  const api::ObjectKey key{seen.schedule.metadata.ns, step.name};
  if (step.replaced) {  // It may have ended since.
    auto there = with_.api.get<v1::EtcdSnapshot>(key);
    if (!there && !there.failed_with(Code::NotFound))
      return Error(there.error()).during("look for EtcdSnapshot " + key.name);
    const bool ended = there && there->status.finished();
    if (ended) with_.stores.snapshots.wrote(std::move(*there));
    if (ended) return Done{};
  }
  auto going = with_.api.remove<v1::EtcdSnapshot>(key, step.uid);
  if (!going) return Error(going.error()).during("delete EtcdSnapshot " + key.name);
  if (*going) with_.stores.snapshots.wrote(std::move(**going));
  else with_.stores.snapshots.saw_deleted(key, step.uid);
  if (step.replaced)
    tell(seen, true, v1::kSnapshotReplaced,
         "EtcdSnapshot " + step.name + " had not ended when the next run was due, and was deleted");
  else tell(seen, false, v1::kSnapshotDeleted, "EtcdSnapshot " + step.name + " was deleted");
  return Done{};
}

/// Deletes stored data only by the spec that the API server has now, and only if by all that the
/// API server has now no rule keeps it. The decision is written down first: from then on it is
/// final.
Result<Done> Reconciler::create_deletion(const Observation& seen, const CreateDeletion& step) {
  const api::ObjectKey key{seen.schedule.metadata.ns, step.name};
  auto current = is_expendable(seen, step);
  if (!current) return current.error();
  auto of = with_.api.get<v1::EtcdSnapshot>(key);
  if (of.failed_with(Code::NotFound)) with_.stores.snapshots.saw_deleted(key, step.uid);
  if (of.failed_with(Code::NotFound) || !*current) return Done{};
  if (!of) return Error(of.error()).during("look for EtcdSnapshot " + key.name);
  const bool as_seen = of->metadata.uid == step.uid && !of->metadata.terminating() &&
                       is_ours(of->metadata, seen.schedule.metadata.uid) &&
                       of->status.phase == v1::kSnapshotComplete && !of->verifying();
  if (!as_seen || is_displaced(*of)) {
    with_.stores.snapshots.wrote(std::move(*of));
    return Done{};
  }
  if (auto marked = mark_expired(*of, seen.now); !marked) return marked;
  const auto known = with_.stores.clusters.get({key.ns, of->spec.cluster_ref.name});
  auto made = with_.api.create<kube::Job>(
      key.ns, deletion(*of, known ? std::optional(*known) : std::nullopt, image_));
  if (made.failed_with(Code::AlreadyExists)) {
    auto there = with_.api.get<kube::Job>({key.ns, deletion_name(key.name)});
    if (there) with_.stores.jobs.wrote(std::move(*there));
    return Done{};
  }
  if (!made) return Error(made.error()).during("create Job " + deletion_name(key.name));
  with_.stores.jobs.wrote(std::move(*made));
  return Done{};
}

/// With the resourceVersion that was just read.
Result<Done> Reconciler::mark_expired(const v1::EtcdSnapshot& of, WallTime now) {
  if (of.metadata.annotations.contains(v1::kExpiredAnnotation)) return Done{};
  json::object metadata{{"resourceVersion", of.metadata.resource_version}};
  metadata["annotations"].emplace_object()[v1::kExpiredAnnotation] = to_rfc3339(now);
  auto written = with_.api.merge_patch<v1::EtcdSnapshot>(
      of.metadata.key(), json::object{{"metadata", std::move(metadata)}});
  if (!written) return Error(written.error()).during("mark EtcdSnapshot " + of.metadata.name);
  with_.stores.snapshots.wrote(std::move(*written));
  return Done{};
}

/// Whether it would also be deleted by what the API server has now. Until then only caches say that
/// a newer one is stored, or that this one is no longer the only verified one.
Result<bool> Reconciler::is_expendable(const Observation& seen, const CreateDeletion& step) {
  auto current = is_current(seen);
  if (!current || !*current) return current;
  const api::ObjectMeta& of = seen.schedule.metadata;
  // By name, like the caches: a label may be missing.
  auto all = with_.api.list<v1::EtcdSnapshot>(of.ns, "", [&](const Json& one) {
    return planned_of(of.name, kube::text_at(one, "/metadata/name")).has_value();
  });
  if (!all) return Error(all.error()).during("list the EtcdSnapshots of " + to_string(of.key()));
  std::ranges::sort(*all, {}, [](const auto& one) { return one.metadata.name; });
  Observation fresh = seen;
  fresh.runs.clear();
  for (const v1::EtcdSnapshot& one : *all)
    if (const auto planned = planned_of(of.name, one.metadata.name))
      fresh.runs.push_back(observe_run(fresh, one, *planned));
  observe_readers(fresh);
  if (plan(fresh).step == Step(step)) return true;
  for (v1::EtcdSnapshot& one : *all) {
    const auto known = with_.stores.snapshots.get(one.metadata.key());
    if (!known || known->metadata.resource_version != one.metadata.resource_version)
      with_.stores.snapshots.wrote(std::move(one));
  }
  return false;
}

/// With the resourceVersion of the plan. The next pass sees a change made meanwhile.
Result<Done> Reconciler::ask_verification(const Observation& seen, const AskVerification& step) {
  const api::ObjectKey key{seen.schedule.metadata.ns, step.name};
  const auto of = with_.stores.snapshots.get(key);
  if (!of || of->metadata.uid != step.uid) return Done{};
  json::object metadata{{"resourceVersion", of->metadata.resource_version}};
  metadata["annotations"].emplace_object()[v1::kVerifyAnnotation] = step.request;
  auto written =
      with_.api.merge_patch<v1::EtcdSnapshot>(key, json::object{{"metadata", std::move(metadata)}});
  if (leaves_doubt(written)) look_again(with_.api, with_.stores.snapshots, key, step.uid);
  if (written.failed_with(Code::Conflict)) return Done{};
  if (written.failed_with(Code::NotFound)) {
    with_.stores.snapshots.saw_deleted(key, step.uid);
    return Done{};
  }
  if (!written)
    return Error(written.error()).during("ask for the verification of EtcdSnapshot " + key.name);
  with_.stores.snapshots.wrote(std::move(*written));
  return Done{};
}

/// A user may just have asked to keep more. The next pass sees the change.
Result<bool> Reconciler::is_current(const Observation& seen) {
  const api::ObjectMeta& meta = seen.schedule.metadata;
  auto now = with_.api.get<v1::EtcdSnapshotSchedule>(meta.key());
  if (now.failed_with(Code::NotFound)) {
    with_.stores.schedules.saw_deleted(meta.key(), meta.uid);
    return false;
  }
  if (!now)
    return Error(now.error()).during("look for EtcdSnapshotSchedule " + to_string(meta.key()));
  const bool same = now->metadata.uid == meta.uid && now->spec == seen.schedule.spec &&
                    !now->metadata.terminating();
  if (!same) with_.stores.schedules.wrote(std::move(*now));
  return same;
}

Result<Done> Reconciler::drop_deletion(const Observation& seen, const DropDeletion& step) {
  const api::ObjectKey key{seen.schedule.metadata.ns, deletion_name(step.name)};
  auto going = with_.api.remove<kube::Job>(key, step.job_uid);
  if (!going) return Error(going.error()).during("delete Job " + key.name);
  if (*going) with_.stores.jobs.wrote(std::move(**going));
  else with_.stores.jobs.saw_deleted(key, step.job_uid);
  return Done{};
}

/// A refusal is reported until a step succeeds. So is a step that fails twice: an unreachable
/// webhook is no refusal, and may stay unreachable.
void Reconciler::acted(const Observation& seen, const Plan& plan, const Outcome& outcome) {
  const api::ObjectKey key = seen.schedule.metadata.key();
  const Result<Done>& done = outcome.done;
  if (std::holds_alternative<NoStep>(plan.step) || done.failed_with(Code::Cancelled)) return;
  if (done) {
    refused_.erase(key);
    failed_once_.erase(key);
  } else if (refused(done) || (!failed_once_.insert(key).second && !refused_.contains(key))) {
    refused_[key] = {word_of(plan.step), done.error().message};
  }
}

void Reconciler::forget(const api::ObjectKey& key) {
  refused_.erase(key);
  failed_once_.erase(key);
  if (with_.metrics) with_.metrics->gone(key);
}

}  // namespace etcdop::snapshot_schedule

template class etcdop::Pass<etcdop::snapshot_schedule::Kind>;
