// Makes the EtcdCluster the owner of an object that has lost it. Kubernetes deletes an object whose
// only owner is gone, so the EtcdCluster is asked for before and after: the write may take as long
// as `kubectl delete --cascade=orphan` does.
#pragma once
#include <chrono>
#include <utility>

#include "api/v1alpha2/etcdcluster.h"
#include "base/fiber.h"
#include "operator/cluster/act.h"
#include "operator/cluster/rbac.h"
#include "operator/cluster/remains.h"

namespace etcdop::cluster {

/// For another look and another write, which may be as slow as the first one. Less after the fiber
/// was cancelled: another process may lead soon.
constexpr auto kTakeBackLimit = std::chrono::seconds(50);
constexpr auto kTakeBackAtTheEnd = std::chrono::seconds(5);

/// `patch` is that of ownership(), and may change more of the object. Conflict or NotFound: the
/// EtcdCluster is deleted, and is no owner of the object. Suspends, also after the fiber was
/// cancelled: nobody comes back to an EtcdCluster that is gone.
template <class T>
Result<T> give_owner(Executor& executor, const Api& api, const api::v1alpha2::EtcdCluster& cluster,
                     const api::ObjectMeta& child, json::object patch) {
  if (auto there = still_exists(api, cluster); !there) return there.error();
  auto given = api.merge_patch<T>(child.key(), std::move(patch));
  const bool ends = given.failed_with(Code::Cancelled);
  if (!given && !ends && !given.failed_with(Code::Lost) && !given.failed_with(Code::TimedOut))
    return given;
  const Shield to_its_end(executor, ends ? kTakeBackAtTheEnd : kTakeBackLimit);
  auto there = still_exists(api, cluster);
  if (!there.failed_with(Code::Conflict) && !there.failed_with(Code::NotFound)) return given;
  auto taken = api.json_patch<T>(child.key(), without_owner(child, cluster));
  const bool is_another = taken.failed_with(Code::Conflict) || taken.failed_with(Code::Invalid);
  if (!taken && !is_another && !taken.failed_with(Code::NotFound)) return taken;
  return there.error();
}

}  // namespace etcdop::cluster
