// Volumes that have the cluster's label and belong to none of its members. An EtcdCluster that
// comes back without its status, from Git or from a backup of objects, must not found an empty etcd
// beside its data. Pure.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "kube/core_types.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Whether a volume belongs to none of these members (UIDs) and is not terminating.
bool is_stray(const kube::PersistentVolumeClaim&, const std::set<std::string>& members);

/// Names of the volumes that block the founding of the cluster; empty: none does, or the user has
/// agreed by the annotation found-beside-volumes.
std::vector<std::string> volumes_in_the_way(const api::v1alpha2::EtcdCluster&,
                                            std::vector<std::string> stray);

/// Whether such volumes exist, and no member or cluster id yet.
bool keeps_from_founding(const Observation&, const api::v1alpha2::EtcdClusterStatus&);

/// The value that the annotation must have: a hash of the EtcdCluster's UID and spec. So a consent
/// in Git does not outlive the EtcdCluster that it was given for.
std::string founding_consent(const api::v1alpha2::EtcdCluster&);

/// The message about these volumes, with the remedies.
std::string about_volumes(const api::v1alpha2::EtcdCluster&, const std::vector<std::string>& names);

}  // namespace etcdop::cluster
