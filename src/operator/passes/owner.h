// The owner of an object: by UID, never by name. Pure.
#pragma once
#include <algorithm>
#include <string>

#include "api/meta.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "operator/passes/metadata.h"

namespace etcdop {

/// Whether the object of that UID is among the owners of `child`.
inline bool is_ours(const api::ObjectMeta& child, const std::string& owner_uid) {
  return std::ranges::find(child.owner_references, owner_uid, &api::OwnerReference::uid) !=
         child.owner_references.end();
}

/// Whether the operator made a Secret for that EtcdCluster. A user may have taken its owner away
/// since: then its label has the UID.
inline bool is_made_for(const api::v1alpha2::EtcdCluster& cluster, const api::ObjectMeta& secret) {
  const std::string& uid = cluster.metadata.uid;
  return is_ours(secret, uid) ||
         (label_of(secret, api::v1alpha2::kClusterUidLabel) == uid && !secret.controller());
}

/// Whether a member's token was made for that EtcdCluster: it has its UID. An EtcdCluster may have
/// members with another one, which it adopted.
inline bool is_token_of(const std::string& token, const api::ObjectMeta& cluster) {
  return token.find(cluster.uid) != std::string::npos;
}

/// Whether a member of a cluster that founds or runs has lost its owner, by a user's edit. The
/// token in its spec has the UID of its EtcdCluster, so it is no other's; a restore in place has
/// recorded its UID. Its owner is given back (K17), after the restore.
inline bool has_lost_owner(const api::v1alpha2::EtcdMember& member,
                           const api::v1alpha2::EtcdCluster& cluster) {
  const api::v1alpha2::EtcdClusterStatus& status = cluster.status;
  const bool current = !(status.cluster_id.empty() && status.pending_members.empty()) &&
                       !status.cluster_token.empty() &&
                       member.spec.cluster_token == status.cluster_token;
  const bool kept = cluster.restoring() && cluster.restoring()->keeps(member.metadata.uid);
  return (current || kept) && !member.metadata.controller() && !cluster.metadata.terminating() &&
         member.metadata.ns == cluster.metadata.ns &&
         member.spec.cluster_name == cluster.metadata.name;
}

}  // namespace etcdop
