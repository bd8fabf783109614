#include "operator/passes/contested.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

using namespace std::chrono_literals;

const api::ObjectKey kKey{"prod", "db"};

TEST(Contested, WhatIsUndoneAgainAndAgainIsDoneLessAndLessOften) {
  Contested contested;
  Instant now{};
  EXPECT_EQ(contested.wait(kKey, "label", now), 0s);
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    contested.did(kKey, "label", now);
    EXPECT_EQ(contested.wait(kKey, "label", now), pause);
    EXPECT_EQ(contested.wait(kKey, "another", now), 0s);
    EXPECT_EQ(contested.wait({"prod", "other"}, "label", now), 0s);
    now += pause;
    EXPECT_EQ(contested.wait(kKey, "label", now), 0s);
  }
}

TEST(Contested, TwoThatFightAboutTwoThingsDoNotMakeEachOtherForgotten) {
  Contested contested;
  for (const char* write : {"label", "finalizer", "label", "finalizer"})
    contested.did(kKey, write, Instant{});
  EXPECT_EQ(contested.wait(kKey, "label", Instant{}), 2s);
  EXPECT_EQ(contested.wait(kKey, "finalizer", Instant{}), 2s);
}

TEST(Contested, WhatIsNeededAgainMuchLaterBeginsAnew) {
  Contested contested;
  contested.did(kKey, "label", Instant{});
  contested.did(kKey, "label", Instant{10s});
  EXPECT_EQ(contested.wait(kKey, "label", Instant{10s}), 2s);
  contested.did(kKey, "label", Instant{60s});
  EXPECT_EQ(contested.wait(kKey, "label", Instant{60s}), 1s);
  contested.forget(kKey);
  EXPECT_EQ(contested.wait(kKey, "label", Instant{60s}), 0s);
}

}  // namespace
}  // namespace etcdop
