// The work of a delete agent: removes the stored data of one EtcdSnapshot, and nothing else.
#pragma once
#include "agent/stored_snapshot.h"
#include "base/fiber.h"
#include "base/log.h"
#include "operator/agents/agent_report.h"

namespace etcdop::agent {

/// Normal flow: look; remove the manifest, then the data, then the mark that names the owner of the
/// data.
///
/// Guarantees: if nothing is stored, that is success: it was removed before. If something under the
/// name belongs to another owner, nothing is removed: DestinationExists. After a crash at any
/// point, another call finishes the work. The manifest was written last, and without it nothing
/// counts as stored; it is removed first, so a crash leaves the same state as an unfinished upload.
/// Data without a manifest still has its mark, the uid that this agent was given, so it is ours to
/// remove.
///
/// Assumption: no agent stores for this EtcdSnapshot at the same time, because its Job has ended.
///
/// On success, the report has only `uri` and, in `message`, what was done. Suspends, for
/// kDeleteLimit at most. Reports a cancellation.
AgentReport delete_snapshot(Executor&, Log&, StoredSnapshot&);

inline constexpr Duration kDeleteLimit = std::chrono::minutes(5);

}  // namespace etcdop::agent
