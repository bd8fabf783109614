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
  /// A member that does not lead.
  std::string follower() {
    for (const auto& m : members())
      if (m.id != leader().member && !m.learner) return m.name;
    return "";
  }
  std::size_t node_of(const std::string& pod) {
    const auto object = read<kube::Pod>({"prod", pod});
    return object ? static_cast<std::size_t>(std::stoi(object->spec.node_name.substr(5))) : 99;
  }
  std::vector<std::string> pods_on(std::size_t node) {
    std::vector<std::string> out;
    for (const auto& key : world.members_of(kKey))
      if (node_of(key.name) == node) out.push_back(key.name);
    return out;
  }
  /// Deletes a member whose data is gone, as the manual says, and sees it replaced.
  void replaced(const std::string& member) {
    const auto before = members();
    world.delete_object(v1::EtcdMember::resource, {"prod", member});
    world.must_converge(10min);
    for (const auto& m : members())
      if (std::ranges::count(before, m.id, &EtcdNet::Member::id) == 0) EXPECT_NE(m.name, member);
    EXPECT_EQ(std::ranges::count(members(), member, &EtcdNet::Member::name), 0);
    EXPECT_EQ(world.net().births().size(), 1U);
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
    ASSERT_EQ(uid_of(kube::Pod::resource, {"prod", name}), pod);  // None beside it.
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
  settled_cluster(3);
  const auto before = members();
  const std::string lost = follower();
  const std::size_t node = node_of(lost);
  ASSERT_EQ(pods_on(node).size(), 1U);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(30s);
  for (const auto& m : before)
    if (m.name != lost && m.id != leader().member)
      world.delete_object(v1::EtcdMember::resource, {"prod", m.name});
  world.run_for(20ms);
  world.scale(kKey, 2);  // Without the one that leaves, one of two would be healthy.
  for (int i = 0; i < 300; ++i) {
    world.run_for(1s);
    ASSERT_TRUE(world.net().has_quorum(etcd_id()));
  }
  EXPECT_EQ(tried("MemberRemove"), 0U);  // Not even asked for.
  world.nodes().node_down(node, false);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 2U);
}

TEST_F(ScenarioOfNodes, S25_AVotersVolumeIsDeleted) {
  settled_cluster(3);
  const std::string name = follower();
  world.checker().user_deleted(claim_uid(name));
  world.checker().struck();
  world.nodes().lose_volume(claim_of(name));
  EXPECT_TRUE(
      world.run_until([&] { return member_says({"prod", name}) == "False/DataLost"; }, 1min));
  world.run_for(10min);
  EXPECT_EQ(claim_uid(name), "");  // A voter is never started on an empty volume.
  EXPECT_EQ(uid_of(kube::Pod::resource, {"prod", name}), "");
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumAvailable");
  replaced(name);
}

TEST_F(ScenarioOfNodes, S25_AVotersDataCannotBeRead) {
  settled_cluster(3);
  const std::string name = follower();
  world.checker().struck();
  world.nodes().corrupt_volume(claim_of(name));
  EXPECT_TRUE(
      world.run_until([&] { return member_says({"prod", name}) == "False/CrashLooping"; }, 5min));
  world.run_for(10min);
  EXPECT_EQ(voters(), 3U);
  replaced(name);
}

TEST_F(ScenarioOfNodes, S25_AVoterFindsItsVolumeEmpty) {
  settled_cluster(3);
  const std::string name = follower();
  const std::size_t node = node_of(name);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(5s);
  wipe(*world.nodes().data_of(claim_uid(name)));
  world.nodes().node_down(node, false);
  world.run_for(10min);
  EXPECT_NE(member_says({"prod", name}).substr(0, 4), "True");
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(voters(), 3U);
  replaced(name);
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
  const std::size_t pods = made(kube::Pod::resource);
  world.scale(kKey, 1);  // Whatever is wanted: nothing is touched.
  world.run_for(1h);
  EXPECT_EQ(world.members_of(kKey).size(), 3U);
  EXPECT_EQ(count(kube::PersistentVolumeClaim::resource), 3U);
  EXPECT_EQ(made(kube::Pod::resource), pods);
  EXPECT_EQ(tried("Member"), 4U);  // Of its birth: two additions and two promotions.
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(says(v1::kAvailable), "False/QuorumLost");
  EXPECT_LE(busiest_minute(begin), 2U);
}

TEST_F(ScenarioOfNodes, S44_AllNodesAreDrainedOneAfterTheOtherDuringGrowthAndShrinking) {
  world.nodes().local_volumes(false);
  settled_cluster(3);
  const auto id = etcd_id();
  const auto keeps_quorum = [&](const std::function<bool()>& holds, Duration limit) {
    int without = 0;  // A leader that ends hands over, or there is an election.
    for (const Instant end = world.time().now() + limit; world.time().now() < end && !holds();) {
      world.run_for(500ms);
      without = world.net().has_quorum(id) ? 0 : without + 1;
      ASSERT_LE(without, 6);
    }
    ASSERT_TRUE(holds()) << world.missing();
  };
  // As kubectl drain does: one Pod, and the next once all are well again.
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

// As `kubectl drain`: every Pod of the node is asked to go, again and again, until it has gone.
TEST_F(ScenarioOfNodes, S44_AllNodesAreDrainedUnderTheBudgetDuringGrowthAndShrinking) {
  world.nodes().local_volumes(false);
  settled_cluster(3);
  const auto id = etcd_id();
  std::size_t refused = 0;
  for (std::size_t node = 0; node < world.nodes().count(); ++node) {
    world.scale(kKey, node % 2 == 0 ? 5 : 3);
    world.run_for(2s);
    world.nodes().cordon(node, true);
    int without = 0;  // A leader that ends hands over, or there is an election.
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
