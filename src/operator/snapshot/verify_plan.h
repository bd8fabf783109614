// What to report and what to do next for a snapshot that is stored and is to be verified. Pure.
// Which verification is under way is recorded in the status before its Job is made, as for the
// snapshot itself; its phase never changes any more.
#pragma once
#include <chrono>
#include <cstdint>

#include "operator/snapshot/plan.h"

namespace etcdop::snapshot {

/// Of one verification: each after one that failed, and not for good, or is gone with what it had
/// to tell.
inline constexpr std::int32_t kVerifyJobsMax = 3;
/// Of one such Job. Kubernetes ends it after 40 minutes, unless a node is lost under its Pod.
inline constexpr std::chrono::minutes kVerifyJobMax{45};
/// However it is kept from its end.
inline constexpr std::chrono::minutes kVerifyMax{180};

/// Of one that is Complete.
Plan plan_verification(const Observation& seen);

}  // namespace etcdop::snapshot
