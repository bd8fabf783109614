#include "operator/agents/agent_jobs.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

using namespace std::chrono_literals;

const api::ObjectKey kNightly{"prod", "nightly"};
const Result<Done> kQuota = Error{Code::Denied, "exceeded quota"};
const Result<Done> kAway = Error{Code::Unavailable, "no webhook answers"};
const Result<Done> kMade = Done{};
constexpr WallTime kNow{1795233378s};
constexpr Instant kStart{};

TEST(JobRefusals, AreToldFromTheFirstOn) {
  JobRefusals refusals;
  EXPECT_EQ(refusals.why(kNightly, false), std::nullopt);
  EXPECT_TRUE(refusals.note(kNightly, true, kQuota, kNow, kStart));
  EXPECT_EQ(refusals.why(kNightly, false), (Rejection{"exceeded quota", kNow}));
  EXPECT_EQ(refusals.wait(kNightly, kStart), 2s);
  EXPECT_FALSE(refusals.note(kNightly, true, kQuota, kNow + 2s, kStart + 2s)) << "no news";
  EXPECT_EQ(refusals.why(kNightly, false), (Rejection{"exceeded quota", kNow}));
  EXPECT_EQ(refusals.why({"prod", "other"}, false), std::nullopt);
}

TEST(JobRefusals, WordsOfARefusalAreWorthMoreThanThoseOfWhoIsAway) {
  JobRefusals refusals;
  (void)refusals.note(kNightly, true, kAway, kNow, kStart);
  EXPECT_EQ(refusals.why(kNightly, false)->why, "no webhook answers") << "better than nothing";
  (void)refusals.note(kNightly, true, kQuota, kNow + 2s, kStart + 2s);
  EXPECT_EQ(refusals.why(kNightly, false), (Rejection{"exceeded quota", kNow}));
  (void)refusals.note(kNightly, true, kAway, kNow + 4s, kStart + 4s);
  EXPECT_EQ(refusals.why(kNightly, false)->why, "exceeded quota");
}

TEST(JobRefusals, EndWithAJob) {
  JobRefusals refusals;
  (void)refusals.note(kNightly, true, kQuota, kNow, kStart);
  (void)refusals.note(kNightly, true, kMade, kNow + 2s, kStart + 2s);
  EXPECT_EQ(refusals.why(kNightly, false), std::nullopt);
  (void)refusals.note(kNightly, true, kAway, kNow + 4s, kStart + 4s);
  EXPECT_EQ(refusals.why(kNightly, true), std::nullopt) << "it was made, whatever was answered";
  EXPECT_EQ(refusals.why(kNightly, false), std::nullopt);
}

TEST(JobRefusals, WhatMakesNoJobOrWasCancelledSaysNothingOfOne) {
  JobRefusals refusals;
  (void)refusals.note(kNightly, false, kAway, kNow, kStart);
  (void)refusals.note(kNightly, true, Error{Code::Cancelled, "the end"}, kNow, kStart);
  EXPECT_EQ(refusals.why(kNightly, false), std::nullopt);
  (void)refusals.note(kNightly, true, kQuota, kNow, kStart);
  (void)refusals.note(kNightly, false, kMade, kNow, kStart);
  EXPECT_EQ(refusals.why(kNightly, false)->why, "exceeded quota");
}

TEST(JobRefusals, AreForgotten) {
  JobRefusals refusals;
  (void)refusals.note(kNightly, true, kQuota, kNow, kStart);
  refusals.forget(kNightly);
  EXPECT_EQ(refusals.why(kNightly, false), std::nullopt);
  EXPECT_EQ(refusals.wait(kNightly, kStart), 0s);
}

}  // namespace
}  // namespace etcdop
