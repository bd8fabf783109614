// Decides what to report and what to do next for one EtcdRestore. Pure. The cluster's own
// controller (src/operator/cluster/restore_in_place.h) stops and restores the cluster, and records
// its stage there. Here the snapshot is checked first, and then that record is reported.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "operator/passes/step.h"
#include "operator/restore/observation.h"

namespace etcdop::restore {

/// How long it is reported that no Job can be created; then it fails.
inline constexpr std::chrono::minutes kWaitMax{15};
/// For one Job. Kubernetes ends it after 40 minutes, unless the node of its Pod is lost.
inline constexpr std::chrono::minutes kJobMax{45};
/// For the whole check, whatever delays it.
inline constexpr std::chrono::minutes kCheckMax{120};
/// A second Job is created if the first is lost with its report, or may succeed now.
inline constexpr std::int32_t kAttemptsMax = 2;

struct CreateCheck : ByAttempt {
  static constexpr StepTraits traits{"create-check", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "create-check, attempt " + std::to_string(attempt); }
};
/// Deletes the Job of an earlier attempt, or one that does not end.
struct DeleteCheck : ByUid {
  static constexpr StepTraits traits{"delete-check", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "delete-check " + uid; }
};
using Step = OneStepOf<CreateCheck, DeleteCheck>;

using Plan = PlanOf<api::v1alpha2::EtcdRestoreStatus, Step>;

Plan plan(const Observation& seen);
}  // namespace etcdop::restore
