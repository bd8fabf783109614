#include "operator/cluster/breaker.h"

#include <gtest/gtest.h>

#include <vector>

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;

const api::ObjectKey kDb{"prod", "db"}, kOther{"prod", "other"};

struct BreakerTest : ::testing::Test {
  Breaker breaker;
  Instant now{};
  void asked(Duration took, const std::string& why, const std::string& whom = "a b c") {
    const Instant began = now;
    now += took;
    breaker.note(kDb, whom, began, now, why);
  }
  bool may(const std::string& whom = "a b c") { return breaker.lets_through(kDb, whom, now); }
};

TEST_F(BreakerTest, OpensAfterThreeWaitsInVain) {
  EXPECT_TRUE(may());
  for (int i = 0; i < 2; ++i) {
    asked(2s, "no answer");
    EXPECT_TRUE(may());
  }
  asked(2s, "no answer");
  EXPECT_FALSE(may());
  EXPECT_EQ(breaker.why(kDb), "no answer");
  EXPECT_TRUE(breaker.lets_through(kOther, "a b c", now)) << "others are not concerned";
}

TEST_F(BreakerTest, AsksAfterFifteenThirtyAndSixtySeconds) {
  std::vector<Duration> pauses;
  for (int i = 0; i < 3; ++i) asked(2s, "no answer");
  for (int i = 0; i < 4; ++i) {
    const Instant shut = now;
    while (!may()) now += 1s;
    pauses.push_back(now - shut);
    asked(2s, "no answer");
  }
  EXPECT_EQ(pauses, (std::vector<Duration>{15s, 30s, 60s, 60s}));
}

TEST_F(BreakerTest, OneAnswerClosesIt) {
  for (int i = 0; i < 3; ++i) asked(2s, "no answer");
  asked(2s, "");
  EXPECT_TRUE(may());
  EXPECT_EQ(breaker.why(kDb), "");
  asked(2s, "no answer");
  EXPECT_TRUE(may()) << "counted anew";
}

TEST_F(BreakerTest, OtherPodsAreAskedAtOnce) {
  for (int i = 0; i < 3; ++i) asked(2s, "no answer");
  EXPECT_TRUE(may("a b c ready"));
  asked(2s, "no answer", "a b c ready");
  EXPECT_TRUE(may("a b c ready")) << "counted anew";
}

TEST_F(BreakerTest, WhoRefusesAtOnceMayJustBeStarting) {
  for (int i = 0; i < 10; ++i) asked(10ms, "connection refused");
  EXPECT_TRUE(may());
}

}  // namespace
}  // namespace etcdop::cluster
