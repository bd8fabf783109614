// One pass over an EtcdSnapshot, from top to bottom.
#include "operator/snapshot/reconciler.h"

#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/credentials/passwords.h"
#include "operator/passes/owner.h"
#include "operator/passes/turns.h"
#include "operator/pods/member_endpoint.h"
#include "operator/snapshot/conditions.h"
#include "operator/snapshot/objects.h"
#include "runtime/conditions.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;

api::ObjectKey cluster_key(const v1::EtcdSnapshot& snapshot) {
  return {snapshot.metadata.ns, snapshot.spec.cluster_ref.name};
}

/// The endpoints of its voters; of all members while no voter is known, as in a cluster that the Go
/// operator scaled up.
std::vector<std::string> endpoints_of(const Stores& stores, const v1::EtcdCluster& cluster) {
  std::vector<std::string> voters, all;
  for (const auto& member : stores.members.in_group(cluster.metadata.key())) {
    if (!is_ours(member->metadata, cluster.metadata.uid)) continue;
    if (member->metadata.terminating() || member->spec.dormant) continue;
    all.push_back(client_url_of(*member));
    if (member->status.is_voter) voters.push_back(all.back());
  }
  return voters.empty() ? all : voters;
}

bool begins(const Observation& seen, const Plan& plan) {
  return plan.status.phase == v1::kSnapshotStarted &&
         seen.snapshot.status.phase != v1::kSnapshotStarted;
}

}  // namespace

bool Reconciler::concerns(const Object& snapshot) const {
  return !snapshot.metadata.terminating() && !snapshot.settled();
}

/// Reads what the plan needs before the snapshot begins, and for creating its Job. Defragmentation
/// runs are read last: nothing suspends between that and the write of "Started".
Result<Observation> Reconciler::observe(const Object& snapshot, Context&) {
  Observation seen;
  seen.now = with_.clock.wall_now();
  seen.snapshot = snapshot;
  seen.has_image = !images_.own.empty();
  if (snapshot.status.phase == v1::kSnapshotComplete) {
    if (auto ok = observe_verification(seen); !ok) return ok.error();
    return seen;
  }
  if (auto ok = observe_cluster(seen); !ok) return ok.error();
  observe_password(seen);
  if (snapshot.status.phase == v1::kSnapshotStarted)
    if (auto ok = observe_job(seen); !ok) return ok.error();
  seen.rejected = jobs_.why(snapshot.metadata.key(), seen.job.has_value());
  seen.run_before = run_before(with_.stores, snapshot);
  seen.run_under_way = !run_under_way(with_.stores, snapshot).empty();
  return seen;
}

/// In a cluster, one snapshot or one defragmentation begins at a time.
Reconciler::Claimed Reconciler::claims(const Observation& seen, const Plan& plan) {
  if (!begins(seen, plan)) return std::nullopt;
  return std::pair(&with_.stores.beginnings, cluster_key(seen.snapshot));
}

/// Asks nothing of the cluster, which may be paused, down, or deleted.
Result<Done> Reconciler::observe_verification(Observation& seen) {
  if (const auto known = with_.stores.clusters.get(cluster_key(seen.snapshot)))
    seen.cluster = *known;
  auto job = job_called(seen, verify_job_name(seen.snapshot.metadata.name));
  if (!job) return job.error();
  seen.verify_job = std::move(*job);
  seen.rejected = jobs_.why(seen.snapshot.metadata.key(), seen.verify_job.has_value());
  const auto& now = seen.snapshot.status.verification;
  if (!now || now->time) return Done{};  // An earlier one is reported already.
  const auto& of = seen.verify_job;
  const bool of_this =
      of && of->ours && of->request == now->request && of->attempt == now->attempts;
  const std::string uid = of_this ? of->uid : now->job_uid;
  for (const auto& pod : with_.stores.agents.in_group(seen.snapshot.metadata.key()))
    if (!uid.empty() && is_ours(pod->metadata, uid)) seen.verify_pods.push_back(*pod);
  if (!of_this || !of->has_ended()) return Done{};
  auto pods = list_pods(seen, *of);
  if (!pods) return pods.error();
  seen.verify_pods = std::move(*pods);
  return Done{};
}

/// When the snapshot begins, its cluster is read from the API: the watch may not have a cluster
/// that was created in the same moment, or may still have a deleted one. After a Job exists,
/// nothing depends on the cluster.
Result<Done> Reconciler::observe_cluster(Observation& seen) {
  const api::ObjectKey key = cluster_key(seen.snapshot);
  const auto known = with_.stores.clusters.get(key);
  if (known && seen.snapshot.status.phase != v1::kSnapshotPending) {
    seen.cluster = *known;
  } else if (seen.snapshot.status.job_uid.empty()) {
    auto there = look_for<v1::EtcdCluster>(with_.api, key);
    if (!there) return there.error();
    seen.cluster = std::move(*there);
  }
  if (seen.cluster) seen.endpoints = endpoints_of(with_.stores, *seen.cluster);
  return Done{};
}

/// If there are two passwords, etcd has the one in our Secret (credentials/passwords.h); the user's
/// may be newer.
void Reconciler::observe_password(Observation& seen) {
  if (!seen.cluster || !seen.cluster->status.auth_enabled || !wants_auth(*seen.cluster)) return;
  const v1::EtcdCluster& cluster = *seen.cluster;
  const auto& theirs = cluster.spec.auth->root_credentials_secret_ref;
  if (theirs) seen.password_secret = theirs->name;
  const std::string name = auth_secret_name(cluster.metadata.name);
  auto ours = with_.secrets.get({cluster.metadata.ns, name});
  if (!ours || !is_made_for(cluster, (*ours)->metadata)) return;
  const Secret password = (*ours)->value(kPasswordKey), next = (*ours)->value(kNextPasswordKey);
  if (password.empty()) return;
  seen.password_secret = name;
  seen.password_changing = !next.empty() && next != password;
}

Result<std::optional<JobSeen>> Reconciler::job_called(const Observation& seen,
                                                      const std::string& name) {
  const api::ObjectMeta& meta = seen.snapshot.metadata;
  return find_job(with_.api, with_.stores.jobs, {meta.ns, name}, meta,
                  v1::EtcdSnapshot::resource.kind);
}

Result<Done> Reconciler::observe_job(Observation& seen) {
  auto job = job_called(seen, job_name(seen.snapshot.metadata.name));
  if (!job) return job.error();
  seen.job = std::move(*job);
  const std::string uid = seen.job && seen.job->ours ? seen.job->uid : seen.snapshot.status.job_uid;
  for (const auto& pod : with_.stores.agents.in_group(seen.snapshot.metadata.key()))
    if (!uid.empty() && is_ours(pod->metadata, uid)) seen.pods.push_back(*pod);
  if (!seen.job || !seen.job->ours || !seen.job->has_ended() || stored(seen.pods)) return Done{};
  auto pods = list_pods(seen, *seen.job);
  if (!pods) return pods.error();
  seen.pods = std::move(*pods);
  return Done{};
}

/// The end of a Job may be known before that of its Pods: each has its own watch. So the Pods that
/// decide the result of the Job are read from the API.
Result<std::vector<kube::Pod>> Reconciler::list_pods(const Observation& seen, const JobSeen& of) {
  const api::ObjectMeta& meta = seen.snapshot.metadata;
  auto all = with_.api.list<kube::Pod>(meta.ns, std::string(v1::kSnapshotLabel) + "=" + meta.name);
  if (!all) return Error(all.error()).during("list the Pods of EtcdSnapshot " + meta.name);
  std::erase_if(*all, [&](const auto& pod) { return !is_ours(pod.metadata, of.uid); });
  return all;
}

void Reconciler::tell(const Observation& seen, const Plan& plan) {
  tell_phase(seen, plan);
  tell_verification(seen, plan);
}

/// Records an Event for each verification that has ended.
void Reconciler::tell_verification(const Observation& seen, const Plan& plan) const {
  const auto& was = seen.snapshot.status.verification;
  const auto& now = plan.status.verification;
  const auto* said = runtime::find_condition(plan.status.conditions, v1::kVerified);
  if (!now || !now->time || !said || (was && was->time)) return;
  const api::ObjectMeta& meta = seen.snapshot.metadata;
  with_.log.info(
      "verification has ended",
      {{"snapshot", to_string(meta.key())}, {"reason", said->reason}, {"message", said->message}});
  record(seen, said->status == "False", said->reason, "Verify", said->message);
}

/// Records an Event for each new phase of a snapshot, with the message of its condition.
void Reconciler::tell_phase(const Observation& seen, const Plan& plan) const {
  const auto* said = runtime::find_condition(plan.status.conditions, v1::kReady);
  if (!said || plan.status.phase == seen.snapshot.status.phase) return;
  const api::ObjectMeta& meta = seen.snapshot.metadata;
  if (plan.status.finished())
    with_.log.info("snapshot has ended", {{"snapshot", to_string(meta.key())},
                                          {"phase", plan.status.phase},
                                          {"reason", said->reason},
                                          {"message", said->message}});
  record(seen, plan.status.phase == v1::kSnapshotFailed, said->reason, "Snapshot", said->message);
}

Outcome Reconciler::act(const Observation& seen, const Context&, Plan& plan) {
  const std::string& ns = seen.snapshot.metadata.ns;
  const std::string taking = job_name(seen.snapshot.metadata.name);
  const std::string proving = verify_job_name(seen.snapshot.metadata.name);
  return std::visit(
      Overloads{[](const NoStep&) -> Result<Done> { return Done{}; },
                [&](const CreateJob& step) {
                  return make(seen, taking, job(seen, step.attempt, images_.own));
                },
                [&](const DeleteJob& step) {
                  return delete_job(with_.api, with_.stores.jobs, {ns, taking}, step.uid);
                },
                [&](const CreateVerification& step) {
                  Observation now = seen;
                  now.snapshot.status = plan.status;  // It says which verification the Job is for.
                  return make(seen, proving, verify_job(now, step.attempt, images_));
                },
                [&](const DeleteVerification& step) {
                  return delete_job(with_.api, with_.stores.jobs, {ns, proving}, step.uid);
                }},
      plan.step);
}

Result<Done> Reconciler::make(const Observation& seen, const std::string& name, Json manifest) {
  const api::ObjectMeta& meta = seen.snapshot.metadata;
  auto made = create_job(with_.api, with_.stores.jobs, {meta.ns, name}, std::move(manifest));
  if (!made) return made.error();
  if (*made)
    with_.log.info("created snapshot job", {{"snapshot", to_string(meta.key())}, {"job", name}});
  return Done{};
}

void Reconciler::acted(const Observation& seen, const Plan& plan, const Outcome& outcome) {
  if (std::holds_alternative<CreateJob>(plan.step) ||
      std::holds_alternative<CreateVerification>(plan.step))
    jobs_.note(seen.snapshot.metadata.key(), outcome.done, seen.now);
}

}  // namespace etcdop::snapshot

template class etcdop::Pass<etcdop::snapshot::Kind>;
