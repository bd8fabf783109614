// Our finalizer on EtcdMembers: it keeps the volume until etcd has let the member go.
#pragma once
#include <string>

#include "base/result.h"
#include "kube/granted.h"
#include "operator/passes/stores.h"

namespace etcdop {

bool has_our_finalizer(const api::ObjectMeta& meta);

/// What that needs in the table of whoever does it.
inline constexpr kube::Permission kReleasesFinalizer[] = {
    {api::v1alpha2::EtcdMember::resource, "", {kube::Verb::Patch}}};

/// Takes our finalizer, and no other, off the EtcdMember of that UID. Gone already is success;
/// Conflict: it changed meanwhile, observe again. May suspend.
Result<Done> release_finalizer(kube::Granted<kReleasesFinalizer> api, Stores& stores,
                               const api::ObjectKey& key, const std::string& uid);

}  // namespace etcdop
