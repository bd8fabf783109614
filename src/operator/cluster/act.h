// The steps of a plan, carried out.
#pragma once
#include "etcd/dial.h"
#include "operator/cluster/ask.h"
#include "operator/cluster/cluster_metrics.h"
#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"
#include "operator/cluster/rbac.h"
#include "operator/credentials/credentials.h"
#include "operator/passes/pass.h"
#include "operator/pods/pod_policy.h"

namespace etcdop::cluster {

struct Collaborators : etcdop::Collaborators<Api> {
  etcd::Clients& etcd;
  etcd::Handshake handshake;
  Credentials& credentials;
  std::string cluster_domain = "cluster.local";   ///< For the names in certificates.
  ClusterMetrics* metrics = nullptr;              ///< Null: nothing is measured.
  PodPolicy pod_policy = PodPolicy::Baseline;     ///< For new and edited templates.
  etcd::ReceivesSnapshot receives_snapshot = {};  ///< Null: unknown.
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

/// Whether the API server has this EtcdCluster, and it is not being deleted; else Conflict or
/// NotFound. Kubernetes deletes an object whose only owner is gone, so ask right before it gets
/// one.
Result<Done> still_exists(const Api& api, const api::v1alpha2::EtcdCluster& cluster);

}  // namespace etcdop::cluster
