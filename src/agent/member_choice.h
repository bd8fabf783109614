// Chooses the member that gives its snapshot. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "etcd/member.h"

namespace etcdop::agent {

/// The answer of one host.
struct Seen {
  std::string host;
  Result<etcd::Status> status;
};

/// The index of a voter that knows a leader, reports no trouble and is not far behind; a follower
/// if possible. Unavailable: no host answers. Denied: all hosts deny us. Conflict: no member is
/// fit, or they are not one cluster. The message gives the reason for each host.
Result<std::size_t> choose(const std::vector<Seen>&);

/// Maximum number of log entries that a member may be behind the first.
inline constexpr std::uint64_t kBehindMax = 5'000;

}  // namespace etcdop::agent
