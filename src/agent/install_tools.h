// Copies this program into a container whose image does not have it.
#pragma once
#include <string>

#include "base/result.h"

namespace etcdop::agent {

/// Copies the program at `program` to `folder`/manager, executable for all users, completely or not
/// at all. Errors as for NewFile (sys/folder.h).
Result<Done> install_tools(const std::string& program, const std::string& folder);

}  // namespace etcdop::agent
