// Whose turn it is at a cluster's databases: etcd cannot rewrite one (EtcdDefrag) that is being
// read (EtcdSnapshot). Pure, but for the stores.
//
// The rule: what is under way goes on; else the older one begins, of the same age the snapshot.
// - A snapshot waits for a run that is Running, and for an older one that waits for nothing but
//   snapshots (SnapshotFirst). It does not wait for a run that waits for the cluster's health.
// - A run begins when no snapshot is Started and none that is as old or older is Pending. One that
//   is Running waits before each member while a snapshot is Started: both may have begun unseen by
//   each other, in two processes.
// Who waits for whom follows age and phase, so nobody waits in a circle; who waits is passed by
// none that is younger.
#pragma once
#include <chrono>
#include <string>

#include "base/wall_time.h"
#include "operator/passes/stores.h"

namespace etcdop {

/// One that is Pending for longer is looked after by nobody: it waits for a run of half an hour and
/// for a cluster's quarter.
inline constexpr std::chrono::minutes kPendingMax{60};

/// The EtcdDefrag that goes before this snapshot; empty: none.
std::string run_before(const Stores&, const api::v1alpha2::EtcdSnapshot&);
/// Of these, one that is Running: it is waited for, however long.
std::string run_under_way(const Stores&, const api::v1alpha2::EtcdSnapshot&);
/// The EtcdSnapshot that goes before this run; empty: none.
std::string snapshot_before(const Stores&, const api::v1alpha2::EtcdDefrag&, WallTime now);

}  // namespace etcdop
