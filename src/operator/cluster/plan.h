// What to report and what to do next for one etcd cluster. Pure: same observation, same plan; no
// clock, no I/O.
//
// Growing and shrinking are design section 10 of the API contract: intent, EtcdMember, learner,
// published list, Pod, vote; and EtcdMember deleted, removed from etcd, confirmed by a linearizable
// list, finalizer off.
#pragma once
#include <chrono>

#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

Plan plan(const Observation& seen);

/// How long to wait between two looks: the longer the cluster has been on its way, the longer. 300
/// ms to 60 s.
std::chrono::milliseconds pace(const Observation& seen,
                               const api::v1alpha2::EtcdClusterStatus& status);

}  // namespace etcdop::cluster
