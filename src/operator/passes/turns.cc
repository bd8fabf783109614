#include "operator/passes/turns.h"

#include <algorithm>

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

/// Whether only a snapshot keeps it from beginning.
bool in_line(const v1::EtcdDefrag& run) {
  return std::ranges::any_of(run.status.conditions, [](const api::Condition& c) {
    return c.type == v1::kDefragChecked && c.reason == v1::kSnapshotFirst;
  });
}

bool is_open(const v1::EtcdDefrag& run) {
  return !run.status.finished() && !run.metadata.terminating();
}

}  // namespace

std::string run_under_way(const Stores& stores, const v1::EtcdSnapshot& snapshot) {
  for (const auto& run :
       stores.defrags.in_group({snapshot.metadata.ns, snapshot.spec.cluster_ref.name}))
    if (is_open(*run) && run->status.phase == v1::kDefragRunning) return run->metadata.name;
  return "";
}

std::string run_before(const Stores& stores, const v1::EtcdSnapshot& snapshot) {
  if (std::string running = run_under_way(stores, snapshot); !running.empty()) return running;
  for (const auto& run :
       stores.defrags.in_group({snapshot.metadata.ns, snapshot.spec.cluster_ref.name}))
    if (is_open(*run) && in_line(*run) &&
        run->metadata.creation_timestamp < snapshot.metadata.creation_timestamp)
      return run->metadata.name;
  return "";
}

std::string snapshot_before(const Stores& stores, const v1::EtcdDefrag& run, WallTime now) {
  const bool running = run.status.phase == v1::kDefragRunning;
  for (const auto& snapshot :
       stores.snapshots.in_group({run.metadata.ns, run.spec.cluster_ref.name})) {
    if (snapshot->status.finished() || snapshot->metadata.terminating()) continue;
    const std::string& made = snapshot->metadata.creation_timestamp;
    const auto since = from_rfc3339(made);
    const bool older =
        made <= run.metadata.creation_timestamp && since && now - *since < kPendingMax;
    if (snapshot->status.phase == v1::kSnapshotStarted || (!running && older))
      return snapshot->metadata.name;
  }
  return "";
}

}  // namespace etcdop
