// Decides the report and the next step for one etcd cluster. Pure: same observation, same plan; no
// clock, no I/O.
//
// Growing and shrinking follow design section 10 of the API contract. Growing: intent, EtcdMember,
// learner, published list, Pod, vote. Shrinking: EtcdMember deleted, removed from etcd, confirmed
// by a linearizable list, finalizer removed.
#pragma once
#include <chrono>

#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

Plan plan(const Observation& seen);

/// The time between two passes, 300 ms to 60 s: the longer the cluster has been on its way, the
/// longer.
std::chrono::milliseconds pace(const Observation& seen,
                               const api::v1alpha2::EtcdClusterStatus& status);

}  // namespace etcdop::cluster
