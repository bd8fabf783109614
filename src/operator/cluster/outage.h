// An outage of many clusters: of our network, or of storage that they share. No member is replaced
// meanwhile, as its data may come back. Pure.
//
// A person who creates broken clusters must not stop the repair of others: only clusters that
// became unavailable lately count, those of another namespace count as one, and a member waits for
// a bounded time.
#pragma once
#include <string>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Whether a founded cluster became unavailable in the last minutes, and not because a user asked
/// for it.
bool became_unavailable_lately(const api::v1alpha2::EtcdCluster&, WallTime now);

/// Whether a member that is to be replaced waits for the end of an outage.
bool waits_for_others(const Observation& seen, const Seat& condemned);

/// The wait, for users; empty: no member waits. The same words as long as it lasts.
std::string about_outage(const Observation& seen);

}  // namespace etcdop::cluster
