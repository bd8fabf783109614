// Members that were decided on, before the API or etcd heard of them: recorded in the status under
// names that follow from a sequence, and dropped when they have come true or to nothing. Pure.
#pragma once
#include <string>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

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
