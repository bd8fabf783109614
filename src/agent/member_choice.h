// Which member is asked for its snapshot. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "etcd/member.h"

namespace etcdop::agent {

/// What one host answered.
struct Seen {
  std::string host;
  Result<etcd::Status> status;
};

/// The index of one that votes, knows a leader, complains of nothing and is not far behind; a
/// follower if there is such a one. Unavailable: nobody answers;
/// Denied: because none of them wants us. Conflict: nobody is
/// fit, or they are not one cluster. The message tells of each host why.
Result<std::size_t> choose(const std::vector<Seen>&);

/// So many entries of the log a member may be behind the first.
inline constexpr std::uint64_t kBehindMax = 5'000;

}  // namespace etcdop::agent
