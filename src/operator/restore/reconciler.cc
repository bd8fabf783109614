// One pass over an EtcdRestore, from top to bottom.
#include "operator/restore/reconciler.h"

#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/restore/objects.h"
#include "operator/shared/look_again.h"
#include "operator/shared/owner.h"
#include "operator/shared/status_patch.h"

namespace etcdop::restore {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr auto kRetry = 5s;
constexpr const char* kJobWrite = "job";
constexpr const char* kJobNameLabel = "batch.kubernetes.io/job-name";  // Kubernetes', on its Pods.

/// While its Job is what decides.
bool is_being_checked(const v1::EtcdRestore& restore) {
  return restore.status.phase == v1::kRestoreChecking;
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
  const Plan todo = plan(seen);
  if (with_.flight)
    with_.flight->record(v1::EtcdRestore::resource.kind, key, seen.now, api::encode(seen),
                         api::encode(todo));
  log_plan(seen, todo);
  if (const Duration wait = statuses_.wait(key, Refusals::kStatus, with_.executor.now());
      wait > Duration(0))
    return runtime::Requeue{wait};
  const auto reported = report(seen, todo);
  if (leaves_doubt(reported))
    look_again(with_.api, with_.stores.restores, key, restore->metadata.uid);
  (void)statuses_.note(key, Refusals::kStatus, reported, with_.executor.now());
  if (!reported) return reported.error();
  if (const Duration wait = jobs_.wait(key, kJobWrite, with_.executor.now()); wait > Duration(0))
    return runtime::Requeue{wait};
  const auto acted = act(seen, todo);
  if (note_job(seen, todo, acted)) return runtime::Requeue{kAgainSoon};
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
  const auto known = rejected_.find(seen.restore.metadata.key());
  if (known == rejected_.end()) return Done{};
  if (seen.job) rejected_.erase(known);
  else seen.rejected = known->second;
  return Done{};
}

/// One that was made in the same moment may not have been heard of yet.
Result<Done> Reconciler::observe_cluster(Observation& seen) {
  const api::ObjectKey key{seen.restore.metadata.ns, seen.restore.spec.cluster_ref.name};
  if (const auto known = with_.stores.clusters.get(key)) {
    seen.cluster = *known;
  } else {
    auto there = with_.api.get<v1::EtcdCluster>(key);
    if (!there && !there.failed_with(Code::NotFound))
      return Error(there.error()).during("look for EtcdCluster " + to_string(key));
    if (there) seen.cluster = std::move(*there);
  }
  if (seen.cluster && seen.cluster->metadata.terminating()) seen.cluster.reset();
  return Done{};
}

/// The watch may be behind, and does not tell of a Job of somebody else: what it does not know is
/// asked for. Pods are asked for, too: nobody watches them, and there is seldom one.
Result<Done> Reconciler::observe_job(Observation& seen) {
  const api::ObjectMeta& meta = seen.restore.metadata;
  const api::ObjectKey key{meta.ns, job_name(meta.name)};
  const auto as_seen = [&](const kube::Job& job) {
    return seen_as(job, meta, v1::EtcdRestore::resource.kind);
  };
  const auto known = with_.stores.jobs.get(key);
  if (known && as_seen(*known).ours) {
    seen.job = as_seen(*known);
  } else {
    auto there = with_.api.get<kube::Job>(key);
    if (!there && !there.failed_with(Code::NotFound))
      return Error(there.error()).during("look for Job " + to_string(key));
    if (!there && known) with_.stores.jobs.saw_deleted(*known);
    if (there) seen.job = as_seen(*there);
  }
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
  if (const auto* step = std::get_if<CreateCheck>(&plan.step))
    return create_job(seen, step->attempt);
  if (const auto* step = std::get_if<DeleteCheck>(&plan.step)) return delete_job(seen, step->uid);
  return Done{};
}

/// One of that name that is there already is looked at by the next pass: it may be ours, of a pass
/// whose answer was lost.
Result<Done> Reconciler::create_job(const Observation& seen, std::int32_t attempt) {
  const api::ObjectMeta& meta = seen.restore.metadata;
  auto made = with_.api.create<kube::Job>(meta.ns, job(seen, attempt, images_));
  if (made.failed_with(Code::AlreadyExists)) return Done{};
  if (!made) return Error(made.error()).during("create Job " + job_name(meta.name));
  with_.stores.jobs.wrote(std::move(*made));
  with_.log.info("created check job",
                 {{"restore", to_string(meta.key())}, {"job", job_name(meta.name)}});
  return Done{};
}

Result<Done> Reconciler::delete_job(const Observation& seen, const std::string& uid) {
  const api::ObjectMeta& meta = seen.restore.metadata;
  const api::ObjectKey key{meta.ns, job_name(meta.name)};
  auto going = with_.api.remove<kube::Job>(key, uid);
  if (!going) return Error(going.error()).during("delete Job " + key.name);
  if (*going) with_.stores.jobs.wrote(std::move(**going));
  else with_.stores.jobs.saw_deleted(key, uid);
  return Done{};
}

/// Whatever keeps a Job from being made is told. True if it is news.
bool Reconciler::note_job(const Observation& seen, const Plan& plan, const Result<Done>& acted) {
  const api::ObjectKey key = seen.restore.metadata.key();
  if (std::holds_alternative<CreateCheck>(plan.step) && !acted.failed_with(Code::Cancelled)) {
    if (acted) {
      rejected_.erase(key);
    } else {
      const auto [known, first] = rejected_.try_emplace(key, Rejection{"", seen.now});
      if (first || refused(acted)) known->second.why = acted.error().message;
    }
  }
  return jobs_.note(key, kJobWrite, acted, with_.executor.now());
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
    rejected_.erase(known.first);
    if (with_.flight) with_.flight->gone(v1::EtcdRestore::resource.kind, known.first);
    return true;
  });
}

}  // namespace etcdop::restore
