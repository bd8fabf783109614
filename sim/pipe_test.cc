#include "sim/pipe.h"

#include <gtest/gtest.h>

#include "sim/scheduler.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;

TEST(Pipe, AWriterWaitsForItsReader) {
  Scheduler world(1);
  auto [left, right] = pipe(world, 4);
  std::string got;
  auto writer = world.spawn([&, &out = left] {
    EXPECT_TRUE(out->write("hello, world"));
    out->close();
  });
  world.spawn([&, &in = right] {
    (void)world.sleep(1s);
    EXPECT_FALSE(writer->done()) << "four bytes fit";
    char space[3];
    for (;;) {
      auto n = in->read(space);
      ASSERT_TRUE(n);
      if (*n == 0) break;
      got.append(space, *n);
    }
  });
  world.run();
  EXPECT_EQ(got, "hello, world");
  EXPECT_EQ(world.alive(), 0U);
}

TEST(Pipe, AReadEndsAtTheDeadline) {
  Scheduler world(1);
  auto [left, right] = pipe(world);
  world.spawn([&, &in = right] {
    Within limit(world, 2s);
    char space[3];
    EXPECT_TRUE(in->read(space).failed_with(Code::TimedOut));
    EXPECT_EQ(world.now().time_since_epoch(), 2s);
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

TEST(Pipe, WritingToAClosedReaderFails) {
  Scheduler world(1);
  auto [left, right] = pipe(world);
  world.spawn([&, &out = left, &in = right] {
    in->close();
    EXPECT_TRUE(out->write("x").failed_with(Code::Unavailable));
  });
  world.run();
}

}  // namespace
}  // namespace etcdop::sim
