// A restore in place: the stages of status.restore, from the first EtcdMember that becomes dormant
// to the last old volume that is deleted, or to the cluster as it was (ADR 0020). Pure.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdrestore.h"
#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Records the id of a cluster that was just founded and, if it was founded from a snapshot, its
/// highest revision: at a later restore, no member may be reachable to report it.
void note_birth(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// Whether the check of its snapshot passed for this very cluster, and its user wants it to go on.
bool may_begin(const api::v1alpha2::EtcdRestore&, const api::v1alpha2::EtcdCluster&);

/// The name of the restore that is to begin next, the oldest that may; empty: none. The caches know
/// these restores: the chosen one is read from the API server before anything is planned with it.
std::string next_to_begin(
    const std::vector<std::shared_ptr<const api::v1alpha2::EtcdRestore>>& known,
    const api::v1alpha2::EtcdCluster&);

/// Records a restore in the status, if an EtcdRestore asks for it and none is under way.
void begin_restore(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// The plan while a restore is under way, instead of the ordinary one. `status` records the
/// restore.
Plan plan_in_place(const Observation&, api::v1alpha2::EtcdClusterStatus status);

}  // namespace etcdop::cluster
