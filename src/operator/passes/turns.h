// The order of snapshots and defragmentations of one cluster: etcd cannot rewrite a database
// (EtcdDefrag) while it is read (EtcdSnapshot). Pure, but for the stores.
//
// Work that is under way goes on. Otherwise the older object begins; of the same age, the snapshot.
// - A snapshot waits for a run that is Running, and for an older run that waits only for snapshots
//   (SnapshotFirst). It does not wait for a run that waits for the cluster's health.
// - A run begins when no snapshot is Started and no snapshot that is as old or older is Pending. A
//   Running run waits before each member while a snapshot is Started: two processes may have begun
//   both without seeing each other.
// The order follows age and phase, so no two objects wait for each other, and no younger object
// overtakes a waiting one.
#pragma once
#include <chrono>
#include <string>

#include "base/wall_time.h"
#include "operator/passes/stores.h"

namespace etcdop {

/// A snapshot that is Pending for longer is ignored: no operator looks after it. Otherwise it waits
/// at most half an hour for a run, and a quarter of an hour for its cluster.
inline constexpr std::chrono::minutes kPendingMax{60};

/// The EtcdDefrag that goes before this snapshot; empty: none.
std::string run_before(const Stores&, const api::v1alpha2::EtcdSnapshot&);
/// A run before this snapshot that is Running: the snapshot waits for it, however long.
std::string run_under_way(const Stores&, const api::v1alpha2::EtcdSnapshot&);
/// The EtcdSnapshot that goes before this run; empty: none.
std::string snapshot_before(const Stores&, const api::v1alpha2::EtcdDefrag&, WallTime now);

}  // namespace etcdop
