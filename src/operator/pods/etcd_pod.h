// Facts from a member's Pod: from its etcd command line and the annotations that add to it. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "kube/core_types.h"

namespace etcdop {

inline constexpr std::string_view kInitialClusterFlag = "--initial-cluster=";
inline constexpr std::string_view kInitialStateFlag = "--initial-cluster-state=";
inline constexpr const char* kMaxLearnersFlag = "--max-learners=";
inline constexpr std::string_view kSnapshotCountFlag = "--snapshot-count=";
inline constexpr std::string_view kCatchUpFlag = "--snapshot-catchup-entries=";
inline constexpr std::string_view kOldCatchUpFlag = "--experimental-snapshot-catchup-entries=";

// Volumes of a Pod that restores a snapshot.
inline constexpr const char* kRestoreToolsVolume = "restore-tools";
inline constexpr const char* kRestoreSourceVolume = "restore-src";
inline constexpr const char* kRestoreAuthorityVolume = "restore-ca";
inline constexpr const char* kRestoreKeysVolume = "restore-keys";

/// The container of etcd, as the kubelet reported it last; null: not yet. The report may be some
/// seconds older than an answer of etcd.
const kube::ContainerStatus* etcd_container(const kube::Pod& pod);
/// Whether the kubelet cannot start etcd's container, or waits before it starts it again.
bool cannot_run(const kube::Pod& pod);
/// Whether the Pod has ended, and will not run again.
bool has_ended(const kube::Pod& pod);
/// Whether it has ended, and not because it was deleted. The kubelet, which writes a reason, may
/// have refused or evicted it before that.
bool ended_by_itself(const kube::Pod& pod);
/// "<UID>/<restarts of etcd's container>": the run that was reported last.
std::string run_of(const kube::Pod& pod);
/// Whether the reported end of etcd's container is that of `run`, or of one before it.
bool ended_by(const kube::Pod& pod, std::string_view run);
/// How a container ended last; null: it never did, or none is given.
const kube::ContainerTerminated* last_end(const kube::ContainerStatus*);
/// "exit code 137 (OOMKilled)": how its container ended last; empty: it never did.
std::string last_end_of(const kube::Pod& pod);

/// The value of --initial-cluster= in the Pod's command, or of its annotation; empty: none.
std::string initial_cluster_of(const kube::Pod& pod);
/// Whether the Pod's annotation lets its etcd join with an empty data directory. After its memory
/// was lost it would join again, with the id of a member that has lost its data.
bool may_join(const kube::Pod& pod);
/// Whether the Pod starts etcd as the first member of a new cluster whenever its data directory is
/// empty: by its command, or for data in memory by its annotation.
bool founds_a_cluster(const kube::Pod& pod);
/// The initial state that the Pod's annotation gives to etcd; nullopt: its command has it, or no
/// list of first members.
std::optional<std::string> annotated_state(const kube::Pod& pod);
/// Whether its etcd waits until a snapshot is restored.
bool has_to_restore(const kube::Pod& pod);
/// The value of such a flag ("--name=") in the Pod's command; 0: absent, or no positive number.
std::int64_t number_in(const kube::Pod& pod, std::string_view flag);
/// Whether the Pod's command allows more than one learner.
bool takes_many_learners(const kube::Pod& pod);

}  // namespace etcdop
