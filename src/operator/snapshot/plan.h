// Decides what to report and what to do next for one snapshot. Pure. The status records the Job
// before it is created, with a name that only this snapshot uses: any later pass creates it, or
// finds it.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "operator/passes/step.h"
#include "operator/snapshot/observation.h"

namespace etcdop::snapshot {

/// For a cluster without quorum: a leader is elected within seconds.
inline constexpr std::chrono::seconds kQuorumLossMax{60};
/// Available is Unknown for so long before an outage makes it False (cluster/conditions.cc).
inline constexpr std::chrono::seconds kUnknownFor{60};
/// For a wait without progress: for a cluster that is being created, or a refused Job.
inline constexpr std::chrono::minutes kWaitMax{15};
/// For a Job that cannot be created, however late it is by then.
inline constexpr std::chrono::seconds kRefusedMin{60};
/// For one Job. Kubernetes ends it after 30 minutes, unless the node of its Pod is lost (the Job
/// waits for the end of the Pod) or a user has suspended it.
inline constexpr std::chrono::minutes kJobMax{35};
/// Since the snapshot was first reported, whatever delays it.
inline constexpr std::chrono::minutes kStartedMax{120};
/// A second Job is created if the first is lost with its report (the agent finds an object of this
/// snapshot's UID, and reports it without storing it again), or if etcd rejected a password, which
/// may just have been changed.
inline constexpr std::int32_t kAttemptsMax = 2;

struct CreateJob : ByAttempt {
  static constexpr StepTraits traits{"create-job", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "create-job, attempt " + std::to_string(attempt); }
};
/// Deletes the Job of an earlier attempt, or one that does not end.
struct DeleteJob : ByUid {
  static constexpr StepTraits traits{"delete-job", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "delete-job " + uid; }
};
struct CreateVerification : ByAttempt {
  static constexpr StepTraits traits{"create-verification", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "create-verification, attempt " + std::to_string(attempt); }
};
/// Deletes the Job of an earlier attempt or verification, or one that does not end.
struct DeleteVerification : ByUid {
  static constexpr StepTraits traits{"delete-verification", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "delete-verification " + uid; }
};
using Step = OneStepOf<CreateJob, DeleteJob, CreateVerification, DeleteVerification>;

using Plan = PlanOf<api::v1alpha2::EtcdSnapshotStatus, Step>;

Plan plan(const Observation& seen);
}  // namespace etcdop::snapshot
