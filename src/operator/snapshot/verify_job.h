// The Job that verifies a stored snapshot: its agent restores it into a scratch volume, with the
// cluster's own etcd. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "operator/agents/verify_pod.h"
#include "operator/snapshot/observation.h"

namespace etcdop::snapshot {

/// "<snapshot>-verify": of the Job, and beginning of its Pods' names.
std::string verify_job_name(const std::string& snapshot);

/// Of the etcd that restores it: the cluster's, or where that is no more, the one that it is from.
/// Empty: nobody knows.
std::string verify_version(const Observation& seen);

/// The manifest, of a snapshot that is stored. `status.verification` says which one it is for.
Json verify_job(const Observation& seen, std::int32_t attempt, const VerifyImages& images);

}  // namespace etcdop::snapshot
