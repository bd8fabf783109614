// How long a member has been unreachable, and the annotation about it.
#include "operator/cluster/unreachable.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/names.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;

std::int64_t policy(const char* text) {
  api::v1alpha2::EtcdCluster cluster;
  cluster.metadata.annotations[api::v1alpha2::kReplaceUnreachableAnnotation] = text;
  const UnreachablePolicy out = unreachable_policy(cluster);
  EXPECT_NE(out.after_s == 0, out.error.empty()) << text;
  return out.after_s;
}

TEST(UnreachablePolicy, IsADurationOfAMinuteAtLeast) {
  EXPECT_EQ(unreachable_policy({}).after_s, 0);
  EXPECT_EQ(unreachable_policy({}).error, "");
  EXPECT_EQ(policy("15m"), 900);
  EXPECT_EQ(policy("1h30m"), 5400);
  EXPECT_EQ(policy("1.5h"), 5400);
  EXPECT_EQ(policy("90s"), 90);
  EXPECT_EQ(policy("60000ms"), 60);
  EXPECT_EQ(policy("1m"), 60);
  EXPECT_EQ(policy("0h90s"), 90);
  for (const char* bad : {"", "15", "m", "15 m", "-15m", "15m ", "59s", "15x", "1e3m", "nan",
                          "9999999999h", "15m5", ".5h", "+15m"})
    EXPECT_EQ(policy(bad), 0) << bad;
}

TEST(Unreachable, CountsFromTheFirstLookThatDidNotSeeIt) {
  Lasting members;
  const Instant begin = Instant{} + 1h;
  members.note({"a"}, begin);
  EXPECT_EQ(members.seconds("a", begin), 0);
  members.note({"a", "b"}, begin + 1min);
  EXPECT_EQ(members.seconds("a", begin + 1min), 60);
  EXPECT_EQ(members.seconds("b", begin + 1min), 0);
  EXPECT_EQ(members.seconds("c", begin + 1min), 0);
  members.note({"b"}, begin + 2min);
  members.note({"a", "b"}, begin + 3min);
  EXPECT_EQ(members.seconds("a", begin + 3min), 0) << "it was back";
  EXPECT_EQ(members.seconds("b", begin + 3min), 120);
}

TEST(Unreachable, WhereWeDidNotLookItMayHaveBeenBack) {
  Lasting members;
  members.note({"a"}, Instant{} + 1h);
  members.note({"a"}, Instant{} + 1h + 3min);
  EXPECT_EQ(members.seconds("a", Instant{} + 1h + 3min), 180);
  members.note({"a"}, Instant{} + 1h + 6min + 1s);
  EXPECT_EQ(members.seconds("a", Instant{} + 1h + 6min + 1s), 0);
}

}  // namespace
}  // namespace etcdop::cluster
