// A copy of this program, for a container whose image does not have it.
#pragma once
#include <string>

#include "base/result.h"

namespace etcdop::agent {

/// The program at the path `program` becomes `folder`/manager, which everybody may run: whole or
/// not at all. Errors as of NewFile (sys/folder.h).
Result<Done> install_tools(const std::string& program, const std::string& folder);

}  // namespace etcdop::agent
