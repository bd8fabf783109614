// The Job that verifies a stored snapshot: its agent restores it into a scratch volume, with the
// cluster's own etcd. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "operator/agents/verify_pod.h"
#include "operator/snapshot/observation.h"

namespace etcdop::snapshot {

/// "<snapshot>-verify": the name of the Job, and the beginning of its Pods' names.
std::string verify_job_name(const std::string& snapshot);

/// The version of the etcd that restores it: the cluster's, or if the cluster is deleted, the one
/// in the snapshot's record. Empty: unknown.
std::string verify_version(const Observation& seen);

/// The manifest, for a stored snapshot. `status.verification` says which verification it is for.
Json verify_job(const Observation& seen, std::int32_t attempt, const VerifyImages& images);

}  // namespace etcdop::snapshot
