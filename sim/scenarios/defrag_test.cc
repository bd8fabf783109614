// Scenarios of defragmentation: one member at a time, while all others are healthy.
#include "api/v1alpha2/etcddefrag.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

const api::ObjectKey kRun{"prod", "nightly"};

class ScenarioOfDefrag : public Scenario {
 protected:
  void defragment() { world.defragment(kKey, kRun.name); }
  /// "Complete True/Defragmented"
  std::string run_says() {
    const auto run = read<v1::EtcdDefrag>(kRun);
    if (!run) return "";
    const auto* c = runtime::find_condition(run->status.conditions, v1::kDefragChecked);
    return run->status.phase + (c ? " " + c->status + "/" + c->reason : "");
  }
  void until_run_says(const std::string& words) {
    ASSERT_TRUE(world.run_until([&] { return run_says() == words; }, 10min)) << run_says();
  }
  bool put_by_hand() {
    bool done = false;
    by_hand([&] { done = bool(world.net().put(world.time(), leader().address, "by-hand", 1)); });
    return done;
  }
  /// Addresses that were defragmented, in order; "moved" where the leader handed over.
  std::vector<std::string> done() {
    std::vector<std::string> out;
    for (const Trace::Line& line : world.trace().lines()) {
      if (line.what.starts_with("Defragment at ")) out.push_back(line.what.substr(14));
      if (line.what.starts_with("MoveLeader at ")) out.emplace_back("moved");
    }
    return out;
  }
  /// How many members were defragmented before the last trace line with this prefix.
  std::size_t done_before(const std::string& what) {
    std::size_t count = 0, out = 0;
    for (const Trace::Line& line : world.trace().lines()) {
      count += line.what.starts_with("Defragment at ");
      if (line.what.starts_with(what)) out = count;
    }
    return out;
  }
};

TEST_F(ScenarioOfDefrag, S49_TheLeaderIsTheLastAndDoesNotLeadThen) {
  settled_cluster(3);
  const std::string led = leader().address;
  defragment();
  until_run_says("Complete True/Defragmented");
  const auto order = done();
  ASSERT_EQ(order.size(), 4U);
  EXPECT_EQ(order[2], "moved");
  EXPECT_EQ(order[3], led);
  EXPECT_NE(order[0], order[1]);
  EXPECT_NE(leader().address, led);
  EXPECT_EQ(read<v1::EtcdDefrag>(kRun)->status.defragmented, 3);
  world.must_converge(2min);  // Then it rests.
}

TEST_F(ScenarioOfDefrag, S49_WhereAMemberIsDownNoneIsTouchedUntilItIsBack) {
  settled_cluster(3);
  const std::size_t node = node_of(members().front().name);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(3s);
  defragment();
  world.run_for(3min);
  EXPECT_EQ(run_says(), "Pending False/ClusterNotHealthy");
  EXPECT_EQ(done().size(), 0U);
  EXPECT_EQ(tried("patch etcddefrags/status"), 1U) << "the same words are written once";
  world.nodes().node_down(node, false);
  until_run_says("Complete True/Defragmented");
}

TEST_F(ScenarioOfDefrag, S49_AClusterThatIsScaledInTheMiddleOfARunIsScaledFirst) {
  settled_cluster(3);
  before("Defragment", [&](Life&) { world.scale(kKey, 5); });
  defragment();
  ASSERT_TRUE(
      world.run_until([&] { return run_says() == "Running False/ClusterNotHealthy"; }, 1min));
  EXPECT_EQ(done().size(), 1U);
  until_run_says("Complete True/Defragmented");
  EXPECT_EQ(done_before("MemberPromote at "), 1U) << "nobody is busy while members come";
  EXPECT_EQ(read<v1::EtcdDefrag>(kRun)->status.members.size(), 3U);
  world.must_converge(5min);
}

TEST_F(ScenarioOfDefrag, S49_LeadershipThatChangesInTheMiddleIsFollowed) {
  settled_cluster(3);
  // The leader at the beginning of the run dies before the first call: another member leads
  // afterwards.
  before("Defragment", [&](Life&) {
    world.checker().struck();
    world.nodes().kill_etcd({"prod", leader().name});
  });
  defragment();
  until_run_says("Complete True/Defragmented");
  EXPECT_EQ(read<v1::EtcdDefrag>(kRun)->status.defragmented, 3);
}

TEST_F(ScenarioOfDefrag, S28_AFullDatabaseIsWhatARunIsFor) {
  small_cluster();
  fill();
  defragment();
  until_run_says("Complete True/Defragmented");
  EXPECT_EQ(done().size(), 4U);
}

/// J3, P7: reads work all the time, and writes again once a run has made room.
TEST_F(ScenarioOfDefrag, S28_AFullDatabaseIsReadAndTakesWritesAfterARun) {
  settled_cluster(3);
  const std::vector<EtcdNet::Member> before = members();
  for (const auto& member : before)
    by_hand([&] {
      raise_alarm(world.time(), world.net(), leader().address,
                  {etcd::AlarmKind::NoSpace, member.id});
    });
  ASSERT_TRUE(world.run_until([&] { return says(v1::kAlarmed) == "True/NoSpace"; }, 3min));
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy") << "it is read";
  EXPECT_EQ(says(v1::kDegraded), "True/NoSpace");
  EXPECT_EQ(read<v1::EtcdCluster>(kKey)->status.phase, v1::kPhaseDegraded);
  for (const auto& pod : world.members_of(kKey))
    EXPECT_TRUE(read<kube::Pod>(pod)->ready()) << "the client Service keeps its endpoints";
  world.run_for(10s);  // For its Events.
  const std::uint64_t writes = world.writes();
  world.run_for(3min);
  EXPECT_EQ(world.writes(), writes) << "it is told once, and nothing is done";
  EXPECT_EQ(members(), before);
  EXPECT_FALSE(put_by_hand());
  defragment();
  until_run_says("Complete True/Defragmented");
  EXPECT_TRUE(put_by_hand());
  ASSERT_TRUE(world.run_until([&] { return says(v1::kAlarmed) == "False/Disarmed"; }, 3min));
  EXPECT_EQ(tried("Alarm at "), 3U) << "one by one";
  world.must_converge(3min);
}

TEST_F(ScenarioOfDefrag, AnswersThatAreLostCostNothingWhereTheFileIsSmaller) {
  settled_cluster(3);
  world.fragment(kKey);
  world.run_for(5s);
  lose_answer("Defragment", 3);
  defragment();
  until_run_says("Complete True/Defragmented");
  EXPECT_EQ(tried("Defragment"), 3U);
  for (const auto& one : read<v1::EtcdDefrag>(kRun)->status.members)
    EXPECT_GT(one.reclaimed_bytes, 0) << one.name;
}

TEST_F(ScenarioOfDefrag, ADeletedClusterEndsARunThatHasBegun) {
  settled_cluster(3);
  before("Defragment", [&](Life&) { world.delete_cluster(kKey); });
  defragment();
  until_run_says("Failed False/ClusterReplaced");
  EXPECT_EQ(done().size(), 1U);
  world.must_converge(5min);
}

}  // namespace
}  // namespace etcdop::sim
