// Makes the EtcdCluster the owner of an object that has lost it. Kubernetes deletes an object whose
// only owner is gone, so the EtcdCluster is asked for before and after: the write may take as long
// as `kubectl delete --cascade=orphan` does.
#pragma once
#include <utility>

#include "api/v1alpha2/etcdcluster.h"
#include "operator/cluster/act.h"
#include "operator/cluster/rbac.h"
#include "operator/cluster/remains.h"
#include "operator/passes/look_again.h"

namespace etcdop::cluster {

/// `patch` is that of ownership(), and may change more of the object. Conflict or NotFound: the
/// EtcdCluster is deleted, and the object keeps the owners that it had. Suspends.
template <class T>
Result<T> give_owner(const Api& api, const api::v1alpha2::EtcdCluster& cluster,
                     const api::ObjectMeta& child, json::object patch) {
  if (auto there = still_exists(api, cluster); !there) return there.error();
  auto given = api.merge_patch<T>(child.key(), std::move(patch));
  if (!given && !leaves_doubt(given)) return given;
  auto there = still_exists(api, cluster);
  if (!there.failed_with(Code::Conflict) && !there.failed_with(Code::NotFound)) return given;
  // No resourceVersion: others may have written to the object since.
  auto taken = api.merge_patch<T>(child.key(), owners_as_read(child));
  if (!taken && !taken.failed_with(Code::NotFound)) return taken;
  return there.error();
}

}  // namespace etcdop::cluster
