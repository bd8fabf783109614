// The processes of Jobs that store one snapshot, and that remove one: `manager snapshot-agent`,
// `manager delete-agent`.
#pragma once

namespace etcdop {

/// By what the environment says (docs/user/backup.md). The exit code.
int run_snapshot_agent();
/// Likewise.
int run_delete_agent();

}  // namespace etcdop
