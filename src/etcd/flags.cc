#include "etcd/flags.h"

#include <algorithm>

#include "etcd/flag_table.h"

namespace etcdop::etcd {

bool takes_flag(Version version, std::string_view name) {
  const auto named = [](const KnownFlag& flag) { return std::string_view(flag.name); };
  const auto found = std::ranges::lower_bound(kKnownFlags, name, {}, named);
  return found != kKnownFlags.end() && found->name == name && version.major == 3 &&
         version.minor >= found->first && version.minor <= found->last;
}

}  // namespace etcdop::etcd
