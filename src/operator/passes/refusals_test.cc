#include "operator/passes/refusals.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace etcdop
