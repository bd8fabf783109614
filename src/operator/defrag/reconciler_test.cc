// Passes over runs: what is written before etcd is asked, the cost of a lost answer or a crash, and
// that no two members are ever busy at once. etcd is a script with three members, the API server is
// a fake.
#include "operator/defrag/reconciler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "operator/passes/turns.h"
#include "runtime/conditions.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/unscripted_etcd.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::defrag {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

constexpr etcd::ClusterId kCluster{0xc1};
constexpr std::int64_t kMiB = 1 << 20;

/// Voters 1, 2 and 3, at addresses that end so; 2 leads. 500 MiB each, 100 of them in use.
struct Etcd final : etcd::Clients {
  struct Member final : testing::UnscriptedEtcd {
    Member(Etcd& all, const etcd::Endpoint& at)
        : all_(all), id_(static_cast<std::uint64_t>(at.address.back() - '0')) {}
    Result<etcd::Status> status() override {
      ++all_.statuses;
      if (all_.silent == id_) return Error{Code::TimedOut, "no answer"};
      etcd::Status out;
      out.header = {kCluster, {id_}};
      out.leader = {all_.leads};
      out.db_size = all_.size[id_];
      out.db_size_in_use = all_.in_use;
      return out;
    }
    Result<etcd::MemberList> member_list(etcd::Read) override {
      etcd::MemberList out{{kCluster, {id_}}, {}};
      for (const auto& [id, name] : all_.listed) out.members.push_back({{id}, name, {}, {}, false});
      return out;
    }
    Result<std::vector<etcd::Alarm>> alarms() override { return all_.raised; }
    Result<Done> defragment() override {
      all_.did += "d" + std::to_string(id_) + " ";
      all_.most_busy = std::max(all_.most_busy, ++all_.busy);
      if (all_.takes) (void)all_.takes->sleep(90s);
      --all_.busy;
      if (!all_.fails || all_.fails_after) all_.size[id_] = 100 * kMiB;
      if (all_.fails) return *all_.fails;
      return Done{};
    }
    Result<Done> move_leader(etcd::MemberId to) override {
      all_.did += "m" + std::to_string(id_) + std::to_string(to.value) + " ";
      if (id_ != all_.leads) return Error{Code::Conflict, "does not lead"};
      all_.leads = to.value;
      return Done{};
    }
    Result<Done> disarm(const etcd::Alarm& alarm) override {
      all_.did += "n" + std::to_string(alarm.member.value) + " ";
      if (all_.keeps_alarms) return Error{Code::Unavailable, "no leader"};
      std::erase(all_.raised, alarm);
      return Done{};
    }

   private:
    Etcd& all_;
    std::uint64_t id_;
  };
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint& to) override {
    return std::make_shared<Member>(*this, to);
  }
  std::map<std::uint64_t, std::string> listed{{1, "db-a"}, {2, "db-b"}, {3, "db-c"}};
  std::map<std::uint64_t, std::int64_t> size{{1, 500 * kMiB}, {2, 500 * kMiB}, {3, 500 * kMiB}};
  std::int64_t in_use = 100 * kMiB;
  std::vector<etcd::Alarm> raised;
  bool keeps_alarms = false;
  std::uint64_t leads = 2, silent = 0;
  std::string did;  ///< "d1 m21 ": defragmented 1, moved the leader from 2 to 1.
  int statuses = 0, busy = 0, most_busy = 0;
  Executor* takes = nullptr;  ///< Each takes a minute and a half.
  std::optional<Error> fails;
  bool fails_after = false;  ///< The call fails, but it is done.
};

class DefragReconciler : public ::testing::Test {
 protected:
  DefragReconciler() {
    api.serve({.resource = v1::EtcdDefrag::resource, .status = true, .generation = true});
    api.grant(Api::permissions());
    v1::EtcdCluster cluster;
    cluster.metadata.name = "db";
    cluster.metadata.ns = "prod";
    cluster.metadata.uid = "c-1";
    cluster.spec.replicas = 3;
    cluster.status.cluster_id = "00000000000000c1";
    cluster.status.observed.emplace().replicas = 3;
    stores.clusters.saw(cluster);
    for (const auto& [id, name] : etcd.listed) {
      v1::EtcdMember member;
      member.metadata.name = name;
      member.metadata.ns = "prod";
      member.metadata.uid = name + "-uid";
      member.metadata.labels[v1::kClusterLabel] = "db";
      member.spec.cluster_name = "db";
      member.metadata.owner_references.emplace_back().uid = "c-1";
      member.status.member_id = etcd::to_hex(id);
      member.status.is_voter = true;
      stores.members.saw(member);
      kube::Pod pod;
      pod.metadata = member.metadata;
      pod.metadata.uid = name + "-pod";
      pod.metadata.owner_references.front().uid = member.metadata.uid;
      pod.status.phase = "Running";
      pod.status.pod_ip = "10.0.0." + std::to_string(id);
      stores.pods.saw(pod);
    }
  }

  /// As the watch reports it. Runs created later are younger.
  void put_run(const std::string& name, Json spec = json::object{}) {
    spec.as_object()["clusterRef"] = {{"name", "db"}};
    stores.defrags.saw(api.put<v1::EtcdDefrag>(
        {{"metadata", {{"name", name}, {"namespace", "prod"}}}, {"spec", std::move(spec)}}));
  }
  v1::EtcdDefrag run_now(const std::string& name = "nightly") const {
    return api.find<v1::EtcdDefrag>({"prod", name}).value();
  }
  Result<runtime::Requeue> pass(const std::string& name = "nightly") {
    Result<runtime::Requeue> out = Error{Code::Cancelled, "not ended"};
    world.spawn([&] { out = reconciler->reconcile({"prod", name}); });
    world.run();
    return out;
  }
  /// A pass after its rest.
  Result<runtime::Requeue> later(const std::string& name = "nightly") {
    world.advance_to(world.now() + 5s);
    return pass(name);
  }
  /// Passes, until the run has ended.
  void pass_all(const std::string& name = "nightly") {
    for (int i = 0; i < 20 && !run_now(name).status.finished(); ++i) (void)later(name);
  }
  std::string reason(const std::string& name = "nightly") const {
    const auto run = run_now(name);
    const auto* c = runtime::find_condition(run.status.conditions, v1::kDefragChecked);
    return c ? run.status.phase + " " + c->status + "/" + c->reason : run.status.phase;
  }
  /// No patch succeeds.
  static FakeApi::Fault no_patch(Code code) {
    return [code](const kube::Call& call) -> std::optional<Error> {
      if (call.verb == kube::Verb::Patch) return Error{code, "so it is"};
      return std::nullopt;
    };
  }
  void crash() {
    reconciler = std::make_unique<Reconciler>(
        Reconciler::Collaborators{{world, api, stores, clock, log}, etcd, credentials});
  }

  sim::Scheduler world{1};
  FakeApi api{world};
  testing::MemoryLog log;
  testing::VirtualWallClock clock{world};
  Stores stores;
  Etcd etcd;
  Credentials credentials{world, api, clock, etcd};
  std::unique_ptr<Reconciler> reconciler = std::make_unique<Reconciler>(
      Reconciler::Collaborators{{world, api, stores, clock, log}, etcd, credentials});
};

TEST_F(DefragReconciler, ARunTakesTheFollowersThenWhoLedAndThenCostsNothing) {
  put_run("nightly");
  etcd.raised = {{etcd::AlarmKind::NoSpace, {1}}};
  pass_all();
  EXPECT_EQ(etcd.did, "d1 d3 m21 d2 n1 ") << "a full database is what it is for";
  EXPECT_EQ(reason(), "Complete True/Defragmented");
  EXPECT_EQ(run_now().status.defragmented, 3);
  EXPECT_EQ(run_now().status.members[1].role, "leader");
  EXPECT_EQ(run_now().status.members[1].reclaimed_bytes, 400 * kMiB);
  EXPECT_EQ(api.requests("patch"), 6) << "one before each step, and the end";
  api.forget_requests();
  const int asked = etcd.statuses;
  auto rest = pass();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->after, std::nullopt);
  EXPECT_EQ(api.requests().size(), 0U);
  EXPECT_EQ(etcd.statuses, asked);
}

TEST_F(DefragReconciler, K9_TheProbeOfThePodTellsHowLongItMayTake) {
  etcd.in_use = 1500 * kMiB;
  for (auto& [id, size] : etcd.size) size = 3000 * kMiB;
  const auto probe = [&](const char* name, bool reads, std::int32_t failures) {
    kube::Pod pod = *stores.pods.get({"prod", name});
    stores.pods.saw_deleted(pod);
    kube::Container& container = pod.spec.containers.emplace_back();
    container.name = v1::kEtcdContainer;
    kube::Probe& live = container.liveness_probe.emplace();
    if (reads) live.http_get.emplace().path = "/livez";
    live.period_seconds = 10;
    live.failure_threshold = failures;
    stores.pods.saw(pod);
  };
  probe("db-a", true, 6);
  probe("db-b", true, 15);
  probe("db-c", false, 3);
  put_run("nightly");
  pass_all();
  EXPECT_EQ(etcd.did, "d3 m21 d2 ") << "a is passed over";
  EXPECT_EQ(reason(), "Complete False/DefragmentedInPart");
}

TEST_F(DefragReconciler, AnAlarmThatCannotBeDisarmedIsTriedThreeTimesAndTold) {
  put_run("nightly");
  etcd.raised = {{etcd::AlarmKind::NoSpace, {1}}, {etcd::AlarmKind::NoSpace, {2}}};
  etcd.keeps_alarms = true;
  pass_all();
  EXPECT_EQ(etcd.did, "d1 d3 m21 d2 n1 n1 n1 ");
  EXPECT_EQ(reason(), "Complete True/Defragmented");
  EXPECT_NE(api::encode(run_now().status.conditions)
                .as_array()
                .at(0)
                .at("message")
                .as_string()
                .find("NOSPACE stays raised: etcd did not disarm it"),
            std::string::npos);
}

TEST_F(DefragReconciler, NothingIsDoneThatTheStatusDoesNotSayFirst) {
  put_run("nightly");
  api.before(no_patch(Code::Conflict));
  EXPECT_FALSE(pass());
  EXPECT_EQ(etcd.did, "");
  api.before(nullptr);
  ASSERT_TRUE(pass());
  EXPECT_EQ(etcd.did, "d1 ");
  EXPECT_EQ(run_now().status.members[0].attempts, 1);
}

TEST_F(DefragReconciler, ALostAnswerIsMadeUpForByALook) {
  put_run("nightly");
  etcd.fails = Error{Code::TimedOut, "no answer"};
  etcd.fails_after = true;
  auto first = pass();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->after, 5s);
  // The write of the status has queued it meanwhile.
  world.advance_to(world.now() + 2s);
  first = pass();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->after, 3s);
  EXPECT_EQ(etcd.did, "d1 ");
  etcd.fails.reset();
  pass_all();
  EXPECT_EQ(etcd.did, "d1 d3 m21 d2 ");
  EXPECT_EQ(run_now().status.members[0].outcome, "Defragmented");
}

TEST_F(DefragReconciler, AStatusWhoseAnswerIsLostIsLookedAtBeforeItIsWrittenAgain) {
  put_run("nightly");
  api.after(no_patch(Code::Lost));
  EXPECT_FALSE(pass());
  EXPECT_EQ(api.requests("get etcddefrags"), 1);
  EXPECT_EQ(etcd.did, "");
  api.after(nullptr);
  ASSERT_TRUE(pass());
  EXPECT_EQ(etcd.did, "d1 ");
}

TEST_F(DefragReconciler, WhoIsInEtcdWithoutAnEtcdMemberIsWaitedFor) {
  etcd.listed[4] = "db-x";
  put_run("nightly");
  ASSERT_TRUE(pass());
  EXPECT_EQ(reason(), "Pending False/ClusterNotHealthy");
  EXPECT_EQ(etcd.did, "");
}

TEST_F(DefragReconciler, ACrashCostsNothingThatCanBeSeen) {
  put_run("nightly");
  for (int i = 0; i < 20 && !run_now().status.finished(); ++i) {
    (void)later();
    crash();
  }
  EXPECT_EQ(etcd.did, "d1 d3 m21 d2 ") << "what was done can be seen";
  EXPECT_EQ(reason(), "Complete True/Defragmented");
}

TEST_F(DefragReconciler, WhatNeverSucceedsIsTriedThreeTimes) {
  put_run("nightly");
  etcd.fails = Error{Code::Invalid, "etcdserver: broken"};
  pass_all();
  EXPECT_EQ(etcd.did, "d1 d1 d1 d3 d3 d3 m21 d2 d2 d2 ");
  EXPECT_EQ(reason(), "Failed False/LeaderNotDefragmented");
  EXPECT_EQ(run_now().status.members[0].outcome, "Failed");
  EXPECT_EQ(run_now().status.members[0].reason, "tried 3 times: etcdserver: broken");
}

TEST_F(DefragReconciler, AMemberThatGoesDownInTheMiddleIsWaitedFor) {
  put_run("nightly");
  ASSERT_TRUE(pass());
  etcd.silent = 3;
  ASSERT_TRUE(later());
  EXPECT_EQ(reason(), "Running False/ClusterNotHealthy");
  api.forget_requests();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(later());
  EXPECT_EQ(api.requests().size(), 0U) << "that is said once";
  EXPECT_EQ(etcd.did, "d1 ");
  etcd.silent = 0;
  pass_all();
  EXPECT_EQ(etcd.did, "d1 d3 m21 d2 ");
}

TEST_F(DefragReconciler, WhereTheApiServerTookItsTimeTheClusterIsLookedAtOnceMore) {
  put_run("nightly");
  api.before([this](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Patch) return std::nullopt;
    (void)world.sleep(3s);
    etcd.silent = 3;
    return std::nullopt;
  });
  ASSERT_TRUE(pass());
  EXPECT_EQ(etcd.did, "");
}

TEST_F(DefragReconciler, OfTwoRunsTheOlderGoesFirst) {
  put_run("z-older");
  world.advance_to(world.now() + 2s);
  put_run("a-younger");
  (void)pass("a-younger");
  EXPECT_EQ(reason("a-younger"), "Pending False/AnotherRunFirst");
  EXPECT_EQ(etcd.statuses, 0) << "who waits asks nobody";
  pass_all("z-older");
  EXPECT_EQ(reason("z-older"), "Complete True/Defragmented");
  pass_all("a-younger");
  EXPECT_EQ(reason("a-younger"), "Complete True/Defragmented");
  EXPECT_EQ(run_now("a-younger").status.members[0].outcome, "Skipped");
}

TEST_F(DefragReconciler, ASnapshotThatHasStartedIsWaitedForAndNoneBeginsInItsMoment) {
  v1::EtcdSnapshot snapshot;
  snapshot.metadata.name = "hourly";
  snapshot.metadata.ns = "prod";
  snapshot.metadata.uid = "s-1";
  snapshot.spec.cluster_ref.name = "db";
  snapshot.status.phase = v1::kSnapshotStarted;
  stores.snapshots.saw(snapshot);
  put_run("nightly");
  ASSERT_TRUE(pass());
  EXPECT_EQ(reason(), "Pending False/SnapshotFirst");
  snapshot.status.phase = v1::kSnapshotComplete;
  snapshot.metadata.resource_version = "2";
  stores.snapshots.saw(snapshot);
  {
    const Claim other(stores.beginnings, {"prod", "db"});
    ASSERT_TRUE(later());
    EXPECT_EQ(reason(), "Pending False/SnapshotFirst");
    EXPECT_EQ(etcd.did, "");
  }
  pass_all();
  EXPECT_EQ(reason(), "Complete True/Defragmented");
}

TEST_F(DefragReconciler, ARunThatSeemsToBeFirstWaitsForTheOneThatIsUnderWay) {
  put_run("b");
  etcd.takes = &world;
  Result<runtime::Requeue> late = Error{Code::Cancelled, "not ended"};
  api.before([this](const kube::Call&) -> std::optional<Error> {
    (void)world.sleep(1s);
    return std::nullopt;
  });
  world.spawn([&] { (void)reconciler->reconcile({"prod", "b"}); });
  world.run_until(world.now() + 500ms);
  // Created within the same second; the write that begins b is on its way.
  put_run("a");
  world.spawn([&] { late = reconciler->reconcile({"prod", "a"}); });
  world.run_until(world.now() + 30s);
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(etcd.busy, 1);
  world.spawn([&] { late = reconciler->reconcile({"prod", "a"}); });
  world.run();
  EXPECT_EQ(etcd.did, "d1 ");
  EXPECT_EQ(reason("a"), "Pending False/AnotherRunFirst");
  EXPECT_EQ(etcd.most_busy, 1);
}

TEST_F(DefragReconciler, ItGoesWhenItsTimeIsOverAndNoOtherOfItsName) {
  put_run("nightly", {{"ttlSecondsAfterFinished", 60}});
  pass_all();
  auto waits = pass();
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->after, 60s);
  world.advance_to(world.now() + 60s);
  // Deleted and recreated, and the watch is behind.
  api.erase(v1::EtcdDefrag::resource, {"prod", "nightly"});
  const auto known = stores.defrags.get({"prod", "nightly"});
  api.put(v1::EtcdDefrag::resource, {{"metadata", {{"name", "nightly"}, {"namespace", "prod"}}},
                                     {"spec", {{"clusterRef", {{"name", "db"}}}}}});
  ASSERT_TRUE(pass());
  EXPECT_TRUE(api.find(v1::EtcdDefrag::resource, {"prod", "nightly"}));
}

TEST_F(DefragReconciler, ARunOfThatNameBeforeIsForgotten) {
  put_run("nightly");
  ASSERT_TRUE(pass());
  EXPECT_EQ(etcd.did, "d1 ");
  const auto old = *stores.defrags.get({"prod", "nightly"});
  api.erase(v1::EtcdDefrag::resource, {"prod", "nightly"});
  stores.defrags.saw_deleted(old);
  put_run("nightly");
  etcd.size[1] = 500 * kMiB;
  api.before([this](const kube::Call&) -> std::optional<Error> {
    (void)world.sleep(3s);
    etcd.silent = 3;  // So the first attempt is recorded, and not made.
    return std::nullopt;
  });
  ASSERT_TRUE(pass());
  EXPECT_EQ(etcd.did, "d1 ");
  api.before(nullptr);
  etcd.silent = 0;
  ASSERT_TRUE(later());
  EXPECT_EQ(etcd.did, "d1 d1 ") << "not taken for done because another run's was";
}

}  // namespace
}  // namespace etcdop::defrag
