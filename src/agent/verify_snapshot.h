// A verify agent's work from its first look at the stored snapshot to its report.
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

/// All outlive the call.
struct VerifyCollaborators {
  Executor& executor;
  Log& log;
  SnapshotSource& source;
  RestoreSite& site;  ///< Of the scratch folder; commit() is not called.
  ScratchEtcd& etcd;
  const SealingKeys* keys = nullptr;  ///< Null: it is not encrypted.
};

/// Restores the snapshot of the task into a scratch folder, starts an etcd on it and compares what
/// that has with what the cluster had. Nothing of it stays, however it ends. Suspends, for
/// kVerifyLimit at most and a few seconds of cleaning up. Cancelled, it cleans up and reports that.
/// Pure control flow: what it does, it does by the collaborators.
VerifyReport verify(const VerifyTask&, const VerifyCollaborators&);

/// A failure's report.
VerifyReport verify_failure(RestoreReason, const std::string& message);
/// kExitStored if it did not fail, else kExitFailed or kExitFailedForGood (reason.h).
int exit_code(const VerifyReport&);

inline constexpr Duration kVerifyLimit = std::chrono::minutes(30);

}  // namespace etcdop::agent
