// The work of a restore agent, from its first look at the data directory to its report.
#pragma once
#include "agent/restore_site.h"
#include "agent/sealed.h"
#include "agent/source.h"
#include "agent/task.h"
#include "base/fiber.h"
#include "base/log.h"
#include "operator/agents/restore_report.h"

namespace etcdop::agent {

/// All must outlive the call.
struct RestoreCollaborators {
  Executor& executor;
  Log& log;
  SnapshotSource& source;
  RestoreSite& site;
  const SealingKeys* keys = nullptr;  ///< Null: the snapshot is not encrypted.
};

/// Makes the task's member from a snapshot, in bounded memory, or finds an existing member. Any
/// fault of the snapshot is found before anything but a temporary file is written; that file is
/// removed. Suspends, for kRestoreLimit at most and a few seconds of cleanup. When cancelled, it
/// cleans up and reports that. Pure control flow: all effects go through the collaborators.
RestoreReport restore(const RestoreTask&, const RestoreCollaborators&);

/// The report of a failure.
RestoreReport restore_failure(RestoreReason, const std::string& message);
/// kExitStored on success, otherwise kExitFailed or kExitFailedForGood (reason.h).
int exit_code(const RestoreReport&);

inline constexpr Duration kRestoreLimit = std::chrono::minutes(30);

}  // namespace etcdop::agent
