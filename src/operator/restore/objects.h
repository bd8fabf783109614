// The Job that checks a snapshot before a cluster goes back to it. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "operator/agents/verify_pod.h"
#include "operator/restore/observation.h"

namespace etcdop::restore {

/// "<restore>-check": of the Job, and beginning of its Pods' names.
std::string job_name(const std::string& restore);

/// Of a cluster's members, of which one restores: its spec may ask for what was refused.
std::string version_of(const api::v1alpha2::EtcdCluster& cluster);
/// Likewise the ServiceAccount of their Pods; empty: their namespace's default.
std::string account_of(const api::v1alpha2::EtcdCluster& cluster);

/// The manifest; the cluster was seen. Its agent restores the snapshot into scratch, with the
/// cluster's own etcd, and starts that, under the cluster's ServiceAccount unless the spec has one.
Json job(const Observation& seen, std::int32_t attempt, const VerifyImages& images);

}  // namespace etcdop::restore
