// The Job that checks a snapshot before a cluster goes back to it. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "operator/agents/verify_pod.h"
#include "operator/restore/observation.h"

namespace etcdop::restore {

/// "<restore>-check": the name of the Job, and the beginning of its Pods' names.
std::string job_name(const std::string& restore);

/// The version of a cluster's members, one of which restores: its spec may have a refused version.
std::string version_of(const api::v1alpha2::EtcdCluster& cluster);
/// The ServiceAccount of their Pods; empty: their namespace's default.
std::string account_of(const api::v1alpha2::EtcdCluster& cluster);

/// The manifest; the cluster must have been seen. The agent restores the snapshot into scratch
/// space with the cluster's etcd and starts that, under the cluster's ServiceAccount unless the
/// spec has one.
Json job(const Observation& seen, std::int32_t attempt, const VerifyImages& images);

}  // namespace etcdop::restore
