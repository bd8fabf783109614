// One pass over an EtcdRestore, from top to bottom.
#include "operator/restore/reconciler.h"

#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/passes/look_again.h"
#include "operator/passes/owner.h"
#include "operator/passes/recorded_plan.h"
#include "operator/passes/status_patch.h"
#include "operator/restore/objects.h"

namespace etcdop::restore {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr auto kRetry = 5s;
constexpr const char* kJobNameLabel = "batch.kubernetes.io/job-name";  // Kubernetes', on its Pods.

/// While its Job is what decides.
bool is_being_checked(const v1::EtcdRestore& restore) {
  return restore.status.phase == v1::kRestoreChecking;
}

/// Whether it is the cluster that it was begun with, and, once that was told to stop, says so. One
/// that is taken back ends unless the cluster has begun.
bool goes_on(const v1::EtcdRestore& restore, const v1::EtcdCluster& cluster) {
  const v1::EtcdRestoreStatus& status = restore.status;
  if (!status.cluster_uid.empty() && status.cluster_uid != cluster.metadata.uid) return false;
  const auto& record = cluster.status.restore;
  const bool begun = record && record->uid == restore.metadata.uid;
  return begun || (!status.started_at && restore.spec.decision != v1::RestoreDecision::Rollback);
}

}  // namespace

Result<runtime::Requeue> Reconciler::reconcile(const api::ObjectKey& key) {
  forget_gone();
  const auto restore = with_.stores.restores.get(key);
  if (!restore || restore->metadata.terminating() || restore->status.finished())
    return runtime::Requeue{};
  planned_.try_emplace(key);
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.restore = *restore;
  if (auto ok = observe(seen); !ok) return ok.error();
  const Plan todo = recorded_plan(with_.flight, v1::EtcdRestore::resource.kind, key, seen);
  log_plan(seen, todo);
  if (const Duration wait = statuses_.wait(key, Refusals::kStatus, with_.executor.now());
      wait > Duration(0))
    return runtime::Requeue{wait};
  const auto reported = report(seen, todo);
  if (leaves_doubt(reported))
    look_again(with_.api, with_.stores.restores, key, restore->metadata.uid);
  (void)statuses_.note(key, Refusals::kStatus, reported, with_.executor.now());
  if (!reported) return reported.error();
  if (const Duration wait = jobs_.wait(key, with_.executor.now()); wait > Duration(0))
    return runtime::Requeue{wait};
  const auto acted = act(seen, todo);
  if (jobs_.note(key, std::holds_alternative<CreateCheck>(todo.step), acted, seen.now,
                 with_.executor.now()))
    return runtime::Requeue{kAgainSoon};
  if (!acted && acted.failed_with(Code::Cancelled)) return acted.error();
  if (!acted) {
    with_.log.warn("restore has to try again", {{"restore", to_string(key)},
                                                {"step", to_string(todo.step)},
                                                {"error", acted.error().message}});
    return runtime::Requeue{kRetry};
  }
  if (todo.again.count() == 0) return runtime::Requeue{};
  return runtime::Requeue{todo.again};
}

Result<Done> Reconciler::observe(Observation& seen) {
  seen.has_image = !images_.own.empty();
  if (auto ok = observe_cluster(seen); !ok) return ok;
  if (is_being_checked(seen.restore))
    if (auto ok = observe_job(seen); !ok) return ok;
  seen.rejected = jobs_.why(seen.restore.metadata.key(), seen.job.has_value());
  return Done{};
}

/// What ends it is asked for: the watch of one who leads anew, or does no more, may be behind.
Result<Done> Reconciler::observe_cluster(Observation& seen) {
  const api::ObjectKey key{seen.restore.metadata.ns, seen.restore.spec.cluster_ref.name};
  const auto known = with_.stores.clusters.get(key);
  if (known && goes_on(seen.restore, *known)) {
    seen.cluster = *known;
  } else {
    auto there = look_for<v1::EtcdCluster>(with_.api, key);
    if (!there) return there.error();
    seen.cluster = std::move(*there);
  }
  if (seen.cluster && seen.cluster->metadata.terminating()) seen.cluster.reset();
  return Done{};
}

/// Its Pods are asked for: nobody watches them, and there is seldom one.
Result<Done> Reconciler::observe_job(Observation& seen) {
  const api::ObjectMeta& meta = seen.restore.metadata;
  const api::ObjectKey key{meta.ns, job_name(meta.name)};
  auto job = find_job(with_.api, with_.stores.jobs, key, meta, v1::EtcdRestore::resource.kind);
  if (!job) return job.error();
  seen.job = std::move(*job);
  const std::string uid = seen.job && seen.job->ours ? seen.job->uid : seen.restore.status.job_uid;
  if (uid.empty()) return Done{};
  auto pods = with_.api.list<kube::Pod>(meta.ns, std::string(kJobNameLabel) + "=" + key.name);
  if (!pods) return Error(pods.error()).during("list the Pods of Job " + to_string(key));
  std::erase_if(*pods, [&](const auto& pod) { return !owned_by(pod.metadata, uid); });
  seen.pods = std::move(*pods);
  return Done{};
}

/// Status before action, under the version that the plan was made from: an operator with an older
/// view is refused here.
Result<Done> Reconciler::report(const Observation& seen, const Plan& plan) {
  const api::ObjectMeta& meta = seen.restore.metadata;
  json::object status = status_patch(api::encode(seen.restore.status), api::encode(plan.status));
  if (status.empty()) return Done{};
  json::object patch{{"metadata", {{"resourceVersion", meta.resource_version}}}};
  patch["status"] = std::move(status);
  auto written =
      with_.api.merge_patch<v1::EtcdRestore, kube::Part::Status>(meta.key(), std::move(patch));
  if (!written)
    return Error(written.error())
        .during("write the status of EtcdRestore " + to_string(meta.key()));
  with_.stores.restores.wrote(std::move(*written));
  tell(seen, plan);
  return Done{};
}

/// An Event for each phase that it comes to, in the words of the condition that was set last.
void Reconciler::tell(const Observation& seen, const Plan& plan) const {
  if (plan.status.phase == seen.restore.status.phase || plan.status.conditions.empty()) return;
  const api::ObjectMeta& meta = seen.restore.metadata;
  const api::Condition* said = nullptr;
  for (const api::Condition& c : plan.status.conditions)
    if (!said || c.last_transition_time >= said->last_transition_time) said = &c;
  with_.log.info("restore has come further", {{"restore", to_string(meta.key())},
                                              {"phase", plan.status.phase},
                                              {"reason", said->reason},
                                              {"message", said->message}});
  if (!with_.events) return;
  with_.events->record({.regarding = {v1::EtcdRestore::resource, meta.key(), meta.uid},
                        .related = std::nullopt,
                        .warning = plan.status.phase == v1::kRestorePhaseFailed,
                        .reason = said->reason,
                        .action = "Restore",
                        .note = said->message});
}

Result<Done> Reconciler::act(const Observation& seen, const Plan& plan) {
  const api::ObjectMeta& meta = seen.restore.metadata;
  const api::ObjectKey key{meta.ns, job_name(meta.name)};
  if (const auto* step = std::get_if<DeleteCheck>(&plan.step))
    return delete_job(with_.api, with_.stores.jobs, key, step->uid);
  const auto* step = std::get_if<CreateCheck>(&plan.step);
  if (!step) return Done{};
  auto made = create_job(with_.api, with_.stores.jobs, key, job(seen, step->attempt, images_));
  if (!made) return made.error();
  if (*made)
    with_.log.info("created check job", {{"restore", to_string(meta.key())}, {"job", key.name}});
  return Done{};
}

void Reconciler::log_plan(const Observation& seen, const Plan& plan) {
  const api::ObjectKey key = seen.restore.metadata.key();
  const std::string says = to_string(plan.step);
  std::string& before = planned_[key];
  if (std::exchange(before, says) != says && !std::holds_alternative<NoStep>(plan.step))
    with_.log.info("planned", {{"restore", to_string(key)}, {"step", says}});
}

/// Those that are no more or have ended; a queue that has nothing of them any more does not say so.
void Reconciler::forget_gone() {
  std::erase_if(planned_, [this](const auto& known) {
    const auto there = with_.stores.restores.get(known.first);
    if (there && !there->status.finished()) return false;
    statuses_.forget(known.first);
    jobs_.forget(known.first);
    if (with_.flight) with_.flight->gone(v1::EtcdRestore::resource.kind, known.first);
    return true;
  });
}

}  // namespace etcdop::restore
