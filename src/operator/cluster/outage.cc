#include "operator/cluster/outage.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>

#include "api/v1alpha2/names.h"
#include "operator/cluster/census.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr std::int64_t kManyUnavailable = 3, kShareUnavailable = 5;  // At least 3, and one in 5.
constexpr auto kTogether = 10min;  // Clusters that became unavailable in this time count.
/// A member waits no longer, even if clusters become unavailable again and again.
constexpr auto kWaitMax = 15min;

/// The reasons that a failed network or storage causes. All others have a cause of their own.
constexpr std::string_view kOutages[] = {v1::kClusterUnreachable, v1::kQuorumLost, v1::kDataLost,
                                         v1::kCorrupt};

}  // namespace

bool became_unavailable_lately(const v1::EtcdCluster& cluster, WallTime now) {
  const auto* c = runtime::find_condition(cluster.status.conditions, v1::kAvailable);
  if (!c || c->status == "True" || std::ranges::find(kOutages, c->reason) == std::end(kOutages))
    return false;
  const auto since = from_rfc3339(c->last_transition_time);
  if (!since) return false;
  const auto age = now - *since;  // Negative: the clock was set back.
  return age < kTogether && age > -kTogether;
}

bool waits_for_others(const Observation& seen, const Seat& condemned) {
  const bool many = seen.others_unavailable >= kManyUnavailable &&
                    seen.others_unavailable * kShareUnavailable >= seen.others;
  return many && std::chrono::seconds(condemned.condemned_s) < kWaitMax;
}

std::string about_outage(const Observation& seen) {
  for (const Seat& seat : seen.seats)
    if (seat.object && !seat.object->terminating && lost(seat) && waits_for_others(seen, seat))
      return seat.name + " is not replaced for up to 15 min: many other clusters became " +
             "unavailable at the same time, so the network or their storage may be the cause";
  return "";
}

}  // namespace etcdop::cluster
