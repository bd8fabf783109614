// The processes of the init containers that create a member from a snapshot.
#pragma once

namespace etcdop {

/// `manager restore-agent`, configured by the environment (docs/user/agents.md). Returns the exit
/// code.
int run_restore_agent();

/// `manager install-tools`: copies itself to TOOLS_DEST_DIR/manager. Returns the exit code.
int run_install_tools();

}  // namespace etcdop
