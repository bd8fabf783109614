// Scenarios of snapshots: their Jobs, the agents in them, the store.
#include "api/v1alpha2/etcddefrag.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "sim/api/jobs.h"
#include "sim/etcd/image.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

constexpr const char* kStored = "Complete True/SnapshotStored";

class ScenarioOfSnapshots : public Scenario {
 protected:
  static api::ObjectKey named(const std::string& name) { return {"prod", name}; }
  void snapshot(const std::string& name = "nightly") { world.snapshot(kKey, name); }
  v1::EtcdSnapshotStatus status_of(const std::string& name = "nightly") {
    const auto snapshot = read<v1::EtcdSnapshot>(named(name));
    return snapshot ? snapshot->status : v1::EtcdSnapshotStatus{};
  }
  /// "Complete True/SnapshotStored"
  std::string snapshot_says(const std::string& name = "nightly") {
    const v1::EtcdSnapshotStatus status = status_of(name);
    const auto* c = runtime::find_condition(status.conditions, v1::kReady);
    return status.phase + (c ? " " + c->status + "/" + c->reason : "");
  }
  std::string why(const std::string& name = "nightly") {
    const v1::EtcdSnapshotStatus status = status_of(name);
    const auto* c = runtime::find_condition(status.conditions, v1::kReady);
    return c ? c->message : "";
  }
  void until_ended(const std::string& words, Duration limit, const std::string& name = "nightly") {
    ASSERT_TRUE(world.run_until([&] { return status_of(name).finished(); }, limit))
        << name << ": " << snapshot_says(name) << ": " << why(name);
    EXPECT_EQ(snapshot_says(name), words) << name << ": " << why(name);
  }
  static std::string key(const std::string& name = "nightly") {
    return World::key_of_snapshot(kKey, name);
  }
  std::string bytes(const std::string& name = "nightly") {
    const StoredObject* const object = world.store().look(kBucket, key(name));
    return object ? object->bytes : "";
  }
  std::optional<api::ObjectKey> job() {
    const auto all = world.server().look_all(kJobs);
    if (all.empty()) return std::nullopt;
    return api::ObjectKey{"prod", std::string(all[0]->at("metadata").at("name").as_string())};
  }
  /// Pods of all Jobs.
  std::vector<api::ObjectKey> pods() {
    std::vector<api::ObjectKey> out;
    for (const auto& pod : world.server().look_all(kube::Pod::resource))
      if (const std::string name(pod->at("metadata").at("name").as_string());
          name.find("-snapshot-") != std::string::npos)
        out.push_back({"prod", name});
    return out;
  }
  std::string phase(const api::ObjectKey& pod) {
    const auto object = read<kube::Pod>(pod);
    return object ? object->status.phase : "";
  }
  /// From then on no operator runs; the agent has stored the snapshot and ended.
  void stored_while_nobody_looks() {
    snapshot();
    ASSERT_TRUE(world.run_until([&] { return job().has_value(); }, 1min));
    world.kill(world.life(0), std::nullopt);
    ASSERT_TRUE(world.run_until(
        [&] { return pods().size() == 1 && phase(pods()[0]) == "Succeeded"; }, 2min));
  }
  /// Values of one megabyte each, in all members.
  void write_megabytes(int count) {
    by_hand([&] {
      constexpr std::size_t kMegabyte = 1 << 20;
      for (int i = 0; i < count; ++i) {
        const std::string name = "large-" + std::to_string(i);
        std::string put = "\x0a" + std::string(1, static_cast<char>(name.size())) + name;
        put += "\x12\x80\x80\x40" + std::string(kMegabyte, 'x');  // PutRequest.value
        http::GrpcStatus status;
        EXPECT_TRUE(world.net().unary(world.time(), leader().address,
                                      {"/etcdserverpb.KV/Put", put, Secret(EtcdNet::kMasterKey)},
                                      status));
      }
    });
  }
};

TEST_F(ScenarioOfSnapshots, OneIsStoredAndToldOf) {
  settled_cluster(3);
  world.run_for(30s);
  snapshot();
  until_ended(kStored, 1min);
  const auto artifact = status_of().artifact;
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->etcd_version, "3.6.16");
  EXPECT_EQ(artifact->cluster_id, to_hex(etcd_id()));
  EXPECT_NE(artifact->member_id, to_hex(leader().member)) << "a follower has the time";
  EXPECT_EQ(image_of(bytes())->store.hash(*artifact->revision), *artifact->hash_kv);
  EXPECT_EQ(made(kJobs), 1U);
  world.must_converge(2min);
  world.run_for(10min);
  EXPECT_EQ(count(kJobs), 0U) << "Kubernetes deletes it ten minutes later";
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(snapshot_says(), kStored);
}

// --- the store -----------------------------------------------------------------------------------

TEST_F(ScenarioOfSnapshots, S45_WhatAStoreRefusesIsSaidAtOnceAndNotTriedAgain) {
  settled_cluster(1);
  struct Row {
    const char *name, *reason;
    std::function<void(StoreUser&)> is;
  };
  const Row rows[] = {
      {"no-reader", "DestinationAccessDenied", [](StoreUser& u) { u.may_read = false; }},
      {"no-lister", "DestinationAccessDenied", [](StoreUser& u) { u.may_list = false; }},
      {"no-writer", "DestinationAccessDenied", [](StoreUser& u) { u.may_write = false; }},
      {"no-key", "DestinationCredentialsRejected", [](StoreUser& u) { u.known_key = false; }},
      {"no-secret", "DestinationCredentialsRejected", [](StoreUser& u) { u.right_secret = false; }},
      {"redirect", "DestinationInvalid", [](StoreUser& u) { u.endpoint_region = "eu-west-1"; }},
  };
  for (const Row& row : rows) {
    row.is(world.agents().user());
    const std::size_t jobs = made(kJobs), all = made(kube::Pod::resource);
    snapshot(row.name);
    until_ended(std::string("Failed False/") + row.reason, 1min, row.name);
    EXPECT_EQ(made(kJobs), jobs + 1) << row.name;
    EXPECT_EQ(made(kube::Pod::resource), all + 1) << row.name;
    world.agents().user() = {};
  }
  EXPECT_TRUE(world.store().keys(kBucket).empty());
}

TEST_F(ScenarioOfSnapshots, S45_WhatAStoreDoesWrongForEverIsSaidInBoundedTime) {
  settled_cluster(1);
  constexpr const char *kUnreachable = "DestinationUnreachable", *kFailed = "DestinationFailed";
  struct Row {
    const char* name;
    StoreFault fault;
    const char* reason;
    std::size_t pods;  // Failed attempts.
  };
  const Row rows[] = {{"busy", StoreFault::SlowDown, kFailed, 4},
                      {"reset", StoreFault::Reset, kUnreachable, 4},
                      {"silent", StoreFault::Silent, kUnreachable, 4},
                      {"lost", StoreFault::AnswerLost, kUnreachable, 4},
                      {"forgetful", StoreFault::Forgets, kFailed, 4},
                      {"halving", StoreFault::StoresHalf, kFailed, 4}};
  for (const Row& row : rows) {
    world.store().strike(row.fault, {.one_in = 1});
    const std::size_t jobs = made(kJobs), all = made(kube::Pod::resource);
    snapshot(row.name);
    until_ended(std::string("Failed False/") + row.reason, 31min, row.name);
    EXPECT_EQ(made(kJobs), jobs + 1) << row.name;
    EXPECT_EQ(made(kube::Pod::resource), all + row.pods) << row.name << ": " << why(row.name);
    EXPECT_GT(world.store().struck(row.fault), 0U);
    world.store().heal();
  }
  world.agents().user().clock_ahead = 1h;
  const std::size_t all = made(kube::Pod::resource);
  snapshot("skewed");
  until_ended("Failed False/DestinationClockSkewed", 31min, "skewed");
  EXPECT_EQ(made(kube::Pod::resource), all + 4);
}

/// A part has one minute and four attempts.
TEST_F(ScenarioOfSnapshots, S45_AStoreThatIsSlowForEverIsSaidInBoundedTime) {
  settled_cluster(1);
  write_megabytes(6);
  world.store().strike(StoreFault::Slow, {.one_in = 1});
  const std::size_t jobs = made(kJobs), all = made(kube::Pod::resource);
  snapshot();
  until_ended("Failed False/DestinationUnreachable", 31min);
  EXPECT_EQ(made(kJobs), jobs + 1);
  EXPECT_EQ(made(kube::Pod::resource), all + 4) << why();
  world.store().heal();
  EXPECT_TRUE(world.store().keys(kBucket).empty());
}

TEST_F(ScenarioOfSnapshots, S45_WhatAStoreDoesWrongForAWhileCostsTime) {
  settled_cluster(1);
  for (const StoreFault fault :
       {StoreFault::Slow, StoreFault::SlowDown, StoreFault::Reset, StoreFault::AnswerLost,
        StoreFault::Truncates, StoreFault::WrongTag, StoreFault::Forgets, StoreFault::StoresHalf}) {
    world.store().strike(fault, {.one_in = 2});
    const std::string name = to_string(fault);
    snapshot(name);
    world.run_for(20s);
    world.store().heal();
    until_ended(kStored, 10min, name);
  }
}

TEST_F(ScenarioOfSnapshots, S45_AnUploadThatIsCutAtItsSecondPartLeavesNothingBehind) {
  settled_cluster(1);
  write_megabytes(6);
  world.store().strike(StoreFault::Reset, {.one_in = 1, .part = 2});
  snapshot();
  until_ended("Failed False/DestinationUnreachable", 31min);
  EXPECT_GT(world.store().struck(StoreFault::Reset), 0U);
  EXPECT_EQ(world.store().unfinished(kBucket), 0U);
  world.store().heal();
  snapshot("again");
  until_ended(kStored, 1min, "again");
  EXPECT_GT(bytes("again").size(), std::size_t{6} << 20);
}

/// For stores whose ETags are MD5s, as the first part's was.
TEST_F(ScenarioOfSnapshots, S45_APartWithAnotherETagIsNotBelieved) {
  settled_cluster(1);
  write_megabytes(6);
  world.store().strike(StoreFault::WrongTag, {.one_in = 1, .part = 2});
  const std::size_t all = made(kube::Pod::resource);
  snapshot();
  until_ended("Failed False/DestinationFailed", 31min);
  EXPECT_EQ(made(kube::Pod::resource), all + 4) << why("nightly");
  EXPECT_GT(world.store().struck(StoreFault::WrongTag), 0U);
  EXPECT_EQ(world.store().unfinished(kBucket), 0U);
  EXPECT_TRUE(world.store().keys(kBucket).empty());
  world.store().heal();
  snapshot("again");
  until_ended(kStored, 1min, "again");
}

TEST_F(ScenarioOfSnapshots, S45_AnObjectOfSomebodyElseStaysAsItIs) {
  settled_cluster(1);
  world.write_object(key(), "of somebody else");
  snapshot();
  until_ended("Failed False/DestinationExists", 1min);
  EXPECT_EQ(bytes(), "of somebody else");
  // An EtcdSnapshot does not reuse the object of an earlier one with its name, either.
  snapshot("weekly");
  until_ended(kStored, 1min, "weekly");
  world.delete_object(v1::EtcdSnapshot::resource, named("weekly"));
  world.run_for(20s);
  snapshot("weekly");
  until_ended("Failed False/DestinationExists", 2min, "weekly");
}

/// ST13: a backup problem is not a cluster problem.
TEST_F(ScenarioOfSnapshots, ST13_AStoreThatIsAwayForAnHourCostsNoClientAnything) {
  settled_cluster(3);
  world.run_for(1min);
  const std::string available = says(v1::kAvailable), degraded = says(v1::kDegraded),
                    progressing = says(v1::kProgressing);
  const std::size_t done = world.history().operations().size();
  world.store().be_away(true);
  const Instant end = world.time().now() + 1h;
  for (int i = 0; world.time().now() < end; ++i) {
    snapshot("hourly-" + std::to_string(i));
    world.run_for(5min);
    EXPECT_EQ(says(v1::kAvailable), available);
    EXPECT_EQ(says(v1::kDegraded), degraded);
    EXPECT_EQ(says(v1::kProgressing), progressing);
  }
  const auto& all = world.history().operations();
  ASSERT_GT(all.size(), done + 1000);
  EXPECT_TRUE(std::all_of(all.begin() + static_cast<std::ptrdiff_t>(done), all.end() - 20,
                          [](const Operation& o) { return o.outcome == Operation::Outcome::Ok; }));
  world.store().be_away(false);
  world.must_converge(31min);
}

// --- lost answers

TEST_F(ScenarioOfSnapshots, S46_AStatusThatIsLostAfterTheUploadIsWrittenAgain) {
  settled_cluster(3);
  stored_while_nobody_looks();
  const std::string before = bytes();
  (void)world.start_operator();
  lose_answer("patch etcdsnapshots/status", 3);
  until_ended(kStored, 2min);
  EXPECT_EQ(made(kJobs), 1U);
  EXPECT_EQ(bytes(), before);
}

TEST_F(ScenarioOfSnapshots, S46_AJobThatIsDeletedAfterTheUploadIsMadeAgainAndStoresNothing) {
  settled_cluster(3);
  stored_while_nobody_looks();
  const std::string before = bytes();
  world.delete_object(kJobs, *job());
  world.run_for(20s);  // Its Pod is deleted with it.
  EXPECT_TRUE(pods().empty());
  (void)world.start_operator();
  until_ended(kStored, 3min);
  EXPECT_EQ(made(kJobs), 2U);
  EXPECT_EQ(bytes(), before) << "the second agent found it";
}

TEST_F(ScenarioOfSnapshots, S46_APodThatIsGoneBeforeItWasReadIsNoLoss) {
  settled_cluster(3);
  stored_while_nobody_looks();
  const std::string before = bytes();
  world.delete_object(kube::Pod::resource, pods()[0]);
  world.run_for(5s);
  (void)world.start_operator();
  until_ended(kStored, 3min);
  EXPECT_EQ(bytes(), before);
}

TEST_F(ScenarioOfSnapshots, S46_AnOperatorThatWasAwayLongerThanTheJobWasKeptFindsTheSnapshot) {
  settled_cluster(3);
  stored_while_nobody_looks();
  const std::string before = bytes();
  world.run_for(15min);
  EXPECT_EQ(count(kJobs), 0U);
  (void)world.start_operator();
  until_ended(kStored, 3min);
  EXPECT_EQ(bytes(), before);
  world.must_converge(2min);
}

// --- Jobs and Pods that end

TEST_F(ScenarioOfSnapshots, S41_AJobThatSomebodyDeletesIsMadeAgainOnce) {
  settled_cluster(3);
  world.store().be_away(true);  // So that it takes long.
  snapshot();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(world.run_until([&] { return world.agents().running().size() == 1; }, 2min));
    world.run_for(3s);
    world.delete_object(kJobs, *job());
    world.run_for(5s);
  }
  until_ended("Failed False/SnapshotJobLost", 2min);
  EXPECT_EQ(made(kJobs), 2U);
  world.store().be_away(false);
  world.must_converge(2min);
}

TEST_F(ScenarioOfSnapshots, S41_APodThatSomebodyDeletesIsMadeAgainByItsJob) {
  settled_cluster(3);
  snapshot();
  ASSERT_TRUE(world.run_until([&] { return pods().size() == 1; }, 1min));
  world.delete_object(kube::Pod::resource, pods()[0]);
  until_ended(kStored, 2min);
  EXPECT_EQ(made(kJobs), 1U);
}

/// S1: killed before, during and after each call to etcd and to the store.
TEST_F(ScenarioOfSnapshots, S01_AnAgentMayEndAtEachOfItsCalls) {
  settled_cluster(3);
  enum class Point { Before, Lost, After };
  int calls = 0, caught_at = 0;
  std::optional<Point> point;
  bool first = true;
  world.agents().on_start([&](Agent& agent) {
    if (!std::exchange(first, false)) return;
    const auto strike = [&world = world, &agent](bool now) {
      if (now) world.agents().kill(agent);
      return !now;
    };
    agent.passage().before_write = [&, strike](const std::string&) {
      ++calls;
      return strike(point == Point::Before && calls == caught_at);
    };
    agent.passage().after_write = [&, strike](const std::string&) {
      if (point == Point::After && calls == caught_at + 1) return strike(true);
      return strike(point == Point::Lost && calls == caught_at);
    };
  });
  snapshot("undisturbed");
  until_ended(kStored, 1min, "undisturbed");
  const int all = calls;
  ASSERT_GE(all, 8) << "status of three, list, hash, snapshot, upload, manifest";
  for (caught_at = 1; caught_at <= all; ++caught_at)
    for (const Point here : {Point::Before, Point::Lost, Point::After}) {
      point = here;
      calls = 0;
      first = true;
      const std::string name =
          "at-" + std::to_string(caught_at) + "-" + std::to_string(static_cast<int>(here));
      snapshot(name);
      until_ended(kStored, 3min, name);
    }
}

TEST_F(ScenarioOfSnapshots, S24_AnAgentEndsWithItsNodeAndStartsOnAnother) {
  settled_cluster(3);
  world.store().strike(StoreFault::Slow, {.one_in = 1});
  snapshot();
  ASSERT_TRUE(world.run_until([&] { return world.agents().running().size() == 1; }, 1min));
  world.run_for(2s);
  const std::size_t node = node_of(pods()[0].name);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(30s);
  EXPECT_TRUE(world.agents().running().empty());
  world.nodes().node_down(node, false);
  until_ended(kStored, 5min);
  world.must_converge(5min);
}

TEST_F(ScenarioOfSnapshots, AgentsThatAreEvictedAreNotCountedAgainstTheJob) {
  settled_cluster(3);
  world.store().strike(StoreFault::Slow, {.one_in = 1});
  snapshot();
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(world.run_until([&] { return world.agents().running().size() == 1; }, 2min)) << i;
    world.agents().evict({"prod", world.agents().running()[0]->name()});
    world.run_for(1s);
  }
  until_ended(kStored, 5min);
  EXPECT_EQ(made(kJobs), 1U);
}

// --- the cluster

TEST_F(ScenarioOfSnapshots, S49_ADefragmentationAndASnapshotGoOneAfterTheOther) {
  settled_cluster(3);
  bool together = false;
  world.agents().on_start([&](Agent&) {
    const auto run = read<v1::EtcdDefrag>(named("run"));
    together |= run && run->status.phase == "Running";
  });
  before("Defragment", [&](Life&) { together |= !world.agents().running().empty(); });
  world.defragment(kKey, "run");
  snapshot();
  until_ended(kStored, 5min);
  ASSERT_TRUE(world.run_until(
      [&] { return read<v1::EtcdDefrag>(named("run"))->status.phase == "Complete"; }, 5min));
  EXPECT_FALSE(together);
}

TEST_F(ScenarioOfSnapshots, W5_NoServiceSelectsTheAgentOfASnapshot) {
  settled_cluster(3);
  snapshot();
  ASSERT_TRUE(world.run_until([&] { return pods().size() == 1; }, 1min));
  const auto labels = read<kube::Pod>(pods()[0])->metadata.labels;
  std::size_t selecting = 0;
  for (const auto& object : world.server().look_all(kube::Service::resource)) {
    kube::Service service;
    ASSERT_TRUE(api::decode(*object, service, "Service"));
    ++selecting;
    EXPECT_FALSE(std::ranges::all_of(service.spec.selector, [&](const auto& wanted) {
      const auto found = labels.find(wanted.first);
      return found != labels.end() && found->second == wanted.second;
    })) << service.metadata.name;
  }
  EXPECT_EQ(selecting, 2U);
}

TEST_F(ScenarioOfSnapshots, W24_OfAClusterThatIsPausedThereIsNone) {
  settled_cluster(1);
  world.scale(kKey, 0);
  world.run_for(1min);
  snapshot();
  until_ended("Failed False/ClusterPaused", 30s);
  EXPECT_EQ(made(kJobs), 0U);
}

TEST_F(ScenarioOfSnapshots, W24_OfAClusterWithoutQuorumThereIsNone) {
  settled_cluster(3);
  world.checker().struck();
  std::vector<std::size_t> down;
  for (const auto& m : members())
    if (m.id != leader().member) down.push_back(node_of(m.name));
  for (const std::size_t node : down) world.nodes().node_down(node, true);
  ASSERT_TRUE(world.run_until([&] { return !says(v1::kAvailable).starts_with("True"); }, 5min));
  snapshot();
  until_ended("Failed False/QuorumLost", 2min);
  EXPECT_EQ(made(kJobs), 0U);
  for (const std::size_t node : down) world.nodes().node_down(node, false);
  world.must_converge(10min);
}

TEST_F(ScenarioOfSnapshots, S37_AClusterThatIsDeletedInTheMiddleLeavesNothingBehind) {
  settled_cluster(3);
  world.store().be_away(true);
  snapshot();
  ASSERT_TRUE(world.run_until([&] { return world.agents().running().size() == 1; }, 1min));
  world.delete_cluster(kKey);
  world.run_for(1min);
  world.store().be_away(false);
  ASSERT_TRUE(world.run_until([&] { return status_of().finished(); }, 31min)) << snapshot_says();
  EXPECT_TRUE(snapshot_says().starts_with("Failed")) << snapshot_says();
  world.delete_object(v1::EtcdSnapshot::resource, named("nightly"));
  world.must_converge(2min);
  EXPECT_EQ(count(kJobs), 0U);
  EXPECT_TRUE(pods().empty());
}

/// Found by seed 1336.
/// No Service leads to the old members while their volumes keep the new cluster from being founded
/// (K14). The Job was created for the old cluster: it fails, and belongs to no other cluster.
TEST_F(ScenarioOfSnapshots, S37_OfAClusterThatIsReplacedAsItsJobIsMadeItIsOfNoOther) {
  settled_cluster(3);
  const std::string was = to_hex(etcd_id());
  before("create jobs", [&](Life&) {
    world.delete_cluster(kKey);
    world.create_cluster(kKey, {.replicas = 1});
  });
  snapshot();
  // Its members stay for a while: their finalizers cannot be removed.
  instead = [&](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    if (!(call.resource == v1::EtcdMember::resource) || call.verb != kube::Verb::Patch) return {};
    return Result<Json>(Error{Code::Unavailable, "the server is busy"});
  };
  world.run_for(1min);
  EXPECT_EQ(says(v1::kProgressing), "False/MembersFound");
  instead = nullptr;
  until_ended("Failed False/EtcdUnreachable", 10min);
  EXPECT_FALSE(status_of().artifact);
  world.must_converge(10min);
  EXPECT_NE(to_hex(etcd_id()), was);
}

class ScenarioOfSecureSnapshots : public ScenarioOfSnapshots {
 protected:
  void settled_and_secure() {
    (void)world.start_operator();
    world.create_cluster(kKey,
                         {.client_tls = true, .peer_tls = true, .password = "first-pass-word"});
    rest();
    world.start_clients(4);
  }
};

TEST_F(ScenarioOfSecureSnapshots, OneOfAClusterWithTlsAndAPassword) {
  settled_and_secure();
  snapshot();
  until_ended(kStored, 1min);
  EXPECT_EQ(status_of().artifact->auth_enabled, true);
}

TEST_F(ScenarioOfSecureSnapshots, APasswordThatChangesWhileASnapshotBeginsIsNoObstacle) {
  settled_and_secure();
  before("create jobs", [&](Life&) { world.write_password(kKey, "second-pass-word"); });
  snapshot();
  until_ended(kStored, 5min);
  world.must_converge(5min);
}

}  // namespace
}  // namespace etcdop::sim
