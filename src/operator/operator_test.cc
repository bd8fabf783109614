// N3: an object that the operator cannot read is named in the log, in a metric and in an Event, and
// all others are served.
#include "operator/operator.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/names.h"
#include "kube/certificate.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"
#include "test/support/unscripted_etcd.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

const api::ObjectKey kBad{"a", "bad"}, kGood{"b", "good"};

class OperatorTest : public ::testing::Test {
 protected:
  OperatorTest() {
    for (const api::Resource& kind :
         {v1::EtcdCluster::resource, v1::EtcdMember::resource, v1::EtcdDefrag::resource,
          v1::EtcdSnapshot::resource, v1::EtcdSnapshotSchedule::resource,
          v1::EtcdRestore::resource})
      api.serve({.resource = kind, .status = true, .generation = true});
    for (const api::Resource& kind :
         {kube::Pod::resource, kube::PersistentVolumeClaim::resource, kube::Service::resource,
          kube::PodDisruptionBudget::resource, kube::Job::resource, kube::SecretObject::resource,
          kube::Event::resource})
      api.serve({.resource = kind, .status = true});
    api.lack(kube::Certificate::resource);
    api.grant(operator_permissions());
    for (const auto& [key, replicas] : {std::pair(kBad, Json("many")), std::pair(kGood, Json(1))})
      api.put(v1::EtcdCluster::resource,
              {{"metadata", {{"name", key.name}, {"namespace", key.ns}}},
               {"spec", {{"replicas", replicas}, {"version", "3.6.16"}}}});
  }
  /// Runs `look` beside an operator that has served what there is.
  void run(const std::function<void()>& look) {
    Operator::Options options;
    options.identity = "op-1";
    Operator program({world, random, clock, log, api, api, etcd, {}, nullptr, &metrics}, options);
    const auto running = world.spawn([&] { EXPECT_TRUE(program.run()); });
    world.spawn([&] {
      (void)world.sleep(10s);
      look();
      program.stop();
    });
    world.run();
    EXPECT_TRUE(running->done());
  }
  std::string unreadable() {
    const std::string text = metrics.text(), name = "\netcd_operator_unreadable_objects{";
    const auto at = text.find(name);
    return at == text.npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  }
  /// The Events about an object, each as "REASON: NOTE".
  std::vector<std::string> events(const api::ObjectKey& about) {
    std::vector<std::string> out;
    for (const auto& event : api.look_all(kube::Event::resource)) {
      const json::object& fields = event->as_object();
      if (fields.at("regarding").at("name") != Json(about.name)) continue;
      EXPECT_EQ(fields.at("regarding").at("kind"), "EtcdCluster");
      EXPECT_EQ(fields.at("regarding").at("namespace"), Json(about.ns));
      EXPECT_EQ(fields.at("type"), "Warning");
      out.push_back(std::string(fields.at("reason").as_string()) + ": " +
                    std::string(fields.at("note").as_string()));
    }
    return out;
  }

  sim::Scheduler world{1};
  testing::FakeApi api{world};
  testing::MemoryLog log;
  testing::SeededRandom random{1};
  testing::VirtualWallClock clock{world};
  testing::EtcdOfOneAnswer etcd;
  runtime::Metrics metrics;
};

TEST_F(OperatorTest, N3_WhatCannotBeReadIsNamedInLogMetricAndEventAndTheOthersAreServed) {
  run([&] {
    EXPECT_EQ(log.count("object cannot be read and is passed over kind=EtcdCluster object=a/bad"),
              1);
    EXPECT_EQ(unreadable(), "etcd_operator_unreadable_objects{kind=\"EtcdCluster\"} 1");
    const auto told = events(kBad);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_TRUE(told[0].starts_with(std::string(v1::kUnreadable) +
                                    ": the operator cannot read this object, and does not serve "
                                    "it: "))
        << told[0];
    EXPECT_NE(told[0].find("replicas"), std::string::npos) << told[0];
    EXPECT_GE(api.requests("create etcdmembers b"), 1) << api.requests().back();

    api.change(v1::EtcdCluster::resource, kBad,
               [](json::object& cluster) { cluster["spec"].as_object()["replicas"] = 1; });
    (void)world.sleep(10s);
    EXPECT_EQ(unreadable(), "etcd_operator_unreadable_objects{kind=\"EtcdCluster\"} 0");
    EXPECT_GE(api.requests("create etcdmembers a"), 1) << "it is served";
  });
}

TEST_F(OperatorTest, N3_WhatCannotBeReadAndIsDeletedIsNoLongerCounted) {
  run([&] {
    EXPECT_EQ(unreadable(), "etcd_operator_unreadable_objects{kind=\"EtcdCluster\"} 1");
    api.erase(v1::EtcdCluster::resource, kBad);
    (void)world.sleep(10s);
    EXPECT_EQ(unreadable(), "etcd_operator_unreadable_objects{kind=\"EtcdCluster\"} 0");
  });
}

}  // namespace
}  // namespace etcdop
