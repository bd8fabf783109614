// One pass over an EtcdRestore, from top to bottom.
#include "operator/restore/reconciler.h"

#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/passes/owner.h"
#include "operator/restore/objects.h"

namespace etcdop::restore {
namespace {

namespace v1 = api::v1alpha2;

constexpr const char* kJobNameLabel = "batch.kubernetes.io/job-name";  // On its Pods.

/// Whether its Job decides now.
bool is_being_checked(const v1::EtcdRestore& restore) {
  return restore.status.phase == v1::kRestoreChecking;
}

/// Whether it is the cluster that the restore began with, and, once that was told to stop, has its
/// record. A restore that is taken back ends unless the cluster has begun.
bool goes_on(const v1::EtcdRestore& restore, const v1::EtcdCluster& cluster) {
  const v1::EtcdRestoreStatus& status = restore.status;
  if (!status.cluster_uid.empty() && status.cluster_uid != cluster.metadata.uid) return false;
  const auto& record = cluster.status.restore;
  const bool begun = record && record->uid == restore.metadata.uid;
  return begun || (!status.started_at && restore.spec.decision != v1::RestoreDecision::Rollback);
}

}  // namespace

bool Reconciler::concerns(const Object& restore) const {
  return !restore.metadata.terminating() && !restore.status.finished();
}

Result<Observation> Reconciler::observe(const Object& restore, Context&) {
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.restore = restore;
  seen.has_image = !images_.own.empty();
  if (auto ok = observe_cluster(seen); !ok) return ok.error();
  if (is_being_checked(restore))
    if (auto ok = observe_job(seen); !ok) return ok.error();
  seen.rejected = jobs_.why(restore.metadata.key(), seen.job.has_value());
  return seen;
}

/// A cluster that ends the restore is read from the API: the watch of an operator that has just
/// begun to lead, or leads no more, may be behind.
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
  if (!seen.cluster) return Done{};
  for (const auto& member : with_.stores.members.in_group(key))
    if (is_ours(member->metadata, seen.cluster->metadata.uid) &&
        member->spec.storage.medium == v1::Medium::Memory)
      seen.in_memory = member->metadata.name;
  return Done{};
}

/// Its Pods are listed: no watch has them, and there is seldom one.
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
  std::erase_if(*pods, [&](const auto& pod) { return !is_ours(pod.metadata, uid); });
  seen.pods = std::move(*pods);
  return Done{};
}

/// Records an Event for each new phase, with the message of the condition that was set last.
void Reconciler::tell(const Observation& seen, const Plan& plan) {
  if (plan.status.phase == seen.restore.status.phase || plan.status.conditions.empty()) return;
  const api::ObjectMeta& meta = seen.restore.metadata;
  const api::Condition* said = nullptr;
  for (const api::Condition& c : plan.status.conditions)
    if (!said || c.last_transition_time >= said->last_transition_time) said = &c;
  with_.log.info("restore has a new phase", {{"restore", to_string(meta.key())},
                                             {"phase", plan.status.phase},
                                             {"reason", said->reason},
                                             {"message", said->message}});
  record(seen, plan.status.phase == v1::kRestorePhaseFailed, said->reason, "Restore",
         said->message);
}

Outcome Reconciler::act(const Observation& seen, const Context&, Plan& plan) {
  const api::ObjectMeta& meta = seen.restore.metadata;
  const api::ObjectKey key{meta.ns, job_name(meta.name)};
  const auto create = [&](const CreateCheck& step) -> Result<Done> {
    auto made = create_job(with_.api, with_.stores.jobs, key, job(seen, step.attempt, images_));
    if (!made) return made.error();
    if (*made)
      with_.log.info("created check job", {{"restore", to_string(meta.key())}, {"job", key.name}});
    return Done{};
  };
  const auto drop = [&](const DeleteCheck& step) {
    return delete_job(with_.api, with_.stores.jobs, key, step.uid);
  };
  const auto nothing = [](const NoStep&) -> Result<Done> { return Done{}; };
  return std::visit(Overloads{nothing, create, drop}, plan.step);
}

void Reconciler::acted(const Observation& seen, const Plan& plan, const Outcome& outcome) {
  if (std::holds_alternative<CreateCheck>(plan.step))
    jobs_.note(seen.restore.metadata.key(), outcome.done, seen.now);
}

}  // namespace etcdop::restore

template class etcdop::Pass<etcdop::restore::Kind>;
