// Which flags an etcd takes. Pure.
#pragma once
#include <string_view>

#include "etcd/version_facts.h"

namespace etcdop::etcd {

/// Whether etcd of that version takes the flag of that name (without dashes), as the newest patch
/// of its minor does. An older patch may lack one that came later. False for minors beyond the
/// table.
bool takes_flag(Version version, std::string_view name);

}  // namespace etcdop::etcd
