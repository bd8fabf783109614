// The name of a new member of a cluster.
#pragma once
#include <cstdint>
#include <string>

namespace etcdop {

/// "<cluster>-" and five characters that follow from the cluster's UID and the sequence.
std::string member_name(const std::string& cluster, const std::string& uid, std::int64_t sequence);

}  // namespace etcdop
