// Which changes lead to a pass over which EtcdSnapshotSchedule, and what the controller may do in
// the API.
#pragma once
#include <array>
#include <vector>

#include "kube/granted.h"
#include "operator/shared/stores.h"
#include "runtime/queue.h"

namespace etcdop::backups {

/// One row a resource. A call that has no row here does not compile; the chart's rules are
/// generated from it.
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

/// What this controller calls the API through. EtcdSnapshots, Jobs, their Pods and clusters it
/// knows from the stores that the others fill.
using Api = kube::Granted<kPermissions>;

/// The same table, as a list.
std::vector<kube::Permission> permissions();

/// A change of a schedule adds it; one of an EtcdSnapshot that has not ended, or just has, the
/// schedules of its cluster; one of a Job or Pod the schedule of its EtcdSnapshot. The queue
/// outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::backups
