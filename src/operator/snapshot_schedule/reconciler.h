// One pass over an EtcdSnapshotSchedule: observe, plan, report, act.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>

#include "operator/passes/pass.h"
#include "operator/snapshot_schedule/plan.h"
#include "operator/snapshot_schedule/rbac.h"
#include "operator/snapshot_schedule/schedule_metrics.h"
#include "runtime/queue.h"

namespace etcdop::snapshot_schedule {

struct Kind {
  using Object = api::v1alpha2::EtcdSnapshotSchedule;
  using Observation = snapshot_schedule::Observation;
  using Plan = snapshot_schedule::Plan;
  using Context = NoContext;
  struct Collaborators : etcdop::Collaborators<Api> {
    ScheduleMetrics* metrics = nullptr;  ///< Null: no metrics.
  };
  static constexpr auto store = &Stores::schedules;
  static constexpr auto object = &Observation::schedule;
  static constexpr const char* word = "schedule";
};

/// At most one object is created or deleted per pass. A schedule with nothing due costs no request.
class Reconciler final : public Pass<Kind> {
 public:
  /// `image`: the operator's own; empty: unknown.
  Reconciler(Collaborators with, std::string image) : Pass(with), image_(std::move(image)) {}

 private:
  Result<Observation> observe(const Object&, Context&) override;
  void planned(const Observation&, Plan&, bool news) override;
  void tell(const Observation&, const Plan&) override;
  Outcome act(const Observation&, const Context&, Plan&) override;
  std::string writes(const Plan& plan) const override { return word_of(plan.step); }
  void acted(const Observation&, const Plan&, const Outcome&) override;
  void forget(const api::ObjectKey&) override;

  RunSeen observe_run(const Observation& seen, const api::v1alpha2::EtcdSnapshot& of,
                      WallTime planned) const;
  void observe_readers(Observation& seen) const;
  void observe_deletion(const api::v1alpha2::EtcdSnapshot& of, RunSeen& run) const;
  Result<Done> create_snapshot(const Observation& seen, const CreateSnapshot& step);
  Result<Done> delete_snapshot(const Observation& seen, const DeleteSnapshot& step);
  Result<Done> create_deletion(const Observation& seen, const CreateDeletion& step);
  Result<Done> drop_deletion(const Observation& seen, const DropDeletion& step);
  Result<Done> ask_verification(const Observation& seen, const AskVerification& step);
  Result<bool> is_current(const Observation& seen);
  Result<bool> is_expendable(const Observation& seen, const CreateDeletion& step);
  Result<Done> mark_expired(const api::v1alpha2::EtcdSnapshot& of, WallTime now);
  void tell(const Observation& seen, bool warning, const std::string& reason,
            const std::string& note) const;

  const std::string image_;
  std::map<api::ObjectKey, RefusedStep> refused_;
  std::set<api::ObjectKey> failed_once_;  ///< A step failed since their last step that worked.
};

/// A change of a schedule queues it. A change of an EtcdSnapshot that has not ended, or just has,
/// queues the schedules of its cluster; one of a Job or Pod, the schedule of its EtcdSnapshot. The
/// queue must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::snapshot_schedule

extern template class etcdop::Pass<etcdop::snapshot_schedule::Kind>;  // In reconciler.cc.
