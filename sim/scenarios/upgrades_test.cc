// Scenarios of what an upgrade may mix: CRDs and operators of an earlier release, and webhooks of
// other people.
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

class ScenarioOfUpgrades : public Scenario {
 protected:
  using Scenario::Scenario;
  /// The most writes of one kind to one object in any minute of the next ones.
  std::size_t busiest_of_the_next(Duration d) {
    const Instant since = world.time().now();
    world.run_for(d);
    return busiest_minute(since);
  }
  void grow_and_heal() {
    world.scale(kKey, 5);
    rest();
    world.delete_object(v1::EtcdMember::resource, {"prod", follower()});
    rest();
    world.delete_object(kube::Pod::resource, {"prod", follower()});
    rest();
    world.scale(kKey, 3);
    rest();
  }
};

/// A pruned field is gone without a word: the operator must do without it.
TEST_F(ScenarioOfUpgrades, UnderOlderCrdsAClusterIsMadeGrowsHealsAndRests) {
  world.install_old_crds(true);
  settled_cluster(3);
  grow_and_heal();
  EXPECT_LE(busiest_of_the_next(10min), 1U);
  world.install_old_crds(false);
  world.must_converge(5min);
}

TEST_F(ScenarioOfUpgrades, CrdsThatAreSetBackForAWhileCostNoMember) {
  settled_cluster(3);
  const auto before = members();
  world.install_old_crds(true);
  world.run_for(5min);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  world.install_old_crds(false);
  world.must_converge(5min);
  EXPECT_EQ(members(), before);
}

/// The older build leads first, and once more in between.
TEST_F(ScenarioOfUpgrades, AnOlderBuildThatLeadsForAWhileLeavesNothingThatTheNewOneCannotUse) {
  const auto leads = [&](bool old) {
    while (world.operators() > 0) {
      world.kill(world.life(0), std::nullopt);
      world.run_for(1s);
    }
    world.start_operator().passage().old_build = old;
  };
  leads(true);
  world.create_cluster(kKey, 3);
  rest();
  world.start_clients(4);
  leads(false);
  grow_and_heal();
  world.scale(kKey, 5);
  world.run_for(7s);
  leads(true);
  rest();
  world.scale(kKey, 3);
  world.run_for(7s);
  leads(false);
  world.must_converge(5min);
}

/// K8: the answer comes before the operator gives up.
TEST_F(ScenarioOfUpgrades, K8_AWebhookThatAnswersAfterHalfAMinuteCostsOnlyTime) {
  (void)world.start_operator();
  world.slow_webhook(kube::Pod::resource, 29s, world.time().now() + 20min);
  world.create_cluster(kKey, 3);
  rest();
  EXPECT_EQ(made(kube::Pod::resource), 4U) << "the founder's Pod is made twice";
  world.start_clients(4);
  world.delete_object(kube::Pod::resource, {"prod", follower()});
  rest();
  EXPECT_EQ(made(kube::Pod::resource), 5U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  world.must_converge(5min);
}

class ScenarioOfRewriting : public ScenarioOfUpgrades {
 protected:
  ScenarioOfRewriting() : ScenarioOfUpgrades({.seed = 7, .faults = one(), .keep_trace = true}) {}
  static Faults one() {
    Faults out;
    out.set(Fault::WebhookRewrites);
    return out;
  }
};

/// I9, I17: a budget that a policy changes for ever is told, and written at most once a minute.
TEST_F(ScenarioOfRewriting, AWebhookThatChangesAnObjectOfOursIsToldAndHindersNothingElse) {
  (void)world.start_operator();
  world.create_cluster(kKey, 3);
  ASSERT_TRUE(world.run_until([&] { return voters() == 3; }, 2min));
  world.start_clients(4);
  ASSERT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ObjectRejected"; }, 2min));
  EXPECT_NE(message(v1::kDegraded).find("repair PodDisruptionBudget db: "), std::string::npos);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  world.run_for(3min);
  EXPECT_LE(busiest_of_the_next(15min), 1U);
  EXPECT_EQ(says(v1::kDegraded), "True/ObjectRejected");
  world.scale(kKey, 5);
  ASSERT_TRUE(world.run_until([&] { return voters() == 5; }, 2min));
  world.faults().heal();
  world.must_converge(5min);
}

}  // namespace
}  // namespace etcdop::sim
