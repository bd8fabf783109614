// Known weaknesses of the Go operator, and what ours does instead: one test per weakness (W) and
// per fault found in it (P), with the numbers of the API contract. docs/dev/safety.md lists these
// tests, and those on real servers.
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

class Weakness : public Scenario {
 protected:
  std::int32_t ready() { return read<v1::EtcdCluster>(kKey)->status.ready_members; }
  std::string uid(const api::Resource& r, const std::string& name) {
    return uid_of(r, {"prod", name});
  }
  std::vector<std::string> uids(const api::Resource& r) {
    std::vector<std::string> out;
    for (const auto& object : world.server().look_all(r))
      out.emplace_back(object->at("metadata").at("uid").as_string());
    return out;
  }
  void cut_off_all(bool on) {
    for (const auto& p : world.net().processes()) world.life(0).etcd().black_hole(p.address, on);
  }
  /// An object without an owner, as `kubectl create` makes it.
  void made_by_hand(const api::Resource& r, const std::string& name, json::object spec) {
    kube::Call call;
    call.verb = kube::Verb::Create;
    call.resource = r;
    call.ns = "prod";
    call.body = Json{{"apiVersion", api::api_version(r)},
                     {"kind", r.kind},
                     {"metadata", {{"name", name}, {"namespace", "prod"}}},
                     {"spec", std::move(spec)}};
    ASSERT_TRUE(world.server().perform(call));
  }
};

/// Every process ends six times, and no data is lost: no member is taken for lost.
TEST_F(Weakness, W1_AllMembersCrashAgainAndAgainAndNoneIsDeleted) {
  settled_cluster(3);
  const auto before_it = members();
  const auto volumes = uids(kube::PersistentVolumeClaim::resource);
  world.checker().struck();
  for (int i = 0; i < 6; ++i) {
    for (const auto& m : before_it) world.nodes().kill_etcd({"prod", m.name});
    world.run_for(20s);
  }
  world.must_converge(10min);
  EXPECT_EQ(members(), before_it);
  EXPECT_EQ(uids(kube::PersistentVolumeClaim::resource), volumes);
  EXPECT_EQ(gone(v1::EtcdMember::resource), 0U);
}

TEST_F(Weakness, W2_TheStatusFollowsALossOfTheQuorum) {
  settled_cluster(3);
  EXPECT_EQ(ready(), 3);
  const auto before_it = members();
  world.checker().struck();
  std::size_t down = 0;
  for (const auto& m : before_it)
    if (m.id != leader().member) {
      world.nodes().node_down(node_of(m.name), true);
      ++down;
    }
  ASSERT_EQ(down, 2U);
  EXPECT_TRUE(world.run_until([&] { return !says(v1::kAvailable).starts_with("True"); }, 2min));
  EXPECT_TRUE(world.run_until([&] { return ready() < 2; }, 2min)) << ready();
  EXPECT_TRUE(says(v1::kDegraded).starts_with("True/")) << says(v1::kDegraded);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().node_down(i, false);
  world.must_converge(10min);
  EXPECT_EQ(members(), before_it);
}

/// From the first member on, and at each step.
TEST_F(Weakness, W2_TheBudgetAndTheCountOfReadyMembersAreThereFromTheFirstPass) {
  (void)world.start_operator();
  world.create_cluster(kKey, 3);
  EXPECT_TRUE(world.run_until([&] { return made(v1::EtcdMember::resource) == 1; }, 5s));
  EXPECT_TRUE(world.run_until([&] { return count(kube::PodDisruptionBudget::resource) == 1; }, 1s));
  EXPECT_EQ(read<kube::PodDisruptionBudget>(kKey)->spec.min_available, Json(2));
  std::int32_t most = 0;
  for (int i = 0; i < 6000 && most < 3; ++i) {
    world.run_for(100ms);
    const std::int32_t now = ready();
    EXPECT_LE(now, most + 1) << "one after the other, each told";
    most = std::max(most, now);
  }
  EXPECT_EQ(most, 3);
  rest();
}

TEST_F(Weakness, W3_P1_ARemovalThatWasCarriedOutUnheardHoldsUpNothing) {
  settled_cluster(5);
  lose_answer("MemberRemove", 2);
  world.scale(kKey, 3);
  world.must_converge(2min);
  EXPECT_EQ(voters(), 3U);
  EXPECT_EQ(gone(v1::EtcdMember::resource), 2U);
}

TEST_F(Weakness, W4_P2_MembersOfADeletedClusterLeaveItsNamesakeAlone) {
  settled_cluster(3);
  const auto old_id = etcd_id();
  silence(world.life(0), 10s);
  world.delete_cluster(kKey);
  world.create_cluster(kKey, 3);
  world.must_converge(5min);
  EXPECT_NE(etcd_id(), old_id);
  EXPECT_EQ(tried("MemberRemove"), 0U);
  world.scale(kKey, 5);
  world.must_converge(5min);
}

TEST_F(Weakness, W6_APodThatHasEndedIsMadeAgain) {
  settled_cluster(3);
  const auto before_it = members();
  const std::string name = follower(), pod = uid(kube::Pod::resource, name);
  world.checker().struck();
  world.nodes().evict({"prod", name});
  EXPECT_TRUE(world.run_until(
      [&] {
        const std::string now = uid(kube::Pod::resource, name);
        return !now.empty() && now != pod;
      },
      10s));
  world.must_converge(2min);
  EXPECT_EQ(members(), before_it) << "with its data";
}

TEST_F(Weakness, W7_AClusterWhoseLastDataIsGoneSaysSoAndIsNotBornAgain) {
  (void)world.start_operator();
  world.create_cluster(kKey, 1, "3.6.16", 600, true);
  rest();
  const auto id = etcd_id();
  world.checker().fate_took("prod", "db");
  world.delete_object(kube::Pod::resource, {"prod", members().at(0).name});
  EXPECT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/DataLost"; }, 2min));
  const std::uint64_t writes = world.writes();
  world.run_for(30min);
  EXPECT_EQ(says(v1::kAvailable), "False/DataLost");
  EXPECT_LE(world.writes() - writes, 2U);
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.cluster_id, to_hex(id));
}

/// Its nodes take no Pods for longer than its progress deadline.
TEST_F(Weakness, W9_AClusterThatIsBornLateIsBornAllTheSame) {
  (void)world.start_operator();
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, true);
  world.create_cluster(kKey, 3, "3.6.16", 60);
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kProgressing) == "False/BootstrapFailed"; }, 2min));
  world.run_for(20min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 1U);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, false);
  world.must_converge(5min);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
}

/// The edit replaces the EtcdMember, not the Pod, which follows its EtcdMember.
TEST_F(Weakness, W10_AnEditReachesTheMemberThatTakesTheDeletedOnesPlace) {
  settled_cluster(3);
  world.set_version(kKey, "3.6.15");
  EXPECT_TRUE(world.run_until(
      [&] { return read<v1::EtcdCluster>(kKey)->status.updated_members == 0; }, 2min));
  world.delete_object(v1::EtcdMember::resource, {"prod", follower()});
  world.must_converge(5min);
  EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.updated_members, 1);
  EXPECT_EQ(message(v1::kProgressing), "2 of 3 members were created from an older spec");
}

/// A foreign learner that never starts takes the only learner place (K15). The operator leaves it
/// to the user who added it, and reports what it blocks.
TEST_F(Weakness, W11_K15_AGhostThatIsALearnerIsToldAndGrowthGoesOnWithoutIt) {
  settled_cluster(1);
  by_hand([&] { ASSERT_TRUE(at(leader().address)->add_learner("http://10.99.0.1:2380")); });
  world.scale(kKey, 3);
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ForeignMember"; }, 2min));
  EXPECT_NE(message(v1::kDegraded).find("the operator adds no member beside a learner"),
            std::string::npos);
  world.run_for(5min);
  EXPECT_EQ(voters(), 1U);
  EXPECT_EQ(learners(), 1U) << "a person's, left to that person";
  by_hand([&] {
    for (const auto& m : members())
      if (m.learner) ASSERT_TRUE(at(leader().address)->remove(m.id));
  });
  world.must_converge(5min);
}

TEST_F(Weakness, W12_ASeedVotesAlthoughTheOperatorDiedBeforeItSaidSo) {
  (void)world.start_operator();
  int died = 0;
  before("patch etcdmembers/status", [&](Life& life) {
    ++died;
    world.kill(life, 5s);
  });
  world.create_cluster(kKey, 3);
  rest();
  EXPECT_EQ(died, 1);
  for (const auto& key : world.members_of(kKey))
    EXPECT_TRUE(read<v1::EtcdMember>(key)->status.is_voter) << key.name;
}

using Neighbourhood = Weakness;
TEST_F(Neighbourhood, W13_P5_AHundredClustersThatDoNotAnswerDelayAHealthyOneByLessThanASecond) {
  (void)world.start_operator();
  for (int i = 0; i < 100; ++i) world.create_cluster({"prod", "hole-" + std::to_string(i)}, 1);
  world.create_cluster(kKey, 1);
  rest();
  const auto own = etcd_id();
  for (const auto& p : world.net().processes())
    if (p.cluster != own) world.life(0).etcd().black_hole(p.address, true);
  world.run_for(1min);
  for (const int size : {2, 1, 2}) {
    world.scale(kKey, size);
    EXPECT_TRUE(world.run_until(
        [&] { return read<v1::EtcdCluster>(kKey)->status.observed->replicas == size; }, 1s));
    world.run_for(20s);
  }
}

TEST_F(Weakness, W14_W23_AtRestNothingIsWrittenAndEtcdIsAskedOnceAMinute) {
  settled_cluster(3);
  world.run_for(2min);
  const std::uint64_t writes = world.writes(), calls = world.etcd_calls();
  world.run_for(1h);
  EXPECT_EQ(world.writes(), writes);
  EXPECT_LE(world.etcd_calls() - calls, 4U * 61U);
}

/// Services and a budget with our names existed before.
TEST_F(Weakness, W16_WhatIsSomebodyElsesIsToldAndLeftAlone) {
  (void)world.start_operator();
  made_by_hand(kube::Service::resource, "db-client",
               {{"selector", {{"app", "theirs"}}}, {"ports", json::array{{{"port", 80}}}}});
  world.create_cluster(kKey, 3);
  world.run_for(2min);
  EXPECT_EQ(read<kube::Service>({"prod", "db-client"})->spec.selector.at("app"), "theirs");
  EXPECT_EQ(made(v1::EtcdMember::resource), 0U) << "nothing is begun";
  EXPECT_NE(message(v1::kProgressing).find("Service db-client has no owner"), std::string::npos)
      << message(v1::kProgressing);
  world.delete_object(kube::Service::resource, {"prod", "db-client"});
  world.must_converge(5min);
}

/// In a running cluster, the operator reports it and still replaces members.
TEST_F(Weakness, W16_AClientServiceThatBecameSomebodyElsesHoldsUpNoHealing) {
  settled_cluster(3);
  (void)world.server().change(kube::Service::resource, {"prod", "db-client"}, [](json::object& s) {
    s["metadata"].as_object().erase("ownerReferences");
    s["spec"].as_object()["selector"] = {{"app", "theirs"}};
  });
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ObjectRejected"; }, 2min));
  EXPECT_EQ(message(v1::kDegraded),
            "Service db-client has no owner: make EtcdCluster db its owner, or rename one of them");
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  const std::string name = follower();
  world.delete_object(v1::EtcdMember::resource, {"prod", name});
  EXPECT_TRUE(world.run_until(
      [&] { return uid(v1::EtcdMember::resource, name).empty() && voters() == 3; }, 3min));
  EXPECT_EQ(read<kube::Service>({"prod", "db-client"})->spec.selector.at("app"), "theirs");
  const std::size_t tries = tried("create services");
  world.run_for(30min);
  EXPECT_LE(tried("create services") - tries, 31U);
  world.delete_object(kube::Service::resource, {"prod", "db-client"});
  world.must_converge(3min);
}

TEST_F(Weakness, W18_WhatTheServerRefusesIsInAConditionInItsWords) {
  (void)world.start_operator();
  bool full = true;
  instead = [&](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    const bool pod = call.verb == kube::Verb::Create && call.resource == kube::Pod::resource;
    if (!pod || !full) return {};
    return Result<Json>(Error{Code::Denied, "exceeded quota: pods, limited: pods=0"});
  };
  world.create_cluster(kKey, 1);
  EXPECT_TRUE(world.run_until(
      [&] { return message(v1::kProgressing).find("exceeded quota") != std::string::npos; }, 30s));
  EXPECT_EQ(member_says(world.members_of(kKey).at(0)), "False/PodRejected");
  world.run_for(10min);
  EXPECT_LE(busiest_minute(), 6U);
  full = false;
  world.must_converge(3min);
}

TEST_F(Weakness, W20_P4_ShrinkingTakesTheMemberThatIsDownAndNotTheLeader) {
  settled_cluster(4);
  std::string oldest, since;  // Among members that do not lead.
  for (const auto& key : world.members_of(kKey)) {
    const std::string made_at = read<v1::EtcdMember>(key)->metadata.creation_timestamp;
    if (key.name == leader().name || (!since.empty() && made_at >= since)) continue;
    since = made_at;
    oldest = key.name;
  }
  const std::string led = leader().name;
  world.checker().struck();
  bool down = true;
  world.soon(0s, [&] {
    while (down && world.time().sleep(1s) == Woken::Ready)
      world.nodes().kill_etcd({"prod", oldest});
  });
  world.run_for(1min);
  world.scale(kKey, 3);
  EXPECT_TRUE(world.run_until([&] { return uid(v1::EtcdMember::resource, oldest).empty(); }, 1min));
  down = false;
  world.must_converge(2min);
  EXPECT_EQ(leader().name, led);
  EXPECT_EQ(gone(v1::EtcdMember::resource), 1U);
}

TEST_F(Weakness, W21_GrowthMeetsNoRefusalOfTheApiServerAndWaitsForEtcdNoLongerThanItMust) {
  (void)world.start_operator();
  world.create_cluster(kKey, 3);
  rest();
  EXPECT_EQ(tried("create pods"), made(kube::Pod::resource));
  EXPECT_EQ(tried("create persistentvolumeclaims"), made(kube::PersistentVolumeClaim::resource));
  EXPECT_EQ(tried("create etcdmembers"), made(v1::EtcdMember::resource));
}

/// The database is full: clients still read through the Service; liveness and readiness stay true.
TEST_F(Weakness, W22_P7_AClusterThatIsFullKeepsItsPodsReady) {
  small_cluster();
  const auto pods = uids(kube::Pod::resource);
  fill();
  world.run_for(5min);
  EXPECT_EQ(ready(), 3);
  EXPECT_TRUE(says(v1::kAvailable).starts_with("True"));
  EXPECT_EQ(uids(kube::Pod::resource), pods);
}

TEST_F(Weakness, W25_NobodyIsWaitedForWhereTheClusterIsKnown) {
  settled_cluster(3);
  cut_off_all(true);
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kAvailable) == "Unknown/ClusterUnreachable"; }, 3min));
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kAvailable) == "False/ClusterUnreachable"; }, 2min));
  EXPECT_EQ(says(v1::kProgressing), "False/Reconciled");
  const std::string told = message(v1::kAvailable);
  world.run_for(5min);  // The Event about it is repeated once.
  const std::uint64_t writes = world.writes();
  world.run_for(20min);
  EXPECT_EQ(message(v1::kAvailable), told);
  EXPECT_EQ(world.writes(), writes) << "the words of each try are not told";
  cut_off_all(false);
  world.must_converge(3min);
}

TEST_F(Weakness, W26_AClusterPastItsDeadlineServesAndIsLookedAfter) {
  settled_cluster(3, 60);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, true);
  world.scale(kKey, 5);
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kProgressing) == "False/DeadlineExceeded"; }, 3min));
  EXPECT_TRUE(says(v1::kAvailable).starts_with("True"));
  world.delete_object(kube::PodDisruptionBudget::resource, kKey);
  EXPECT_TRUE(
      world.run_until([&] { return count(kube::PodDisruptionBudget::resource) == 1; }, 70s));
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, false);
  world.must_converge(5min);
  EXPECT_EQ(says(v1::kProgressing), "False/Reconciled");
}

/// Its Pod terminates for ever and does not count as ready.
TEST_F(Weakness, W27_APodThatCannotEndIsNotCountedAsReady) {
  world.nodes().local_volumes(false);
  settled_cluster(3);
  const std::string name = follower();
  const std::size_t node = alone_on_a_node(name);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.delete_object(kube::Pod::resource, {"prod", name});
  EXPECT_TRUE(world.run_until([&] { return ready() < 3; }, 2min));
  EXPECT_EQ(says(v1::kDegraded), "True/MembersUnhealthy");
  // A user says that it is lost: once the Pod is force-deleted, the member starts elsewhere.
  (void)world.server().erase(kube::Pod::resource, {"prod", name});
  EXPECT_TRUE(world.run_until([&] { return ready() == 3; }, 10min));
  world.nodes().node_down(node, false);
  world.must_converge(5min);
}

/// SIGTERM: the next operator leads at once, without waiting for the Lease to expire.
TEST_F(Weakness, W28_P10_WhoEndsInGoodOrderGivesTheLeaseBack) {
  settled_cluster(1);
  (void)world.start_operator();
  world.run_for(20s);
  world.life(0).terminate();
  world.scale(kKey, 2);
  EXPECT_TRUE(world.run_until(
      [&] { return read<v1::EtcdCluster>(kKey)->status.observed->replicas == 2; }, 4s));
  world.must_converge(5min);
}

/// At its start, the operator's lists are one minute old, except that of EtcdClusters.
TEST_F(Weakness, P3_AnOperatorThatCannotSeeItsSeedMakesNoSecondOne) {
  (void)world.start_operator();
  world.run_for(5s);
  lose_answer("create etcdmembers");
  before("create etcdmembers", [&](Life& life) { silence(life, 2min); });
  world.create_cluster(kKey, 3);
  world.must_converge(10min);
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
}

/// Lists and watches select only objects with our label.
TEST_F(Weakness, P6_OtherPeoplesObjectsAreNotAskedFor) {
  std::size_t lists = 0;
  instead = [&](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    const bool own = std::string_view(call.resource.group) == v1::EtcdCluster::resource.group ||
                     call.resource == kube::Lease::resource;
    if (call.verb == kube::Verb::List || call.verb == kube::Verb::Watch) {
      ++lists;
      if (!own) { EXPECT_TRUE(call.query.contains("labelSelector")) << line_of(call); }
    }
    return {};
  };
  settled_cluster(3);
  EXPECT_GT(lists, 5U);
}

}  // namespace
}  // namespace etcdop::sim
