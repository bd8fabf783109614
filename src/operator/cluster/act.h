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

/// The tools of a pass. They outlive it.
struct Collaborators {
  Executor& executor;
  Api api;
  Stores& stores;
  etcd::Clients& etcd;
  etcd::Handshake handshake;
  Credentials& credentials;
  WallClock& clock;
  Log& log;
  std::string cluster_domain = "cluster.local";  ///< For the names in certificates.
  runtime::EventRecorder* events = nullptr;      ///< Null: no Events.
  FlightRecorder* flight = nullptr;              ///< Null: nothing is recorded.
  ClusterMetrics* metrics = nullptr;             ///< Null: nothing is measured.
};

/// The API server returned the object with this UID, and it was not terminating.
struct Proof {
  std::string uid;  ///< Empty: nothing is proven.
  Instant at{};
};

/// Carries out the plan's step. UIDs, resourceVersions and etcd's ids tie it to the objects that
/// the plan saw. `joiner`: the last proof for a learner to add. Suspends.
Result<Done> act(const Collaborators&, const Observation& seen, const Plan& plan,
                 const Endpoints& endpoints, Proof& joiner);

}  // namespace etcdop::cluster
