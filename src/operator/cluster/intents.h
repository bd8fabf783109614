// Intents: members that the status records before the API server or etcd knows them. Their names
// follow from a sequence. An intent is dropped once its member votes or was given up. Pure.
#pragma once
#include <string>
#include <vector>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// The peer URL of a new member: "http://<member>.<cluster>.<namespace>.svc:2380", or https.
std::string peer_url(const api::v1alpha2::EtcdCluster&, const std::string& member);

/// Whether the only member is also the last one ever recorded.
bool has_founder_only(const Observation& seen);
/// Whether the first member still runs in the Pod that founded the cluster. The member controller
/// recreates that Pod before the cluster relies on it.
bool is_founding(const Observation& seen);
/// Whether the member's etcd runs, as far as it answers or the kubelet reports.
bool runs(const Seat& seat);
/// The only member, if it is to found the cluster, its etcd has never answered, and does not run as
/// far as the kubelet reports. It can be given another spec, if it has the storage medium of the
/// cluster. Null: there is none.
const Seat* idle_founder(const Observation& seen);

/// Recorded, without an EtcdMember, and unknown to etcd: to be created or forgotten.
std::vector<api::v1alpha2::PendingMember> uncreated(const Observation& seen,
                                                    const api::v1alpha2::EtcdClusterStatus& status);

/// As record_intent() would record it.
api::v1alpha2::PendingMember next_intent(const Observation& seen,
                                         const api::v1alpha2::EtcdClusterStatus& status);
/// Records the next member of this cluster. Its name follows from the sequence, so a pass with a
/// staler view creates the same member.
const api::v1alpha2::PendingMember& record_intent(const Observation& seen,
                                                  api::v1alpha2::EtcdClusterStatus& status);

/// Drops intents that are done (the member votes) or given up (its EtcdMember is terminating and
/// etcd does not list it). That is progress: the time of the waiting intents starts again.
void settle_intents(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

/// Null: no seat has that name.
const Seat* seat_named(const Observation& seen, const std::string& name);

}  // namespace etcdop::cluster
