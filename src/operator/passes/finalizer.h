// Our finalizer on EtcdMembers: it keeps the volume until etcd no longer lists the member.
#pragma once
#include <string>

#include "base/result.h"
#include "kube/granted.h"
#include "operator/passes/stores.h"

namespace etcdop {

bool has_our_finalizer(const api::ObjectMeta& meta);

/// The permission that the caller's table needs for it.
inline constexpr kube::Permission kReleasesFinalizer[] = {
    {api::v1alpha2::EtcdMember::resource, "", {kube::Verb::Patch}}};

/// Removes our finalizer, and no other, from the EtcdMember with that UID. Success if the
/// EtcdMember is already deleted; Conflict: it changed meanwhile, observe again. With a version,
/// any change since that version is a Conflict. May suspend.
Result<Done> release_finalizer(kube::Granted<kReleasesFinalizer> api, Stores& stores,
                               const api::ObjectKey& key, const std::string& uid,
                               const std::string& resource_version = "");

}  // namespace etcdop
