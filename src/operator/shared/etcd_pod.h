// What a member's Pod tells by its etcd command line. Pure.
#pragma once
#include <string>

#include "kube/core_types.h"

namespace etcdop {

inline constexpr const char* kInitialClusterFlag = "--initial-cluster=";
inline constexpr const char* kInitialStateFlag = "--initial-cluster-state=";
inline constexpr const char* kMaxLearnersFlag = "--max-learners=";

/// What the Pod's command says after --initial-cluster=; empty if nothing.
std::string initial_cluster_of(const kube::Pod& pod);
/// Whether the Pod starts etcd as the first member of a new cluster, whenever its data directory is
/// empty: by its command, or by its annotation, as of one that keeps its data in memory.
bool founds_a_cluster(const kube::Pod& pod);
/// Whether the Pod's command lets it apply more than one learner.
bool takes_many_learners(const kube::Pod& pod);

}  // namespace etcdop
