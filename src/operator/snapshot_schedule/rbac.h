// The permissions in the API of the controller of EtcdSnapshotSchedule.
#pragma once
#include <array>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "kube/core_types.h"
#include "kube/granted.h"

namespace etcdop::snapshot_schedule {

inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdSnapshotSchedule::resource, "", {Get, List, Watch}},
      {v1::EtcdSnapshotSchedule::resource, "status", {Patch}},
      {v1::EtcdSnapshotSchedule::resource, "finalizers", {Update}},
      {v1::EtcdSnapshot::resource, "", {Get, List, Create, Patch, Delete}},
      {v1::EtcdSnapshot::resource, "finalizers", {Update}},
      {kube::Job::resource, "", {Get, Create, Delete}},
  });
}();

/// The API of this controller. It reads EtcdSnapshots, Jobs, their Pods and clusters from the
/// stores that the others fill.
using Api = kube::Granted<kPermissions>;

}  // namespace etcdop::snapshot_schedule
