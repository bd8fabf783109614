// Which changes lead to a pass over which EtcdSnapshot, and what the controller may do in the API.
#pragma once
#include <array>
#include <vector>

#include "kube/granted.h"
#include "operator/shared/stores.h"
#include "runtime/queue.h"

namespace etcdop::snapshot {

/// One row a resource. A call that has no row here does not compile; the chart's rules are
/// generated from it.
inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdSnapshot::resource, "", {Get, List, Watch}},
      {v1::EtcdSnapshot::resource, "status", {Patch}},
      {v1::EtcdSnapshot::resource, "finalizers", {Update}},
      {v1::EtcdCluster::resource, "", {Get}},
      {kube::Job::resource, "", {Get, List, Watch, Create, Delete}},
      {kube::Pod::resource, "", {List, Watch}},
  });
}();

/// What this controller calls the API through. Clusters, members and runs of defragmentation it
/// knows from the stores that the others fill.
using Api = kube::Granted<kPermissions>;

/// The same table, as a list.
std::vector<kube::Permission> permissions();

/// A change of a snapshot, its Job or Pods adds that snapshot; one of its cluster, the members or a
/// run of defragmentation there those that have not ended. The queue outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::snapshot
