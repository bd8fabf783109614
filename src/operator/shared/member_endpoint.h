// Where a member's etcd answers, and who must answer there. Pure.
#pragma once
#include <optional>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "etcd/client.h"
#include "kube/core_types.h"

namespace etcdop {

/// "<member>.<cluster>.<namespace>.svc": the name in a member's URLs and certificates.
std::string member_host(const api::ObjectKey& cluster, const std::string& member);

/// Where a member's Pod answers; nullopt if it has no address, or is not that member's Pod.
std::optional<etcd::Endpoint> endpoint_of(const api::v1alpha2::EtcdCluster& cluster,
                                          const api::v1alpha2::EtcdMember& member,
                                          const kube::Pod& pod);

}  // namespace etcdop
