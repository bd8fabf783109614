// Decides what to report and what to do next for a stored snapshot that is to be verified. Pure.
// The status records the verification before its Job is created, as for the snapshot itself; the
// phase never changes any more.
#pragma once
#include <chrono>
#include <cstdint>

#include "operator/snapshot/plan.h"

namespace etcdop::snapshot {

/// For one verification: another Job follows one that failed, unless the failure is permanent, and
/// one that was lost with its report.
inline constexpr std::int32_t kVerifyJobsMax = 3;
/// For one such Job. Kubernetes ends it after 40 minutes, unless the node of its Pod is lost.
inline constexpr std::chrono::minutes kVerifyJobMax{45};
/// For the whole verification, whatever delays it.
inline constexpr std::chrono::minutes kVerifyMax{180};

/// For a snapshot that is Complete.
Plan plan_verification(const Observation& seen);

}  // namespace etcdop::snapshot
