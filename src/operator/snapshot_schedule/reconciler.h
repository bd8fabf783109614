// One pass over an EtcdSnapshotSchedule: observe, plan, report, act.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/wall_time.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/refusals.h"
#include "operator/passes/stores.h"
#include "operator/snapshot_schedule/plan.h"
#include "operator/snapshot_schedule/rbac.h"
#include "operator/snapshot_schedule/schedule_metrics.h"
#include "runtime/controller.h"
#include "runtime/events.h"

namespace etcdop::snapshot_schedule {

class Reconciler {
 public:
  /// All of them outlive this.
  struct Collaborators {
    Executor& executor;
    Api api;
    Stores& stores;
    WallClock& clock;
    Log& log;
    runtime::EventRecorder* events = nullptr;  ///< Null: nobody is told.
    FlightRecorder* flight = nullptr;          ///< Null: nothing is recorded.
    ScheduleMetrics* metrics = nullptr;        ///< Null: nobody reads them.
  };
  /// `image`: the operator's own; empty: not known.
  Reconciler(Collaborators with, std::string image) : with_(with), image_(std::move(image)) {}
  /// Safe to call at any time, any number of times; at most one object is made or deleted per call.
  /// Suspends. One for which nothing is due costs no request.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key);

 private:
  void observe(Observation& seen) const;
  RunSeen observe_run(const Observation& seen, const api::v1alpha2::EtcdSnapshot& of,
                      WallTime planned) const;
  void observe_readers(Observation& seen) const;
  void observe_deletion(const api::v1alpha2::EtcdSnapshot& of, RunSeen& run) const;
  Result<runtime::Requeue> pass(const Observation& seen);
  Result<Done> report(const Observation& seen, const Plan& plan);
  Result<Done> act(const Observation& seen, const Plan& plan);
  Result<Done> create_snapshot(const Observation& seen, const CreateSnapshot& step);
  Result<Done> delete_snapshot(const Observation& seen, const DeleteSnapshot& step);
  Result<Done> create_deletion(const Observation& seen, const CreateDeletion& step);
  Result<Done> drop_deletion(const Observation& seen, const DropDeletion& step);
  Result<Done> ask_verification(const Observation& seen, const AskVerification& step);
  Result<bool> is_current(const Observation& seen);
  Result<bool> is_expendable(const Observation& seen, const CreateDeletion& step);
  Result<Done> mark_expired(const api::v1alpha2::EtcdSnapshot& of, WallTime now);
  bool note_step(const Observation& seen, const Plan& plan, const Result<Done>& acted);
  void tell(const Observation& seen, const Plan& plan) const;
  void tell(const Observation& seen, bool warning, const std::string& reason,
            const std::string& note) const;
  void log_plan(const Observation& seen, const Plan& plan);
  void forget_gone();

  Collaborators with_;
  const std::string image_;
  std::map<api::ObjectKey, std::string> planned_;  ///< What the log said last.
  Refusals statuses_, steps_;                      ///< Of both kinds of writes.
  std::map<api::ObjectKey, RefusedStep> refused_;
  std::set<api::ObjectKey> failed_once_;  ///< Since their last step that worked.
};

}  // namespace etcdop::snapshot_schedule
