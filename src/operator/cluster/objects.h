// The children of an EtcdCluster as they should be made. Pure.
#pragma once
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "base/json.h"
#include "operator/cluster/plan.h"

namespace etcdop::cluster {

/// "<cluster>": every member by name, ready or not.
Json headless_service(const api::v1alpha2::EtcdCluster& cluster);
/// "<cluster>-client": ready members; learners never are.
Json client_service(const api::v1alpha2::EtcdCluster& cluster);
std::string client_service_name(const std::string& cluster);

/// An EtcdMember with the spec of status.observed. Only the seed's initialCluster is filled.
Json member(const api::v1alpha2::EtcdCluster& cluster, const CreateMember& step);

/// "<member>.<cluster>.<namespace>.svc": the name in a member's URLs and certificates.
std::string member_host(const api::ObjectKey& cluster, const std::string& member);

/// Whether `child` has `cluster`, by UID, as its owner.
bool is_ours(const api::ObjectMeta& child, const api::v1alpha2::EtcdCluster& cluster);

}  // namespace etcdop::cluster
