// A restore agent's work from its first look at the data directory to its report.
#pragma once
#include "agent/restore_site.h"
#include "agent/sealed.h"
#include "agent/source.h"
#include "agent/task.h"
#include "base/fiber.h"
#include "base/log.h"
#include "operator/agents/restore_report.h"

namespace etcdop::agent {

/// All outlive the call.
struct RestoreCollaborators {
  Executor& executor;
  Log& log;
  SnapshotSource& source;
  RestoreSite& site;
  const SealingKeys* keys = nullptr;  ///< Null: it is not encrypted.
};

/// Makes the member of the task out of a snapshot, from memory of a bounded size, or finds that
/// there is one already. Whatever is wrong with the snapshot is found before anything is written
/// but a temporary file, which goes away again. Suspends, for kRestoreLimit at most and a few
/// seconds of cleaning up. Cancelled, it cleans up and reports that. Pure control flow: what it
/// does, it does by the collaborators.
RestoreReport restore(const RestoreTask&, const RestoreCollaborators&);

/// A failure's report.
RestoreReport restore_failure(RestoreReason, const std::string& message);
/// kExitStored if it did not fail, else kExitFailed or kExitFailedForGood (reason.h).
int exit_code(const RestoreReport&);

inline constexpr Duration kRestoreLimit = std::chrono::minutes(30);

}  // namespace etcdop::agent
