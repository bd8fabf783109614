// A restore in place: the stages of status.restore, from the first EtcdMember that is put to sleep
// to the last volume of before that goes, or to the cluster as it was (ADR 0020). Pure.
#pragma once
#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// The id of a cluster that is seen to be born, and, of one that was born from a snapshot, how far
/// its revisions have come: when it goes back, nobody may be there to tell.
void note_birth(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// Records one in the status, if an EtcdRestore asks for it and none is under way.
void begin_restore(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// What follows while one is under way, in the place of all that is ordinary. `status` records it.
Plan plan_in_place(const Observation&, api::v1alpha2::EtcdClusterStatus status);

}  // namespace etcdop::cluster
