// The process that proves a stored snapshot by restoring it.
#pragma once

namespace etcdop {

/// `manager verify-agent`, configured by the environment (docs/user/agents.md). Returns the exit
/// code.
int run_verify_agent();

}  // namespace etcdop
