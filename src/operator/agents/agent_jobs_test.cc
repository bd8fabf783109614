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

TEST(FailedJobs, AreToldFromTheFirstOn) {
  FailedJobs jobs;
  EXPECT_EQ(jobs.why(kNightly, false), std::nullopt);
  jobs.note(kNightly, kQuota, kNow);
  EXPECT_EQ(jobs.why(kNightly, false), (Rejection{"exceeded quota", kNow}));
  jobs.note(kNightly, kQuota, kNow + 2s);
  EXPECT_EQ(jobs.why(kNightly, false), (Rejection{"exceeded quota", kNow}));
  EXPECT_EQ(jobs.why({"prod", "other"}, false), std::nullopt);
}

TEST(FailedJobs, WordsOfARefusalAreWorthMoreThanThoseOfWhoIsAway) {
  FailedJobs jobs;
  jobs.note(kNightly, kAway, kNow);
  EXPECT_EQ(jobs.why(kNightly, false)->why, "no webhook answers") << "better than nothing";
  jobs.note(kNightly, kQuota, kNow + 2s);
  EXPECT_EQ(jobs.why(kNightly, false), (Rejection{"exceeded quota", kNow}));
  jobs.note(kNightly, kAway, kNow + 4s);
  EXPECT_EQ(jobs.why(kNightly, false)->why, "exceeded quota");
}

TEST(FailedJobs, EndWithAJob) {
  FailedJobs jobs;
  jobs.note(kNightly, kQuota, kNow);
  jobs.note(kNightly, kMade, kNow + 2s);
  EXPECT_EQ(jobs.why(kNightly, false), std::nullopt);
  jobs.note(kNightly, kAway, kNow + 4s);
  EXPECT_EQ(jobs.why(kNightly, true), std::nullopt) << "it was made, whatever was answered";
  EXPECT_EQ(jobs.why(kNightly, false), std::nullopt);
}

TEST(FailedJobs, ACancelledStepSaysNothing) {
  FailedJobs jobs;
  jobs.note(kNightly, Error{Code::Cancelled, "the end"}, kNow);
  EXPECT_EQ(jobs.why(kNightly, false), std::nullopt);
}

TEST(FailedJobs, AreForgotten) {
  FailedJobs jobs;
  jobs.note(kNightly, kQuota, kNow);
  jobs.forget(kNightly);
  EXPECT_EQ(jobs.why(kNightly, false), std::nullopt);
}

}  // namespace
}  // namespace etcdop
