// One pass over an EtcdMember: observe, plan, report, act.
#pragma once
#include <map>
#include <string>

#include "base/log.h"
#include "base/wall_time.h"
#include "operator/credentials/certificates.h"
#include "operator/credentials/secrets.h"
#include "operator/member/objects.h"
#include "operator/member/plan.h"
#include "operator/member/rbac.h"
#include "operator/passes/contested.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/refusals.h"
#include "operator/passes/stores.h"
#include "runtime/controller.h"
#include "runtime/events.h"

namespace etcdop::member {

class Reconciler {
 public:
  /// All of them outlive this.
  struct Collaborators {
    Executor& executor;
    Api api;
    Stores& stores;
    Secrets& secrets;
    Certificates& certificates;
    WallClock& clock;
    Log& log;
    runtime::EventRecorder* events = nullptr;  ///< Null: nobody is told.
    FlightRecorder* flight = nullptr;          ///< Null: nothing is recorded.
  };
  Reconciler(Collaborators with, Images images) : with_(with), images_(std::move(images)) {}
  /// Safe to call at any time, any number of times. Suspends.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key);

 private:
  Result<Observation> observe(const api::v1alpha2::EtcdMember& member) const;
  std::string credentials_fault(const api::v1alpha2::EtcdMember& member) const;
  Result<Done> report(const Observation& seen, const Plan& plan);
  Result<Done> act(const Observation& seen, const Plan& plan);
  void log_plan(const Observation& seen, const Plan& plan);

  Collaborators with_;
  Images images_;
  std::map<api::ObjectKey, std::string>
      planned_;  // What the log said last, so that it says only news.
  Contested contested_;
  Refusals refusals_;
};

}  // namespace etcdop::member
