#include "operator/passes/refusals.h"

#include <gtest/gtest.h>

#include <vector>

namespace etcdop {
namespace {

using namespace std::chrono_literals;

const api::ObjectKey kDb{"prod", "db"};
const Result<Done> kQuota = Error{Code::Denied, "exceeded quota"};
constexpr Instant kStart{};

TEST(Refusals, AreTriedSoonOnceAndThenOnceAMinute) {
  Refusals refusals;
  EXPECT_EQ(refusals.wait(kDb, "create-pod", kStart), 0s);
  EXPECT_TRUE(refusals.note(kDb, "create-pod", kQuota, kStart));
  EXPECT_EQ(refusals.wait(kDb, "create-pod", kStart), 2s);
  EXPECT_EQ(refusals.wait(kDb, "create-pod", kStart + 2s), 0s);
  EXPECT_FALSE(refusals.note(kDb, "create-pod", kQuota, kStart + 2s)) << "no news";
  EXPECT_EQ(refusals.wait(kDb, "create-pod", kStart + 2s), 60s);
  EXPECT_EQ(refusals.wait(kDb, "create-pod", kStart + 90s), 0s);
}

TEST(Refusals, HoldUpNoOtherWriteAndNoOtherObject) {
  Refusals refusals;
  (void)refusals.note(kDb, "create-pod", kQuota, kStart);
  EXPECT_EQ(refusals.wait(kDb, "delete-pod", kStart), 0s);
  EXPECT_EQ(refusals.wait({"prod", "other"}, "create-pod", kStart), 0s);
  EXPECT_EQ(refusals.why(kDb), "exceeded quota");
  EXPECT_EQ(refusals.why({"prod", "other"}), "");
}

TEST(Refusals, OfAnotherWriteAreTriedSoonAgain) {
  Refusals refusals;
  (void)refusals.note(kDb, "create-pod", kQuota, kStart);
  (void)refusals.note(kDb, "delete-pod", kQuota, kStart);
  EXPECT_EQ(refusals.wait(kDb, "delete-pod", kStart), 2s);
}

TEST(Refusals, EndWithSuccessAndNotWithALostAnswer) {
  Refusals refusals;
  (void)refusals.note(kDb, "create-pod", kQuota, kStart);
  (void)refusals.note(kDb, "create-pod", Error{Code::Lost, "reset"}, kStart);
  EXPECT_EQ(refusals.why(kDb), "exceeded quota");
  (void)refusals.note(kDb, "create-pod", Done{}, kStart);
  EXPECT_EQ(refusals.why(kDb), "");
  EXPECT_TRUE(refusals.note(kDb, "create-pod", Error{Code::Denied, "new words"}, kStart));
  EXPECT_TRUE(refusals.note(kDb, "create-pod", kQuota, kStart)) << "other words";
}

const Result<Done> kWebhook = Error{Code::Lost, "failed calling webhook"};

TEST(Refusals, K8_AnotherFailureIsReportedOnceItHasHappenedTwiceWithinSeconds) {
  Refusals refusals;
  EXPECT_FALSE(refusals.note(kDb, "create-pod", kWebhook, kStart));
  EXPECT_EQ(refusals.why(kDb), "") << "a lost answer is nothing";
  EXPECT_EQ(refusals.wait(kDb, "create-pod", kStart), 0s) << "the queue has a back-off";
  (void)refusals.note(kDb, "create-pod", kWebhook, kStart + 1s);
  EXPECT_EQ(refusals.why(kDb), "") << "an API server that restarts is nothing";
  (void)refusals.note(kDb, "create-pod", kWebhook, kStart + 2s);
  EXPECT_EQ(refusals.why(kDb), "failed calling webhook");
  (void)refusals.note(kDb, "create-pod", Error{Code::Conflict, "changed"}, kStart + 3s);
  EXPECT_EQ(refusals.why(kDb), "failed calling webhook") << "another writer was first";
  (void)refusals.note(kDb, "create-pod", Done{}, kStart + 4s);
  EXPECT_EQ(refusals.why(kDb), "");
}

TEST(Refusals, K8_WordsThatDifferAtEachTryAreReportedOnceAMinute) {
  Refusals refusals;
  const auto fails = [&](Duration at, const std::string& port) {
    (void)refusals.note(kDb, "create-pod", Error{Code::Lost, "reset by port " + port}, kStart + at);
    return refusals.why(kDb);
  };
  EXPECT_EQ(fails(0s, "1"), "");
  EXPECT_EQ(fails(5s, "2"), "reset by port 2");
  EXPECT_EQ(fails(30s, "3"), "reset by port 2");
  EXPECT_EQ(fails(65s, "4"), "reset by port 4");
}

TEST(Refusals, K8_AFailedWriteIsHeldUpLongerAndLongerWhereNoQueueDoes) {
  Refusals refusals(Refusals::Hold::Write);
  Instant now = kStart;
  std::vector<Duration> waits;
  for (int i = 0; i < 7; ++i) {
    (void)refusals.note(kDb, "create-pod", kWebhook, now);
    waits.push_back(refusals.wait(kDb, "create-pod", now));
    now += waits.back();
  }
  EXPECT_EQ(waits, (std::vector<Duration>{2s, 4s, 8s, 16s, 32s, 60s, 60s}));
  (void)refusals.note(kDb, "create-pod", Done{}, now);
  (void)refusals.note(kDb, "create-pod", kWebhook, now);
  refusals.hold(kDb, now);
  EXPECT_EQ(refusals.wait(kDb, "create-pod", now), 60s);
}

}  // namespace
}  // namespace etcdop
