// Scenarios of user actions: edits, deletions, reused names.
#include "kube/secret_object.h"
#include "sim/scenarios/scenario.h"
#include "test/support/refused_when_new.h"

namespace etcdop::sim {
namespace {

const std::vector<api::Resource>& children() {
  static const std::vector<api::Resource> all{
      v1::EtcdMember::resource, kube::Pod::resource, kube::PersistentVolumeClaim::resource,
      kube::Service::resource, kube::PodDisruptionBudget::resource};
  return all;
}

class ScenarioOfPeople : public Scenario {
 protected:
  std::size_t left_over() {
    std::size_t out = 0;
    for (const auto& r : children()) out += count(r);
    return out;
  }
  void edit(const api::ObjectKey& key, const std::function<void(json::object& spec)>& how) {
    (void)world.server().change(v1::EtcdCluster::resource, key,
                                [&](json::object& c) { how(c["spec"].as_object()); });
  }
};

TEST_F(ScenarioOfPeople, S34_TheSizeIsEditedSixTimesInThreeSeconds) {
  settled_cluster(3);
  for (const int size : {5, 1, 3, 0, 3}) {
    world.run_for(600ms);
    world.scale(kKey, size);
  }
  world.must_converge(5min);
  EXPECT_EQ(voters(), 3U);
  EXPECT_LE(made(v1::EtcdMember::resource), 9U);  // Two more, three times.
}

TEST_F(ScenarioOfPeople, S34_AClusterSleepsAndWakes) {
  settled_cluster(3);
  world.run_for(20s);  // Clients write.
  const auto id = etcd_id();
  world.scale(kKey, 0);
  world.must_converge(5min);
  ASSERT_EQ(members().size(), 1U);
  const auto dormant_member = members().at(0);
  const auto cluster = read<v1::EtcdCluster>(kKey);
  EXPECT_EQ(runtime::find_condition(cluster->status.conditions, v1::kAvailable)->message,
            "paused: data is preserved on PVC data-" + dormant_member.name +
                "; set spec.replicas to resume the same etcd cluster");
  EXPECT_EQ(member_says({"prod", dormant_member.name}), "False/Paused");
  EXPECT_EQ(count(kube::PersistentVolumeClaim::resource), 1U);
  world.run_for(1h);
  world.scale(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(std::ranges::count(members(), dormant_member.id, &EtcdNet::Member::id), 1);
  EXPECT_EQ(world.net().births().size(), 1U);
}

TEST_F(ScenarioOfPeople, S34_ASleeperIsWokenBeforeItSleepsAndPutToSleepBeforeItWakes) {
  settled_cluster(2);
  const auto id = etcd_id();
  for (int i = 0; i < 8; ++i) {
    world.scale(kKey, i % 2 == 0 ? 0 : 2);
    world.run_for(i * 700ms);
  }
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(voters(), 2U);
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// The delete is refused for longer than the cluster's progress deadline.
TEST_F(ScenarioOfPeople, Found_TheDeadlineIsOverWhenTheFounderIsMadeAnew) {
  (void)world.start_operator();
  const Instant end = world.time().now() + 1min;
  instead = [&, end](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    const bool refused = call.verb == kube::Verb::Delete && call.resource == kube::Pod::resource;
    if (!refused || world.time().now() > end) return {};
    return Result<Json>(Error{Code::Unavailable, "etcdserver: request timed out"});
  };
  world.create_cluster(kKey, 1, "3.6.16", 10);
  ASSERT_TRUE(
      world.run_until([&] { return says(v1::kProgressing) == "False/DeadlineExceeded"; }, 1min));
  EXPECT_EQ(says(v1::kAvailable), "") << "its only Pod is about to go once more";
  world.must_converge(5min);
  EXPECT_EQ(made(kube::Pod::resource), 2U);
}

/// A cluster whose first member cannot start with the spec that it was created from.
class ScenarioOfFirstMembers : public ScenarioOfPeople {
 protected:
  void cluster_with(const std::function<void(json::object& spec)>& mistake) {
    (void)world.start_operator();
    json::object spec{
        {"replicas", 3}, {"version", "3.6.16"}, {"storage", json::object{{"size", "1Gi"}}}};
    mistake(spec);
    (void)world.server().put(
        v1::EtcdCluster::resource,
        {{"metadata", {{"name", kKey.name}, {"namespace", kKey.ns}}}, {"spec", std::move(spec)}});
    world.run_for(20s);
    first = world.members_of(kKey).at(0);
  }
  /// The corrected cluster forms, with one birth and with the spec as it is now.
  void forms() {
    world.must_converge(10min);
    EXPECT_EQ(voters(), 3U);
    EXPECT_EQ(world.net().births().size(), 1U);
    EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.updated_members, 3);
  }
  api::ObjectKey first;
};

TEST_F(ScenarioOfFirstMembers, K4_ANodeSelectorThatNoNodeHasIsCorrected) {
  cluster_with([](auto& spec) { spec["nodeSelector"] = json::object{{"disk", "sdd"}}; });
  EXPECT_EQ(member_says(first), "False/Unschedulable");
  edit(kKey, [](json::object& spec) { spec.erase("nodeSelector"); });
  forms();
  EXPECT_NE(read<v1::EtcdMember>(first), nullptr) << "it is the same member";
}

TEST_F(ScenarioOfFirstMembers, K4_AVersionThatNoRegistryHasIsCorrectedToAnEarlierMinor) {
  world.nodes().lack_image("3.7.99");
  cluster_with([](auto& spec) { spec["version"] = "3.7.99"; });
  EXPECT_EQ(member_says(first), "False/ImagePullFailed");
  edit(kKey, [](json::object& spec) { spec["version"] = "3.6.16"; });
  forms();
  for (const auto& process : world.net().processes()) EXPECT_EQ(process.version, "3.6.16");
}

/// Seeds 10018 and 6944: the edit reaches the EtcdMember before the request for its Pod arrives.
TEST_F(ScenarioOfFirstMembers, K4_AVersionEditedWhileTheFirstPodIsOnItsWayIsNotTheOneThatRuns) {
  instead = [&](Life& life, const kube::Call& call) -> std::optional<Result<Json>> {
    if (call.verb != kube::Verb::Create || !(call.resource == kube::Pod::resource)) return {};
    instead = nullptr;
    world.set_version(kKey, "3.5.35");
    (void)life.process().sleep(3s);
    EXPECT_EQ(read<v1::EtcdMember>(world.members_of(kKey).at(0))->spec.version, "3.5.35");
    auto made = world.server().perform(call);
    (void)life.process().sleep(10s);  // The answer is late: etcd starts before.
    return made;
  };
  cluster_with([](auto&) {});
  world.run_for(2min);
  EXPECT_EQ(made(kube::Pod::resource), 2U);
  ASSERT_EQ(world.net().processes().size(), 1U) << "it goes on in its second Pod";
  EXPECT_EQ(world.net().processes()[0].version, "3.6.16");
  EXPECT_EQ(read<v1::EtcdMember>(first)->spec.version, "3.6.16");
  EXPECT_EQ(says(v1::kProgressing), "False/UnsupportedVersion");
  world.set_version(kKey, "3.6.16");
  forms();
}

TEST_F(ScenarioOfFirstMembers, K4_AVolumeThatNoStorageHasIsMadeAgainWithTheCorrectedSize) {
  cluster_with([](auto& spec) { spec["storage"] = json::object{{"size", "4Ei"}}; });
  EXPECT_EQ(member_says(first), "False/Unschedulable");
  edit(kKey, [](json::object& spec) { spec["storage"] = json::object{{"size", "2Gi"}}; });
  forms();
}

TEST_F(ScenarioOfFirstMembers, K4_OneThatWasDeletedGoesIfItNeverRan) {
  cluster_with([](auto& spec) { spec["nodeSelector"] = json::object{{"disk", "sdd"}}; });
  world.delete_object(v1::EtcdMember::resource, first);
  world.run_for(10s);
  EXPECT_EQ(read<v1::EtcdMember>(first), nullptr) << "no etcd need be asked";
  ASSERT_EQ(world.members_of(kKey).size(), 1U) << "another one is to found the cluster";
  EXPECT_EQ(count(kube::PersistentVolumeClaim::resource), 1U);
  edit(kKey, [](json::object& spec) { spec.erase("nodeSelector"); });
  forms();
}

TEST_F(ScenarioOfFirstMembers, K4_OneThatWasDeletedAndMayHaveRunStaysUntilItIsReplaced) {
  world.nodes().lack_image("3.7.99");
  cluster_with([](auto& spec) { spec["version"] = "3.7.99"; });
  world.delete_object(v1::EtcdMember::resource, first);
  world.run_for(1min);
  EXPECT_NE(read<v1::EtcdMember>(first), nullptr) << "its volume was bound";
  EXPECT_NE(message(v1::kProgressing).find("may have run"), std::string::npos)
      << message(v1::kProgressing);
  edit(kKey, [](json::object& spec) { spec["version"] = "3.6.16"; });
  forms();
  EXPECT_EQ(read<v1::EtcdMember>(first), nullptr);
}

/// Data in memory goes with its Pod.
TEST_F(ScenarioOfFirstMembers, K4_AMemberInMemoryIsMendedBeforeItsPodHasANode) {
  cluster_with([](auto& spec) {
    spec["storage"] = json::object{{"size", "64Mi"}, {"medium", "Memory"}};
    spec["nodeSelector"] = json::object{{"disk", "sdd"}};
  });
  edit(kKey, [](json::object& spec) { spec.erase("nodeSelector"); });
  forms();
}

TEST_F(ScenarioOfFirstMembers, K4_TheOperatorEndsBeforeEachWriteThatLetsItGo) {
  cluster_with([](auto& spec) { spec["nodeSelector"] = json::object{{"disk", "sdd"}}; });
  for (const char* write :
       {"delete pods", "patch etcdmembers/status", "delete persistentvolumeclaims",
        "patch etcdmembers prod", "create etcdmembers"})
    before(write, [&](Life& life) { world.kill(life, 1s); });
  world.delete_object(v1::EtcdMember::resource, first);
  world.run_for(3min);
  EXPECT_EQ(read<v1::EtcdMember>(first), nullptr);
  edit(kKey, [](json::object& spec) { spec.erase("nodeSelector"); });
  forms();
}

class ScenarioOfVersions : public Scenario {
 protected:
  void settled_at(const char* version) {
    (void)world.start_operator();
    world.create_cluster(kKey, 3, version);
    rest();
    world.start_clients(4);
  }
  void refuses(const char* version) {
    world.set_version(kKey, version);
    EXPECT_TRUE(
        world.run_until([&] { return says(v1::kProgressing) == "False/UnsupportedVersion"; }, 2min))
        << version << ": " << says(v1::kProgressing);
  }
  std::size_t running(const std::string& version) {
    return static_cast<std::size_t>(std::ranges::count_if(world.net().processes(), [&](auto& p) {
      return p.cluster == etcd_id() && p.version == version;
    }));
  }
};

/// The manual roll: scale up, then down again.
TEST_F(ScenarioOfVersions, S51_AClusterGoesFromMinorToMinorByScaling) {
  settled_at("3.5.35");
  const auto id = etcd_id();
  for (const char* version : {"3.6.16", "3.7.3"}) {
    world.set_version(kKey, version);
    world.scale(kKey, 6);
    world.must_converge(10min);
    world.scale(kKey, 3);
    world.must_converge(10min);
    EXPECT_EQ(running(version), 3U);
    EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.updated_members, 3);
  }
  EXPECT_EQ(etcd_id(), id);
}

/// W10: the other way to roll an edit to all members.
TEST_F(ScenarioOfVersions, S51_OrByDeletingOneMemberAfterTheOther) {
  settled_at("3.5.35");
  const auto before = members();
  world.set_version(kKey, "3.6.16");
  world.must_converge(2min);
  EXPECT_EQ(running("3.5.35"), 3U) << "what runs is left alone";
  for (const auto& member : before) {
    world.delete_object(v1::EtcdMember::resource, {"prod", member.name});
    world.must_converge(10min);
  }
  EXPECT_EQ(running("3.6.16"), 3U);
}

/// On the way back to the older minor, the size is cut. A member of that minor must stay, because
/// no other member of it could join a cluster of the newer minor.
TEST_F(ScenarioOfVersions, Found_TheWayBackKeepsAMemberOfTheOlderMinor) {
  settled_at("3.6.16");
  world.set_version(kKey, "3.7.3");
  world.scale(kKey, 5);
  world.must_converge(10min);
  ASSERT_EQ(running("3.7.3"), 2U);
  by_hand([&] {
    for (const auto& p : world.net().processes())
      if (p.cluster == etcd_id() && p.version == "3.7.3")
        (void)at(leader().address)->move_leader(p.member);
  });
  ASSERT_EQ(leader().version, "3.7.3");
  world.set_version(kKey, "3.6.15");
  world.scale(kKey, 1);
  world.must_converge(10min);
  EXPECT_EQ(running("3.7.3"), 0U);
  world.scale(kKey, 3);
  world.must_converge(10min);
}

/// All members of the older minor left before a new one came: the operator reports that, and
/// creates no member in vain.
TEST_F(ScenarioOfVersions, Found_AVersionThatWasOutrunIsRefusedThoughItWasTakenUp) {
  settled_at("3.7.3");
  (void)world.server().change(v1::EtcdCluster::resource, kKey, [](json::object& cluster) {
    cluster["spec"].as_object()["version"] = "3.6.15";
    cluster["status"].as_object()["observed"].as_object()["version"] = "3.6.15";
  });
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kProgressing) == "False/UnsupportedVersion"; }, 2min));
  const std::size_t before = made(v1::EtcdMember::resource);
  world.scale(kKey, 5);
  world.run_for(10min);
  EXPECT_EQ(made(v1::EtcdMember::resource), before);
  EXPECT_EQ(voters(), 3U);
  world.set_version(kKey, "3.7.3");
  world.must_converge(10min);
  EXPECT_EQ(voters(), 5U);
}

TEST_F(ScenarioOfVersions, S51_TwoMinorsAtOnceAndStepsBackAreRefused) {
  settled_at("3.6.16");
  refuses("3.5.35");
  refuses("3.8.0");
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  world.set_version(kKey, "3.6.16");
  world.must_converge(2min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
}

TEST_F(ScenarioOfVersions, S51_ST9_OnlyASafePatchGoesToTheNextMinor) {
  settled_at("3.5.25");
  refuses("3.6.16");
  refuses("3.7.3");
  world.set_version(kKey, "3.5.26");
  world.scale(kKey, 6);
  world.must_converge(10min);
  refuses("3.6.16");
  world.set_version(kKey, "3.5.26");
  world.scale(kKey, 3);
  world.must_converge(10min);
  EXPECT_EQ(running("3.5.26"), 3U);
  world.set_version(kKey, "3.6.16");
  world.must_converge(2min);
}

TEST_F(ScenarioOfVersions, S51_WhileAMemberIsDownNoStepIsTakenToTheNextMinor) {
  settled_at("3.5.35");
  const std::size_t node = node_of(members().at(0).name);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(10s);
  refuses("3.6.16");
  EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.observed->version, "3.5.35");
  world.nodes().node_down(node, false);
  world.must_converge(10min);
  EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.observed->version, "3.6.16");
}

/// The size is reverted during a write of growth.
class Reverted : public ScenarioOfPeople, public ::testing::WithParamInterface<const char*> {};
using ScenarioOfReverts = Reverted;

TEST_P(ScenarioOfReverts, S35_GrowthIsRevertedOnItsWay) {
  settled_cluster(3);
  const auto before_it = members();
  bool caught = false;
  before(GetParam(), [&](Life&) {
    caught = true;
    world.scale(kKey, 3);
  });
  world.scale(kKey, 5);
  world.run_for(1min);
  EXPECT_TRUE(caught);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 3U);
  if (std::string(GetParam()) != "MemberPromote") EXPECT_EQ(members(), before_it);
}
INSTANTIATE_TEST_SUITE_P(Each, ScenarioOfReverts,
                         ::testing::Values("patch etcdclusters/status", "create etcdmembers",
                                           "MemberAdd", "patch etcdmembers prod",
                                           "create persistentvolumeclaims", "create pods",
                                           "MemberPromote"),
                         [](const auto& p) {
                           std::string name;
                           for (const char c : std::string(p.param))
                             if (std::isalpha(c)) name += c;
                           return name;
                         });

TEST_F(ScenarioOfPeople, S36_AnOlderDefinitionHasLetOddClustersIn) {
  settled_cluster(3);
  const std::vector<std::pair<const char*, Json>> odd = {
      {"size", {{"replicas", -1}, {"version", "3.6.16"}}},
      {"huge", {{"replicas", 2147483647}, {"version", "3.6.16"}}},
      {"version", {{"replicas", 3}, {"version", "latest"}}},
      {"future", {{"replicas", 3}, {"version", "4.0.0"}}},
      {"deadline", {{"replicas", 1}, {"version", "3.6.16"}, {"progressDeadlineSeconds", -5}}},
      {"memory", {{"replicas", 0}, {"version", "3.6.16"}, {"storage", {{"medium", "Memory"}}}}},
      {"auth", {{"replicas", 1}, {"version", "3.6.16"}, {"auth", {{"enabled", true}}}}},
      {"type", {{"replicas", "three"}, {"version", "3.6.16"}}},
      {"nothing", json::object()},
  };
  const Instant begin = world.time().now();
  for (const auto& [name, spec] : odd)
    (void)world.server().put(
        v1::EtcdCluster::resource,
        {{"metadata", {{"name", name}, {"namespace", "odd"}}}, {"spec", spec}});
  world.run_for(20min);
  for (const char* name : {"size", "huge", "version", "future", "memory", "auth"}) {
    const std::string progress = says(v1::kProgressing, {"odd", name});
    EXPECT_TRUE(progress.starts_with("False/")) << name << ": " << progress;
  }
  EXPECT_LE(busiest_minute(begin), 22U);  // Events of all of them; one runs, one is PlainText.
  EXPECT_LE(busiest_minute(begin + 10min), 2U);
  world.scale(kKey, 5);  // They block no other cluster.
  EXPECT_TRUE(world.run_until([&] { return voters() == 5; }, 1min));
  for (const auto& [name, spec] : odd) {
    world.delete_cluster({"odd", name});
    EXPECT_EQ(uid_of(v1::EtcdCluster::resource, {"odd", name}), "");
  }
  world.must_converge(5min);
}

TEST_F(ScenarioOfPeople, S36_AClusterThatLivesIsEditedToWhatCannotBe) {
  settled_cluster(3);
  const auto before_it = members();
  for (const auto& [field, value] : std::vector<std::pair<const char*, Json>>{
           {"replicas", -1}, {"replicas", 2147483647}, {"version", "latest"}, {"version", ""}}) {
    const auto good = world.server().look(v1::EtcdCluster::resource, kKey)->at("spec").as_object();
    edit(kKey, [&, f = field, v = value](json::object& spec) { spec[f] = v; });
    world.run_for(3min);
    EXPECT_TRUE(members() == before_it) << field << " " << json::serialize(value);
    EXPECT_EQ(says(v1::kProgressing).substr(0, 6), "False/") << field;
    edit(kKey, [&](json::object& spec) { spec = good; });
    world.run_for(10s);
    EXPECT_EQ(says(v1::kProgressing), "False/Reconciled");
  }
  world.must_converge(5min);
}

/// With the strictest policy for new templates.
class ScenarioOfAnEarlierBuild : public Scenario {
 protected:
  ScenarioOfAnEarlierBuild()
      : Scenario({.seed = 7,
                  .faults = {},
                  .keep_trace = true,
                  .nodes = 3,
                  .pod_policy = PodPolicy::Restricted}) {}
};

/// After an upgrade, each lost Pod comes back as it was, although a new cluster with that template
/// is refused now. That a ServiceAccount is asked for would be misuse, as its kind is not served.
TEST_F(ScenarioOfAnEarlierBuild, Rule_ClustersOfAnEarlierBuildKeepTheirPods) {
  settled_cluster(3);
  for (const auto& row : testing::refused_when_new()) {
    const Json added{{"spec", row.template_spec}};
    (void)world.server().change(v1::EtcdCluster::resource, kKey, [&](json::object& c) {
      c["spec"].as_object()["podTemplate"] = added;
      c["status"].as_object()["observed"].as_object()["podTemplate"] = added;
    });
    for (const auto& key : world.members_of(kKey))
      (void)world.server().change(v1::EtcdMember::resource, key, [&](json::object& member) {
        member["spec"].as_object()["podTemplate"] = added;
      });
    world.run_for(10s);
    EXPECT_EQ(says(v1::kProgressing), "False/Reconciled") << row.name;
    EXPECT_NE(message(v1::kProgressing).find(row.where_runs), std::string::npos)
        << message(v1::kProgressing);
    for (const auto& key : world.members_of(kKey)) {
      world.delete_object(kube::Pod::resource, key);
      world.must_converge(2min);
    }
  }
}

/// The n-th write of a flow, as long as it has that many.
class Deleted : public ::testing::TestWithParam<std::pair<int, int>> {};
using ScenarioOfDeletions = Deleted;

TEST_P(ScenarioOfDeletions, S37_TheClusterIsDeletedAtAnyWrite) {
  const auto [from, to] = GetParam();
  std::uint64_t nth = 1;
  for (; nth < 200; ++nth) {
    World world({.seed = 7, .faults = {}, .keep_trace = false, .nodes = 3});
    std::uint64_t writes = 0;
    bool counts = from == 0;
    world.on_start([&](Life& life) {
      life.passage().before_write = [&](const std::string&) {
        if (counts && ++writes == nth) world.delete_cluster(kKey);
        return true;
      };
    });
    (void)world.start_operator();
    world.create_cluster(kKey, from == 0 ? to : from);
    if (from != 0) {
      ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 5min));
      counts = true;
      world.scale(kKey, to);
    }
    world.run_for(60s);
    if (writes < nth) break;  // The flow has fewer writes.
    world.run_for(30s);       // The last write of the flow comes late.
    for (const auto& r : children())
      EXPECT_EQ(world.server().look_all(r).size(), 0U) << r.plural << " after write " << nth;
    EXPECT_FALSE(world.checker().violation()) << world.checker().violation()->what;
  }
  EXPECT_GT(nth, 20U);
  EXPECT_LT(nth, 200U);
}
INSTANTIATE_TEST_SUITE_P(Each, ScenarioOfDeletions,
                         ::testing::Values(std::pair(0, 3), std::pair(1, 3), std::pair(3, 1)),
                         [](const auto& p) {
                           return std::to_string(p.param.first) + "To" +
                                  std::to_string(p.param.second);
                         });

TEST_F(ScenarioOfPeople, S38_ANameIsUsedAgainAtOnceWhileTheOldOneEnds) {
  settled_cluster(3);
  const auto old_id = etcd_id();
  std::set<std::string> old;
  for (const auto& r : children())
    for (const auto& object : world.server().look_all(r))
      old.insert(std::string(object->at("metadata").at("uid").as_string()));
  // The old cluster's node is down: its Pods and volumes end late.
  world.checker().struck();
  world.nodes().node_down(0, true);
  world.delete_cluster(kKey);
  world.create_cluster(kKey, 3);
  world.run_for(90s);
  world.nodes().node_down(0, false);
  world.must_converge(5min);
  EXPECT_NE(etcd_id(), old_id);
  EXPECT_EQ(world.net().births().size(), 2U);
  for (const auto& r : children())
    for (const auto& object : world.server().look_all(r))
      EXPECT_FALSE(old.contains(std::string(object->at("metadata").at("uid").as_string())));
}

/// The namespace is deleted: the server creates nothing new in it, and deletes its objects kind by
/// kind, in no defined order.
class ScenarioOfNamespaces : public ScenarioOfPeople, public ::testing::WithParamInterface<int> {};

TEST_P(ScenarioOfNamespaces, S39_ANamespaceEnds) {
  settled_cluster(3);
  world.scale(kKey, 5);
  world.run_for(GetParam() * 3s);  // In the middle of its growth, or later.
  instead = [](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    if (call.verb != kube::Verb::Create || call.ns != "prod") return {};
    return Result<Json>(Error{Code::Denied,
                              "unable to create new content in namespace prod because it is being "
                              "terminated"});
  };
  std::vector<api::Resource> kinds = children();
  kinds.push_back(v1::EtcdCluster::resource);
  std::ranges::rotate(kinds, kinds.begin() + GetParam());
  const Instant begin = world.time().now();
  world.checker().fate_took("prod", "db");
  for (const auto& r : kinds) {
    for (const auto& object : world.server().look_all(r)) {
      const api::ObjectKey key{"prod", std::string(object->at("metadata").at("name").as_string())};
      world.delete_object(r, key);
    }
    world.run_for(1s);
  }
  EXPECT_TRUE(world.run_until([&] { return left_over() == 0; }, 1min)) << left_over();
  EXPECT_EQ(count(v1::EtcdCluster::resource), 0U);
  EXPECT_LE(busiest_minute(begin), 20U);  // Most of them report deletions.
}
INSTANTIATE_TEST_SUITE_P(From, ScenarioOfNamespaces, ::testing::Range(0, 6));

TEST_F(ScenarioOfPeople, S41_SomebodyDeletesServicesPodsAndAMember) {
  settled_cluster(3);
  const auto before_it = members();
  for (const char* name : {"db", "db-client"})
    world.delete_object(kube::Service::resource, {"prod", name});
  EXPECT_TRUE(world.run_until([&] { return count(kube::Service::resource) == 2; }, 5s));
  world.delete_object(kube::Pod::resource, {"prod", before_it.at(0).name});
  world.must_converge(5min);
  EXPECT_EQ(members(), before_it);
  world.delete_object(v1::EtcdMember::resource, {"prod", before_it.at(1).name});
  world.must_converge(5min);
  EXPECT_EQ(std::ranges::count(members(), before_it.at(1).id, &EtcdNet::Member::id), 0);
}

TEST_F(ScenarioOfPeople, S41_SomebodyDeletesTheBudget) {
  settled_cluster(3);
  const auto before_it = members();
  world.delete_object(kube::PodDisruptionBudget::resource, kKey);
  EXPECT_TRUE(world.run_until([&] { return count(kube::PodDisruptionBudget::resource) == 1; }, 5s));
  world.must_converge(1min);
  EXPECT_EQ(members(), before_it);
}

TEST_F(ScenarioOfPeople, S41_SomebodyDeletesTheOnlyMember) {
  settled_cluster(1);
  const auto id = etcd_id();
  world.run_for(30s);  // Clients write.
  const std::string name = members().at(0).name;
  world.delete_object(v1::EtcdMember::resource, {"prod", name});
  world.must_converge(10min);
  EXPECT_EQ(etcd_id(), id);  // Another member took over its data before it left.
  EXPECT_NE(members().at(0).name, name);
}

TEST_F(ScenarioOfPeople, S41_SomebodyDeletesAllMembersAtOnce) {
  settled_cluster(3);
  const auto id = etcd_id();
  for (const auto& key : world.members_of(kKey)) world.delete_object(v1::EtcdMember::resource, key);
  world.must_converge(10min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(world.net().births().size(), 1U);
}

TEST_F(ScenarioOfPeople, S41_SomebodyErasesAllMembersAndTheirFinalizers) {
  settled_cluster(3);
  const auto id = etcd_id();
  world.checker().fate_took("prod", "db");  // Pods and volumes go with their owners.
  for (const auto& key : world.members_of(kKey)) {
    world.checker().user_deleted(
        uid_of(kube::PersistentVolumeClaim::resource, {"prod", "data-" + key.name}));
    (void)world.server().erase(v1::EtcdMember::resource, key);
  }
  world.run_for(2min);
  EXPECT_EQ(count(kube::PersistentVolumeClaim::resource), 0U);
  EXPECT_NE(says(v1::kAvailable).substr(0, 4), "True");
  const std::uint64_t writes = world.writes();
  world.run_for(1h);
  EXPECT_EQ(world.writes(), writes);
  EXPECT_EQ(etcd_id(), id);  // A cluster that had data is never founded again.
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  world.delete_cluster(kKey);
  world.run_for(60s);
  EXPECT_EQ(left_over(), 0U);
}

/// As Argo CD does: the EtcdCluster goes last. Meanwhile nothing is made again.
TEST_F(ScenarioOfPeople, AClusterThatIsDeletedInTheForegroundGoes) {
  settled_cluster(3);
  const auto made_before =
      made(v1::EtcdMember::resource) + made(kube::Pod::resource) + made(kube::Service::resource);
  bool gone = false;
  by_hand([&] {
    world.delete_in_foreground(kKey);
    gone = true;
  });
  EXPECT_TRUE(gone);
  world.run_for(60s);
  EXPECT_EQ(left_over(), 0U);
  EXPECT_EQ(
      made(v1::EtcdMember::resource) + made(kube::Pod::resource) + made(kube::Service::resource),
      made_before);
}

/// `kubectl delete etcdcluster db --cascade=orphan`, and the EtcdCluster is applied again.
class ScenarioOfOrphans : public ScenarioOfPeople {
 protected:
  std::set<std::string> uids_of_pods() {
    std::set<std::string> out;
    for (const auto& pod : world.server().look_all(kube::Pod::resource))
      out.insert(std::string(pod->at("metadata").at("uid").as_string()));
    return out;
  }
  /// Empty: no such key, or no such Service.
  std::string selected_uid(const char* service) {
    const auto found = read<kube::Service>({"prod", service});
    if (!found) return "";
    const auto key = found->spec.selector.find(v1::kClusterUidLabel);
    return key == found->spec.selector.end() ? "" : key->second;
  }
  /// Notes each Service that selects by another UID than a Pod has.
  void watch_endpoints() {
    world.server().on_change(
        [this](const api::Resource& r, const ApiServer::Object&, const ApiServer::Object& after) {
          if (!after || !(r == kube::Pod::resource || r == kube::Service::resource)) return;
          for (const char* service : {"db", "db-client"})
            for (const auto& object : world.server().look_all(kube::Pod::resource)) {
              const auto pod = read<kube::Pod>({"prod", name_of(*object)});
              const std::string uid = selected_uid(service);
              if (!uid.empty() && pod->metadata.labels.at(v1::kClusterUidLabel) != uid)
                dropped_.insert(service);
            }
        });
  }
  std::set<std::string> dropped_;
};

TEST_F(ScenarioOfOrphans, K17_TheyAreAdoptedAndNoEndpointIsDropped) {
  settled_cluster(3);
  const auto id = etcd_id();
  const auto before_it = members();
  const auto pods = uids_of_pods();
  ASSERT_EQ(selected_uid("db"), uid_of(v1::EtcdCluster::resource, kKey));
  watch_endpoints();
  orphan();
  world.run_for(2min);
  EXPECT_EQ(uids_of_pods(), pods) << "without an EtcdCluster nothing is deleted";
  world.create_cluster(kKey, 3);
  world.must_converge(2min);
  world.run_for(10s);
  const std::string uid = uid_of(v1::EtcdCluster::resource, kKey);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(members(), before_it);
  EXPECT_EQ(uids_of_pods(), pods) << "no Pod is restarted";
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(selected_uid("db"), uid);
  EXPECT_EQ(selected_uid("db-client"), uid);
  EXPECT_EQ(dropped_, std::set<std::string>{}) << "the key leaves the selector first";
  for (const auto& kind : orphans())
    for (const auto& object : world.server().look_all(kind))
      EXPECT_EQ(object->at("metadata").at("ownerReferences").at(0).at("uid"), Json(uid));
  EXPECT_EQ(says(v1::kAvailable).substr(0, 4), "True");
  EXPECT_EQ(says(v1::kDegraded), "False/QuorumHealthy");
  world.scale(kKey, 5);
  world.must_converge(5min);
  world.delete_cluster(kKey);
  world.run_for(60s);
  EXPECT_EQ(left_over(), 0U);
}

/// Seed 10101: its etcd would have lost a vote, and perhaps its quorum, with nobody to replace it.
TEST_F(ScenarioOfOrphans, K17_OneThatIsDeletedKeepsItsVoteUntilItCanBeReplaced) {
  settled_cluster(3);
  const auto id = etcd_id();
  const auto one = world.members_of(kKey).front();
  orphan();
  world.delete_object(v1::EtcdMember::resource, one);
  world.run_for(2min);
  EXPECT_EQ(world.net().membership(id).size(), 3U);
  EXPECT_FALSE(process_of(one.name).name.empty()) << "it serves";
  world.create_cluster(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(voters(), 3U);
  EXPECT_EQ(read<v1::EtcdMember>(one), nullptr) << "it is replaced";
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// A person who follows "Service db belongs to another owner" deletes the Services.
TEST_F(ScenarioOfOrphans, K17_WithoutTheirServicesTheyAreAdoptedLikewise) {
  settled_cluster(3);
  const auto id = etcd_id();
  const auto pods = uids_of_pods();
  orphan();
  for (const char* service : {"db", "db-client"})
    world.delete_object(kube::Service::resource, {"prod", service});
  world.create_cluster(kKey, 3);
  world.must_converge(2min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(uids_of_pods(), pods);
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// Seeds 236 and 595: a user had removed the label by which they are watched.
TEST_F(ScenarioOfOrphans, K17_WithoutTheirLabelTheyAreAdoptedLikewise) {
  settled_cluster(3);
  const auto id = etcd_id();
  const auto pods = uids_of_pods();
  orphan();
  for (const auto& key : world.members_of(kKey))
    (void)world.server().change(v1::EtcdMember::resource, key, [](json::object& member) {
      member["metadata"].as_object()["labels"].as_object().erase(v1::kClusterLabel);
    });
  world.create_cluster(kKey, 3);
  world.must_converge(2min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(uids_of_pods(), pods);
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// Nothing with the label tells of it: all else is gone.
TEST_F(ScenarioOfOrphans, K17_NothingIsFoundedBesideAnEtcdMemberWithoutItsLabel) {
  settled_cluster(1);
  const auto key = world.members_of(kKey).at(0);
  orphan();
  (void)world.server().change(v1::EtcdMember::resource, key, [](json::object& member) {
    member["metadata"].as_object()["labels"].as_object().erase(v1::kClusterLabel);
  });
  world.checker().fate_took("prod", "db");
  (void)world.server().erase(kube::Pod::resource, key);
  (void)world.server().erase(kube::PersistentVolumeClaim::resource, {"prod", "data-" + key.name});
  for (const char* service : {"db", "db-client"})
    (void)world.server().erase(kube::Service::resource, {"prod", service});
  (void)world.server().erase(kube::PodDisruptionBudget::resource, kKey);
  world.create_cluster(kKey, 1);
  EXPECT_TRUE(world.run_until([&] { return says(v1::kProgressing) == "False/MembersFound"; }, 30s))
      << says(v1::kProgressing);
  EXPECT_NE(message(v1::kProgressing).find("EtcdMember " + key.name), std::string::npos);
  EXPECT_EQ(made(v1::EtcdMember::resource), 1U);
  world.delete_object(v1::EtcdMember::resource, key);
  EXPECT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "True/QuorumHealthy"; }, 2min));
}

TEST_F(ScenarioOfOrphans, K17_AnAdoptionThatIsInterruptedGoesOn) {
  settled_cluster(3);
  const auto id = etcd_id();
  const auto pods = uids_of_pods();
  orphan();
  lose_answer("patch etcdmembers prod/db", 2);
  lose_answer("patch services prod/db", 1);
  before("patch etcdmembers prod/db", [this](Life& life) { world.kill(life, 5s); });
  world.create_cluster(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(uids_of_pods(), pods);
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
}

/// Without a quorum nothing shows that they are one etcd. Nothing is founded beside them.
TEST_F(ScenarioOfOrphans, K17_OrphansWhoseEtcdDoesNotAnswerAreToldAndNothingIsFounded) {
  settled_cluster(3);
  const auto id = etcd_id();
  world.scale(kKey, 0);
  world.must_converge(5min);
  orphan();
  world.create_cluster(kKey, 3);
  world.run_for(1min);
  for (const char* type : {v1::kAvailable, v1::kProgressing})
    EXPECT_EQ(says(type), "False/MembersFound");
  EXPECT_EQ(says(v1::kDegraded), "True/MembersFound");
  EXPECT_NE(message(v1::kProgressing).find(" is dormant"), std::string::npos)
      << message(v1::kProgressing);
  EXPECT_EQ(world.net().births().size(), 1U);
  world.run_for(2min);  // Each of its Events is counted once more.
  const std::uint64_t writes = world.writes();
  world.run_for(1h);
  EXPECT_EQ(world.writes(), writes) << "it waits for a person, and writes nothing meanwhile";
  // The runbook.
  const json::array owner{{{"apiVersion", "etcd-operator.cozystack.io/v1alpha2"},
                           {"kind", "EtcdCluster"},
                           {"name", "db"},
                           {"uid", uid_of(v1::EtcdCluster::resource, kKey)},
                           {"controller", true},
                           {"blockOwnerDeletion", true}}};
  for (const auto& kind : orphans())
    for (const auto& object : world.server().look_all(kind))
      (void)world.server().change(kind, {"prod", name_of(*object)}, [&](json::object& child) {
        child["metadata"].as_object()["ownerReferences"] = owner;
      });
  EXPECT_TRUE(world.run_until([&] { return says(v1::kProgressing) != "False/MembersFound"; }, 5s))
      << "a change of the owner wakes the cluster";
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// As `kubectl edit` of EtcdMembers: the owner, the label by which they are watched, or both.
TEST_F(ScenarioOfPeople, K17_EditedEtcdMembersOfARunningClusterAreTakenBack) {
  settled_cluster(3);
  const auto before = members();
  const auto edit_member = [&](const std::string& name, bool owner, bool label) {
    (void)world.server().change(v1::EtcdMember::resource, {"prod", name},
                                [&](json::object& object) {
                                  json::object& metadata = object["metadata"].as_object();
                                  if (owner) metadata.erase("ownerReferences");
                                  if (label)
                                    metadata["labels"].as_object().erase(v1::kClusterLabel);
                                });
  };
  edit_member(before[0].name, true, false);
  edit_member(before[1].name, false, true);
  edit_member(before[2].name, true, true);
  for (int i = 0; i < 40; ++i) {
    world.run_for(1s);
    EXPECT_NE(says(v1::kDegraded), "True/ForeignMember") << i;
  }
  world.must_converge(3min);
  EXPECT_EQ(members(), before) << "no member was added or removed";
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  EXPECT_EQ(made(kube::Pod::resource), 4U) << "the founder's twice, and none since";
  EXPECT_EQ(world.members_of(kKey).size(), 3U);
}

/// Its finalizer must not go with its owner.
TEST_F(ScenarioOfPeople, K17_AnEtcdMemberWithoutOwnerThatIsDeletedLeavesEtcdFirst) {
  settled_cluster(3);
  const std::string name = follower();
  (void)world.server().change(v1::EtcdMember::resource, {"prod", name}, [](json::object& object) {
    object["metadata"].as_object().erase("ownerReferences");
  });
  world.delete_object(v1::EtcdMember::resource, {"prod", name});
  world.must_converge(5min);
  EXPECT_EQ(voters(), 3U);
  EXPECT_EQ(std::ranges::count(members(), name, &EtcdNet::Member::name), 0);
}

/// Seed 1330: it lost its owner while it could not be given back, and etcd removed it meanwhile.
TEST_F(ScenarioOfPeople, I17_AnEtcdMemberOfNobodyThatEtcdHasRemovedIsToldAndCanBeDeleted) {
  settled_cluster(3);
  const api::ObjectKey key{"prod", follower()};
  bool denied = true;
  instead = [&](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    const bool adopts = call.verb == kube::Verb::Patch && call.subresource.empty() &&
                        call.resource == v1::EtcdMember::resource && call.name == key.name;
    if (!adopts || !denied) return {};
    return Result<Json>(Error{Code::Denied, "a policy"});
  };
  (void)world.server().change(v1::EtcdMember::resource, key, [](json::object& object) {
    object["metadata"].as_object().erase("ownerReferences");
  });
  by_hand([&] {
    for (const auto& m : members())
      if (m.name == key.name) ASSERT_TRUE(at(leader().address)->remove(m.id));
  });
  world.run_for(10s);
  denied = false;
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ForeignMember"; }, 3min));
  EXPECT_NE(message(v1::kDegraded).find(key.name), std::string::npos);
  EXPECT_EQ(voters(), 3U) << "it is replaced";
  EXPECT_TRUE(read<v1::EtcdMember>(key)) << "its data may be wanted";
  world.delete_object(v1::EtcdMember::resource, key);
  world.must_converge(3min);
}

/// The EtcdCluster wants another minor than the orphans: it is refused, and each condition says so.
TEST_F(ScenarioOfOrphans, K17_ARefusedClusterWithOrphansSaysSoInEachCondition) {
  settled_cluster(3);
  orphan();
  world.create_cluster(kKey, 3, "3.5.35");
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kAvailable) == "False/UnsupportedVersion"; }, 30s))
      << says(v1::kAvailable);
  EXPECT_EQ(says(v1::kDegraded), "True/UnsupportedVersion");
  world.set_version(kKey, "3.6.16");
  world.must_converge(5min);
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// Seed 1108: at the first look the members seem to belong to another owner, so the version is
/// accepted. A member of 3.7 was then added to those of 3.5.
TEST_F(ScenarioOfOrphans, K17_AVersionFromBeforeTheOrphansWereSeenIsComparedWithThem) {
  (void)world.start_operator();
  world.create_cluster(kKey, 3, "3.5.35");
  rest();
  const auto id = etcd_id();
  world.life(0).api().line("etcdmembers").silent_until(world.time().now() + 20s);
  orphan();
  world.create_cluster(kKey, 5, "3.7.3");
  EXPECT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/MembersFound"; }, 10s));
  ASSERT_TRUE(read<v1::EtcdCluster>(kKey)->status.observed) << "it was accepted";
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kAvailable) == "False/UnsupportedVersion"; }, 1min))
      << says(v1::kAvailable);
  world.run_for(1min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  world.set_version(kKey, "3.5.35");
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(voters(), 5U);
}

/// Seed 1050: the EtcdCluster that is applied has no TLS, and its orphans have.
TEST_F(ScenarioOfOrphans, K17_OrphansOfAnotherTlsAreToldAndAdoptedByAClusterWithTheirs) {
  const World::Wanted encrypted{.client_tls = true};
  (void)world.start_operator();
  world.create_cluster(kKey, encrypted);
  rest();
  const auto id = etcd_id();
  const auto pods = uids_of_pods();
  orphan();
  world.create_cluster(kKey, 3);
  world.run_for(1min);
  EXPECT_EQ(says(v1::kAvailable), "False/MembersFound");
  EXPECT_EQ(says(v1::kDegraded), "True/MembersFound");
  EXPECT_NE(message(v1::kProgressing).find("has TLS at other ports than spec.tls"),
            std::string::npos)
      << message(v1::kProgressing);
  world.delete_cluster(kKey);
  world.run_for(10s);
  world.create_cluster(kKey, encrypted);
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(uids_of_pods(), pods);
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// Found by user-keeps-volumes and user-orphans: the member ran, and was never Ready again.
TEST_F(ScenarioOfPeople, Found_AVolumeWhoseOwnerSomebodyTookAwayIsTakenBack) {
  settled_cluster(3);
  const std::string name = follower();
  const std::string pod = uid_of(kube::Pod::resource, {"prod", name});
  (void)world.server().change(
      kube::PersistentVolumeClaim::resource, {"prod", "data-" + name},
      [](json::object& claim) { claim["metadata"].as_object().erase("ownerReferences"); });
  world.run_for(10s);
  const auto claim = read<kube::PersistentVolumeClaim>({"prod", "data-" + name});
  ASSERT_TRUE(claim->metadata.controller());
  EXPECT_EQ(claim->metadata.controller()->name, name);
  EXPECT_EQ(member_says({"prod", name}), "True/PodReady");
  EXPECT_EQ(uid_of(kube::Pod::resource, {"prod", name}), pod) << "it goes on";
  world.must_converge(3min);
}

/// Seed 550: Services and the budget select by that label.
TEST_F(ScenarioOfPeople, K17_APodWithTheLabelOfAnotherClusterIsTakenBack) {
  settled_cluster(3);
  const std::string name = follower();
  const std::string uid = uid_of(kube::Pod::resource, {"prod", name});
  (void)world.server().change(kube::Pod::resource, {"prod", name}, [](json::object& object) {
    object["metadata"].as_object()["labels"].as_object()[v1::kClusterLabel] = "edited";
  });
  world.must_converge(3min);
  EXPECT_EQ(uid_of(kube::Pod::resource, {"prod", name}), uid);
}

/// Seed 910: one with its data in memory is not created in vain.
TEST_F(ScenarioOfPeople, K17_APodInMemoryWithoutItsLabelIsTakenBack) {
  (void)world.start_operator();
  world.create_cluster(kKey, 3, "3.6.16", 600, true);
  world.must_converge(5min);
  const std::string name = follower();
  const std::string uid = uid_of(kube::Pod::resource, {"prod", name});
  (void)world.server().change(kube::Pod::resource, {"prod", name}, [](json::object& object) {
    object["metadata"].as_object()["labels"].as_object().erase(v1::kClusterLabel);
  });
  world.must_converge(3min);
  EXPECT_EQ(uid_of(kube::Pod::resource, {"prod", name}), uid);
  EXPECT_EQ(world.clients().endpoints({"prod", "db-client"}).size(), 3U);
}

/// Seed 188: nobody else knows of the only member, and its Pod would never be made again.
TEST_F(ScenarioOfPeople, K17_TheOnlyEtcdMemberWithoutItsLabelIsTakenBack) {
  settled_cluster(1);
  const auto before = members();
  (void)world.server().change(v1::EtcdMember::resource, {"prod", before[0].name},
                              [](json::object& object) {
                                json::object& metadata = object["metadata"].as_object();
                                metadata["labels"].as_object().erase(v1::kClusterLabel);
                              });
  world.delete_object(kube::Pod::resource, {"prod", before[0].name});
  world.must_converge(3min);
  EXPECT_EQ(members(), before);
  EXPECT_EQ(made(v1::EtcdMember::resource), 1U);
}

/// Seed 181: its volume was said to be a stray one, and the user deleted it as the manual says.
TEST_F(ScenarioOfPeople, K17_AFirstMemberWithoutItsLabelIsTakenBack) {
  bool full = true;
  instead = [&](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    const bool pod = call.verb == kube::Verb::Create && call.resource == kube::Pod::resource;
    if (!pod || !full) return {};
    return Result<Json>(Error{Code::Denied, "exceeded quota: pods, limited: pods=0"});
  };
  (void)world.start_operator();
  world.create_cluster(kKey, 3);
  world.run_for(10s);
  for (const char* part : {"labels", "ownerReferences"}) {
    const auto all = world.server().read_all<v1::EtcdMember>();
    ASSERT_EQ(all.size(), 1U);
    (void)world.server().change(
        v1::EtcdMember::resource, all[0]->metadata.key(),
        [&](json::object& object) { object["metadata"].as_object().erase(part); });
    world.run_for(30s);
    EXPECT_EQ(says(v1::kProgressing), "True/WaitingForSeed") << part;
  }
  const Instant begin = world.time().now();
  world.run_for(5min);
  EXPECT_LE(busiest_minute(begin), 6U);
  full = false;
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
}

/// Found by user-labels (seed 8).
TEST_F(ScenarioOfPeople, K17_ServicesAndABudgetWithoutOwnerAreTakenBack) {
  settled_cluster(3);
  const std::pair<api::Resource, const char*> children[] = {
      {kube::Service::resource, "db"},
      {kube::Service::resource, "db-client"},
      {kube::PodDisruptionBudget::resource, "db"}};
  for (const auto& [kind, name] : children)
    (void)world.server().change(kind, {"prod", name}, [](json::object& object) {
      object["metadata"].as_object().erase("ownerReferences");
    });
  world.scale(kKey, 5);
  world.must_converge(5min);
  for (const auto& [kind, name] : children)
    EXPECT_TRUE(world.server()
                    .look(kind, {"prod", name})
                    ->at("metadata")
                    .as_object()
                    .contains("ownerReferences"))
        << name;
  EXPECT_EQ(gone(kube::Service::resource), 0U);
}

/// Found in seed 854 of an earlier draw: etcd serves, and the name that clients use does not exist.
TEST_F(ScenarioOfPeople, Found_AClientServiceThatCannotBeMadeIsToldByAvailableAndDegraded) {
  settled_cluster(3);
  bool full = true;
  instead = [&](Life&, const kube::Call& call) -> std::optional<Result<Json>> {
    const bool service =
        call.verb == kube::Verb::Create && call.resource == kube::Service::resource;
    if (!service || !full) return {};
    return Result<Json>(Error{Code::Denied, "exceeded quota: services, limited: services=0"});
  };
  world.delete_object(kube::Service::resource, {"prod", "db-client"});
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ServiceRefused"; }, 15s));
  EXPECT_NE(message(v1::kDegraded).find("exceeded quota"), std::string::npos);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy") << "etcd serves";
  EXPECT_NE(message(v1::kAvailable).find("Service db-client does not exist"), std::string::npos)
      << message(v1::kAvailable);
  const Instant begin = world.time().now();
  world.run_for(10min);
  EXPECT_LE(busiest_minute(begin), 6U);
  full = false;
  world.must_converge(3min);
}

/// A Pod with the cluster's name as a label, such as one of a user's Deployment.
TEST_F(ScenarioOfPeople, T10_K17_NoServiceSelectsAPodThatBelongsToNoMember) {
  settled_cluster(3);
  const json::object labels{{v1::kClusterLabel, "db"}, {v1::kRoleLabel, v1::kVoter}};
  (void)world.server().put(
      kube::Pod::resource,
      {{"metadata", {{"name", "other"}, {"namespace", "prod"}, {"labels", labels}}},
       {"spec", {{"containers", json::array{{{"name", "web"}}}}}}});
  world.run_for(1min);
  for (const char* name : {"db", "db-client"}) {
    const auto service = read<kube::Service>({"prod", name});
    EXPECT_EQ(service->spec.selector.at(v1::kClusterUidLabel),
              uid_of(v1::EtcdCluster::resource, kKey));
  }
  EXPECT_EQ(says(v1::kDegraded), "False/QuorumHealthy");
}

/// A backup tool restores the EtcdCluster (without its status) and the volumes; or Git recreates
/// the EtcdCluster, and the volumes had been kept.
class ScenarioOfVolumes : public ScenarioOfPeople {
 protected:
  void comes_back_beside_its_volumes() {
    settled_cluster(3);
    lives.clear();
    for (const auto& key : world.members_of(kKey)) lives.push_back(*read<v1::EtcdMember>(key));
    before_it = members();
    id = etcd_id();
    world.checker().fate_took("prod", "db");
    for (const auto& member : lives) {
      (void)world.server().change(
          kube::PersistentVolumeClaim::resource, volume_of(member),
          [](json::object& volume) { volume["metadata"].as_object().erase("ownerReferences"); });
      (void)world.server().erase(v1::EtcdMember::resource, member.metadata.key());
    }
    (void)world.server().erase(v1::EtcdCluster::resource, kKey);
    world.run_for(30s);  // Pods and Services go with their owners.
    world.create_cluster(kKey, 3);
    world.run_for(1min);
  }
  static api::ObjectKey volume_of(const v1::EtcdMember& member) {
    return {member.metadata.ns, "data-" + member.metadata.name};
  }
  /// The commands of the runbook.
  void adopt_volumes() {
    const auto cluster = read<v1::EtcdCluster>(kKey);
    const auto owner = [](const char* kind, const std::string& name, const std::string& uid) {
      return json::array{{{"apiVersion", "etcd-operator.cozystack.io/v1alpha2"},
                          {"kind", kind},
                          {"name", name},
                          {"uid", uid},
                          {"controller", true},
                          {"blockOwnerDeletion", true}}};
    };
    for (const auto& member : lives) {
      json::object spec = api::encode(member.spec).as_object();
      spec["clusterToken"] = cluster->status.cluster_token;
      spec["bootstrap"] = false;
      const Json made = world.server().put(
          v1::EtcdMember::resource,
          {{"metadata",
            {{"name", member.metadata.name},
             {"namespace", "prod"},
             {"labels", {{v1::kClusterLabel, "db"}}},
             {"ownerReferences", owner("EtcdCluster", "db", cluster->metadata.uid)}}},
           {"spec", spec}});
      const std::string uid(made.at("metadata").at("uid").as_string());
      (void)world.server().change(kube::PersistentVolumeClaim::resource, volume_of(member),
                                  [&](json::object& volume) {
                                    volume["metadata"].as_object()["ownerReferences"] =
                                        owner("EtcdMember", member.metadata.name, uid);
                                  });
    }
  }
  std::vector<v1::EtcdMember> lives;
  std::vector<EtcdNet::Member> before_it;
  etcd::ClusterId id;
};

TEST_F(ScenarioOfVolumes, K14_NoEmptyEtcdIsFoundedBesideThemAndTheRunbookServesTheirData) {
  comes_back_beside_its_volumes();
  for (const char* type : {v1::kAvailable, v1::kProgressing})
    EXPECT_EQ(says(type), "False/VolumesFound");
  EXPECT_EQ(says(v1::kDegraded), "True/VolumesFound");
  EXPECT_EQ(world.net().births().size(), 1U) << "nothing was founded";
  EXPECT_EQ(count(kube::Pod::resource), 0U);
  world.run_for(2min);  // Each of its Events is counted once more.
  const std::uint64_t writes = world.writes();
  world.run_for(1h);
  EXPECT_EQ(world.writes(), writes) << "it waits for a person, and writes nothing meanwhile";
  adopt_volumes();
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(members(), before_it) << "the members, the data, the ids of before";
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(says(v1::kAvailable).substr(0, 4), "True");
  EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.max_learners, v1::kManyLearners)
      << "nobody knows who has grown it";
}

TEST_F(ScenarioOfVolumes, K14_ItsUserMayAgreeToStartEmpty) {
  comes_back_beside_its_volumes();
  const std::string text = message(v1::kProgressing);
  const std::size_t at = text.find("found-beside-volumes to ");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string consent = text.substr(at + 24, 16);
  (void)world.server().change(v1::EtcdCluster::resource, kKey, [&](json::object& cluster) {
    cluster["metadata"].as_object()["annotations"] =
        json::object{{v1::kFoundBesideVolumesAnnotation, consent}};
  });
  world.must_converge(5min);
  EXPECT_NE(etcd_id(), id);
  EXPECT_EQ(world.net().births().size(), 2U);
  for (const auto& member : lives)
    EXPECT_TRUE(read<kube::PersistentVolumeClaim>(volume_of(member))) << "nothing is deleted";
}

TEST_F(ScenarioOfPeople, S42_SomebodyTakesLabelsAndFinalizersAway) {
  settled_cluster(3);
  const api::ObjectKey name = world.members_of(kKey).front();
  const auto before_it = members();
  const std::size_t pods = made(kube::Pod::resource);
  (void)world.server().change(kube::Pod::resource, name, [](json::object& pod) {
    auto& labels = pod["metadata"].as_object()["labels"].as_object();
    labels.erase(v1::kRoleLabel);
    labels["theirs"] = "stays";
  });
  (void)world.server().change(v1::EtcdMember::resource, name, [](json::object& member) {
    member["metadata"].as_object()["finalizers"] = json::array{"theirs/too"};
  });
  world.run_for(5s);
  const auto pod = read<kube::Pod>(name);
  EXPECT_EQ(pod->metadata.labels.at(v1::kRoleLabel), "voter");
  EXPECT_EQ(pod->metadata.labels.at("theirs"), "stays");
  EXPECT_EQ(read<v1::EtcdMember>(name)->metadata.finalizers,
            (std::vector<std::string>{"theirs/too", v1::kMemberFinalizer}));
  // All labels: the operator no longer sees the Pod, and looks it up before it creates another.
  (void)world.server().change(kube::Pod::resource, name, [](json::object& p) {
    p["metadata"].as_object()["labels"] = json::object{{"theirs", "stays"}};
  });
  world.run_for(5s);
  EXPECT_EQ(read<kube::Pod>(name)->metadata.labels.at(v1::kClusterLabel), "db");
  (void)world.server().change(v1::EtcdMember::resource, name, [](json::object& member) {
    member["metadata"].as_object()["finalizers"] = json::array{v1::kMemberFinalizer};
  });
  world.must_converge(5min);
  EXPECT_EQ(members(), before_it);
  EXPECT_EQ(made(kube::Pod::resource), pods);
}

TEST_F(ScenarioOfPeople, S42_SomebodyEditsServicesAndTheBudget) {
  settled_cluster(3);
  const auto before_it = members();
  (void)world.server().change(kube::Service::resource, {"prod", "db"}, [](json::object& service) {
    service["metadata"].as_object()["labels"].as_object()["theirs"] = "stays";
    service["spec"].as_object()["selector"].as_object()["theirs"] = "goes";
    service["spec"].as_object()["ports"].as_array().pop_back();
  });
  (void)world.server().change(kube::PodDisruptionBudget::resource, kKey, [](json::object& budget) {
    budget["spec"].as_object().erase("minAvailable");
    budget["spec"].as_object()["maxUnavailable"] = 3;
  });
  world.run_for(5s);
  const auto service = read<kube::Service>({"prod", "db"});
  EXPECT_EQ(service->metadata.labels.at("theirs"), "stays");
  EXPECT_EQ(service->spec.selector,
            (std::map<std::string, std::string>{
                {v1::kClusterLabel, "db"},
                {v1::kClusterUidLabel, uid_of(v1::EtcdCluster::resource, kKey)}}));
  EXPECT_EQ(service->spec.ports.size(), 2U);
  const auto budget = read<kube::PodDisruptionBudget>(kKey);
  EXPECT_EQ(budget->spec.min_available, Json(2));
  EXPECT_FALSE(budget->spec.max_unavailable);
  EXPECT_EQ(tried("patch services"), 1U);
  EXPECT_EQ(tried("patch poddisruptionbudgets"), 1U);
  world.must_converge(1min);
  EXPECT_EQ(members(), before_it);
}

TEST_F(ScenarioOfPeople, S42_AnotherControllerEditsTheBudgetAgainAndAgain) {
  settled_cluster(3);
  bool fights = true;
  world.soon(0s, [&] {
    while (fights && world.time().sleep(200ms) == Woken::Ready)
      (void)world.server().change(
          kube::PodDisruptionBudget::resource, kKey,
          [](json::object& budget) { budget["spec"].as_object()["minAvailable"] = 1; });
  });
  world.run_for(2min);
  const Instant begin = world.time().now();
  world.run_for(3min);
  EXPECT_LE(busiest_minute(begin), 2U);
  fights = false;
  world.run_for(1min);
  world.must_converge(5min);
}

TEST_F(ScenarioOfPeople, S42_AnotherControllerTakesALabelAwayAgainAndAgain) {
  settled_cluster(3);
  const api::ObjectKey name = world.members_of(kKey).front();
  bool fights = true;
  world.soon(0s, [&] {
    while (fights && world.time().sleep(200ms) == Woken::Ready)
      (void)world.server().change(kube::Pod::resource, name, [](json::object& pod) {
        pod["metadata"].as_object()["labels"].as_object().erase(v1::kRoleLabel);
      });
  });
  world.run_for(1min);
  const Instant begin = world.time().now();
  world.run_for(3min);
  EXPECT_LE(busiest_minute(begin), 6U);
  fights = false;
  world.run_for(1min);
  world.must_converge(5min);
}

/// I9 and I11 for a leader that changes by itself: the operator writes it once, and is not woken
/// for it.
TEST_F(ScenarioOfPeople, ALeaderThatSomebodyMovesAtRestIsToldOnce) {
  settled_cluster(3);
  world.run_for(3min);
  const EtcdNet::Truth before = leader();
  ASSERT_EQ(read<v1::EtcdCluster>(kKey)->status.leader, before.name);
  const std::size_t reports = tried("patch etcdclusters/status"), writes = world.writes();
  by_hand([&] {
    for (const auto& m : members())
      if (m.id != before.member && leader().name == before.name)
        EXPECT_TRUE(at(before.address)->move_leader(m.id));
  });
  const std::string now = leader().name;
  ASSERT_NE(now, before.name);
  EXPECT_TRUE(
      world.run_until([&] { return read<v1::EtcdCluster>(kKey)->status.leader == now; }, 61s));
  world.run_for(3min);
  EXPECT_EQ(tried("patch etcdclusters/status"), reports + 1);
  EXPECT_EQ(world.writes(), writes + 2) << "and the Event";
  world.must_converge(5min);
}

/// Found by seed 300006075: a delayed delete reached the last member of a cluster that was paused
/// by then. Its data is the only copy, and its replacement gets it.
TEST_F(ScenarioOfPeople, Found_TheLastMemberIsDeletedWhileItSleeps) {
  settled_cluster(1);
  const std::string first = leader().name;
  world.scale(kKey, 0);
  rest();
  world.delete_object(v1::EtcdMember::resource, {kKey.ns, first});
  world.run_for(1min);
  EXPECT_TRUE(read<v1::EtcdMember>({kKey.ns, first})) << "its finalizer keeps it, and its volume";
  world.scale(kKey, 1);
  world.must_converge(10min);
  EXPECT_FALSE(read<v1::EtcdMember>({kKey.ns, first}));
}

}  // namespace
}  // namespace etcdop::sim
