// The controller loop, in virtual time.
#include "runtime/controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;

const ObjectKey a{"ns", "a"}, b{"ns", "b"};

struct World {
  sim::Scheduler time{1};
  testing::SeededRandom random{1};
  testing::MemoryLog log;
  Controller::Options options{
      .name = "thing", .concurrency = 64, .pass_limit = 60s, .backoff = {}, .on_pass = {}};
  std::unique_ptr<Controller> controller;

  /// Starts, runs `script` on a fiber, stops.
  void run(Controller::Reconcile reconcile, std::function<void()> script) {
    controller = std::make_unique<Controller>(time, random, log, options, std::move(reconcile));
    controller->start();
    time.spawn([&] {
      script();
      EXPECT_TRUE(controller->stop());
    });
    time.run();
    EXPECT_EQ(time.alive(), 0U);
  }
  Queue& queue() { return controller->queue(); }
};

TEST(Controller, RunsKeysSideBySideUpToItsLimitAndNoKeyTwice) {
  World w;
  w.options.concurrency = 4;
  std::map<ObjectKey, int> running;
  int now = 0, most = 0, passes = 0;
  w.run(
      [&](const ObjectKey& key) -> Result<Requeue> {
        EXPECT_EQ(++running[key], 1);
        most = std::max(most, ++now);
        w.queue().add(key);  // Must not be taken before this pass ends.
        (void)w.time.sleep(100ms);
        --now;
        --running[key];
        ++passes;
        return Requeue{};
      },
      [&] {
        for (int i = 0; i < 10; ++i) w.queue().add({"ns", std::to_string(i)});
        (void)w.time.sleep(1s - 1ns);
      });
  EXPECT_EQ(most, 4);
  EXPECT_GE(passes, 36);
}

/// P5, W13: more etcds that do not answer than there are permits.
TEST(Controller, WhoIsSlowMakesRoomForOthersUpToABound) {
  World w;
  w.options.concurrency = 4;
  std::size_t most = 0;
  std::map<std::string, Duration> served;
  const auto begin = w.time.now();
  w.run(
      [&](const ObjectKey& key) -> Result<Requeue> {
        most = std::max(most, w.controller->active());
        served[key.name] = w.time.now() - begin;
        if (key.name.starts_with("hangs")) (void)w.time.sleep(5s);
        return Requeue{};
      },
      [&] {
        for (int i = 10; i < 22; ++i) w.queue().add({"ns", "hangs" + std::to_string(i)});
        w.queue().add({"ns", "well"});
        (void)w.time.sleep(2s);
        EXPECT_EQ(w.controller->active(), 12U) << "who is served makes room at once";
        for (int i = 30; i < 40; ++i) w.queue().add({"ns", "hangs" + std::to_string(i)});
        (void)w.time.sleep(12s);
      });
  EXPECT_EQ(served.at("hangs10"), 0s);
  EXPECT_LE(served.at("well"), 1500ms) << "twelve, four at a time";
  EXPECT_GT(served.at("hangs39"), 5s);
  EXPECT_EQ(most, 16U);
}

TEST(Controller, LooksAgainWhenThePassSaysSo) {
  World w;
  std::string trace;
  w.run(
      [&](const ObjectKey& key) -> Result<Requeue> {
        trace += key.name + std::to_string(w.time.now().time_since_epoch() / 1s) + " ";
        return key == a ? Requeue{5s} : Requeue{};
      },
      [&] {
        w.queue().add(a);
        w.queue().add(b);
        (void)w.time.sleep(12s);
      });
  EXPECT_EQ(trace, "a0 b0 a5 a10 ");
}

TEST(Controller, KeysThatCameAtOnceAreNotLookedAtInTheSameInstantsForEver) {
  World w;
  std::map<int, int> in_second;
  std::map<ObjectKey, std::vector<Instant>> seen;
  w.run(
      [&](const ObjectKey& key) -> Result<Requeue> {
        ++in_second[int(w.time.now().time_since_epoch() / 1s)];
        seen[key].push_back(w.time.now());
        return Requeue{60s};
      },
      [&] {
        for (int i = 0; i < 1000; ++i) w.queue().add({"ns", "c-" + std::to_string(i)});
        (void)w.time.sleep(5min);
      });
  EXPECT_EQ(in_second[0], 1000);
  for (int second = 1; second < 300; ++second) EXPECT_LE(in_second[second], 80) << second;
  for (const auto& [key, instants] : seen)
    for (std::size_t i = 1; i < instants.size(); ++i) {
      EXPECT_GE(instants[i] - instants[i - 1], i == 1 ? 30s : 60s) << to_string(key);
      EXPECT_LE(instants[i] - instants[i - 1], 60s) << to_string(key);
    }
}

TEST(Controller, LogsAFailureOncePerMessageAndItsEnd) {
  World w;
  int pass = 0;
  std::vector<bool> good;
  w.options.on_pass = [&](const Result<Requeue>& result, Duration) {
    good.push_back(bool(result));
  };
  w.run(
      [&](const ObjectKey&) -> Result<Requeue> {
        switch (++pass) {
          case 1:
          case 2:
          case 3: return Error{Code::Unavailable, "no route"};
          case 4: return Error{Code::Denied, "no permission"};
          case 5: return Error{Code::Conflict, "somebody was first"};
          case 6: return Requeue{1s};
          default: return Requeue{};
        }
      },
      [&] {
        w.queue().add(a);
        (void)w.time.sleep(1h);
      });
  EXPECT_EQ(good, (std::vector<bool>{false, false, false, false, false, true, true}));
  EXPECT_EQ(w.log.count("error reconcile failed controller=thing namespace=ns name=a"), 2);
  EXPECT_EQ(w.log.count("error=no route"), 1);
  EXPECT_EQ(w.log.count("error=no permission"), 1);
  EXPECT_EQ(w.log.count("debug reconcile failed"), 1) << "a conflict is nobody's fault";
  EXPECT_EQ(w.log.count("info reconcile works again"), 1);
}

TEST(Controller, APassThatHangsEndsAtItsLimitAndHoldsUpNobodyElse) {
  World w;
  w.options.pass_limit = 10s;
  std::string trace;
  w.run(
      [&](const ObjectKey& key) -> Result<Requeue> {
        if (key == a)
          if (auto slept = to_result(w.time.sleep(1h), "wait for etcd"); !slept) {
            trace += "a ends ";
            return slept.error();
          }
        trace += key.name + " ";
        return Requeue{};
      },
      [&] {
        w.queue().add(a);
        w.queue().add(b);
        (void)w.time.sleep(10s + 1ns);
      });
  EXPECT_EQ(trace, "b a ends ");
  EXPECT_EQ(w.log.count("error=wait for etcd: deadline passed"), 1);
}

TEST(Controller, StoppingCancelsPassesAndWaitsForTheirCleaningUp) {
  World w;
  bool cleaned = false;
  w.options.concurrency = 1;  // The dispatcher waits for a permit, too.
  w.run(
      [&](const ObjectKey&) -> Result<Requeue> {
        const Woken woken = w.time.sleep(1h);
        EXPECT_EQ(woken, Woken::Cancelled);
        Shield cleaning(w.time, 5s);
        (void)w.time.sleep(2s);
        cleaned = true;
        return to_result(woken, "work").error();
      },
      [&] {
        w.queue().add(a);
        w.queue().add(b);
        (void)w.time.sleep(1s);
      });
  EXPECT_TRUE(cleaned);
  EXPECT_EQ(w.controller->active(), 0U);
  EXPECT_EQ(w.time.now(), Instant(3s));
  EXPECT_TRUE(w.log.lines().empty()) << "being stopped is not an error";
}

}  // namespace
}  // namespace etcdop::runtime
