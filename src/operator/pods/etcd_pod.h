// What a member's Pod tells by its etcd command line and by the annotations that add to it. Pure.
#pragma once
#include <string>
#include <string_view>

#include "kube/core_types.h"

namespace etcdop {

inline constexpr std::string_view kInitialClusterFlag = "--initial-cluster=";
inline constexpr std::string_view kInitialStateFlag = "--initial-cluster-state=";
inline constexpr const char* kMaxLearnersFlag = "--max-learners=";

// Volumes of a Pod that restores a snapshot.
inline constexpr const char* kRestoreToolsVolume = "restore-tools";
inline constexpr const char* kRestoreSourceVolume = "restore-src";
inline constexpr const char* kRestoreAuthorityVolume = "restore-ca";
inline constexpr const char* kRestoreKeysVolume = "restore-keys";

/// What the Pod's command says after --initial-cluster=, or its annotation; empty if nothing.
std::string initial_cluster_of(const kube::Pod& pod);
/// Whether the Pod's annotation would let its etcd join on an empty data directory: once more, if
/// that is empty because its memory was lost, with the id of a member that has forgotten.
bool may_join(const kube::Pod& pod);
/// Whether the Pod starts etcd as the first member of a new cluster, whenever its data directory is
/// empty: by its command, or by its annotation, as of one that keeps its data in memory.
bool founds_a_cluster(const kube::Pod& pod);
/// Whether its etcd waits for a snapshot that is to be restored first.
bool has_to_restore(const kube::Pod& pod);
/// Whether the Pod's command lets it apply more than one learner.
bool takes_many_learners(const kube::Pod& pod);

}  // namespace etcdop
