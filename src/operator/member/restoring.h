// A first member that starts from a snapshot: the containers that run before etcd, and the faults
// that prevent it. Pure.
#pragma once
#include <string>

#include "base/json.h"
#include "operator/member/objects.h"
#include "operator/member/observation.h"

namespace etcdop::member {

/// Adds the containers install-tools and restore, and their volumes. The member has a snapshot.
void add_restore(json::object& pod_spec, const api::v1alpha2::EtcdMember& member,
                 const Images& images, bool with_auth);

/// Why no Pod is created that restores a snapshot, in words; empty: nothing prevents it.
std::string restore_trouble(const Observation& seen);

/// The last failure of the Pod's restore, and what happens next; empty: none, or it has succeeded
/// since.
std::string restore_failure(const Observation&, const kube::Pod& pod);

}  // namespace etcdop::member
