// What a pass has to tell as Events. Pure.
#pragma once
#include <vector>

#include "operator/cluster/observation.h"
#include "runtime/events.h"

namespace etcdop::cluster {

/// The cluster, as an Event names it.
runtime::Event::Object object_of(const Observation&);
/// What the new status tells that is some member's news: the first one is waited for; another one
/// leads.
std::vector<runtime::Event> turns_of_members(const Observation&,
                                             const api::v1alpha2::EtcdClusterStatus& now);
/// All members use other certificates than before.
std::vector<runtime::Event> renewals(const Observation&,
                                     const api::v1alpha2::EtcdClusterStatus& now);
/// It was founded from a snapshot, and its first member has answered.
std::vector<runtime::Event> births(const Observation&, const api::v1alpha2::EtcdClusterStatus& now);
/// The only member may go with its node.
runtime::Event not_redundant(const Observation&);

}  // namespace etcdop::cluster
