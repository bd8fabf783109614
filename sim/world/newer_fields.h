// The fields that the API got after its release of commit b74d13f: older CRDs prune them, and older
// builds of the operator neither read nor write them.
#pragma once
#include "kube/api.h"

namespace etcdop::sim {

/// Removes them from an object, from a list of objects, or from a merge patch.
void forget_newer(const api::Resource&, Json& object);
/// The same call, as an older build sends it.
kube::Call without_newer(const kube::Call&);

}  // namespace etcdop::sim
