// Reflector and ListWatch against the API server in memory, in virtual time.
#include "kube/reflector.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "kube/core_types.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;

/// An Api in front of another one; a test can change calls and events.
class Meddler final : public Api {
 public:
  using Each = std::function<bool(WatchEvent)>;
  explicit Meddler(Api& behind) : behind_(behind) {}
  Result<Json> call(const Call& call) override {
    calls.push_back("list");
    if (on_list)
      if (auto error = on_list()) return *error;
    return behind_.call(call);
  }
  Result<Done> watch(const Call& call, const Each& each) override {
    calls.push_back("watch " + call.query.at("resourceVersion"));
    if (on_watch) return on_watch(call, each);
    Call bookmarked = call;  // As the client asks for it.
    bookmarked.query["allowWatchBookmarks"] = "true";
    return behind_.watch(bookmarked, each);
  }
  std::function<std::optional<Error>()> on_list;
  std::function<Result<Done>(const Call&, const Each&)> on_watch;
  std::vector<std::string> calls;

 private:
  Api& behind_;
};

Json pod(const char* name, const char* phase = "Pending", const char* ns = "prod") {
  return {{"metadata", {{"name", name}, {"namespace", ns}, {"labels", {{"app", "etcd"}}}}},
          {"status", {{"phase", phase}}}};
}
const ObjectKey kA{"prod", "a"}, kB{"prod", "b"};

class ReflectorTest : public ::testing::Test {
 protected:
  ReflectorTest() { fake.serve({.resource = Pod::resource, .status = true}); }
  /// Runs reflectors of these namespaces and `body` at the same time, then stops them.
  void run(const std::vector<std::string>& namespaces, const std::function<void()>& body) {
    world.spawn([&] {
      std::vector<std::unique_ptr<Reflector<Pod>>> reflectors;
      for (const std::string& ns : namespaces) {
        reflectors.push_back(std::make_unique<Reflector<Pod>>(
            world, random, log, api, store, Reflector<Pod>::Options{ns, "app=etcd"}));
        reflectors.back()->start();
      }
      body();
      for (const auto& reflector : reflectors) reflector->stop();
    });
    world.run();
    EXPECT_EQ(world.alive(), 0U);
  }
  void wait(Duration d = 10ms) { (void)world.sleep(d); }
  std::string phase(const ObjectKey& key) const {
    const auto object = store.get(key);
    return object ? object->status.phase : "-";
  }
  void set_phase(const ObjectKey& key, const char* phase) {
    fake.change(Pod::resource, key,
                [&](json::object& object) { object["status"].as_object()["phase"] = phase; });
  }
  /// Ends all watches; the next `times` watches begin with Expired.
  void expire(int times) {
    api.on_watch = [this, times](const Call&, const Meddler::Each&) mutable -> Result<Done> {
      if (--times == 0) world.spawn([this] { api.on_watch = nullptr; });
      return Error{Code::Expired, "too old resource version"};
    };
    fake.cut_watches();
  }
  std::ptrdiff_t count(const std::string& call) const {
    return std::count_if(api.calls.begin(), api.calls.end(),
                         [&](const std::string& c) { return c.substr(0, call.size()) == call; });
  }

  sim::Scheduler world{1};
  ::etcdop::testing::SeededRandom random{1};
  ::etcdop::testing::MemoryLog log;
  ::etcdop::testing::FakeApi fake{world};
  Meddler api{fake};
  Store<Pod> store{[](const Pod&) { return ObjectKey{"prod", "db"}; }};
};

TEST_F(ReflectorTest, TheStoreFollowsTheServer) {
  fake.put(Pod::resource, pod("a"));
  run({"prod"}, [&] {
    EXPECT_FALSE(store.synced());
    wait();
    EXPECT_TRUE(store.synced());
    EXPECT_EQ(phase(kA), "Pending");
    fake.put(Pod::resource, pod("b"));
    set_phase(kA, "Running");
    wait();
    EXPECT_EQ(phase(kA), "Running");
    EXPECT_EQ(phase(kB), "Pending");
    fake.erase(Pod::resource, kA);
    wait();
    EXPECT_EQ(phase(kA), "-");
    EXPECT_EQ(count("list"), 1);
    EXPECT_EQ(count("watch"), 1);
  });
  set_phase(kB, "Running");
  EXPECT_EQ(phase(kB), "Pending") << "stopped";
}

TEST_F(ReflectorTest, WhatLosesItsLabelLeaves) {
  fake.put(Pod::resource, pod("a"));
  run({""}, [&] {
    wait();
    fake.change(Pod::resource, kA,
                [](json::object& o) { o["metadata"].as_object()["labels"].as_object().clear(); });
    wait();
    EXPECT_EQ(phase(kA), "-");
  });
}

TEST_F(ReflectorTest, AWatchThatEndsGoesOnWhereItWas) {
  fake.put(Pod::resource, pod("a"));
  run({"prod"}, [&] {
    wait(10s);
    fake.cut_watches();
    wait();
    fake.cut_watches(Error{Code::Unavailable, "cut"});
    set_phase(kA, "Running");  // While no watch runs.
    wait(1s);
    EXPECT_EQ(phase(kA), "Running");
    EXPECT_EQ(count("list"), 1);
    EXPECT_EQ(count("watch"), 3);
  });
}

TEST_F(ReflectorTest, BookmarksKeepItYoungAndItsVersionRecent) {
  run({"prod"}, [&] {
    wait();
    EXPECT_LE(*store.age(world.now()), 10ms);
    fake.put(Pod::resource, pod("elsewhere", "Pending", "other"));
    wait(45s);
    EXPECT_GE(*store.age(world.now()), 45s);
    wait(20s);
    EXPECT_LE(*store.age(world.now()), 6s) << "a bookmark each minute";
    fake.forget_history();
    fake.cut_watches();
    wait(1s);
    EXPECT_EQ(count("list"), 1) << api.calls.back();
  });
}

TEST_F(ReflectorTest, AVersionTooOldMeansAListAnew) {
  fake.put(Pod::resource, pod("a"));
  run({"prod"}, [&] {
    wait();
    expire(1);
    fake.erase(Pod::resource, kA);  // No event will report it.
    fake.put(Pod::resource, pod("b"));
    wait(1s);
    EXPECT_EQ(phase(kA), "-");
    EXPECT_EQ(phase(kB), "Pending");
    EXPECT_EQ(count("list"), 2);
  });
}

TEST_F(ReflectorTest, WhileTheServerIsAwayItAsksLessAndLess) {
  std::vector<Duration> asked;
  api.on_list = [&]() -> std::optional<Error> {
    asked.push_back(world.now().time_since_epoch());
    if (world.now().time_since_epoch() > 300s) return std::nullopt;
    return Error{Code::Unavailable, "connection refused"};
  };
  fake.put(Pod::resource, pod("a"));
  run({"prod"}, [&] {
    wait(340s);
    EXPECT_EQ(phase(kA), "Pending");
    ASSERT_GE(asked.size(), 12U);
    EXPECT_LE(asked.size(), 30U);
    EXPECT_LE(asked[1] - asked[0], 250ms);
    for (std::size_t i = 1; i < asked.size(); ++i) EXPECT_LE(asked[i] - asked[i - 1], 30s);
    EXPECT_EQ(log.count("warn watching failed"), 1) << "the same error is not repeated";
    // The waits are short again, once the watch works and has brought something.
    wait(30s);
    fake.put(Pod::resource, pod("b"));
    wait(30s);
    api.on_watch = [&](const Call&, const Meddler::Each&) -> Result<Done> {
      world.spawn([&] { api.on_watch = nullptr; });  // Not while the hook itself runs.
      return Error{Code::Unavailable, "refused"};
    };
    const auto before = count("watch");
    fake.cut_watches(Error{Code::Unavailable, "cut"});
    wait(300ms);
    EXPECT_EQ(count("watch"), before + 2);
  });
}

TEST_F(ReflectorTest, AWatchThatOnlyFailsIsReplacedByAListAndNotInAHurry) {
  fake.put(Pod::resource, pod("a"));
  api.on_watch = [](const Call&, const Meddler::Each&) -> Result<Done> {
    return Error{Code::Unavailable, "Too large resource version"};
  };
  run({"prod"}, [&] {
    wait(10min);
    EXPECT_GE(count("list"), 5);
    EXPECT_LE(count("list") + count("watch"), 60);
    EXPECT_GE(count("watch"), 2 * count("list"));
  });
}

TEST_F(ReflectorTest, SilenceIsNoErrorButTheThirdInARowMeansAList) {
  fake.put(Pod::resource, pod("a"));
  api.on_watch = [&](const Call&, const Meddler::Each&) -> Result<Done> {
    if (auto slept = to_result(world.sleep(90s), "sleep"); !slept) return slept;
    return Error{Code::TimedOut, "silent"};
  };
  run({"prod"}, [&] {
    wait(1s);
    fake.erase(Pod::resource, kA);
    wait(268s);
    EXPECT_EQ(count("list"), 1);
    EXPECT_EQ(count("watch"), 3) << "at once again";
    wait(2s);
    EXPECT_EQ(count("list"), 2);
    EXPECT_EQ(phase(kA), "-");
    EXPECT_EQ(log.count("warn"), 0);
  });
}

TEST_F(ReflectorTest, SilenceAfterAnEventIsNoErrorEither) {
  api.on_watch = [&](const Call&, const Meddler::Each& each) -> Result<Done> {
    (void)each({WatchEvent::Type::Bookmark, {{"metadata", {{"resourceVersion", "1"}}}}});
    if (auto slept = to_result(world.sleep(90s), "sleep"); !slept) return slept;
    return Error{Code::TimedOut, "silent"};
  };
  run({"prod"}, [&] {
    wait(10min);
    EXPECT_EQ(count("list"), 1);
    EXPECT_EQ(count("watch"), 7);
    EXPECT_EQ(log.count("warn"), 0);
  });
}

TEST_F(ReflectorTest, AServerThatClosesAtOnceIsNotAskedInALoop) {
  api.on_watch = [](const Call&, const Meddler::Each&) -> Result<Done> { return Done{}; };
  run({"prod"}, [&] {
    wait(1min);
    EXPECT_LE(count("watch") + count("list"), 20);
  });
}

TEST_F(ReflectorTest, AnObjectThatCannotBeReadHoldsUpNobody) {
  fake.put(Pod::resource, pod("a"));
  fake.put(Pod::resource, pod("b"));
  run({"prod"}, [&] {
    wait();
    const auto spoil = [](json::object& object) {
      object["spec"] = json::object{{"nodeName", json::array{}}};
      object["status"].as_object()["phase"] = "Failed";
    };
    fake.change(Pod::resource, kA, spoil);
    set_phase(kB, "Running");
    wait();
    EXPECT_EQ(phase(kA), "Pending") << "what was known of it";
    EXPECT_EQ(phase(kB), "Running");
    EXPECT_EQ(log.count("error object cannot be read and is passed over kind=Pod object=prod/a "
                        "error=Pod.spec.nodeName: expected"),
              1);
    expire(1);
    wait(1s);
    EXPECT_EQ(count("list"), 2);
    EXPECT_EQ(phase(kA), "Pending") << "listed, so not gone";
    fake.erase(Pod::resource, kA);
    wait();
    EXPECT_EQ(phase(kA), "-");
  });
}

/// No controller can serve such an object, so it must be reported, and its end, too.
TEST_F(ReflectorTest, N3_AnObjectThatCannotBeReadIsToldAndSoIsItsEnd) {
  std::vector<std::string> told;
  fake.put(Pod::resource, pod("a"));
  fake.put(Pod::resource, pod("b"));
  const auto spoil = [](json::object& object) {
    object["spec"] = json::object{{"nodeName", json::array{}}};
  };
  const auto mend = [](json::object& object) { object["spec"] = json::object(); };
  fake.change(Pod::resource, kA, spoil);
  world.spawn([&] {
    Reflector<Pod> reflector(
        world, random, log, api, store,
        {"prod", "app=etcd", false, [&](const Identity& which, const std::string& why) {
           told.push_back(which.key.name + (why.empty() ? " is fine" : " is not"));
         }});
    reflector.start();
    wait();
    EXPECT_EQ(told, (std::vector<std::string>{"a is not"}));
    EXPECT_TRUE(store.get(kB)) << "the others are served";
    fake.change(Pod::resource, kA, mend);
    fake.change(Pod::resource, kB, spoil);
    wait();
    EXPECT_EQ(told, (std::vector<std::string>{"a is not", "a is fine", "b is not"}));
    expire(1);
    wait(1s);
    EXPECT_EQ(told.back(), "b is not") << "listed anew";
    fake.change(Pod::resource, kB, mend);
    fake.change(Pod::resource, kA, spoil);
    wait();
    EXPECT_EQ(told.back(), "a is not");
    fake.erase(Pod::resource, kA);
    wait();
    EXPECT_EQ(told.back(), "a is fine") << "it is gone";
    reflector.stop();
  });
  world.run();
}

TEST_F(ReflectorTest, T8_N4_AnObjectThatIsTooLargeIsPassedOverAndToldTheOthersAreServed) {
  std::vector<std::string> told;
  fake.put(Pod::resource, pod("a", std::string(2000, 'x').c_str()));
  fake.put(Pod::resource, pod("b"));
  world.spawn([&] {
    Reflector<Pod> reflector(world, random, log, api, store,
                             {"prod", "app=etcd", false,
                              [&](const Identity& which, const std::string& why) {
                                told.push_back(which.key.name + ": " + why);
                              },
                              1000});
    reflector.start();
    wait();
    EXPECT_EQ(told, (std::vector<std::string>{"a: it has more than 1000 bytes"}));
    EXPECT_FALSE(store.get(kA));
    EXPECT_TRUE(store.get(kB));
    set_phase(kA, "Pending");
    wait();
    EXPECT_EQ(told.back(), "a: ") << "it is short by now";
    EXPECT_TRUE(store.get(kA));
    reflector.stop();
  });
  world.run();
}

TEST_F(ReflectorTest, N2_AnExceptionOnTheWayMeansAListAndAPause) {
  int throws = 0;
  store.on_change([&](const ObjectKey&) {
    if (throws-- > 0) throw std::runtime_error("a bug");
  });
  fake.put(Pod::resource, pod("a"));
  run({"prod"}, [&] {
    wait();
    throws = 3;  // At the event, and in two lists.
    fake.put(Pod::resource, pod("b"));
    wait(5s);
    EXPECT_TRUE(store.synced());
    EXPECT_EQ(phase(kB), "Pending");
    set_phase(kB, "Running");
    wait();
    EXPECT_EQ(phase(kB), "Running");
  });
  EXPECT_GE(log.count("watching failed"), 1);
}

TEST_F(ReflectorTest, EventsThatMakeNoSenseMeanAListAndAPause) {
  api.on_watch = [](const Call&, const Meddler::Each& each) -> Result<Done> {
    (void)each({WatchEvent::Type::Bookmark, {{"metadata", {{"resourceVersion", "1"}}}}});
    (void)each({WatchEvent::Type::Added, pod("no-version")});
    return Done{};
  };
  run({"prod"}, [&] {
    wait(1min);
    EXPECT_GE(count("list"), 3);
    EXPECT_LE(count("list"), 15);
    EXPECT_EQ(store.size(), 0U);
  });
}

TEST_F(ReflectorTest, SeveralNamespacesShareAStore) {
  fake.put(Pod::resource, pod("a", "Pending", "one"));
  fake.put(Pod::resource, pod("a", "Running", "two"));
  fake.put(Pod::resource, pod("a", "Running", "three"));
  run({"one", "two"}, [&] {
    wait();
    EXPECT_TRUE(store.synced());
    EXPECT_EQ(store.size(), 2U);
    expire(2);
    wait(1s);
    EXPECT_EQ(count("list"), 4);
    EXPECT_EQ(store.size(), 2U) << "a list of one namespace leaves the other";
  });
}

TEST_F(ReflectorTest, AnAwaitedEventThatNeverComesIsSettledByAList) {
  fake.put(Pod::resource, pod("a"));
  run({"prod"}, [&] {
    wait(1s);
    Pod written = *store.get(kA);
    written.metadata.resource_version = "folded-into-the-next";
    written.status.phase = "Succeeded";
    store.wrote(written);
    set_phase(kA, "Running");
    wait();
    EXPECT_EQ(phase(kA), "Succeeded") << "newer than any event, as far as we know";
    wait(2min);
    EXPECT_EQ(phase(kA), "Running");
    EXPECT_EQ(count("list"), 2);
  });
}

TEST_F(ReflectorTest, ItStopsInTheMiddleOfAnything) {
  for (const Duration at : {0ms, 1ms, 100ms, 5000ms}) {
    fake.latency(2s);
    run({"prod"}, [&] { wait(at); });
    fake.latency(0s);
    run({"prod"}, [&] { wait(at); });
    api.on_list = [] { return Error{Code::Denied, "pods is forbidden"}; };
    run({"prod"}, [&] { wait(at); });
    api.on_list = nullptr;
  }
}

}  // namespace
}  // namespace etcdop::kube
