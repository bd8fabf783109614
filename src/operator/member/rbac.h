// The permissions in the API of the controller of EtcdMember.
#pragma once
#include <array>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "kube/core_types.h"
#include "kube/granted.h"

namespace etcdop::member {

inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdCluster::resource, "", {Get, List, Watch}},
      {v1::EtcdMember::resource, "", {Get, List, Watch, Patch}},
      {v1::EtcdMember::resource, "status", {Patch}},
      {v1::EtcdMember::resource, "finalizers", {Update}},
      {kube::Pod::resource, "", {Get, List, Watch, Create, Patch, Delete}},
      {kube::PersistentVolumeClaim::resource, "", {Get, List, Watch, Create, Patch, Delete}},
      {kube::Service::resource, "", {List, Watch}},
  });
}();

/// The API of this controller.
using Api = kube::Granted<kPermissions>;

}  // namespace etcdop::member
