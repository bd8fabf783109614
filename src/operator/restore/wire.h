// Which changes lead to a pass over which EtcdRestore, and what the controller may do in the API.
#pragma once
#include <array>
#include <vector>

#include "kube/granted.h"
#include "operator/shared/stores.h"
#include "runtime/queue.h"

namespace etcdop::restore {

/// One row a resource. A call that has no row here does not compile; the chart's rules are
/// generated from it.
inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdRestore::resource, "", {Get, List, Watch}},
      {v1::EtcdRestore::resource, "status", {Patch}},
      // blockOwnerDeletion asks for it.
      {v1::EtcdRestore::resource, "finalizers", {Update}},
      {v1::EtcdCluster::resource, "", {Get}},
      {kube::Job::resource, "", {Get, List, Watch, Create, Delete}},
      {kube::Pod::resource, "", {List}},
  });
}();

/// What this controller calls the API through. Clusters and Jobs it knows from the stores that the
/// others fill.
using Api = kube::Granted<kPermissions>;

/// The same table, as a list.
std::vector<kube::Permission> permissions();

/// A change of an EtcdRestore or its Job adds it; one of a cluster those there that have not ended.
/// The queue outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::restore
