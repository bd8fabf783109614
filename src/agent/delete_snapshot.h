// A delete agent's work: what is stored of one EtcdSnapshot goes away, and nothing else.
#pragma once
#include "agent/stored_snapshot.h"
#include "base/fiber.h"
#include "base/log.h"
#include "operator/agents/agent_report.h"

namespace etcdop::agent {

/// Expected flow: look; remove the manifest, then the data, then what says whose the data is.
///
/// Guarantees: if nothing is there, that is success: it is gone already. If something under the
/// name is somebody else's, nothing goes away: DestinationExists. After a crash at any point
/// another call ends the work: the manifest, which was written last and without which nothing
/// counts as stored, goes first, so that what a crash leaves looks like an upload that was never
/// finished; and data without a manifest still has its mark, which is the uid that this agent was
/// given, so it is ours to remove.
///
/// Assumption: nobody stores for this EtcdSnapshot at the same time: its Job has ended.
///
/// Of a success, the report has only `uri` and, in `message`, what was done. Suspends, for
/// kDeleteLimit at most. Cancelled, it reports that.
AgentReport delete_snapshot(Executor&, Log&, StoredSnapshot&);

inline constexpr Duration kDeleteLimit = std::chrono::minutes(5);

}  // namespace etcdop::agent
