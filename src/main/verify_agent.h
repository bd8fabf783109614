// The process that proves a stored snapshot by restoring it.
#pragma once

namespace etcdop {

/// `manager verify-agent`, by what the environment says (docs/user/backup.md). The exit code.
int run_verify_agent();

}  // namespace etcdop
