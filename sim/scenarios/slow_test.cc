// Scenarios of etcds that do nothing for a while, or not what they should: processes that hang,
// locked databases, slow disks, connections in one direction, data of somebody else's.
#include "api/v1alpha2/etcddefrag.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

const api::ObjectKey kRun{"prod", "nightly"};

class ScenarioOfSlowness : public Scenario {
 protected:
  int restarts_of(const std::string& member) {
    const auto pod = read<kube::Pod>({"prod", member});
    return pod && !pod->status.container_statuses.empty()
               ? pod->status.container_statuses[0].restart_count
               : -1;
  }
  std::string run_says() {
    const auto run = read<v1::EtcdDefrag>(kRun);
    return run ? run->status.phase : "";
  }
  /// Defragments all members; each takes this long.
  void defragment(Duration each) {
    world.fragment(kKey);
    world.run_for(5s);
    world.net().slow_defragmentations(bytes_of_a_file() * 1000 / (each / 1ms));
    world.defragment(kKey, kRun.name);
  }
  std::int64_t bytes_of_a_file() {
    std::int64_t bytes = 0;
    by_hand([&] {
      if (auto status = at(leader().address)->status()) bytes = status->db_size;
    });
    return bytes;
  }
};

/// The kubelet restarts it; nobody loses a member for it.
TEST_F(ScenarioOfSlowness, K9_AnEtcdThatHangsIsEndedByItsLivenessProbe) {
  settled_cluster(3);
  const std::string hung = leader().name;
  const auto before = members();
  world.checker().struck();
  world.net().hang(leader().address, true);
  world.run_for(100s);
  EXPECT_EQ(restarts_of(hung), 0);
  EXPECT_NE(leader().name, hung);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumAvailable");
  EXPECT_EQ(says(v1::kDegraded), "True/MembersUnhealthy");
  world.run_for(100s);
  EXPECT_EQ(restarts_of(hung), 1);
  world.must_converge(5min);
  EXPECT_EQ(members(), before);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  EXPECT_EQ(made(kube::Pod::resource), 4U) << "the founder's Pod is made twice";
}

TEST_F(ScenarioOfSlowness, ASoleEtcdThatHangsIsToldAndComesBack) {
  settled_cluster(1);
  world.net().hang(leader().address, true);
  ASSERT_TRUE(
      world.run_until([&] { return says(v1::kAvailable) == "False/ClusterUnreachable"; }, 140s));
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 1U);
}

/// As long as the call waits for it, liveness does, too.
TEST_F(ScenarioOfSlowness, K9_ADefragmentationOfNearlyTwoMinutesKillsNobody) {
  settled_cluster(3);
  defragment(110s);
  ASSERT_TRUE(world.run_until([&] { return run_says() == v1::kDefragComplete; }, 10min));
  EXPECT_EQ(read<v1::EtcdDefrag>(kRun)->status.defragmented, 3);
  EXPECT_EQ(told("liveness probe failed"), 0U);
  world.must_converge(3min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
}

/// A disk slower than any that the operator counts on: the container is ended, the old file stays.
TEST_F(ScenarioOfSlowness, K9_ADefragmentationThatOutlastsLivenessLosesNoMember) {
  settled_cluster(3);
  const auto before = members();
  defragment(400s);
  ASSERT_TRUE(world.run_until([&] { return told("liveness probe failed") > 0; }, 5min));
  world.net().slow_defragmentations(0);
  ASSERT_TRUE(
      world.run_until([&] { return read<v1::EtcdDefrag>(kRun)->status.finished(); }, 30min));
  world.must_converge(5min);
  EXPECT_EQ(told("liveness probe failed"), 1U);
  EXPECT_EQ(members(), before);
}

/// CheckQuorum and elections, again and again: nobody is replaced for a slow disk.
TEST_F(ScenarioOfSlowness, ALeaderWithASlowDiskLosesItsOfficeAndNobodyIsReplaced) {
  settled_cluster(3);
  const auto before = members();
  const std::uint64_t led = told("leads in term");
  for (int i = 0; i < 20; ++i) {
    const std::string slow = leader().address;
    world.net().stall(slow, true);
    world.run_for(3s);
    world.net().stall(slow, false);
    world.run_for(4s);
  }
  EXPECT_GE(told("leads in term"), led + 10);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  world.must_converge(3min);
  EXPECT_EQ(members(), before);
  EXPECT_EQ(told("liveness probe failed"), 0U);
}

/// The leader's raft goes on over the connection that the other member made.
TEST_F(ScenarioOfSlowness, ALeaderThatCannotConnectToAMemberKeepsLeadingIt) {
  settled_cluster(3);
  const auto led = leader();
  const std::string deaf = process_of(follower()).address;
  world.net().block_dials(led.address, deaf, true);
  world.run_for(2min);
  EXPECT_EQ(leader().address, led.address);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  EXPECT_EQ(says(v1::kDegraded), "False/QuorumHealthy");
  world.scale(kKey, 5);
  world.run_for(2min);
  world.net().block_dials(led.address, deaf, false);
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 5U);
}

/// ST4, K5: nobody is led to it, and nothing of it is touched until a user says so.
TEST_F(ScenarioOfSlowness, K5_ForeignDataOnAVolumeIsFencedAndToldUntilItsMemberIsDeleted) {
  settled_cluster(3);
  const api::ObjectKey odd{"prod", follower()};
  world.give_foreign_data(odd, [] { return true; });
  ASSERT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/SplitBrain"; }, 3min));
  EXPECT_NE(message(v1::kDegraded).find(odd.name), std::string::npos);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumAvailable");
  world.run_for(5min);
  EXPECT_EQ(member_says(odd), "False/SplitBrain");
  EXPECT_EQ(count(kube::PersistentVolumeClaim::resource), 3U);
  EXPECT_EQ(world.clients().endpoints({"prod", "db-client"}).size(), 2U);
  world.delete_object(v1::EtcdMember::resource, odd);
  world.must_converge(5min);
}

}  // namespace
}  // namespace etcdop::sim
