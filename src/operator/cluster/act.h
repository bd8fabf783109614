// The steps of a plan, carried out.
#pragma once
#include "base/log.h"
#include "base/wall_time.h"
#include "etcd/dial.h"
#include "operator/cluster/ask.h"
#include "operator/cluster/cluster_metrics.h"
#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"
#include "operator/cluster/rbac.h"
#include "operator/credentials/credentials.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/stores.h"
#include "runtime/events.h"

namespace etcdop::cluster {

/// What a pass works with. All of them outlive it.
struct Collaborators {
  Executor& executor;
  Api api;
  Stores& stores;
  etcd::Clients& etcd;
  etcd::Handshake handshake;
  Credentials& credentials;
  WallClock& clock;
  Log& log;
  std::string cluster_domain = "cluster.local";  ///< Of certificates' names.
  runtime::EventRecorder* events = nullptr;      ///< Null: nobody is told.
  FlightRecorder* flight = nullptr;              ///< Null: nothing is recorded.
  ClusterMetrics* metrics = nullptr;             ///< Null: nothing is measured.
};

/// The API server itself had the object of this UID, and it was not going.
struct Proof {
  std::string uid;  ///< Empty: nothing is proven.
  Instant at{};
};

/// Carries out the plan's step; what it was decided on travels along as UID, resourceVersion or
/// etcd's own ids. `joiner`: of whom a learner was added last. Suspends.
Result<Done> act(const Collaborators&, const Observation& seen, const Plan& plan,
                 const Endpoints& endpoints, Proof& joiner);

}  // namespace etcdop::cluster
