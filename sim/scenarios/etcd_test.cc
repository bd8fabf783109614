// Scenarios of calls to etcd and of etcd itself.
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

TEST_F(Scenario, S03_TheAnswerToMemberAddIsLost) {
  settled_cluster(1);
  lose_answer("MemberAdd");
  world.scale(kKey, 2);
  world.must_converge(5min);
  EXPECT_EQ(tried("MemberAdd"), 1U);  // It reads the list again: no member is added twice.
  EXPECT_EQ(made(v1::EtcdMember::resource), 2U);
}

TEST_F(Scenario, S03_SomebodyHasAddedThatMemberJustBefore) {
  settled_cluster(1);
  before("MemberAdd", [&](Life& life) {
    for (const auto& m : world.members_of(kKey))
      if (process_of(m.name).name.empty())
        EXPECT_TRUE(etcdctl(life.process(), world.net(), leader().address)
                        ->add_learner("http://" + m.name + ".db.prod.svc:2380"));
    (void)life.process().sleep(1100ms);  // Within one second, etcd answers another error.
  });
  world.scale(kKey, 2);
  world.must_converge(5min);
  EXPECT_EQ(told("Peer URLs already exists"), 1U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 2U);
}

/// With an old log: an earlier release has had two learners at once, and lost nothing but the field
/// that says who founded the cluster.
class ScenarioOfOldLogs : public Scenario {
 protected:
  std::int32_t max_learners() { return read<v1::EtcdCluster>(kKey)->status.max_learners; }
  std::size_t pods_with_flag() {
    std::size_t out = 0;
    for (const auto& pod : world.server().look_all(kube::Pod::resource))
      out += json::serialize(pod->at("spec")).find("--max-learners=8") != std::string::npos;
    return out;
  }
  void recreate_pods() {
    for (const auto& key : world.members_of(kKey)) {
      world.delete_object(kube::Pod::resource, key);
      world.must_converge(5min);
    }
  }
  void be_of_an_earlier_release() {
    settled_cluster(3);
    (void)world.server().change(v1::EtcdCluster::resource, kKey, [](json::object& cluster) {
      cluster["status"].as_object().erase("maxLearners");
    });
    ASSERT_TRUE(world.run_until([&] { return max_learners() == v1::kManyLearners; }, 2min));
    recreate_pods();
    ASSERT_EQ(pods_with_flag(), 3U);
    by_hand([&] {
      std::vector<etcd::MemberId> learners;
      for (const char* url : {"http://10.99.0.1:2380", "http://10.99.0.2:2380"}) {
        auto added = at(leader().address)->add_learner(url);
        for (int times = 0; !added && times < 30; ++times) {  // "unhealthy cluster", at first.
          (void)world.time().sleep(1s);
          added = at(leader().address)->add_learner(url);
        }
        ASSERT_TRUE(added) << added.error().message;
        learners.push_back(*added);
      }
      for (const auto id : learners) EXPECT_TRUE(at(leader().address)->remove(id));
    });
    world.must_converge(5min);
  }
  /// A question for alarms is an entry of the log.
  void write_entries(int count) {
    for (; count > 0; count -= 1000)
      by_hand([&] {
        const auto etcd = at(leader().address);
        for (int i = 0; i < 1000; ++i) (void)etcd->alarms();
      });
  }
};

TEST_F(ScenarioOfOldLogs, K15_TheFlagIsDroppedWhenNoMemberNeedsIt) {
  be_of_an_earlier_release();
  write_entries(4000);
  world.run_for(2min);
  EXPECT_EQ(max_learners(), v1::kManyLearners) << "not yet";
  write_entries(13'000);
  world.run_for(2min);
  EXPECT_EQ(max_learners(), 1);
  EXPECT_EQ(pods_with_flag(), 3U) << "nothing is restarted for it";
  recreate_pods();
  EXPECT_EQ(pods_with_flag(), 0U);
  EXPECT_EQ(max_learners(), 1);
  world.scale(kKey, 5);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 5U);
  EXPECT_EQ(max_learners(), 1);
}

TEST_F(Scenario, S04_TheAnswerToMemberRemoveIsLost) {
  settled_cluster(3);
  lose_answer("MemberRemove");
  world.scale(kKey, 1);
  world.must_converge(5min);
  EXPECT_EQ(tried("MemberRemove"), 2U);
}

TEST_F(Scenario, S04_SomebodyHasRemovedThatMemberJustBefore) {
  settled_cluster(3);
  before("MemberRemove", [&](Life& life) {
    for (const auto& m : members()) {
      const auto object = read<v1::EtcdMember>({"prod", m.name});
      if (object && object->metadata.terminating())
        EXPECT_TRUE(etcdctl(life.process(), world.net(), leader().address)->remove(m.id));
    }
  });
  world.scale(kKey, 2);
  world.must_converge(5min);
  EXPECT_EQ(told("member not found"), 1U);
  EXPECT_EQ(tried("MemberRemove"), 1U);
}

/// ST26: the operator replaces no member on etcd's alarm alone.
class ScenarioOfAlarms : public Scenario {
 protected:
  /// Three members with a key that no client writes.
  void settled_with_a_key() {
    settled_cluster(3);
    by_hand([&] { EXPECT_TRUE(world.net().put(world.time(), leader().address, "rot", 1)); });
    world.run_for(5s);
  }
  void damage(const std::string& member) {
    falsify(*world.nodes().data_of_member({"prod", member}), "rot");
  }
  void accuse(const std::string& member, bool rightly = false) {
    const etcd::Alarm alarm{etcd::AlarmKind::Corrupt, process_of(member).member};
    by_hand([&] {
      raise_alarm(world.time(), world.net(), leader().address, alarm);
      if (rightly) damage(member);  // Before hashes are compared.
    });
    raised_.push_back(alarm);
  }
  void disarm() {
    for (const etcd::Alarm& alarm : raised_)
      by_hand([&] { EXPECT_TRUE(at(leader().address)->disarm(alarm)); });
  }
  bool is_gone(const std::string& member) {
    return uid_of(v1::EtcdMember::resource, {"prod", member}).empty();
  }
  void nobody_is_touched() {
    const auto before = members();
    const std::size_t changes = tried("Member");
    ASSERT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/Corrupt"; }, 3min));
    EXPECT_EQ(says(v1::kAlarmed), "True/Corrupt");
    world.run_for(2min);
    const Instant begin = world.time().now();
    world.run_for(10min);
    EXPECT_EQ(members(), before);
    EXPECT_EQ(tried("Member"), changes);
    EXPECT_LE(busiest_minute(begin), 2U);
  }

 private:
  std::vector<etcd::Alarm> raised_;
};

TEST_F(ScenarioOfAlarms, S29_ADamagedMemberIsReplacedAndAPersonDisarms) {
  settled_with_a_key();
  const auto id = etcd_id();
  const std::string name = follower();
  accuse(name, true);
  ASSERT_TRUE(world.run_until([&] { return is_gone(name) && voters() == 3; }, 5min));
  EXPECT_EQ(etcd_id(), id);
  world.run_for(1min);
  EXPECT_EQ(says(v1::kAlarmed), "True/Corrupt") << "never disarmed by us";
  EXPECT_EQ(says(v1::kAvailable), "False/Corrupt") << "etcd takes no write";
  EXPECT_EQ(learners(), 0U);
  disarm();
  world.must_converge(5min);
  EXPECT_EQ(says(v1::kAlarmed), "False/Disarmed");
  EXPECT_EQ(tried("MemberRemove"), 1U);
}

TEST_F(ScenarioOfAlarms, S29_ADamagedLeaderHandsOverBeforeAnybodyJoins) {
  settled_with_a_key();
  const std::string name = leader().name;
  accuse(name, true);
  ASSERT_TRUE(world.run_until([&] { return is_gone(name) && voters() == 3; }, 5min));
  EXPECT_EQ(tried("MoveLeader"), 1U);
  disarm();
  world.must_converge(5min);
}

TEST_F(ScenarioOfAlarms, S29_TheWrongOneIsAccused) {
  settled_with_a_key();
  const std::string name = follower(), wrong = leader().name;
  accuse(wrong);
  damage(name);
  nobody_is_touched();
  accuse(name);  // Two are accused: which is damaged?
  nobody_is_touched();
}

TEST_F(ScenarioOfAlarms, S29_WithoutAMajorityNobodyIsTouched) {
  settled_with_a_key();
  const auto all = members();
  accuse(all[2].name);
  damage(all[1].name);
  for (int i = 0; i < 2; ++i) damage(all[2].name);
  nobody_is_touched();
}

TEST_F(ScenarioOfAlarms, S29_NobodyIsAddedWhileItIsNotKnownWhoseDataIsRight) {
  settled_with_a_key();
  world.checker().struck();
  accuse(follower());
  world.scale(kKey, 5);
  nobody_is_touched();
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  disarm();
  world.must_converge(5min);
  EXPECT_EQ(voters(), 5U);
}

TEST_F(Scenario, S05_TheAnswerToPromoteIsLost) {
  settled_cluster(1);
  lose_answer("MemberPromote");
  world.scale(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 3U);
}

TEST_F(Scenario, S05_SomebodyHasPromotedThatMemberJustBefore) {
  settled_cluster(1);
  before("MemberPromote", [&](Life& life) {
    for (const auto& m : members())
      if (m.learner)
        for (int tries = 0; tries < 20; ++tries) {
          const auto done = etcdctl(life.process(), world.net(), leader().address)->promote(m.id);
          if (done) break;
          (void)life.process().sleep(200ms);
        }
  });
  world.scale(kKey, 2);
  world.must_converge(5min);
  EXPECT_EQ(told("at " + leader().address + ": etcdserver: can only promote a learner"), 1U);
  EXPECT_EQ(told("reconcile failed"), 0U);
  EXPECT_EQ(tried("MemberPromote"), 1U);
}

/// A plain etcd that a user starts; its URLs have an address.
EtcdNet::Start by_person(const std::string& name, const std::string& address,
                         const std::string& initial, const std::string& token) {
  return {
      address,
      "3.6.16",
      {"etcd", "--name=" + name, "--data-dir=/var/lib/etcd",
       "--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379",
       "--advertise-client-urls=http://" + address + ":2379",
       "--initial-advertise-peer-urls=http://" + address + ":2380", "--initial-cluster=" + initial,
       "--initial-cluster-token=" + token, "--initial-cluster-state=existing"},
      empty_data_dir(),
      [](int, const std::string&) {}};
}

TEST_F(Scenario, S06_TheClusterIdIsNotYetKnownAndTheSeedWasGrownByHand) {
  Life& first = world.start_operator();
  world.create_cluster(kKey, 1);
  ASSERT_TRUE(world.run_until(
      [&] { return !leader().address.empty() || !world.net().births().empty(); }, 2min));
  world.kill(first, std::nullopt);
  world.run_for(5s);
  ASSERT_EQ(etcd_id().value, 0U);
  const auto seed = world.net().processes().at(0);
  by_hand([&] {
    std::string initial = seed.name + "=" + seed.members.at(0).peer_url;
    for (const std::string& n : {"a", "b"}) {
      const std::string address = "10.99.0." + std::to_string(n == "a" ? 1 : 2);
      Result<etcd::MemberId> id = Error{Code::Unavailable, ""};
      for (int i = 0; i < 20 && !id; ++i) {  // Refused for 5 s after a change.
        (void)world.time().sleep(1s);
        id = at(seed.address)->add_learner("http://" + address + ":2380");
      }
      ASSERT_TRUE(id);
      initial += "," + n + "=http://" + address + ":2380";
      world.net().start(by_person(n, address, initial, world.net().births().at(0).token));
      for (int i = 0; i < 100 && !at(seed.address)->promote(*id); ++i)
        (void)world.time().sleep(200ms);
    }
  });
  (void)world.start_operator();
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ForeignMember"; }, 1min));
  world.run_for(5min);
  EXPECT_EQ(etcd_id(), seed.cluster);
  EXPECT_EQ(voters(), 3U);  // Counted, reported, not touched.
  EXPECT_EQ(world.net().births().size(), 1U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 1U);
}

TEST_F(Scenario, S18_AMemberTakesCallsAndNeverAnswers) {
  settled_cluster(3);
  const std::string address = leader().address;
  world.life(0).etcd().black_hole(address, true);
  const Instant begin = world.time().now();
  EXPECT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "True/QuorumHealthy"; }, 2min));
  world.scale(kKey, 5);  // The others answer, so growth goes on.
  EXPECT_TRUE(world.run_until([&] { return voters() == 5; }, 5min));
  EXPECT_LE(busiest_minute(begin), 12U);
  world.life(0).etcd().black_hole(address, false);
  world.must_converge(5min);
}

TEST_F(Scenario, S18_NoMemberAnswers) {
  settled_cluster(3);
  for (const auto& p : world.net().processes()) world.life(0).etcd().black_hole(p.address, true);
  EXPECT_TRUE(
      world.run_until([&] { return says(v1::kAvailable) == "Unknown/ClusterUnreachable"; }, 3min));
  EXPECT_EQ(says(v1::kDegraded), "True/ClusterUnreachable") << "a quorum may be there";
  EXPECT_TRUE(  // K13
      world.run_until([&] { return says(v1::kAvailable) == "False/ClusterUnreachable"; }, 2min));
  EXPECT_TRUE(message(v1::kAvailable).starts_with("no member has answered since 20"));
  world.run_for(5min);  // The Event about it is repeated once.
  const std::uint64_t writes = world.writes();
  world.run_for(20min);  // The operator polls less and less often.
  const std::uint64_t calls = world.etcd_calls();
  world.run_for(1h);
  EXPECT_EQ(world.writes(), writes);
  EXPECT_LE(world.etcd_calls() - calls, 3U * 61U);  // Once a minute each.
  for (const auto& p : world.net().processes()) world.life(0).etcd().black_hole(p.address, false);
  world.must_converge(3min);
}

/// Clusters of one member each; the first is healthy.
class Neighbours : public Scenario {
 protected:
  void settled_clusters(int count) {
    (void)world.start_operator();
    for (int i = 0; i < count; ++i) world.create_cluster({"prod", "db-" + std::to_string(i)}, 1);
    rest();
  }
};

using ScenarioOfMany = Neighbours;
TEST_F(ScenarioOfMany, S19_AHundredClustersDoNotAnswerBesideOneThatDoes) {
  settled_clusters(101);
  const api::ObjectKey well{"prod", "db-0"};
  const auto own = world.etcd_of(well);
  for (const auto& p : world.net().processes())
    if (p.cluster != own) world.life(0).etcd().black_hole(p.address, true);
  Duration worst{};
  for (int edit = 0; edit < 20; ++edit) {
    world.run_for(edit < 10 ? 3s : 17s);
    const Instant begin = world.time().now();
    world.scale(well, 2 - edit % 2);
    Instant seen = Instant::max();
    for (int i = 0; i < 3000 && seen == Instant::max(); ++i) {
      world.run_for(10ms);
      const auto cluster = read<v1::EtcdCluster>(well);
      if (cluster->status.observed->replicas == 2 - edit % 2) seen = world.time().now();
    }
    worst = std::max(worst, seen - begin);
  }
  EXPECT_LE(worst, 1s);
}

TEST_F(Scenario, S20_ALearnersPodNeverStarts) {
  settled_cluster(1, 60);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, true);
  world.scale(kKey, 3);
  EXPECT_TRUE(world.run_until([&] { return learners() == 1; }, 30s));
  const auto first = world.members_of(kKey);
  world.run_for(5min);
  EXPECT_EQ(voters(), 1U);
  EXPECT_LE(learners(), 1U);
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumAvailable");
  EXPECT_NE(world.members_of(kKey), first);                // Given up, recreated:
  EXPECT_LE(gone(v1::EtcdMember::resource), 2U * 5U + 1);  // once per deadline.
  world.scale(kKey, 1);
  EXPECT_TRUE(world.run_until([&] { return learners() == 0 && members().size() == 1; }, 15s));
  world.must_converge(2min);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, false);
  world.scale(kKey, 3);
  world.must_converge(5min);
}

TEST_F(Scenario, K7_ACorrectedSpecReachesALearnersPodThatNeverStartsAtOnce) {
  settled_cluster(1);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, true);
  world.scale(kKey, 2);
  EXPECT_TRUE(world.run_until([&] { return learners() == 1; }, 30s));
  world.run_for(20s);
  const auto first = world.members_of(kKey);
  world.set_version(kKey, "3.6.17");
  EXPECT_TRUE(
      world.run_until([&] { return learners() == 1 && world.members_of(kKey) != first; }, 15s))
      << "its deadline is ten minutes";
  for (const api::ObjectKey& member : world.members_of(kKey))
    if (std::ranges::find(first, member) == first.end())
      EXPECT_EQ(read<v1::EtcdMember>(member)->spec.version, "3.6.17");
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, false);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 2U);
}

/// It has started, and hangs before it votes.
TEST_F(Scenario, K3_ALearnerThatStartedAndIsGoneIsReplaced) {
  settled_cluster(1, 60);
  world.scale(kKey, 2);
  for (int i = 0; i < 60'000 && told("step=promote") == 0; ++i) world.run_for(1ms);
  std::string lost;
  for (const auto& m : members())
    if (m.learner) lost = m.name;
  world.net().slow_starts(24h);
  world.nodes().kill_etcd({"prod", lost});
  world.run_for(30s);
  ASSERT_EQ(learners(), 1U);
  world.net().slow_starts(0s);
  EXPECT_TRUE(world.run_until([&] { return voters() == 2; }, 4min)) << says(v1::kProgressing);
  EXPECT_TRUE(uid_of(v1::EtcdMember::resource, {"prod", lost}).empty());
  world.must_converge(5min);
}

/// As with one node for each member: the replacement finds no node while the member is there.
TEST_F(Scenario, K1_AHealthyMemberThatAUserDeletedMakesRoomForItsReplacement) {
  settled_cluster(3);
  const std::string name = follower();
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, true);
  world.delete_object(v1::EtcdMember::resource, {"prod", name});
  world.run_for(100s);
  EXPECT_EQ(voters(), 3U) << "its replacement may still find a node";
  EXPECT_TRUE(world.run_until([&] { return voters() == 2; }, 2min));
  EXPECT_TRUE(
      world.run_until([&] { return uid_of(kube::Pod::resource, {"prod", name}).empty(); }, 1min))
      << "its Pod goes at once";
  EXPECT_TRUE(read<kube::PersistentVolumeClaim>({"prod", "data-" + name}))
      << "its volume waits until its replacement votes";
  EXPECT_EQ(says(v1::kAvailable).substr(0, 4), "True");
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, false);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 3U);
}

/// Seed 167: the deadline took the replacement away before the member had left for it.
TEST_F(Scenario, K1_AHealthyMemberMakesRoomHoweverShortTheDeadlineIs) {
  settled_cluster(3, 30);
  const std::string name = follower();
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, true);
  world.delete_object(v1::EtcdMember::resource, {"prod", name});
  EXPECT_TRUE(world.run_until([&] { return voters() == 2; }, 4min));
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, false);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 3U);
}

TEST_F(Scenario, S21_ALearnerNeverCatchesUp) {
  settled_cluster(1, 120);
  world.net().slow_snapshots(24h);
  world.scale(kKey, 3);
  ASSERT_TRUE(world.run_until([&] { return learners() == 1; }, 1min));
  const auto first = world.members_of(kKey);
  for (int i = 0; i < 100; ++i) {
    world.run_for(6s);
    ASSERT_EQ(voters(), 1U);
    ASSERT_LE(learners(), 1U) << "K15";
  }
  EXPECT_EQ(says(v1::kProgressing), "False/DeadlineExceeded");
  EXPECT_EQ(says(v1::kAvailable).substr(0, 4), "True");
  EXPECT_EQ(world.members_of(kKey), first) << "it keeps its place, and nobody else is made";
  world.net().slow_snapshots(0s);
  world.scale(kKey, 1);
  world.must_converge(5min);
}

TEST_F(Scenario, S22_TheMemberCountChangesBeforeALearnerHasStarted) {
  settled_cluster(3);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, true);
  world.scale(kKey, 4);
  ASSERT_TRUE(world.run_until([&] { return learners() == 1; }, 30s));
  world.run_for(10s);
  by_hand([&] {
    for (const auto& m : members())
      if (!m.learner && m.name != leader().name) {
        ASSERT_TRUE(at(leader().address)->remove(m.id));
        return;
      }
  });
  world.run_for(10s);
  for (std::size_t i = 0; i < world.nodes().count(); ++i) world.nodes().cordon(i, false);
  world.must_converge(10min);
  EXPECT_LE(told("member count is unequal"), 1U);
}

TEST_F(Scenario, S23_ALearnersPodIsDeletedWhileItIsPromoted) {
  settled_cluster(1);
  before("MemberPromote", [&](Life&) {
    for (const auto& m : members())
      if (m.learner) world.delete_object(kube::Pod::resource, {"prod", m.name});
  });
  world.scale(kKey, 3);
  world.must_converge(10min);
}

TEST_F(Scenario, S23_ALearnersPodIsDeletedDuringItsFirstSnapshot) {
  settled_cluster(1);
  world.net().slow_snapshots(20s);
  world.scale(kKey, 2);
  ASSERT_TRUE(world.run_until(
      [&] { return learners() == 1 && world.net().processes().size() == 2; }, 1min));
  world.run_for(8s);
  ASSERT_EQ(learners(), 1U);
  for (const auto& m : members())
    if (m.learner) world.delete_object(kube::Pod::resource, {"prod", m.name});
  world.must_converge(10min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 2U);
}

TEST_F(Scenario, S30_TheQuorumIsLostForAnHourWhileAMemberIsRemoved) {
  settled_cluster(3);
  std::vector<std::string> addresses;
  for (const auto& p : world.net().processes()) addresses.push_back(p.address);
  const auto cut = [&](bool apart) {
    world.checker().struck();
    for (std::size_t i = 0; i < addresses.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) world.net().cut(addresses[i], addresses[k], apart);
  };
  before("MemberRemove", [&](Life&) { cut(true); });
  world.scale(kKey, 1);
  EXPECT_TRUE(world.run_until([&] { return says(v1::kAvailable) == "False/QuorumLost"; }, 2min));
  const Instant begin = world.time().now() + 1min;
  world.run_for(1h);
  EXPECT_LE(busiest_minute(begin), 1U);
  EXPECT_EQ(tried("MemberRemove"), 1U);
  cut(false);
  world.must_converge(5min);
  EXPECT_EQ(voters(), 1U);
}

TEST_F(Scenario, S31_TheLeaderChangesEveryTwoSeconds) {
  settled_cluster(3);
  bool flaps = true;
  std::size_t changes = 0;
  world.soon(0s, [&] {
    while (flaps && world.time().sleep(2s) == Woken::Ready)
      for (const auto& m : members())
        if (const auto from = leader(); !m.learner && m.id != from.member) {
          changes += bool(at(from.address)->move_leader(m.id));
          break;
        }
  });
  world.scale(kKey, 5);
  world.run_for(2min);
  EXPECT_GE(changes, 40U);
  flaps = false;
  world.run_for(3s);
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 5U);
}

TEST_F(Scenario, S32_TheAddressOfAMemberNowBelongsToAnotherTenantsEtcd) {
  settled_cluster(3);
  const EtcdNet::Truth old = leader();
  const auto ours = members();
  const std::size_t asked = tried("MemberAdd at " + old.address);
  // Its node restarts: the Pod gets another address, and the operator does not hear of it.
  for (std::size_t i = 0; i < 3; ++i)
    if (read<kube::Pod>({"prod", old.name})->spec.node_name == "node-" + std::to_string(i)) {
      world.checker().struck();
      world.nodes().node_down(i, true);
      world.life(0).api().line("pods").silent_until(world.time().now() + 5min);
      world.run_for(3s);
      world.nodes().node_down(i, false);
    }
  ASSERT_TRUE(world.run_until([&] { return process_of(old.name).serves; }, 1min));
  ASSERT_FALSE(world.net().runs(old.address));
  EtcdNet::Start stranger =
      by_person("stranger", old.address, "stranger=http://" + old.address + ":2380", "theirs");
  stranger.command.back() = "--initial-cluster-state=new";
  world.net().start(stranger);
  world.run_for(10s);
  const auto theirs = process_of("stranger");
  ASSERT_TRUE(theirs.serves);
  world.scale(kKey, 5);
  world.run_for(4min);
  EXPECT_EQ(process_of("stranger").members, theirs.members);
  EXPECT_EQ(tried("MemberAdd at " + old.address), asked);
  EXPECT_EQ(world.net().membership(theirs.cluster).size(), 1U);
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), old.cluster);
  for (const auto& m : ours)
    EXPECT_EQ(std::ranges::count(members(), m.id, &EtcdNet::Member::id), 1);
}

TEST_F(Scenario, S33_NewNamesAreKnownToPeersAMinuteLater) {
  settled_cluster(1);
  world.faults().set(Fault::DnsLag);
  world.scale(kKey, 5);
  world.must_converge(15min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 5U);  // It joins again; no member is replaced.
}

TEST_F(Scenario, S43_AForeignVoterIsCountedAndReportedAndLeft) {
  settled_cluster(3);
  const auto before = members();
  by_hand([&] {
    auto id = at(leader().address)->add_learner("http://10.99.0.1:2380");
    ASSERT_TRUE(id);
    std::string initial = "theirs=http://10.99.0.1:2380";
    for (const auto& m : before) initial += "," + m.name + "=" + m.peer_url;
    world.net().start(by_person("theirs", "10.99.0.1", initial, world.net().births().at(0).token));
    for (int i = 0; i < 100 && !at(leader().address)->promote(*id); ++i)
      (void)world.time().sleep(200ms);
  });
  ASSERT_EQ(voters(), 4U);
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ForeignMember"; }, 2min));
  const std::uint64_t writes = world.writes();
  world.run_for(1h);
  EXPECT_EQ(world.writes(), writes);
  EXPECT_EQ(voters(), 4U);
  world.net().kill("10.99.0.1");  // It counts: three of four still are a quorum.
  world.run_for(2min);
  EXPECT_EQ(says(v1::kAvailable).substr(0, 4), "True");
  by_hand([&] {
    for (const auto& m : members())
      if (m.name == "theirs") ASSERT_TRUE(at(leader().address)->remove(m.id));
  });
  world.must_converge(5min);
}

TEST_F(Scenario, N1_AForeignMembersLongNameStopsNothing) {
  settled_cluster(3);
  const auto before = members();
  by_hand([&] {
    ASSERT_TRUE(at(leader().address)->add_learner("http://10.99.0.1:2380"));
    const std::string name(40'000, 't');  // An API server refuses a message of that length.
    std::string initial = name + "=http://10.99.0.1:2380";
    for (const auto& m : before) initial += "," + m.name + "=" + m.peer_url;
    world.net().start(by_person(name, "10.99.0.1", initial, world.net().births().at(0).token));
  });
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ForeignMember"; }, 2min));
  EXPECT_NE(message(v1::kDegraded).find("; remove them with etcdctl"), std::string::npos);
  const std::string lost = follower();
  world.delete_object(kube::Pod::resource, {"prod", lost});
  world.run_for(5s);
  EXPECT_TRUE(world.run_until(
      [&] {
        return member_says({"prod", lost}).starts_with("True") && !process_of(lost).name.empty();
      },
      2min));
}

TEST_F(Scenario, S43_AForeignLearnerThatNeverStartedIsLeftToo) {
  settled_cluster(3, 30);
  by_hand([&] { ASSERT_TRUE(at(leader().address)->add_learner("http://10.99.0.1:2380")); });
  EXPECT_TRUE(world.run_until([&] { return says(v1::kDegraded) == "True/ForeignMember"; }, 2min));
  world.run_for(10min);
  EXPECT_EQ(learners(), 1U);
  by_hand([&] {
    for (const auto& m : members())
      if (m.learner) ASSERT_TRUE(at(leader().address)->remove(m.id));
  });
  world.must_converge(5min);
}

TEST_F(Scenario, S43_AMemberRemovedByHandIsReplaced) {
  settled_cluster(3);
  by_hand([&] {
    for (const auto& m : members())
      if (m.id != leader().member) {
        ASSERT_TRUE(at(leader().address)->remove(m.id));
        return;
      }
  });
  world.must_converge(10min);
}

// --- found by random worlds ------------------------------------------------------------------

TEST_F(Scenario, Found_AllLeaveButTheLeaderWhichTakesThemForInactive) {
  settled_cluster(3);
  const EtcdNet::Truth stays = leader();
  const auto before_it = members();
  world.net().forgetful_peers(100);  // It never sees its peers' restarts (etcd issue 14523).
  for (const auto& m : before_it)
    if (m.id != stays.member) {
      world.checker().struck();
      world.nodes().kill_etcd({"prod", m.name});
      world.run_for(30s);
    }
  world.net().forgetful_peers(0);
  ASSERT_EQ(leader().member, stays.member);
  for (const auto& m : before_it)
    if (m.id != stays.member) world.delete_object(v1::EtcdMember::resource, {"prod", m.name});
  world.must_converge(5min);  // The leaving members see all peers, so they can be asked.
  EXPECT_GE(told("unhealthy cluster"), 1U);
  EXPECT_EQ(made(v1::EtcdMember::resource), 5U);
}

TEST_F(Scenario, Found_ALearnerDiesBetweenTheLookAndItsPromotion) {
  settled_cluster(1);
  world.scale(kKey, 2);
  for (int i = 0; i < 60'000 && told("step=promote") == 0; ++i) world.run_for(1ms);
  world.net().slow_starts(5s);
  for (const auto& m : members())
    if (m.learner) world.nodes().kill_etcd({"prod", m.name});
  ASSERT_EQ(learners(), 1U);
  world.run_for(3s);
  EXPECT_EQ(voters(), 1U);
  world.net().slow_starts(0s);
  world.must_converge(5min);
}

TEST_F(Scenario, Found_TheAnswerToMoveLeaderHasNoHeader) {
  settled_cluster(3);
  world.delete_object(v1::EtcdMember::resource, {"prod", leader().name});
  world.must_converge(5min);
  EXPECT_EQ(tried("MoveLeader"), 1U);
  EXPECT_EQ(told("reconcile failed"), 0U);  // The answer was taken for a foreign etcd's.
}

}  // namespace
}  // namespace etcdop::sim
