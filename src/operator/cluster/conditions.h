// Every condition and message in the status of an EtcdCluster is written here. Pure.
#pragma once
#include <optional>
#include <string>

#include "operator/cluster/census.h"
#include "operator/cluster/spec.h"

namespace etcdop::cluster {

/// Fills readyMembers, selector, conditions and progressDeadline for a cluster that has, or is
/// getting, members. `status` has the observed spec and the cluster id of this pass; `refused`: why
/// the observed spec is not the spec.
void report(const Observation& seen, const Census& census, const std::optional<Refusal>& refused,
            api::v1alpha2::EtcdClusterStatus& status);

/// No etcd exists yet, and remains of an earlier EtcdCluster block its founding. `why`: why its
/// members are not adopted; may be empty.
void report_remains(const Observation&, const std::string& why, api::v1alpha2::EtcdClusterStatus&);
/// Nothing is refused any more: removes the conditions of a new cluster that was.
void forget_refused(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// The spec is refused, and no earlier spec exists to work towards: nothing is done.
void report_refused(const Observation& seen, const Refusal& refused,
                    api::v1alpha2::EtcdClusterStatus& status);

/// A paused cluster: `dormant_member` keeps its data; empty: no data exists yet. `refused`: why the
/// observed spec is not the spec.
void report_paused(const Observation& seen, const std::string& dormant_member,
                   const std::optional<Refusal>& refused, api::v1alpha2::EtcdClusterStatus& status);

/// Replaces report() during a restore in place. `waiting`: what it waits for, in words.
void report_in_place(const Observation&, const std::string& waiting,
                     api::v1alpha2::EtcdClusterStatus&);

}  // namespace etcdop::cluster
