// N2: an exception in the pass over one object is reported on that object, and ends nothing else.
#include "operator/pass_boundary.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "api/v1alpha2/etcdcluster.h"
#include "operator/cluster/rbac.h"
#include "operator/passes/recorded_plan.h"
#include "operator/passes/side_by_side.h"
#include "operator/passes/value_codecs.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

const api::ObjectKey kBad{"a", "bad"}, kGood{"b", "good"};

struct Seen {
  WallTime now;
  bool throws = false;

  template <class S = Seen>
  static auto describe() {
    return api::value(api::required("now", &S::now), api::sparse("throws", &S::throws));
  }
};
struct Planned {
  std::string step = "none";

  template <class S = Planned>
  static auto describe() {
    return api::value(api::sparse("step", &S::step));
  }
};
Planned plan(const Seen& seen) {
  if (seen.throws) (void)json::parse("[1]").at(0).as_object();
  return {};
}

class Boundary : public ::testing::Test {
 protected:
  Boundary() {
    api.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
    api.grant(cluster::Api::permissions());
    for (const auto& key : {kBad, kGood}) {
      v1::EtcdCluster one;
      const Json made = api.put(v1::EtcdCluster::resource,
                                {{"metadata", {{"name", key.name}, {"namespace", key.ns}}},
                                 {"spec", {{"replicas", 3}, {"version", "3.6.16"}}}});
      EXPECT_TRUE(api::decode(made, one, "it"));
      store.saw(one);
    }
  }
  /// Runs a controller over both keys for that time.
  void run(Duration how_long,
           const std::function<Result<runtime::Requeue>(const api::ObjectKey&)>& pass) {
    const PassBoundary boundary{clock, log, &flight, nullptr, &metrics};
    runtime::Controller::Options options;
    options.name = "etcdcluster";
    runtime::Controller controller(world, random, log, options,
                                   boundary.around(cluster::Api(api), store, pass));
    for (const auto& key : {kBad, kGood}) controller.queue().add(key);
    controller.start();
    world.spawn([&] {
      (void)world.sleep(how_long);
      EXPECT_TRUE(controller.stop());
    });
    world.run();
  }
  const api::Condition* told(const api::ObjectKey& key) {
    cluster = store.get(key);
    return runtime::find_condition(cluster->status.conditions, v1::kInternalError);
  }

  sim::Scheduler world{1};
  FakeApi api{world};
  testing::MemoryLog log;
  testing::SeededRandom random{1};
  testing::VirtualWallClock clock{world};
  FlightRecorder flight;
  runtime::Metrics metrics;
  kube::Store<v1::EtcdCluster> store{[](const auto& c) { return std::optional(c.metadata.key()); }};
  std::shared_ptr<const v1::EtcdCluster> cluster;
};

TEST_F(Boundary, N2_AnExceptionIsAConditionAMetricALogLineAndBackOff) {
  int bad = 0, good = 0;
  run(10min, [&](const api::ObjectKey& key) -> Result<runtime::Requeue> {
    ++(key == kBad ? bad : good);
    (void)recorded_plan(&flight, "EtcdCluster", key, Seen{clock.wall_now(), key == kBad});
    return runtime::Requeue{10s};
  });
  EXPECT_GE(good, 55) << "the other goes on";
  EXPECT_GE(bad, 3);
  EXPECT_LE(bad, 30) << "it is tried less and less often";
  ASSERT_TRUE(told(kBad));
  EXPECT_EQ(told(kBad)->status, "True");
  EXPECT_EQ(told(kBad)->reason, v1::kPassFailed);
  EXPECT_NE(told(kBad)->message.find("not an object"), std::string::npos) << told(kBad)->message;
  EXPECT_FALSE(told(kGood));
  EXPECT_EQ(api.requests("patch etcdclusters"), 1) << "told once, however often it fails";
  EXPECT_EQ(log.count("a pass has failed"), bad);
  EXPECT_GE(log.count("\"throws\":true"), 1) << "with what it saw";
  EXPECT_NE(metrics.text().find("etcd_operator_internal_errors_total{kind=\"EtcdCluster\"} " +
                                std::to_string(bad)),
            std::string::npos)
      << metrics.text();
}

TEST_F(Boundary, N2_AFailedCheckIsOneTooAndTheNextGoodPassTakesItBack) {
  int passes = 0;
  run(10min, [&](const api::ObjectKey& key) -> Result<runtime::Requeue> {
    if (key == kBad) check(++passes > 2, "two passes fail");
    return runtime::Requeue{10s};
  });
  ASSERT_TRUE(told(kBad));
  EXPECT_EQ(told(kBad)->status, "False");
  EXPECT_EQ(told(kBad)->reason, v1::kPassSucceeded);
  EXPECT_EQ(api.requests("patch etcdclusters"), 2) << "at rest nothing is written";
}

TEST_F(Boundary, N2_WhatIsThrownBesideIsThrownInThePass) {
  run(1min, [&](const api::ObjectKey& key) -> Result<runtime::Requeue> {
    int ended = 0;
    side_by_side(world, {[&] { ++ended; },
                         [&] {
                           if (key == kBad) throw std::runtime_error("beside\xFF");
                           ++ended;
                         },
                         [&] {
                           (void)world.sleep(1s);
                           ++ended;
                         }});
    EXPECT_EQ(ended, 3);
    return runtime::Requeue{};
  });
  ASSERT_TRUE(told(kBad));
  EXPECT_NE(told(kBad)->message.find("beside\xEF\xBF\xBD"), std::string::npos);
  EXPECT_FALSE(told(kGood));
}

/// An object that is deleted, or whose status patch is refused, stops nothing.
TEST_F(Boundary, N2_WhereItCannotBeToldTheOthersGoOnToo) {
  int good = 0;
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Patch) return std::nullopt;
    return Error{Code::Denied, "no"};
  });
  run(1min, [&](const api::ObjectKey& key) -> Result<runtime::Requeue> {
    if (key == kBad) throw 7;
    ++good;
    return runtime::Requeue{10s};
  });
  EXPECT_GE(good, 5);
  EXPECT_FALSE(told(kBad));
  EXPECT_GE(log.count("could not be written"), 1);
}

/// A defect of our own codecs would be such an object.
TEST_F(Boundary, N2_AnObjectThatCannotBeReadAgainEndsNothing) {
  v1::EtcdCluster odd = *store.get(kBad);
  odd.metadata.resource_version += "1";
  Json deep = json::object();
  for (int i = 0; i < 60; ++i) deep = json::object{{"x", std::move(deep)}};
  odd.spec.affinity = std::move(deep);  // No reader goes so deep.
  store.saw(odd);
  for (int i = 0; i < 100; ++i) {  // Until the parsed object is forgotten.
    v1::EtcdCluster other = *store.get(kGood);
    other.metadata.name = "other-" + std::to_string(i);
    store.saw(other);
  }
  int good = 0;
  run(1min, [&](const api::ObjectKey& key) -> Result<runtime::Requeue> {
    (void)store.get(key);
    ++good;
    return runtime::Requeue{10s};
  });
  EXPECT_GE(good, 5);
  EXPECT_GE(log.count("could not be written"), 1);
}

}  // namespace
}  // namespace etcdop
