// The processes of the init containers that make a member out of a snapshot.
#pragma once

namespace etcdop {

/// `manager restore-agent`, by what the environment says (docs/user/backup.md). The exit code.
int run_restore_agent();

/// `manager install-tools`: copies itself to TOOLS_DEST_DIR/manager. The exit code.
int run_install_tools();

}  // namespace etcdop
