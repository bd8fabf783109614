// Members that nobody has seen for long, as on a node that is lost for good; and for how long a
// cluster's owner wants them waited for.
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
  /// Seconds, 60 at least; 0: members are waited for as long as it takes.
  std::int64_t after_s = 0;
  std::string error;  ///< Why it is as if there were none, for people.
};
UnreachablePolicy unreachable_policy(const api::v1alpha2::EtcdCluster&);

/// Of one cluster. Counts by this process's own clock, in which the date does not matter, and only
/// what it has seen itself, without a gap: a restart begins anew.
class Unreachable {
 public:
  /// Those (UIDs) whom this pass did not see; everybody else was seen.
  void note(const std::set<std::string>& unseen, Instant now) {
    if (now - looked_ > kGap) since_.clear();  // Nobody knows whether they were back meanwhile.
    looked_ = now;
    std::erase_if(since_, [&](const auto& one) { return !unseen.contains(one.first); });
    for (const std::string& uid : unseen) since_.try_emplace(uid, now);
  }
  std::int64_t seconds(const std::string& uid, Instant now) const {
    const auto found = since_.find(uid);
    return found == since_.end()
               ? 0
               : std::chrono::duration_cast<std::chrono::seconds>(now - found->second).count();
  }

 private:
  static constexpr Duration kGap = std::chrono::minutes(3);  // Looks are a minute apart at most.
  std::map<std::string, Instant> since_;
  Instant looked_{};
};

}  // namespace etcdop::cluster
