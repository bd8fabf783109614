// The processes of Jobs that store and delete one snapshot: `manager snapshot-agent`, `manager
// delete-agent`.
#pragma once

namespace etcdop {

/// Configured by the environment (docs/user/agents.md). Returns the exit code.
int run_snapshot_agent();
/// The same.
int run_delete_agent();

}  // namespace etcdop
