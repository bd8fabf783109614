// The process of a Job that takes one snapshot: `manager snapshot-agent`.
#pragma once

namespace etcdop {

/// By what the environment says (docs/backup.md). The exit code.
int run_snapshot_agent();

}  // namespace etcdop
