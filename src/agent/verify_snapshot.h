// The work of a verify agent, from its first look at the stored snapshot to its report.
#pragma once
#include "agent/restore_site.h"
#include "agent/scratch_etcd.h"
#include "agent/sealed.h"
#include "agent/source.h"
#include "agent/task.h"
#include "base/fiber.h"
#include "base/log.h"
#include "operator/agents/verify_report.h"

namespace etcdop::agent {

/// All must outlive the call.
struct VerifyCollaborators {
  Executor& executor;
  Log& log;
  SnapshotSource& source;
  RestoreSite& site;  ///< In the scratch folder; commit() is not called.
  ScratchEtcd& etcd;
  const SealingKeys* keys = nullptr;  ///< Null: the snapshot is not encrypted.
};

/// Restores the task's snapshot into a scratch folder, starts an etcd on it and compares its data
/// with the cluster's data of that time. Removes everything, after success or failure. Suspends,
/// for kVerifyLimit at most and a few seconds of cleanup. When cancelled, it cleans up and reports
/// that. Pure control flow: all effects go through the collaborators.
VerifyReport verify(const VerifyTask&, const VerifyCollaborators&);

/// The report of a failure.
VerifyReport verify_failure(RestoreReason, const std::string& message);
/// kExitStored on success, otherwise kExitFailed or kExitFailedForGood (reason.h).
int exit_code(const VerifyReport&);

inline constexpr Duration kVerifyLimit = std::chrono::minutes(30);

}  // namespace etcdop::agent
