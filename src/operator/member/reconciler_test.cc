// Passes over objects that differ from the cache, and how often a refused write is tried. The API
// server is a fake, time is virtual.
#include "operator/member/reconciler.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "api/v1alpha2/names.h"
#include "kube/object_text.h"
#include "kube/reflector.h"
#include "runtime/conditions.h"
#include "sim/scheduler.h"
#include "sys/coroutine.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"
#include "test/support/unscripted_etcd.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::member {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

const api::ObjectKey kKey{"prod", "db-a"};

class ReconcilerTest : public ::testing::Test {
 protected:
  ReconcilerTest() {
    server.serve({.resource = v1::EtcdMember::resource, .status = true, .generation = true});
    server.serve({.resource = kube::Pod::resource, .status = true, .graceful = true});
    server.serve({.resource = kube::PersistentVolumeClaim::resource});
    v1::EtcdCluster cluster;
    cluster.metadata.name = "db";
    cluster.metadata.ns = kKey.ns;
    cluster.metadata.uid = "c-1";
    cluster.status.cluster_id = "c1";
    stores.clusters.saw(cluster);
    const Json made =
        server.put(v1::EtcdMember::resource,
                   {{"metadata",
                     {{"name", kKey.name},
                      {"namespace", kKey.ns},
                      {"finalizers", {v1::kMemberFinalizer}},
                      {"labels", {{v1::kClusterLabel, "db"}}},
                      {"ownerReferences", json::array{owner("EtcdCluster", "db", "c-1")}}}},
                    {"spec",
                     {{"clusterName", "db"},
                      {"version", "3.6.16"},
                      {"storage", {{"size", "1Gi"}}},
                      {"initialCluster", "x"},
                      {"clusterToken", "t"}}},
                    {"status", {{"memberID", "0000000000000001"}, {"pvcName", "data-db-a"}}}});
    uid = std::string(made.at("metadata").at("uid").as_string());
  }
  static json::object owner(const char* kind, const char* name, const std::string& of) {
    return {{"apiVersion", "etcd-operator.cozystack.io/v1alpha2"},
            {"kind", kind},
            {"name", name},
            {"uid", of},
            {"controller", true}};
  }
  Json child(const char* name, bool labelled) const {
    json::object labels{{"app", "etcd"}};
    if (labelled) labels[v1::kClusterLabel] = "db";
    if (labelled) labels[v1::kClusterUidLabel] = "c-1";
    return {{"metadata",
             {{"name", name},
              {"namespace", kKey.ns},
              {"labels", labels},
              {"ownerReferences", json::array{owner("EtcdMember", "db-a", uid)}}}},
            {"spec", json::object{}},
            {"status", {{"phase", "Running"}}}};
  }
  /// Runs the controller with its watches for that time.
  void run(Duration time) {
    world.spawn([&, time] {
      runtime::Controller controller(world, random, log,
                                     {.name = "etcdmember", .backoff = {}, .on_pass = {}},
                                     [this](const auto& key) { return reconciler.reconcile(key); });
      const auto add = [&](const auto&) { controller.queue().add(kKey); };
      stores.members.on_change(add);
      stores.pods.on_change(add);
      stores.volumes.on_change(add);
      kube::Reflector<v1::EtcdMember> members(world, random, log, server, stores.members, {});
      kube::Reflector<kube::Pod> pods(world, random, log, server, stores.pods,
                                      {.label_selector = v1::kClusterLabel});
      kube::Reflector<kube::PersistentVolumeClaim> volumes(
          world, random, log, server, stores.volumes, {.label_selector = v1::kClusterLabel});
      members.start();
      pods.start();
      volumes.start();
      (void)world.sleep(1s);
      controller.start();
      (void)world.sleep(time);
      members.stop();
      pods.stop();
      volumes.stop();
      (void)controller.stop();
    });
    world.run();
  }
  std::string ready() const {
    const auto member = stores.members.get(kKey);
    const auto* c = runtime::find_condition(member->status.conditions, v1::kReady);
    return c ? c->reason : "";
  }

  sim::Scheduler world{1};
  FakeApi server{world};
  testing::MemoryLog log;
  testing::SeededRandom random{1};
  testing::VirtualWallClock clock{world};
  Stores stores;
  FlightRecorder flight;
  testing::EtcdOfOneAnswer etcd;
  Credentials credentials{world, server, clock, etcd};
  Reconciler reconciler{{{world, server, stores, clock, log, nullptr, &flight}, etcd, credentials},
                        {"quay.io/coreos/etcd"}};
  std::string uid;
};

TEST_F(ReconcilerTest, APodThatLostItsLabelsGetsThemBack) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  server.put(kube::Pod::resource, child("db-a", false));
  run(60s);
  const Json pod = *server.find(kube::Pod::resource, kKey);
  EXPECT_EQ(pod.at("metadata").at("labels").at(v1::kClusterLabel), "db");
  EXPECT_EQ(server.requests("create pods"), 1) << "and nobody tries to make another";
  ASSERT_NE(stores.pods.get(kKey), nullptr);
}

/// The Go operator, or an earlier release, has created it.
TEST_F(ReconcilerTest, K17_APodWithoutTheUidGetsItAndIsNotRestarted) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  Json pod = child("db-a", true);
  pod.at("metadata").at("labels").as_object().erase(v1::kClusterUidLabel);
  const Json before = server.put(kube::Pod::resource, pod);
  run(60s);
  const Json now = *server.find(kube::Pod::resource, kKey);
  EXPECT_EQ(now.at("metadata").at("labels").at(v1::kClusterUidLabel), "c-1");
  EXPECT_EQ(now.at("metadata").at("uid"), before.at("metadata").at("uid"));
  EXPECT_EQ(server.requests("patch pods"), 1);
}

/// Its EtcdCluster was deleted with --cascade=orphan. Whatever the cache says, the key leaves the
/// selector before the label changes: no endpoint is dropped.
TEST_F(ReconcilerTest, K17_APodKeepsTheUidByWhichAServiceStillSelects) {
  server.serve({.resource = kube::Service::resource});
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  Json pod = child("db-a", true);
  pod.at("metadata").at("labels").as_object()[v1::kClusterUidLabel] = "c-0";
  server.put(kube::Pod::resource, pod);
  json::object selector{{v1::kClusterLabel, "db"}, {v1::kClusterUidLabel, "c-0"}};
  server.put(kube::Service::resource,
             {{"metadata",
               {{"name", "db"}, {"namespace", kKey.ns}, {"labels", {{v1::kClusterLabel, "db"}}}}},
              {"spec", {{"selector", selector}}}});
  const auto uid_now = [&] {
    const Json now = *server.find(kube::Pod::resource, kKey);
    return std::string(now.at("metadata").at("labels").at(v1::kClusterUidLabel).as_string());
  };
  std::string meanwhile;
  world.spawn([&] {
    (void)world.sleep(60s);
    meanwhile = uid_now();
    server.change(kube::Service::resource, {kKey.ns, "db"}, [](json::object& service) {
      service["spec"].at("selector").as_object().erase(v1::kClusterUidLabel);
    });
  });
  run(180s);
  EXPECT_EQ(meanwhile, "c-0");
  EXPECT_EQ(uid_now(), "c-1");
}

TEST_F(ReconcilerTest, AVolumeThatLostItsLabelsIsNotTakenForLost) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", false));
  server.put(kube::Pod::resource, child("db-a", true));
  run(60s);
  EXPECT_NE(ready(), v1::kDataLost);
  const auto volume = server.find(kube::PersistentVolumeClaim::resource, {"prod", "data-db-a"});
  EXPECT_EQ(volume->at("metadata").at("labels").at(v1::kClusterLabel), "db") << "K14";
  EXPECT_EQ(volume->at("metadata").at("labels").at("app"), "etcd") << "other labels stay";
}

/// Before a dormant member's Pod goes, the API server is asked for the stage of the restore.
TEST_F(ReconcilerTest, I1_ARestoredMemberIsNotStoppedByAnEarlierStage) {
  server.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
  v1::EtcdCluster cluster = *stores.clusters.get({kKey.ns, "db"});
  const auto is_in = [&](v1::RestoreStage stage) {
    cluster.status.restore.emplace().stage = stage;
    server.change(v1::EtcdCluster::resource, {kKey.ns, "db"}, [&](json::object& object) {
      object["metadata"].as_object()["uid"] = "c-1";
      object["status"] = api::encode(cluster).at("status");
    });
  };
  cluster.spec.version = "3.6.16";
  server.put(v1::EtcdCluster::resource, {{"metadata", {{"name", "db"}, {"namespace", kKey.ns}}},
                                         {"spec", api::encode(cluster).at("spec")}});
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  server.put(kube::Pod::resource, child("db-a", true));
  server.change(v1::EtcdMember::resource, kKey,
                [](json::object& member) { member["spec"].as_object()["dormant"] = true; });
  is_in(v1::RestoreStage::Stopping);
  cluster.metadata.resource_version = "1";
  stores.clusters.saw(cluster);
  is_in(v1::RestoreStage::Review);
  run(60s);
  EXPECT_EQ(server.requests("delete pods"), 0);
  EXPECT_GT(server.requests("get etcdclusters"), 0) << "it is about to go";
}

TEST_F(ReconcilerTest, AVolumeThatIsGoneIsLost) {
  run(60s);
  const std::string line = flight.text();
  auto pair = FlightReader().read(line.substr(0, line.find('\n')));
  ASSERT_TRUE(pair) << line;
  Observation seen;
  ASSERT_TRUE(api::decode(pair->observation, seen, "observation"));
  EXPECT_EQ(seen.member.metadata.uid, uid);
  EXPECT_EQ(pair->plan, api::encode(plan(seen)));
  EXPECT_EQ(ready(), v1::kDataLost);
  EXPECT_EQ(server.requests("create"), 0) << "never on an empty one";
}

TEST_F(ReconcilerTest, AStatusIsLeftToTheControllerThatIsWritingIt) {
  std::optional<Claim> somebody;
  somebody.emplace(stores.status_writes, kKey);
  world.spawn([&] {
    (void)world.sleep(5s);
    EXPECT_EQ(server.requests("patch etcdmembers/status"), 0);
    somebody.reset();
  });
  run(10s);
  EXPECT_EQ(server.requests("patch etcdmembers/status"), 1);
}

TEST_F(ReconcilerTest, WhatSomebodyTakesAwayAgainAndAgainIsPutBackLessAndLessOften) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  server.put(kube::Pod::resource, child("db-a", true));
  server.change(v1::EtcdMember::resource, kKey,
                [](json::object& m) { m["status"].as_object()["isVoter"] = true; });
  world.spawn([&] {
    for (int i = 0; i < 900; ++i) {
      (void)world.sleep(200ms);
      server.change(kube::Pod::resource, kKey, [](json::object& pod) {
        pod["metadata"].as_object()["labels"].as_object().erase(v1::kRoleLabel);
      });
      server.change(v1::EtcdMember::resource, kKey, [](json::object& member) {
        member["metadata"].as_object()["finalizers"] = json::array{};
      });
    }
  });
  run(179s);
  // After 1, 2, 4, ... seconds; the finalizer first, and no role without it.
  EXPECT_GE(server.requests("patch etcdmembers prod/db-a"), 8);
  EXPECT_LE(server.requests("patch etcdmembers prod/db-a"), 9);
  EXPECT_LE(server.requests("patch pods prod/db-a"), 9);
}

TEST_F(ReconcilerTest, K8_APodThatAWebhookKeepsAwayIsToldInItsWordsAndMadeOnceItAnswers) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  const Instant end = world.now() + 190s;
  int tries = 0;
  std::string told;  // At the seventh try.
  server.before([&](const kube::Call& call) -> std::optional<Error> {
    if (world.now() >= end || !sim::line_of(call).starts_with("create pods")) return std::nullopt;
    if (++tries == 7) told = ready();
    return Error{Code::Lost, "failed calling webhook, from port " + std::to_string(tries)};
  });
  run(262s);
  EXPECT_EQ(told, v1::kPodRejected);
  EXPECT_LE(tries, 16) << "the queue's back-off";
  EXPECT_LE(server.requests("patch etcdmembers/status"), 7) << "new words once a minute";
  EXPECT_TRUE(server.find(kube::Pod::resource, kKey));
  EXPECT_EQ(ready(), v1::kPodNotReady);
}

TEST_F(ReconcilerTest, WhatIsRefusedIsToldAtOnceAndTriedOnceAMinute) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  bool quota = true;
  server.before([&](const kube::Call& call) -> std::optional<Error> {
    if (quota && call.verb == kube::Verb::Create)
      return Error{Code::Denied, "exceeded quota: none"};
    return std::nullopt;
  });
  run(10s);
  EXPECT_EQ(ready(), v1::kPodRejected);
  EXPECT_EQ(server.requests("create pods"), 2) << "at once, and once more soon";
}

/// An earlier release accepted a template with as many levels as are read.
TEST_F(ReconcilerTest, N2_APassOverADeepTemplateTakesLessThanHalfOfAStack) {
  Json deep(1);
  for (std::size_t level = 4; level < kube::kObjectDepthMax;
       ++level)  // Below spec.podTemplate.spec.
    deep = json::object{{"a", std::move(deep)}};
  stores.volumes.saw(server.put<kube::PersistentVolumeClaim>(child("data-db-a", true)));
  server.change(v1::EtcdMember::resource, kKey, [&](json::object& member) {
    member["spec"].as_object()["podTemplate"] = json::object{{"spec", deep}};
  });
  stores.members.saw(*server.find<v1::EtcdMember>(kKey));
  Executor::paint_stacks(true);
  const auto pass = world.spawn([&] { (void)reconciler.reconcile(kKey); });
  world.run();
  Executor::paint_stacks(false);
  EXPECT_TRUE(server.find(kube::Pod::resource, kKey)->at("spec").as_object().contains("a"));
  RecordProperty("bytes", static_cast<int>(pass->stack_used()));
  EXPECT_GT(pass->stack_used(), 4096U) << "it was not painted";
  EXPECT_LT(pass->stack_used(), detail::kDefaultBytes / 2);
}

/// The kubelet refuses each Pod at once, for example because of a sysctl.
TEST_F(ReconcilerTest, K6_PodsThatFailAtOnceAreMadeLessAndLessOften) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  world.spawn([&] {
    for (int i = 0; i < 3000; ++i) {
      (void)world.sleep(100ms);
      if (!server.find(kube::Pod::resource, kKey)) continue;
      server.change(kube::Pod::resource, kKey, [](json::object& pod) {
        pod["status"] = json::object{
            {"phase", "Failed"}, {"reason", "SysctlForbidden"}, {"message", "not allowlisted"}};
      });
    }
  });
  run(299s);
  EXPECT_LE(server.requests("create pods"), 10);
  EXPECT_GE(server.requests("create pods"), 8) << "it is tried again";
  EXPECT_LE(server.requests("patch etcdmembers/status"), server.requests("create pods") + 4)
      << "each Pod's UID, and its words once";
  const auto* c = runtime::find_condition(stores.members.get(kKey)->status.conditions, v1::kReady);
  EXPECT_EQ(c->reason, v1::kPodFailed);
  EXPECT_EQ(c->message, "Pod db-a failed: SysctlForbidden: not allowlisted");
}

/// Another operator has told of the failures (seed 1583).
TEST_F(ReconcilerTest, K6_TheRowGoesOnAfterATakeOver) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  Json pod = child("db-a", true);
  pod.at("status") = {{"phase", "Failed"}, {"reason", "SysctlForbidden"}};
  server.put(kube::Pod::resource, pod);
  server.change(v1::EtcdMember::resource, kKey, [&](json::object& member) {
    member["status"].as_object()["conditions"] =
        json::array{{{"type", v1::kReady},
                     {"status", "False"},
                     {"reason", v1::kPodFailed},
                     {"message", "Pod db-a failed: SysctlForbidden"},
                     {"lastTransitionTime", to_rfc3339(clock.wall_now() + -60s)}}};
  });
  world.spawn([&] {
    (void)world.sleep(55s);
    EXPECT_EQ(server.requests("create pods"), 0);
  });
  run(80s);
  EXPECT_EQ(server.requests("create pods"), 1);
}

/// The kubelet reports the end of a deleted Pod's containers before it removes the Pod.
TEST_F(ReconcilerTest, K6_TheEndOfADeletedPodDelaysNothingAndIsNoFailure) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  Json pod = child("db-a", true);
  pod.at("spec") = {{"nodeName", "n-1"}};
  server.put(kube::Pod::resource, pod);
  std::string message;
  bool is_made = false;
  world.spawn([&] {
    (void)world.sleep(5s);
    EXPECT_TRUE(server.remove(kube::Pod::resource, kKey));
    server.change(kube::Pod::resource, kKey,
                  [](json::object& pod) { pod["status"] = json::object{{"phase", "Succeeded"}}; });
    (void)world.sleep(500ms);
    message =
        runtime::find_condition(stores.members.get(kKey)->status.conditions, v1::kReady)->message;
    server.erase(kube::Pod::resource, kKey);
    (void)world.sleep(500ms);
    is_made = server.find(kube::Pod::resource, kKey).has_value();
  });
  run(20s);
  EXPECT_TRUE(is_made) << "without the back-off after a failure";
  EXPECT_EQ(message.find("failed"), std::string::npos) << message;
}

/// The Go operator's Pod lacks a flag without which its etcd ends at once.
TEST_F(ReconcilerTest, K16_APodThatCannotRunAsItWasMadeIsMadeAnew) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  Json foreign = child("db-a", true);
  foreign.at("spec") = {
      {"containers", json::array{{{"name", "etcd"},
                                  {"image", "mirror.example.com/etcd:v3.6.16"},
                                  {"command", json::array{"etcd", "--name=db-a"}}}}}};
  const auto with_state = [](const char* reason) {
    return Json{{"phase", "Running"},
                {"podIP", "10.0.0.9"},
                {"containerStatuses",
                 json::array{{{"name", "etcd"}, {"state", {{reason, {{"reason", "Crash"}}}}}}}}};
  };
  foreign.at("status") = with_state("running");
  const std::string made =
      server.put(kube::Pod::resource, foreign).at("metadata").at("uid").as_string().c_str();
  const auto uid_now = [&] {
    return std::string(
        server.find(kube::Pod::resource, kKey)->at("metadata").at("uid").as_string());
  };
  const auto becomes = [&](const char* state) {
    server.change(kube::Pod::resource, kKey, [state](json::object& pod) {
      pod["status"].as_object()["containerStatuses"].at(0).at("state") = {
          {state, {{"reason", "CrashLoopBackOff"}}}};
    });
  };
  bool answers = false, starts = true;
  server.before([&](const kube::Call& call) -> std::optional<Error> {
    if (call.resource != kube::Pod::resource) return std::nullopt;
    if (!answers && call.verb == kube::Verb::Get) return Error{Code::TimedOut, "no answer"};
    if (call.verb == kube::Verb::Delete && std::exchange(starts, false)) becomes("running");
    return std::nullopt;
  });
  world.spawn([&] {
    (void)world.sleep(30s);
    EXPECT_EQ(uid_now(), made) << "a running one is left as it is";
    becomes("waiting");
    (void)world.sleep(30s);
    EXPECT_EQ(uid_now(), made) << "the API server is asked first";
    answers = true;
    etcd.refused = 0;
    (void)world.sleep(60s);
    EXPECT_EQ(uid_now(), made) << "it runs again, and the kubelet tells so late (seed 760)";
    etcd.answer = Error{Code::TimedOut, "no answer"};
    (void)world.sleep(60s);
    EXPECT_EQ(uid_now(), made) << "it may run behind a partition";
    etcd.answer = etcd::Status{};
    etcd.refused = 2;
    (void)world.sleep(60s);
    EXPECT_EQ(uid_now(), made) << "connections may be cut";
    etcd.refused = 1000;
    (void)world.sleep(60s);
    EXPECT_FALSE(starts);
    EXPECT_EQ(uid_now(), made) << "it started as it was to be deleted (seed 20960)";
    becomes("waiting");
  });
  run(460s);
  EXPECT_NE(uid_now(), made);
  const Json pod = *server.find(kube::Pod::resource, kKey);
  const Json& etcd = pod.at("spec").at("containers").at(0);
  EXPECT_GT(etcd.at("command").as_array().size(), 10U);
}

TEST_F(ReconcilerTest, AndWithinAMinuteOfItsEndItIsMade) {
  server.put(kube::PersistentVolumeClaim::resource, child("data-db-a", true));
  const Instant end = world.now() + 200s;
  server.before([&](const kube::Call& call) -> std::optional<Error> {
    if (world.now() < end && call.verb == kube::Verb::Create)
      return Error{Code::Denied, "exceeded quota: none"};
    return std::nullopt;
  });
  run(262s);
  EXPECT_LE(server.requests("create pods"), 6);
  EXPECT_TRUE(server.find(kube::Pod::resource, kKey));
}

}  // namespace
}  // namespace etcdop::member
