// What the status says of one pass: every condition and message of an EtcdCluster is written here.
// Pure.
#pragma once
#include <optional>
#include <string>

#include "operator/cluster/census.h"
#include "operator/cluster/spec.h"

namespace etcdop::cluster {

/// As many voters as wanted, all ready, nobody coming or going.
bool is_complete(const Observation& seen, const Census& census);

/// Fills readyMembers, selector, conditions and progressDeadline for a cluster that has, or is
/// getting, members. `status` has the observed spec and the cluster id of this pass; `refused`: why
/// that is not the spec.
void report(const Observation& seen, const Census& census, const std::optional<Refusal>& refused,
            api::v1alpha2::EtcdClusterStatus& status);

/// There is no etcd yet, and volumes keep it from being founded.
void report_volumes_found(const Observation&, api::v1alpha2::EtcdClusterStatus&);
/// They are gone, or its user has agreed: what was said of them is taken back.
void forget_volumes_found(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// A spec that is refused where there is none to go on with: nothing is done.
void report_refused(const Observation& seen, const Refusal& refused,
                    api::v1alpha2::EtcdClusterStatus& status);

/// A cluster that wants no members: `dormant_member` keeps its data; empty: there is none yet.
void report_paused(const Observation& seen, const std::string& dormant_member,
                   api::v1alpha2::EtcdClusterStatus& status);

/// Of a cluster that goes back to a snapshot, instead of all that. `waiting`: for what, in words.
void report_in_place(const Observation&, const std::string& waiting,
                     api::v1alpha2::EtcdClusterStatus&);

}  // namespace etcdop::cluster
