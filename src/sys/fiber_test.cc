// The guarantees of fibers, in virtual and in real time: order by seed, deadlines, cancellation,
// exceptions, guard page.
#include "base/fiber.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include "sim/scheduler.h"
#include "sys/asio_loop.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

std::string a_day(std::uint64_t seed) {
  sim::Scheduler world(seed);
  std::string out;
  const auto tick = [&](Duration every, int times, char name) {
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(world.sleep(every), Woken::Ready);
      out += name;
    }
  };
  world.spawn([&] { tick(8h, 3, 'a'); });
  world.spawn([&] { tick(12h, 2, 'b'); });
  world.run();
  EXPECT_EQ(world.now().time_since_epoch(), 24h);
  return out;
}

TEST(Fiber, TheSeedDecidesTiesAndTheSameSeedGivesTheSameDay) {
  int ab = 0, ba = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(a_day(seed), a_day(seed));
    ++(a_day(seed).substr(3) == "ab" ? ab : ba);
  }
  EXPECT_GT(ab, 0);
  EXPECT_GT(ba, 0);
}

/// The same body runs in virtual and in real time.
void waits_end_early(Executor& loop, const std::function<void()>& run) {
  std::string log;
  loop.spawn([&] {
    const Instant start = loop.now();
    Within limit(loop, 20ms);
    EXPECT_EQ(loop.sleep(1h), Woken::Deadline) << "the scope's deadline ends the sleep";
    EXPECT_LT(loop.now() - start, 10s);
    EXPECT_EQ(loop.sleep(1ms), Woken::Deadline) << "and every later wait";
    Shield cleaning(loop);
    EXPECT_EQ(loop.sleep(1ms), Woken::Ready) << "but not under a shield";
    log += 'd';
  });
  const auto victim = loop.spawn([&] {
    Semaphore none(loop, 0);
    EXPECT_EQ(none.acquire(), Woken::Cancelled) << "cancelled while waiting";
    EXPECT_EQ(loop.sleep(1ms), Woken::Cancelled) << "and ever after";
    log += 'c';
  });
  loop.spawn([&] {
    (void)loop.sleep(5ms);
    victim->cancel();
    EXPECT_EQ(victim->join(), Woken::Ready);
    EXPECT_NE(log.find('c'), std::string::npos) << "join returns after the body";
    log += 'j';
  });
  run();
  EXPECT_EQ(loop.alive(), 0U);
  EXPECT_EQ(log.size(), 3U);
}

TEST(Fiber, WaitsEndEarlyInVirtualTime) {
  sim::Scheduler world(3);
  waits_end_early(world, [&] { world.run(); });
}

TEST(Fiber, WaitsEndEarlyInRealTime) {
  AsioLoop loop;
  waits_end_early(loop, [&] { loop.run(); });
}

TEST(Semaphore, ACancelledWaiterDoesNotTakeAPermitWithIt) {
  sim::Scheduler world(5);
  Semaphore one(world, 1);
  std::string log;
  world.spawn([&] {
    ASSERT_EQ(one.acquire(), Woken::Ready);
    (void)world.sleep(1s);
    one.release();
  });
  const auto loser = world.spawn([&] {
    (void)world.sleep(100ms);
    if (one.acquire() == Woken::Ready) one.release();  // The seed decides the order.
    log += 'c';
  });
  world.spawn([&] {
    (void)world.sleep(200ms);
    log += one.acquire() == Woken::Ready ? 'r' : '?';
  });
  world.spawn([&] {
    (void)world.sleep(1s);  // At the exact instant of the release.
    loser->cancel();
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
  EXPECT_EQ(log.size(), 2U);
  EXPECT_NE(log.find('r'), std::string::npos);
}

int deep(sim::Scheduler& world, int n) {
  if (n == 0) throw std::runtime_error("bottom");
  (void)world.sleep(1ns);
  return deep(world, n - 1) + 1;
}

TEST(Fiber, ExceptionsStayOnTheirFiber) {
  sim::Scheduler world(7);
  int caught = 0;
  for (int i = 0; i < 100; ++i)
    world.spawn([&, i] {
      for (int k = 0; k < 10; ++k) try {
          deep(world, i % 7);
        } catch (const std::runtime_error&) { ++caught; }
    });
  for (int i = 0; i < 10;
       ++i)  // Forbidden in our code; the swap of exception state makes it harmless.
    world.spawn([&, i] {
      try {
        throw i;
      } catch (int outer) {
        (void)world.sleep(std::chrono::nanoseconds(100 - 10 * i));
        try {
          throw;
        } catch (int again) {
          EXPECT_EQ(again, outer);
          EXPECT_EQ(outer, i);
        }
        ++caught;
      }
    });
  world.run();
  EXPECT_EQ(caught, 1010);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

[[gnu::noinline]] int eat_stack(volatile char* above, int depth) {
  volatile char frame[1024];
  frame[0] = *above;
  return depth > 1'000'000 ? 0 : eat_stack(frame, depth + 1) + frame[0];
}

TEST(FiberDeathTest, OverflowingAStackHitsTheGuardPage) {
  EXPECT_DEATH(
      {
        sim::Scheduler world(1);
        world.spawn([] {
          volatile char c = 0;
          (void)eat_stack(&c, 0);
        });
        world.run();
      },
      "");
}

TEST(FiberDeathTest, SuspendingInANoSuspendScopeAborts) {
  EXPECT_DEATH(
      {
        sim::Scheduler world(1);
        world.spawn([&] {
          NoSuspend here(world);
          (void)world.sleep(1s);
        });
        world.run();
      },
      "nothing suspends in a NoSuspend scope");
}

TEST(Scheduler, RunUntilStopsTheClockThere) {
  sim::Scheduler world(1);
  bool woke = false;
  world.spawn([&] {
    (void)world.sleep(10s);
    woke = true;
  });
  world.run_until(Instant(3s));
  EXPECT_FALSE(woke);
  EXPECT_EQ(world.now(), Instant(3s));
  world.run();
  EXPECT_TRUE(woke);
}

}  // namespace
}  // namespace etcdop
