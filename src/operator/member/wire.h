// Which changes lead to a pass over which EtcdMember, and what the controller may do in the API.
#pragma once
#include <array>
#include <vector>

#include "kube/granted.h"
#include "operator/shared/stores.h"
#include "runtime/queue.h"

namespace etcdop::member {

/// One row a resource. A call that has no row here does not compile; the chart's rules are
/// generated from it.
inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdCluster::resource, "", {Get, List, Watch}},
      {v1::EtcdMember::resource, "", {Get, List, Watch, Patch}},
      {v1::EtcdMember::resource, "status", {Patch}},
      {v1::EtcdMember::resource, "finalizers", {Update}},
      {kube::Pod::resource, "", {Get, List, Watch, Create, Patch, Delete}},
      {kube::PersistentVolumeClaim::resource, "", {Get, List, Watch, Create}},
  });
}();

/// What this controller calls the API through.
using Api = kube::Granted<kPermissions>;

/// The same table, as a list.
std::vector<kube::Permission> permissions();

/// A change of a cluster, its members, Pods or volumes adds all members of that cluster. The queue
/// outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::member
