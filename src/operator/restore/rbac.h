// The permissions in the API of the controller of EtcdRestore.
#pragma once
#include <array>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdrestore.h"
#include "kube/core_types.h"
#include "kube/granted.h"

namespace etcdop::restore {

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

/// The API of this controller. It reads clusters and Jobs from the stores that the others fill.
using Api = kube::Granted<kPermissions>;

}  // namespace etcdop::restore
