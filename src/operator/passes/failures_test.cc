#include "operator/passes/failures.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

using namespace std::chrono_literals;

const api::ObjectKey kKey{"prod", "db-x1"};

/// The number of objects within five minutes, the first one included, if each fails after `life`.
/// `ends`: then another operator takes over.
int made_within_five_minutes(Duration life, Duration ends = 1h) {
  Failures failures;
  int made = 1;
  Instant now{};
  while (true) {
    now += life;
    if (now >= Instant{} + ends) failures = {}, ends += 1h;
    failures.failed(kKey, std::to_string(made), "refused", now, now - Instant{} - life);
    now += failures.wait(kKey, now);
    if (now >= Instant{} + 5min) return made;
    ++made;
  }
}

TEST(Failures, K6_AtMostTenAreMadeWithinFiveMinutes) {
  EXPECT_EQ(made_within_five_minutes(0s), 10);
  EXPECT_LE(made_within_five_minutes(300ms), 10);
  EXPECT_LE(made_within_five_minutes(5s), 10);
}

TEST(Failures, K6_AlsoIfAnotherOperatorTakesOver) {
  for (const Duration ends : {1s, 20s, 60s, 100s, 200s, 290s})
    EXPECT_LE(made_within_five_minutes(100ms, ends), 10) << ends / 1s;
}

TEST(Failures, OneFailureIsMadeGoodAtOnce) {
  Failures failures;
  failures.failed(kKey, "a", "Evicted", Instant{} + 1h);
  EXPECT_EQ(failures.wait(kKey, Instant{} + 1h), 0s);
  EXPECT_EQ(failures.words(kKey, Instant{} + 1h), "") << "it has served until then";
  failures.failed(kKey, "a", "Evicted", Instant{} + 1h + 1s);
  EXPECT_EQ(failures.wait(kKey, Instant{} + 1h + 1s), 0s) << "the same one, seen again";
}

TEST(Failures, ThePauseGrowsToFiveMinutesAndItsWordsStay) {
  Failures failures;
  Instant now{};
  for (int i = 0; i < 20; ++i) {
    now += failures.wait(kKey, now);
    failures.failed(kKey, std::to_string(i), "sysctl " + std::to_string(i), now);
  }
  EXPECT_EQ(failures.wait(kKey, now), 5min);
  EXPECT_EQ(failures.words(kKey, now + 5min), "sysctl 19");
  EXPECT_EQ(failures.words(kKey, now + 11min), "") << "the row has ended";
  failures.failed(kKey, "late", "Evicted", now + 11min);
  EXPECT_EQ(failures.wait(kKey, now + 11min), 0s) << "a new row";
}

TEST(Failures, EachObjectHasItsOwn) {
  Failures failures;
  for (const char* uid : {"a", "b", "c"}) failures.failed(kKey, uid, "refused", Instant{});
  EXPECT_EQ(failures.wait({"prod", "other"}, Instant{}), 0s);
  EXPECT_EQ(failures.wait(kKey, Instant{}), 2s);
  failures.forget(kKey);
  EXPECT_EQ(failures.wait(kKey, Instant{}), 0s);
}

}  // namespace
}  // namespace etcdop
