// The permissions in the API of the controller of EtcdDefrag.
#pragma once
#include <array>

#include "api/v1alpha2/etcddefrag.h"
#include "kube/granted.h"

namespace etcdop::defrag {

inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdDefrag::resource, "", {Get, List, Watch, Delete}},
      {v1::EtcdDefrag::resource, "status", {Patch}},
  });
}();

/// The API of this controller. It reads clusters, members and Pods from the stores that the others
/// fill.
using Api = kube::Granted<kPermissions>;

}  // namespace etcdop::defrag
