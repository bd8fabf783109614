// One pass over an EtcdSnapshot: observe, plan, report, act.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/wall_time.h"
#include "operator/agents/agent_jobs.h"
#include "operator/credentials/secrets.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/refusals.h"
#include "operator/passes/stores.h"
#include "operator/snapshot/plan.h"
#include "operator/snapshot/rbac.h"
#include "operator/snapshot/verify_job.h"
#include "runtime/controller.h"
#include "runtime/events.h"

namespace etcdop::snapshot {

class Reconciler {
 public:
  /// All of them outlive this.
  struct Collaborators {
    Executor& executor;
    Api api;
    Stores& stores;
    Secrets& secrets;
    WallClock& clock;
    Log& log;
    runtime::EventRecorder* events = nullptr;  ///< Null: nobody is told.
    FlightRecorder* flight = nullptr;          ///< Null: nothing is recorded.
  };
  /// The operator's own image may be empty: not known.
  Reconciler(Collaborators with, VerifyImages images) : with_(with), images_(std::move(images)) {}
  /// Safe to call at any time, any number of times; at most one Job is made or deleted per call.
  /// Suspends. One about which nothing is left to be done costs no request.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key);

 private:
  Result<Done> observe(Observation& seen);
  Result<Done> observe_cluster(Observation& seen);
  Result<Done> observe_job(Observation& seen);
  Result<Done> observe_verification(Observation& seen);
  Result<std::optional<JobSeen>> job_called(const Observation& seen, const std::string& name);
  Result<std::vector<kube::Pod>> list_pods(const Observation& seen, const JobSeen& of);
  void observe_password(Observation& seen);
  Result<runtime::Requeue> pass(const Observation& seen);
  Result<Done> report(const Observation& seen, const Plan& plan);
  Result<Done> act(const Observation& seen, const Plan& plan);
  Result<Done> make(const Observation& seen, const std::string& name, Json manifest);
  void tell(const Observation& seen, const Plan& plan) const;
  void tell_verification(const Observation& seen, const Plan& plan) const;
  void log_plan(const Observation& seen, const Plan& plan);
  void forget_gone();

  Collaborators with_;
  const VerifyImages images_;
  std::map<api::ObjectKey, std::string> planned_;  ///< What the log said last of those not settled.
  Refusals statuses_;
  JobRefusals jobs_;
};

}  // namespace etcdop::snapshot
