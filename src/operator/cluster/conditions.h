// What the status says of one pass: every condition and message of an EtcdCluster is written here.
// Pure.
#pragma once
#include <string>
#include <vector>

#include "operator/cluster/census.h"

namespace etcdop::cluster {

/// As many voters as wanted, all ready, nobody coming or going.
bool is_complete(const Observation& seen, const Census& census);

/// Fills readyMembers, selector, conditions and progressDeadline for a cluster that has, or is
/// getting, members. `missing_features` is what not_implemented() said; `status` has the observed
/// spec and the cluster id of this pass.
void report(const Observation& seen, const Census& census,
            const std::vector<std::string>& missing_features,
            api::v1alpha2::EtcdClusterStatus& status);

/// A new cluster whose spec asks for what we cannot do: nothing is made.
void report_not_implemented(const Observation& seen,
                            const std::vector<std::string>& missing_features,
                            api::v1alpha2::EtcdClusterStatus& status);

/// A new cluster of an etcd that we do not know how to run: nothing is made.
void report_unsupported(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

/// A cluster that wants no members: `sleeper` keeps its data; empty: there is none yet.
void report_paused(const Observation& seen, const std::string& sleeper,
                   api::v1alpha2::EtcdClusterStatus& status);

}  // namespace etcdop::cluster
