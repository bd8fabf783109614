// Members that were decided on, before the API or etcd heard of them: recorded in the status under
// names that follow from a sequence, and dropped when they have come true or to nothing. Pure.
#pragma once
#include <string>
#include <vector>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// "http://<member>.<cluster>.<namespace>.svc:2380", or https, as a new member of that name has it.
std::string peer_url(const api::v1alpha2::EtcdCluster&, const std::string& member);

/// No member was ever recorded after the only one.
bool has_founder_only(const Observation& seen);
/// The first member is still the Pod that founded the cluster; the member controller makes another
/// one in its place before it is relied on.
bool is_founding(const Observation& seen);

/// Recorded, but no EtcdMember yet, and unknown to etcd: to be created, or forgotten.
std::vector<api::v1alpha2::PendingMember> uncreated(const Observation& seen,
                                                    const api::v1alpha2::EtcdClusterStatus& status);

/// As record_intent() would record it.
api::v1alpha2::PendingMember next_intent(const Observation& seen,
                                         const api::v1alpha2::EtcdClusterStatus& status);
/// The next member of this cluster: its name follows from the sequence, so that a pass that saw
/// less makes the same one.
const api::v1alpha2::PendingMember& record_intent(const Observation& seen,
                                                  api::v1alpha2::EtcdClusterStatus& status);

/// Drops the intents that have come true (it votes) or to nothing (its EtcdMember goes and etcd
/// does not list it). That is progress: the time of those that wait for their turn begins anew.
void settle_intents(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

/// Null: nobody has that name.
const Seat* seat_named(const Observation& seen, const std::string& name);

}  // namespace etcdop::cluster
