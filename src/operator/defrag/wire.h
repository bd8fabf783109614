// Which changes lead to a pass over which EtcdDefrag, and what the controller may do in the API.
#pragma once
#include <array>
#include <vector>

#include "kube/granted.h"
#include "operator/shared/stores.h"
#include "runtime/queue.h"

namespace etcdop::defrag {

/// One row a resource. A call that has no row here does not compile; the chart's rules are
/// generated from it.
inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdDefrag::resource, "", {Get, List, Watch, Delete}},
      {v1::EtcdDefrag::resource, "status", {Patch}},
  });
}();

/// What this controller calls the API through. Clusters, members and Pods it knows from the stores
/// that the others fill.
using Api = kube::Granted<kPermissions>;

/// The same table, as a list.
std::vector<kube::Permission> permissions();

/// A change of a run adds all runs of its cluster, as it may be another one's turn; one of the
/// cluster, its members or snapshots those that have not ended. The queue outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::defrag
