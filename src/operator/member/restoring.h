// A first member that starts from a snapshot: what its Pod runs before etcd, and what keeps that
// from being done. Pure.
#pragma once
#include <string>

#include "base/json.h"
#include "operator/member/objects.h"
#include "operator/member/observation.h"

namespace etcdop::member {

/// Adds the containers install-tools and restore, and their volumes. The member has a snapshot.
void add_restore(json::object& pod_spec, const api::v1alpha2::EtcdMember& member,
                 const Images& images, bool with_auth);

/// Why a Pod that is to restore a snapshot is not made, in words; empty: nothing keeps it.
std::string restore_trouble(const Observation& seen);

/// How the Pod's restoring failed last, and what happens next; empty: it has not, or has been done
/// since.
std::string restore_failure(const Observation&, const kube::Pod& pod);

}  // namespace etcdop::member
