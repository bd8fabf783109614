// Scenarios of nodes, Pods and volumes.
#include "sim/etcd/data_dir.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

class ScenarioOfNodes : public Scenario {
 protected:
  api::ObjectKey claim_of(const std::string& member) { return {"prod", "data-" + member}; }
  std::string claim_uid(const std::string& member) {
    return uid_of(kube::PersistentVolumeClaim::resource, claim_of(member));
  }
};

TEST_F(ScenarioOfNodes, S24_ANodeIsLostForEightMinutes) {
  settled_cluster(3);
  const auto before = members();
  const std::string name = follower();
  const std::size_t node = node_of(name);
  const auto there = pods_on(node);
  const std::size_t made_pods = made(kube::Pod::resource);
  const std::string claim = claim_uid(name), pod = uid_of(kube::Pod::resource, {"prod", name});
  world.checker().struck();
  world.nodes().node_down(node, true);
  for (int i = 0; i < 8 * 60; ++i) {
    world.run_for(1s);
    ASSERT_EQ(uid_of(kube::Pod::resource, {"prod", name}), pod);  // No second one.
  }
  EXPECT_TRUE(read<kube::Pod>({"prod", name})->metadata.terminating());
  EXPECT_EQ(made(kube::Pod::resource), made_pods);
  EXPECT_EQ(members(), before);
  EXPECT_EQ(gone(v1::EtcdMember::resource), 0U);
  world.nodes().node_down(node, false);
  world.must_converge(5min);
  EXPECT_EQ(members(), before);
  EXPECT_EQ(claim_uid(name), claim);
  EXPECT_EQ(made(kube::Pod::resource), made_pods + there.size());
}

TEST_F(ScenarioOfNodes, S24_AMemberIsDeletedAndTheSizeCutWhileANodeIsLost) {
  world.nodes().local_volumes(false);
  settled_cluster(3);
  const auto before = members();
  const std::string lost = follower();
  const std::size_t node = alone_on_a_node(lost);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(30s);
  for (const auto& m : before)
    if (m.name != lost && m.id != leader().member)
      world.delete_object(v1::EtcdMember::resource, {"prod", m.name});
  world.run_for(20ms);
  world.scale(kKey, 2);  // Without the leaving member, one of two would be healthy.
  for (int i = 0; i < 300; ++i) {
    world.run_for(1s);
    ASSERT_TRUE(world.net().has_quorum(etcd_id()));
  }
  EXPECT_EQ(tried("MemberRemove"), 0U);  // Not even tried.
  world.nodes().node_down(node, false);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 2U);
}

/// A node with one member is lost; the user has set how long to wait before replacement.
class ScenarioOfALostNode : public ScenarioOfNodes {
 protected:
  void lose_node(const char* policy) {
    world.nodes().local_volumes(false);
    settled_cluster(3);
    if (policy)
      (void)world.server().change(v1::EtcdCluster::resource, kKey, [&](json::object& object) {
        object["metadata"].as_object()["annotations"] =
            json::object{{v1::kReplaceUnreachableAnnotation, policy}};
      });
    name = follower();
    node = alone_on_a_node(name);
    before = members();
    world.checker().struck();
    world.nodes().node_down(node, true);
  }
  bool is_there() { return !uid_of(v1::EtcdMember::resource, {"prod", name}).empty(); }

  std::string name;
  std::size_t node = 0;
  std::vector<EtcdNet::Member> before;
};

TEST_F(ScenarioOfALostNode, S24_ANodeIsLostForGoodAndThePolicyReplacesItsMember) {
  lose_node("15m");
  for (int i = 0; i < 14 * 60; ++i) {
    world.run_for(1s);
    ASSERT_EQ(members(), before);
  }
  ASSERT_TRUE(world.run_until([&] { return !is_there(); }, 5min));
  EXPECT_EQ(voters(), 3U);
  ASSERT_TRUE(world.run_until([&] { return says(v1::kProgressing) == "False/Reconciled"; }, 2min));
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  world.run_for(20min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 4U) << "one for one";
  EXPECT_EQ(tried("MemberRemove"), 1U);
  EXPECT_TRUE(read<kube::Pod>({"prod", name})) << "its node would have to say that it has ended";
  world.nodes().node_down(node, false);
  world.must_converge(5min);
  EXPECT_FALSE(read<kube::Pod>({"prod", name}));
}

TEST_F(ScenarioOfALostNode, S24_ItsClusterCanBeDeletedAllTheSame) {
  lose_node("2m");
  ASSERT_TRUE(world.run_until([&] { return !is_there(); }, 6min));
  world.delete_cluster(kKey);
  world.run_for(2min);
  EXPECT_EQ(count(v1::EtcdCluster::resource), 0U);
  EXPECT_EQ(count(v1::EtcdMember::resource), 0U);
  EXPECT_EQ(count(kube::Pod::resource), 1U) << "Kubernetes' own";
}

TEST_F(ScenarioOfALostNode, S24_WithoutThePolicyItIsWaitedFor) {
  lose_node(nullptr);
  world.run_for(40min);
  EXPECT_EQ(members(), before);
  world.nodes().node_down(node, false);
  world.must_converge(5min);
  EXPECT_EQ(members(), before);
}

TEST_F(ScenarioOfALostNode, S24_APolicyThatCannotBeReadIsNone) {
  lose_node("15");
  world.run_for(30min);
  EXPECT_EQ(members(), before);
  EXPECT_EQ(told("is not a duration of 1m or more"), 1U) << "in the log, once";
}

TEST_F(ScenarioOfALostNode, S24_ItComesBackBeforeItsTimeIsOver) {
  lose_node("15m");
  world.run_for(14min);
  world.nodes().node_down(node, false);
  world.must_converge(5min);
  EXPECT_EQ(members(), before);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(14min);
  EXPECT_EQ(members(), before) << "the time begins anew";
}

/// S12: neither a restart nor a jump of the date shortens the wait.
TEST_F(ScenarioOfALostNode, S24_ARestartOfTheOperatorBeginsTheCountAnew) {
  lose_node("15m");
  world.run_for(14min);
  world.kill(world.life(0), 1s);
  world.run_for(14min);
  EXPECT_EQ(members(), before);
  ASSERT_TRUE(world.run_until([&] { return !is_there(); }, 6min));
}

TEST_F(ScenarioOfNodes, S25_AVotersVolumeIsDeleted) {
  settled_cluster(3);
  const std::string name = follower();
  const auto id = etcd_id();
  world.checker().user_deleted(claim_uid(name));
  world.checker().struck();
  world.nodes().lose_volume(claim_of(name));
  // A voter never starts on an empty volume: another member replaces it.
  EXPECT_TRUE(world.run_until(
      [&] { return uid_of(v1::EtcdMember::resource, {"prod", name}).empty(); }, 1min));
  EXPECT_EQ(made(kube::PersistentVolumeClaim::resource), 4U);
  world.must_converge(2min);
  EXPECT_EQ(voters(), 3U);
  EXPECT_EQ(etcd_id(), id);
}

/// Four nodes in three zones. Pods have the labels of their node's topology.
class ScenarioOfZones : public Scenario {
 protected:
  ScenarioOfZones() : Scenario({.seed = 7, .faults = {}, .keep_trace = true, .nodes = 4}) {
    world.nodes().tell_zones(true);
  }
  std::set<std::string> zones() {
    std::set<std::string> out;
    for (const api::ObjectKey& member : world.members_of(kKey))
      if (const auto pod = read<kube::Pod>(member); pod && !pod->spec.node_name.empty())
        out.insert(world.nodes().zone_of(node_of(member.name)));
    return out;
  }
};

TEST_F(ScenarioOfZones, K13_ShrinkingTakesTheMemberWhoseZoneHasAnother) {
  (void)world.start_operator();
  for (std::size_t node = 1; node < 4; ++node) world.nodes().cordon(node, true);
  world.create_cluster(kKey, {.replicas = 1, .version = "3.6.16", .apart = true});
  world.must_converge(5min);
  std::int32_t size = 1;
  for (const std::size_t node : {3U, 1U, 2U}) {  // Zone 0 gets the first two.
    world.nodes().cordon(node, false);
    world.scale(kKey, ++size);
    world.must_converge(5min);
  }
  EXPECT_EQ(zones().size(), 3U);
  world.scale(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(zones().size(), 3U) << "each zone keeps one";
}

/// A spread that must hold: members come to the zones in turn, also beside a node that is down.
TEST_F(ScenarioOfZones, AZoneThatIsLostKeepsItsPlace) {
  (void)world.start_operator();
  world.create_cluster(kKey, {.replicas = 1, .version = "3.6.16"});
  (void)world.server().change(v1::EtcdCluster::resource, kKey, [](json::object& cluster) {
    cluster.at("spec").as_object()["topologySpreadConstraints"] =
        json::parse(R"([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                         "whenUnsatisfiable": "DoNotSchedule",
                         "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "etcd"}}}])");
  });
  world.must_converge(5min);
  world.nodes().node_down(2, true);  // Zone 2 has no other.
  world.scale(kKey, 3);
  EXPECT_FALSE(world.run_until([&] { return world.missing().empty(); }, 5min));
  EXPECT_EQ(zones().size(), 2U);
  world.nodes().node_down(2, false);
  world.must_converge(10min);
  EXPECT_EQ(zones().size(), 3U);
}

/// A service mesh and a policy engine: a container beside etcd's, which has restarted often, and
/// fields and labels on all objects.
class ScenarioOfAdmission : public Scenario {
 protected:
  ScenarioOfAdmission()
      : Scenario(
            {.seed = 1, .faults = *Faults::parse("sidecars"), .keep_trace = true, .nodes = 3}) {}
};

TEST_F(ScenarioOfAdmission, I17_WhatAdmissionAddsIsNeitherFoughtNorTakenForEtcds) {
  settled_cluster(3);
  EXPECT_EQ(made(kube::Pod::resource), 4U) << "the founder's twice";
  const auto pod = world.server().look(kube::Pod::resource, {"prod", follower()});
  EXPECT_EQ(pod->at("spec").at("containers").as_array().size(), 2U) << "there is a sidecar";
  world.run_for(2min);
  const std::uint64_t writes = world.writes();
  world.run_for(30min);
  EXPECT_EQ(world.writes(), writes);
  EXPECT_EQ(says(v1::kDegraded), "False/QuorumHealthy");
  world.scale(kKey, 5);
  world.must_converge(5min);
  EXPECT_EQ(made(kube::Pod::resource), 6U);
}

/// Seeds 392, 415 and 60021: for a moment the voter had no Pod, and the joiner had taken its place.
/// A voter that a user has deleted is needed until another one votes.
class ScenarioOfAPlace : public ScenarioOfNodes, public testing::WithParamInterface<bool> {};

TEST_P(ScenarioOfAPlace, K1_AJoinerLeavesItToAVoterThatFindsNone) {
  (void)world.start_operator();
  world.create_cluster(
      kKey, {.replicas = 1, .version = "3.6.16", .progress_deadline_s = 60, .apart = true});
  world.must_converge(5min);
  const std::string voter = members().at(0).name;
  const auto cordon = [&](bool on) {
    for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, on);
  };
  const auto joiner_has_pod = [&] {
    return std::ranges::any_of(world.server().read_all<kube::Pod>(), [&](const auto& pod) {
      return pod->metadata.name != voter && !pod->metadata.terminating();
    });
  };
  cordon(true);
  instead = [&](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    const bool its_pod = call.verb == kube::Verb::Create && call.resource == kube::Pod::resource &&
                         call.body.at("metadata").at("name") == Json(voter);
    if (!its_pod || !joiner_has_pod()) return {};
    return Result<Json>(Error{Code::Denied, "exceeded quota: pods"});
  };
  world.scale(kKey, 2);
  EXPECT_TRUE(world.run_until(joiner_has_pod, 30s));
  if (GetParam()) world.delete_object(v1::EtcdMember::resource, {"prod", voter});
  world.delete_object(kube::Pod::resource, {"prod", voter});
  EXPECT_TRUE(world.run_until([&] { return !joiner_has_pod(); }, 3min));
  EXPECT_TRUE(world.run_until([&] { return read<kube::Pod>({"prod", voter}) != nullptr; }, 3min));
  cordon(false);
  world.must_converge(10min);
}

INSTANTIATE_TEST_SUITE_P(IsDeleted, ScenarioOfAPlace, testing::Bool());

TEST_F(ScenarioOfNodes, I17_AMemberWhoseVolumeIsFullIsToldAndKept) {
  settled_cluster(3);
  const std::string name = follower();
  world.checker().struck();
  world.nodes().fill_disk({"prod", name}, world.time().now() + 10min);
  EXPECT_TRUE(
      world.run_until([&] { return member_says({"prod", name}) == "False/CrashLooping"; }, 2min));
  EXPECT_NE(message(v1::kDegraded).find("no space is left on its volume"), std::string::npos)
      << message(v1::kDegraded);
  world.run_for(10min);
  world.must_converge(10min);
  EXPECT_EQ(gone(v1::EtcdMember::resource), 0U);
}

/// A webhook for Services takes half a minute, and then fails. Another cluster is not delayed.
TEST_F(ScenarioOfNodes, K8_AVoterIsReplacedWhileAServiceCannotBeWritten) {
  settled_cluster(3);
  instead = [](Life& life, const kube::Call& call) -> std::optional<Result<Json>> {
    if (kube::reads(call.verb) || !(call.resource == kube::Service::resource)) return {};
    if (call.ns != kKey.ns) return {};
    (void)life.passage().travel(30s);
    return Result<Json>(Error{Code::Lost, "failed calling webhook \"slow\""});
  };
  // Without the headless Service no name exists, so no member could join.
  (void)world.server().remove(kube::Service::resource, {"prod", "db-client"});
  const std::string name = follower();
  const Instant begin = world.time().now();
  world.checker().user_deleted(claim_uid(name));
  world.checker().struck();
  world.nodes().lose_volume(claim_of(name));
  EXPECT_TRUE(world.run_until(
      [&] { return uid_of(v1::EtcdMember::resource, {"prod", name}).empty(); }, 3min));
  const auto names_webhook = [&] {
    return message(v1::kDegraded).find("webhook \"slow\"") != std::string::npos;
  };
  EXPECT_TRUE(world.run_until(names_webhook, 3min)) << message(v1::kDegraded);
  EXPECT_EQ(says(v1::kDegraded), "True/ServiceRefused");
  const api::ObjectKey other{"elsewhere", "db"};
  world.create_cluster(other, 1);
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kAvailable, other) == "True/QuorumHealthy"; }, 1min));
  world.run_for(5min);
  EXPECT_LE(busiest_minute(begin), 12U);
  instead = nullptr;
  world.must_converge(5min);
  EXPECT_EQ(voters(), 3U);
}

/// A webhook for Pods that is down, with failurePolicy Fail.
TEST_F(ScenarioOfNodes, K8_ThatAWebhookKeepsPodsAwayIsToldInTheApiServersWords) {
  (void)world.start_operator();
  instead = [](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    if (kube::reads(call.verb) || !(call.resource == kube::Pod::resource)) return {};
    return Result<Json>(Error{Code::Lost, "failed calling webhook \"down\""});
  };
  world.create_cluster(kKey, 3);
  EXPECT_TRUE(
      world.run_until([&] { return message(v1::kProgressing).ends_with("webhook \"down\""); }, 30s))
      << message(v1::kProgressing);
  const Instant begin = world.time().now();
  world.run_for(5min);
  EXPECT_TRUE(message(v1::kProgressing).ends_with("webhook \"down\""));
  EXPECT_LE(busiest_minute(begin + 1min), 4U) << "the queue's back-off";
  instead = nullptr;
  world.must_converge(5min);
  EXPECT_EQ(message(v1::kProgressing).find("webhook"), std::string::npos);
}

TEST_F(ScenarioOfNodes, S25_AVotersDataCannotBeRead) {
  settled_cluster(3);
  const std::string name = follower();
  world.checker().struck();
  world.nodes().corrupt_volume(claim_of(name));
  EXPECT_TRUE(
      world.run_until([&] { return member_says({"prod", name}) == "False/DataCorrupt"; }, 20s));
  EXPECT_TRUE(world.run_until(
      [&] { return uid_of(v1::EtcdMember::resource, {"prod", name}).empty(); }, 1min));
  world.must_converge(2min);
  EXPECT_EQ(voters(), 3U);
}

/// Each in turn, the first member too: on an empty volume, its Pod must not found a new cluster.
TEST_F(ScenarioOfNodes, S25_EveryVoterFindsItsVolumeEmpty) {
  settled_cluster(3);
  const auto id = etcd_id();
  for (const auto& member : members()) {
    world.checker().struck();
    const auto volume = world.nodes().data_of(claim_uid(member.name));
    world.nodes().kill_etcd({"prod", member.name});
    wipe(*volume);
    EXPECT_TRUE(world.run_until(
        [&] { return uid_of(v1::EtcdMember::resource, {"prod", member.name}).empty(); }, 1min))
        << member.name;
    world.must_converge(2min);
    EXPECT_EQ(voters(), 3U);
    EXPECT_EQ(etcd_id(), id);
    EXPECT_EQ(world.net().births().size(), 1U);
  }
}

/// The cluster is not founded a second time, and reports the loss.
TEST_F(ScenarioOfNodes, S25_TheOnlyMemberFindsItsVolumeEmpty) {
  settled_cluster(1);
  const std::string name = members().at(0).name;
  world.checker().fate_took("prod", "db");
  const auto volume = world.nodes().data_of(claim_uid(name));
  world.nodes().kill_etcd({"prod", name});
  wipe(*volume);
  EXPECT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/DataLost"; }, 2min));
  world.run_for(1h);
  EXPECT_EQ(says(v1::kAvailable), "False/DataLost");
  EXPECT_EQ(says(v1::kDegraded), "True/DataLost");
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 1U);
  EXPECT_EQ(made(kube::PersistentVolumeClaim::resource), 1U);
}

/// Two of five at once: replaced one after the other.
TEST_F(ScenarioOfNodes, S25_TwoOfFiveLoseTheirData) {
  settled_cluster(5);
  const auto before = members();
  world.checker().struck();
  for (std::size_t i = 0; i < 2; ++i) world.nodes().corrupt_volume(claim_of(before.at(i).name));
  world.must_converge(3min);
  EXPECT_EQ(voters(), 5U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(uid_of(v1::EtcdMember::resource, {"prod", before.at(i).name}), "");
}

/// ST20: if many clusters fail at once, the cause may be the operator's network or the storage. If
/// they stay away, the member is replaced (K2).
TEST_F(ScenarioOfNodes, ST20_NobodyIsReplacedRightAfterManyClustersFailed) {
  settled_cluster(3);
  for (int i = 0; i < 3; ++i) {
    const api::ObjectKey other{"prod", "other-" + std::to_string(i)};
    world.create_cluster(other, 1);
    EXPECT_TRUE(
        world.run_until([&] { return says(v1::kAvailable, other) == "True/QuorumHealthy"; }, 2min));
    world.checker().fate_took("prod", other.name);
    world.nodes().corrupt_volume(claim_of(world.members_of(other).at(0).name));
  }
  EXPECT_TRUE(world.run_until(
      [&] { return says(v1::kAvailable, {"prod", "other-2"}) == "False/DataLost"; }, 3min));
  const std::string name = follower();
  world.checker().struck();
  world.nodes().corrupt_volume(claim_of(name));
  EXPECT_TRUE(
      world.run_until([&] { return member_says({"prod", name}) == "False/DataCorrupt"; }, 20s));
  EXPECT_TRUE(world.run_until(
      [&] {
        return message(v1::kDegraded).find("not replaced for up to 15 min") != std::string::npos;
      },
      30s))
      << message(v1::kDegraded);
  world.run_for(4min);
  EXPECT_NE(uid_of(v1::EtcdMember::resource, {"prod", name}), "");
  EXPECT_TRUE(world.run_until(
      [&] { return uid_of(v1::EtcdMember::resource, {"prod", name}).empty(); }, 12min));
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "False/QuorumHealthy"; }, 3min));
}

/// N8: broken clusters of one tenant count as one for all others.
TEST_F(ScenarioOfNodes, N8_BrokenClustersOfOneNamespaceHoldUpNoOther) {
  settled_cluster(3);
  for (int i = 0; i < 3; ++i) {
    const api::ObjectKey other{"tenant", "other-" + std::to_string(i)};
    world.create_cluster(other, 1);
    EXPECT_TRUE(
        world.run_until([&] { return says(v1::kAvailable, other) == "True/QuorumHealthy"; }, 2min));
    world.checker().fate_took("tenant", other.name);
    world.nodes().corrupt_volume({"tenant", "data-" + world.members_of(other).at(0).name});
  }
  EXPECT_TRUE(world.run_until(
      [&] { return says(v1::kAvailable, {"tenant", "other-2"}) == "False/DataLost"; }, 3min));
  const std::string name = follower();
  world.checker().struck();
  world.nodes().corrupt_volume(claim_of(name));
  EXPECT_TRUE(world.run_until(
      [&] { return uid_of(v1::EtcdMember::resource, {"prod", name}).empty(); }, 1min));
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "False/QuorumHealthy"; }, 3min));
}

TEST_F(ScenarioOfNodes, S26_AllPodsAreEvictedAtOnce) {
  settled_cluster(3);
  const auto before = members();
  world.checker().struck();
  for (const auto& key : world.members_of(kKey)) world.nodes().evict(key);
  world.must_converge(5min);
  EXPECT_EQ(members(), before);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  EXPECT_EQ(made(kube::PersistentVolumeClaim::resource), 3U);
}

TEST_F(ScenarioOfNodes, S26_AllPodsAreDeletedAtOnceWithoutAnOperator) {
  settled_cluster(3);
  const auto before = members();
  world.kill(world.life(0), std::nullopt);
  for (const auto& key : world.members_of(kKey)) world.delete_object(kube::Pod::resource, key);
  world.run_for(1min);
  EXPECT_EQ(count(kube::Pod::resource), 0U);
  (void)world.start_operator();
  world.must_converge(5min);
  EXPECT_EQ(members(), before);
}

TEST_F(ScenarioOfNodes, S27_TwoOfThreeMembersLoseTheirData) {
  settled_cluster(3);
  world.checker().fate_took("prod", "db");
  const auto before = members();
  const std::string kept = follower();
  for (const auto& m : before)
    if (m.name != kept) world.nodes().corrupt_volume(claim_of(m.name));
  EXPECT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/QuorumLost"; }, 3min));
  world.run_for(5min);
  const Instant begin = world.time().now();
  const std::size_t pods = made(kube::Pod::resource), changes = tried("Member");
  world.scale(kKey, 1);  // Whatever the size: no change.
  world.run_for(1h);
  EXPECT_EQ(world.members_of(kKey).size(), 3U);
  EXPECT_EQ(count(kube::PersistentVolumeClaim::resource), 3U);
  EXPECT_EQ(made(kube::Pod::resource), pods);
  EXPECT_EQ(tried("Member"), changes) << "those of its birth";
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(says(v1::kAvailable), "False/QuorumLost");
  EXPECT_LE(busiest_minute(begin), 2U);
}

TEST_F(ScenarioOfNodes, S44_AllNodesAreDrainedOneAfterTheOtherDuringGrowthAndShrinking) {
  world.nodes().local_volumes(false);
  settled_cluster(3);
  const auto id = etcd_id();
  const auto keeps_quorum = [&](const std::function<bool()>& holds, Duration limit) {
    int without = 0;  // A leader hands over or dies.
    for (const Instant end = world.time().now() + limit; world.time().now() < end && !holds();) {
      world.run_for(500ms);
      without = world.net().has_quorum(id) ? 0 : without + 1;
      ASSERT_LE(without, 6);
    }
    ASSERT_TRUE(holds()) << world.missing();
  };
  // As `kubectl drain` does: deletes one Pod, and the next once all are healthy again.
  const auto all_well = [&] {
    for (const auto& key : world.members_of(kKey)) {
      const auto pod = read<kube::Pod>(key);
      if (!pod || !pod->ready() || pod->metadata.terminating()) return false;
    }
    return true;
  };
  for (std::size_t node = 0; node < world.nodes().count(); ++node) {
    world.scale(kKey, node % 2 == 0 ? 5 : 3);
    world.run_for(2s);
    world.nodes().cordon(node, true);
    for (auto left = pods_on(node); !left.empty(); left = pods_on(node)) {
      world.delete_object(kube::Pod::resource, {"prod", left.front()});
      world.run_for(3s);
      keeps_quorum(all_well, 5min);
      if (HasFatalFailure()) return;
    }
    world.nodes().cordon(node, false);
  }
  world.must_converge(5min);
  EXPECT_EQ(voters(), 5U);
}

// As `kubectl drain`: evicts every Pod of the node, again and again, until none is left.
TEST_F(ScenarioOfNodes, S44_AllNodesAreDrainedUnderTheBudgetDuringGrowthAndShrinking) {
  world.nodes().local_volumes(false);
  settled_cluster(3);
  const auto id = etcd_id();
  std::size_t refused = 0;
  for (std::size_t node = 0; node < world.nodes().count(); ++node) {
    world.scale(kKey, node % 2 == 0 ? 5 : 3);
    world.run_for(2s);
    world.nodes().cordon(node, true);
    int without = 0;  // A leader hands over or dies.
    const Instant end = world.time().now() + 10min;
    while (!pods_on(node).empty()) {
      ASSERT_LT(world.time().now(), end) << "the drain ends: " << world.missing();
      for (const std::string& pod : pods_on(node))
        if (const auto there = read<kube::Pod>({"prod", pod}); !there->metadata.terminating())
          refused += !world.evict({"prod", pod});
      for (int i = 0; i < 10; ++i) {
        world.run_for(500ms);
        without = world.net().has_quorum(id) ? 0 : without + 1;
        ASSERT_LE(without, 6);
      }
    }
    world.nodes().cordon(node, false);
  }
  world.must_converge(5min);
  EXPECT_EQ(voters(), 5U);
  EXPECT_GT(refused, 0U);
}

class ScenarioOfMemory : public ScenarioOfNodes {
 protected:
  void settled_in_memory(int size) {
    (void)world.start_operator();
    world.create_cluster(kKey, size, "3.6.16", 600, true);
    rest();
    world.start_clients(4);
    world.run_for(20s);
  }
  void lose_pod(const std::string& member) {
    world.delete_object(kube::Pod::resource, {"prod", member});
  }
};

TEST_F(ScenarioOfMemory, S50_AMemberWhosePodIsGoneIsReplacedByAnother) {
  settled_in_memory(3);
  EXPECT_EQ(count(kube::PersistentVolumeClaim::resource), 0U);
  const auto id = etcd_id();
  for (int i = 0; i < 3; ++i) {  // The founder, too.
    const std::string gone = members().front().name;
    lose_pod(gone);
    ASSERT_TRUE(world.run_until([&] { return !read<v1::EtcdMember>({"prod", gone}); }, 2min));
    world.must_converge(5min);
  }
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(world.net().births().size(), 1U);
}

TEST_F(ScenarioOfMemory, S50_AnEvictedPodIsNotFilledAgain) {
  settled_in_memory(3);
  world.nodes().evict({"prod", leader().name});
  world.must_converge(5min);
}

/// Seed 443817324: it had joined with a member list that still was etcd's, so it came back empty
/// under its own ID and voted. A new term begins meanwhile; otherwise the leader would have
/// noticed.
TEST_F(ScenarioOfMemory, Found_WhoLostItsMemoryUnderItsPodDoesNotJoinTwice) {
  settled_in_memory(3);
  std::string last;  // It joined with a list of all three; its node has no other Pod.
  const auto find = [&] {
    for (const auto& m : members())
      if (std::ranges::count(read<v1::EtcdMember>({"prod", m.name})->spec.initial_cluster, '=') ==
          3)
        last = m.name;
    return pods_on(node_of(last)).size() == 1;
  };
  for (int i = 0; i < 20 && !find(); ++i) {
    lose_pod(last);
    world.must_converge(5min);
  }
  ASSERT_TRUE(find());
  const std::size_t node = node_of(last);
  const auto id = process_of(last).member;
  world.nodes().node_down(node, true);
  ASSERT_TRUE(world.run_until([&] { return !leader().name.empty(); }, 1min));
  world.nodes().kill_etcd({"prod", leader().name});
  ASSERT_TRUE(world.run_until([&] { return leader().name.empty(); }, 1min));
  ASSERT_TRUE(world.run_until([&] { return !leader().name.empty(); }, 1min));
  world.nodes().node_down(node, false);
  world.must_converge(5min);
  for (const auto& m : members()) EXPECT_NE(m.id, id) << "another one has come in its place";
}

/// Each Pod is of another member, as a member in memory does not outlive its Pod: with a MemberAdd
/// and a MemberRemove each time. The pauses grow over all names.
TEST_F(ScenarioOfMemory, K6_WhereTheKubeletRefusesEachPodAtMostTenAreMadeInFiveMinutes) {
  settled_in_memory(3);
  const std::size_t pods = made(kube::Pod::resource), adds = tried("MemberAdd");
  for (std::size_t i = 0; i < world.nodes().count(); ++i)
    world.nodes().refuse_pods(i, world.time().now() + 20min);
  lose_pod(follower());
  world.run_for(5min);
  const std::size_t tries = made(kube::Pod::resource) - pods;
  EXPECT_LE(tries, 10U);
  EXPECT_GE(tries, 5U) << "it is tried again";
  EXPECT_LE(tried("MemberAdd") - adds, tries + 1) << "one for each, and one whose Pod comes next";
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumAvailable");
  EXPECT_EQ(says(v1::kDegraded).substr(0, 4), "True") << says(v1::kDegraded);
  for (const char* type : {v1::kProgressing, v1::kDegraded})
    EXPECT_NE(message(type).find(Nodes::kRefusal), std::string::npos) << type << message(type);
  world.run_for(16min);
  world.must_converge(15min);
  EXPECT_EQ(voters(), 3U);
}

TEST_F(ScenarioOfMemory, S50_TwoOfThreeAreLostAndNobodyPretends) {
  settled_in_memory(3);
  const auto before = members();
  world.checker().fate_took("prod", "db");
  lose_pod(before[0].name);
  lose_pod(before[1].name);
  ASSERT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/QuorumLost"; }, 2min));
  world.run_for(10min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U) << "nobody is replaced without a quorum";
  EXPECT_EQ(made(kube::Pod::resource), 3U) << "nobody is refilled";
  EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.broken_members, 2);
}

/// Each Pod, the founder's too, comes back with its spec and with empty memory.
TEST_F(ScenarioOfMemory, S50_AllNodesRestartAndNoneFoundsAnother) {
  settled_in_memory(3);
  world.checker().fate_took("prod", "db");
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().node_down(i, true);
  world.run_for(20s);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().node_down(i, false);
  ASSERT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/DataLost"; }, 10min))
      << says(v1::kAvailable);
  world.run_for(10min);
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(says(v1::kAvailable), "False/DataLost");
}

TEST_F(ScenarioOfMemory, S50_TheOnlyMemberIsLostAndSaysSo) {
  settled_in_memory(1);
  world.checker().fate_took("prod", "db");
  const std::size_t node = node_of(members().front().name);
  world.nodes().node_down(node, true);
  world.run_for(10s);
  world.nodes().node_down(node, false);
  ASSERT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/DataLost"; }, 5min))
      << says(v1::kAvailable);
  world.run_for(10min);
  EXPECT_EQ(world.net().births().size(), 1U) << "its Pod was there all the time";
}

TEST_F(ScenarioOfNodes, S44_TheOnlyMemberMayBeDrained) {
  world.nodes().local_volumes(false);
  settled_cluster(1);
  const auto before = members();
  ASSERT_TRUE(world.evict({"prod", before[0].name}));
  world.must_converge(2min);
  EXPECT_EQ(members(), before);
}

}  // namespace
}  // namespace etcdop::sim
