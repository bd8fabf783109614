// One pass over an EtcdRestore: observe, plan, report, act.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/wall_time.h"
#include "operator/agents/agent_jobs.h"
#include "operator/agents/verify_pod.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/refusals.h"
#include "operator/passes/stores.h"
#include "operator/restore/plan.h"
#include "operator/restore/rbac.h"
#include "runtime/controller.h"
#include "runtime/events.h"

namespace etcdop::restore {

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
  };
  /// The operator's own image may be empty: not known.
  Reconciler(Collaborators with, VerifyImages images) : with_(with), images_(std::move(images)) {}
  /// Safe to call at any time, any number of times; at most one Job is made or deleted per call.
  /// Suspends. One that has ended costs no request.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key);

 private:
  Result<Done> observe(Observation& seen);
  Result<Done> observe_cluster(Observation& seen);
  Result<Done> observe_job(Observation& seen);
  Result<Done> report(const Observation& seen, const Plan& plan);
  Result<Done> act(const Observation& seen, const Plan& plan);
  void tell(const Observation& seen, const Plan& plan) const;
  void log_plan(const Observation& seen, const Plan& plan);
  void forget_gone();

  Collaborators with_;
  const VerifyImages images_;
  std::map<api::ObjectKey, std::string> planned_;  ///< What the log said last of the open ones.
  Refusals statuses_;
  JobRefusals jobs_;
};

}  // namespace etcdop::restore
