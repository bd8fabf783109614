// The queue's guarantees, in virtual time.
#include "runtime/queue.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/seeded_random.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;

const ObjectKey a{"ns", "a"}, b{"ns", "b"}, c{"ns", "c"};

struct World {
  sim::Scheduler time{1};
  testing::SeededRandom random{1};
  Queue queue{time, random, {}};
  /// Runs `body` on a fiber until nothing is due.
  void run(std::function<void()> body) {
    time.spawn(std::move(body));
    time.run();
  }
  /// The next key and the time: "a@5s". Fails the test if none comes.
  std::string next() {
    const auto key = queue.take();
    if (!key) return "none";
    const auto at = std::chrono::duration_cast<std::chrono::seconds>(time.now().time_since_epoch());
    return key->name + "@" + std::to_string(at.count()) + "s";
  }
  bool idle() {
    Within limit(time, 1ns);
    return !queue.take();
  }
};

TEST(Queue, AKeyThatWasAddedTwiceIsHandedOutOnce) {
  World w;
  w.run([&] {
    w.queue.add(a);
    w.queue.add(b);
    w.queue.add(a);
    EXPECT_EQ(w.queue.waiting(), 2U);
    EXPECT_EQ(w.queue.counts().adds, 2U);
    EXPECT_EQ(w.next(), "a@0s") << "in the order of the first add";
    EXPECT_EQ(w.next(), "b@0s");
    EXPECT_TRUE(w.idle());
  });
}

TEST(Queue, AKeyThatIsBeingWorkedOnIsHandedOutAgainOnlyAfterwards) {
  World w;
  w.run([&] {
    w.queue.add(a);
    EXPECT_EQ(w.next(), "a@0s");
    w.queue.add(a);
    w.queue.add(a);
    EXPECT_TRUE(w.idle()) << "one key, one worker";
    w.queue.add(b);
    w.queue.done(a);
    EXPECT_EQ(w.next(), "b@0s") << "a busy key does not push ahead";
    EXPECT_EQ(w.next(), "a@0s");
    w.queue.done(a);
    w.queue.done(b);
    EXPECT_TRUE(w.idle());
  });
}

TEST(Queue, TheSoonerOfTwoDelaysCountsAndAnAddCountsMost) {
  World w;
  w.run([&] {
    w.queue.add_after(a, 10s);
    w.queue.add_after(a, 5s);
    w.queue.add_after(a, 20s);
    EXPECT_EQ(w.queue.waiting(), 0U);
    EXPECT_EQ(w.next(), "a@5s");
    w.queue.again_after(a, 10s);
    w.queue.add(a);
    EXPECT_EQ(w.next(), "a@5s");
    w.queue.done(a);
    EXPECT_TRUE(w.idle());
    EXPECT_EQ(w.time.sleep(1h), Woken::Ready);
    EXPECT_TRUE(w.idle()) << "the add took the place of the delay";
    w.queue.add_after(a, Duration::max());
    w.queue.add_after(b, -1s);
    EXPECT_EQ(w.next(), "b@3605s") << "a delay that is over is none";
    w.queue.stop();
  });
}

TEST(Queue, ADelayThatEndsDuringTheWorkLeadsToAnotherPass) {
  World w;
  w.run([&] {
    w.queue.add(a);
    EXPECT_EQ(w.next(), "a@0s");
    w.queue.add_after(a, 5s);
    EXPECT_EQ(w.time.sleep(8s), Woken::Ready);
    EXPECT_TRUE(w.idle());
    w.queue.done(a);
    EXPECT_EQ(w.next(), "a@8s");
  });
}

TEST(Queue, BackOffDoublesToItsLimitAndSuccessForgetsIt) {
  World w;
  w.run([&] {
    w.queue.add(a);
    Duration expected = 250ms;
    bool jitter = false;
    ASSERT_TRUE(w.queue.take());
    for (int i = 0; i < 40; ++i) {
      const Instant before = w.time.now();
      const Duration delay = w.queue.failed(a);
      EXPECT_GE(delay, expected * 7 / 8);
      EXPECT_LE(delay, expected * 9 / 8);
      jitter |= delay != expected;
      ASSERT_TRUE(w.queue.take());
      EXPECT_EQ(w.time.now() - before, delay);
      expected = std::min<Duration>(expected * 2, 60s);
    }
    EXPECT_TRUE(jitter);
    w.queue.done(a);
    w.queue.add(a);
    ASSERT_TRUE(w.queue.take());
    EXPECT_LE(w.queue.failed(a), 250ms * 9 / 8);
    w.queue.stop();
  });
}

TEST(Queue, AnAddCutsTheBackOffShort) {
  World w;
  w.run([&] {
    w.queue.add(a);
    ASSERT_TRUE(w.queue.take());
    (void)w.queue.failed(a);
    w.queue.add(a);
    EXPECT_EQ(w.next(), "a@0s") << "somebody may have mended it";
    w.queue.done(a);
    EXPECT_EQ(w.time.sleep(1h), Woken::Ready);
    EXPECT_TRUE(w.idle());
  });
}

TEST(Queue, ManyWorkersShareTheKeysAsTheyComeDue) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sim::Scheduler time(seed);
    testing::SeededRandom random(seed);
    Queue queue(time, random, {});
    std::vector<std::string> seen;
    for (int worker = 0; worker < 3; ++worker)
      time.spawn([&] {
        while (const auto key = queue.take()) {
          const auto at = time.now().time_since_epoch();
          seen.push_back(key->name + std::to_string(at / 1s));
          (void)time.sleep(10s);
          queue.done(*key);
        }
      });
    time.spawn([&] {
      (void)time.sleep(1s);
      queue.add_after(a, 9s);  // At 10 s all three wait; two delays then end at once.
      queue.add_after(b, 5s);
      queue.add_after(c, 5s);
      (void)time.sleep(100s);
      queue.stop();
    });
    time.run();
    EXPECT_EQ(time.alive(), 0U);
    std::ranges::sort(seen);
    EXPECT_EQ(seen, (std::vector<std::string>{"a10", "b6", "c6"})) << "seed " << seed;
  }
}

TEST(Queue, AWorkerThatIsCancelledLosesNoKey) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    sim::Scheduler time(seed);
    testing::SeededRandom random(seed);
    Queue queue(time, random, {});
    int handed_out = 0;
    const auto work = [&] {
      if (const auto key = queue.take()) {
        ++handed_out;
        queue.done(*key);
      }
    };
    const auto victim = time.spawn(work);
    time.spawn(work);
    time.spawn([&] {  // All at one instant: the seed decides the order of wake-ups, cancellations
                      // and takes.
      (void)time.sleep(1s);
      queue.add(a);
      victim->cancel();
      queue.add(b);
    });
    time.spawn([&] {
      (void)time.sleep(2s);
      work();
    });
    time.spawn([&] {
      (void)time.sleep(3s);
      queue.stop();
    });
    time.run();
    EXPECT_EQ(time.alive(), 0U) << "seed " << seed;
    EXPECT_EQ(handed_out, 2) << "seed " << seed;
  }
}

TEST(Queue, StoppingEndsEveryWaitAndDropsWhatComesLater) {
  World w;
  int ended = 0;
  for (int i = 0; i < 3; ++i)
    w.time.spawn([&] {
      EXPECT_EQ(w.queue.take(), std::nullopt);
      ++ended;
    });
  w.run([&] {
    (void)w.time.sleep(1s);
    w.queue.stop();
    w.queue.add(a);
    w.queue.add_after(b, 1s);
    EXPECT_EQ(w.queue.take(), std::nullopt);
  });
  EXPECT_EQ(ended, 3);
}

TEST(Queue, GivingBackWhatWasNotTakenIsABug) {
  World w;
  EXPECT_THROW(w.queue.done(a), CheckFailed);
}

}  // namespace
}  // namespace etcdop::runtime
