#include "runtime/probes.h"

#include <gtest/gtest.h>

#include "sim/scheduler.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Probes, ALoopThatWakesNobodyIsDead) {
  sim::Scheduler world{1};
  Heartbeat heart(world);
  const auto beating = world.spawn([&] { heart.beat(); });
  world.run_until(world.now() + 1h);
  EXPECT_LE(heart.since(), 1s);
  EXPECT_EQ(liveness(heart).status, 200);
  beating->cancel();
  world.run_until(world.now() + 13s);
  EXPECT_EQ(liveness(heart).status, 200);
  world.run_until(world.now() + 3s);
  EXPECT_EQ(liveness(heart).status, 503);
  EXPECT_EQ(liveness(heart).body, "the event loop has run nothing for 16 s\n");
}

TEST(Probes, WhoHasNotSeenAllThereIsIsNotReady) {
  EXPECT_EQ(readiness({}).status, 200);
  EXPECT_EQ(readiness({"Pod", "Service"}).status, 503);
  EXPECT_EQ(readiness({"Pod", "Service"}).body, "the caches are not filled yet: Pod, Service\n");
}

}  // namespace
}  // namespace etcdop::runtime
