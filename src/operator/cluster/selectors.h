// Which Pods the Services of a cluster select. Pure.
//
// By the cluster's name alone, a Service selects any Pod with that label: also those of an earlier
// EtcdCluster of that name. And clients must not reach learners, which refuse most requests. So the
// selectors also have the EtcdCluster's UID, and that of the client Service the role of a voter.
// Pods of the Go operator, and of earlier releases, get these labels later. Until all have one, its
// key is not in a selector: no client and no peer may lose a member (ADR 26).
#pragma once
#include <span>

#include "kube/core_types.h"
#include "operator/cluster/decision.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Decides which Services are written, and the keys of their selectors. A key that a selector has
/// stays. One that it lacks is added when all Pods that need the label have it, according to the
/// observation; before the write, `shown_by_all` confirms it.
void select_members(const Observation&, Plan&);

/// Whether a selector that lacks keys would get one of them.
bool gains(SelectorKeys wanted, SelectorKeys lacking);

/// The keys that these Pods allow: a list that is fresh from the API server. A Pod without an
/// EtcdMember does not count. One of an EtcdMember that the observation does not know does.
SelectorKeys shown_by_all(const Observation&, std::span<const kube::Pod>);

/// Whether no member can have a Pod: the cluster is new.
bool has_no_pods(const Observation&);

/// The keys that the selector of an existing Service lacks.
SelectorKeys lacks(const kube::Service&, const api::v1alpha2::EtcdCluster&);

}  // namespace etcdop::cluster
