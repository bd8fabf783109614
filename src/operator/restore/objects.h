// The Job that checks a snapshot before a cluster goes back to it. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "operator/restore/observation.h"
#include "operator/shared/verify_pod.h"

namespace etcdop::restore {

/// "<restore>-check": of the Job, and beginning of its Pods' names.
std::string job_name(const std::string& restore);

/// The manifest; the cluster was seen. Its agent restores the snapshot into scratch, with the
/// cluster's own etcd, and starts that.
Json job(const Observation& seen, std::int32_t attempt, const VerifyImages& images);

}  // namespace etcdop::restore
