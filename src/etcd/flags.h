// The flags that each etcd version accepts. Pure.
#pragma once
#include <string_view>

#include "etcd/version_facts.h"

namespace etcdop::etcd {

/// Whether etcd of that version accepts the flag of that name (without dashes), as the newest patch
/// of its minor does. An older patch may lack a flag that came later. False for minors beyond the
/// table.
bool takes_flag(Version version, std::string_view name);

}  // namespace etcdop::etcd
