// Members that have been unreachable for long, such as on a lost node, how long a cluster's owner
// wants to wait for them, and a clock for states that last.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "base/fiber.h"

namespace etcdop::cluster {

/// The annotation replace-unreachable-members-after.
struct UnreachablePolicy {
  /// Seconds, at least 60; 0: wait for members without limit.
  std::int64_t after_s = 0;
  std::string error;  ///< Why the annotation is ignored, for users.
};
UnreachablePolicy unreachable_policy(const api::v1alpha2::EtcdCluster&);

/// For how long something has been so for members of one cluster, such as that they are
/// unreachable. Uses this process's own monotonic clock, and counts only what the process has seen
/// itself without a gap: a restart starts at 0 again.
class Lasting {
 public:
  /// `so`: the UIDs for which this pass found it so; it looked at all others.
  void note(const std::set<std::string>& so, Instant now) {
    if (now - looked_ > kGap) since_.clear();  // It may have ended meanwhile.
    looked_ = now;
    std::erase_if(since_, [&](const auto& one) { return !so.contains(one.first); });
    for (const std::string& uid : so) since_.try_emplace(uid, now);
  }
  std::int64_t seconds(const std::string& uid, Instant now) const {
    const auto found = since_.find(uid);
    return found == since_.end()
               ? 0
               : std::chrono::duration_cast<std::chrono::seconds>(now - found->second).count();
  }

 private:
  static constexpr Duration kGap = std::chrono::minutes(3);  // Passes are a minute apart at most.
  std::map<std::string, Instant> since_;
  Instant looked_{};
};

}  // namespace etcdop::cluster
