#include "operator/cluster/outage.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/names.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

const WallTime kNow = *from_rfc3339("2026-01-01T12:00:00Z");

bool counts(const char* status, const char* reason, std::chrono::seconds ago) {
  v1::EtcdCluster cluster;
  cluster.status.conditions.push_back({.type = v1::kAvailable,
                                       .status = status,
                                       .reason = reason,
                                       .message = "",
                                       .last_transition_time = to_rfc3339(kNow + -ago)});
  return became_unavailable_lately(cluster, kNow);
}

TEST(Outage, K2_OnlyClustersThatBecameUnavailableInTheLastMinutesCount) {
  EXPECT_TRUE(counts("Unknown", v1::kClusterUnreachable, 0s));
  EXPECT_TRUE(counts("False", v1::kQuorumLost, 599s));
  EXPECT_FALSE(counts("False", v1::kQuorumLost, 600s)) << "it has been so for long";
  EXPECT_TRUE(counts("False", v1::kQuorumLost, -599s)) << "the clock was set back";
  EXPECT_FALSE(counts("False", v1::kQuorumLost, -600s)) << "but not for ever";
  EXPECT_FALSE(counts("True", v1::kQuorumAvailable, 0s));
}

TEST(Outage, K2_AClusterThatAUserPausedOrBrokeDoesNotCount) {
  for (const char* reason : {v1::kPaused, v1::kRestoring, v1::kAuthorityLost, v1::kVolumesFound})
    EXPECT_FALSE(counts("False", reason, 0s)) << reason;
  EXPECT_FALSE(became_unavailable_lately(v1::EtcdCluster{}, kNow)) << "nothing is known of it";
}

}  // namespace
}  // namespace etcdop::cluster
