// Volumes that bear the cluster's label and belong to no member of it: an EtcdCluster that comes
// back without its status, from Git or from a backup of objects, must not found an empty etcd
// beside its data. Pure.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "kube/core_types.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Whether a volume belongs to none of these members (UIDs), and is not about to go.
bool is_stray(const kube::PersistentVolumeClaim&, const std::set<std::string>& members);

/// Names of the volumes that keep the cluster from being founded; empty: none does, or its user has
/// agreed by the annotation found-beside-volumes.
std::vector<std::string> volumes_in_the_way(const api::v1alpha2::EtcdCluster&,
                                            std::vector<std::string> stray);

/// Whether such volumes were seen, and no member or cluster id yet.
bool keeps_from_founding(const Observation&, const api::v1alpha2::EtcdClusterStatus&);

/// What the annotation has to say: a hash of the EtcdCluster's UID and spec. So a consent that
/// stands in Git does not outlive the EtcdCluster that it was given for.
std::string founding_consent(const api::v1alpha2::EtcdCluster&);

/// "volumes with the label of this cluster ...", with the ways out.
std::string about_volumes(const api::v1alpha2::EtcdCluster&, const std::vector<std::string>& names);

}  // namespace etcdop::cluster
