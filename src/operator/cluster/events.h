// The Events of a pass. Pure.
#pragma once
#include <vector>

#include "operator/cluster/observation.h"
#include "runtime/events.h"

namespace etcdop::cluster {

/// The cluster, as an Event names it.
runtime::Event::Object object_of(const Observation&);
/// News about members in the new status: the cluster waits for its first member, or another member
/// leads.
std::vector<runtime::Event> turns_of_members(const Observation&,
                                             const api::v1alpha2::EtcdClusterStatus& now);
/// All members now use new certificates.
std::vector<runtime::Event> renewals(const Observation&,
                                     const api::v1alpha2::EtcdClusterStatus& now);
/// It was founded from a snapshot, and its first member has answered.
std::vector<runtime::Event> births(const Observation&, const api::v1alpha2::EtcdClusterStatus& now);
/// A drain of its node may stop the only member.
runtime::Event not_redundant(const Observation&);

}  // namespace etcdop::cluster
