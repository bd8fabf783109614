// The permissions in the API of the controller of EtcdSnapshot.
#pragma once
#include <array>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "kube/core_types.h"
#include "kube/granted.h"

namespace etcdop::snapshot {

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

/// The API of this controller. It reads clusters, members and defragmentation runs from the stores
/// that the others fill.
using Api = kube::Granted<kPermissions>;

}  // namespace etcdop::snapshot
