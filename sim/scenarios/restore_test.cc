// Scenarios of clusters that start from a snapshot: the agent in their first Pod, its volume, the
// store, and the conditions.
#include <set>

#include "agent/manifest.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "kube/secret_object.h"
#include "operator/credentials/passwords.h"
#include "sim/etcd/data_dir.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

const api::ObjectKey kNew{"prod", "again"};
constexpr const char* kRestoredSaid = "True/QuorumHealthy";
constexpr const char* kPassword = "first-pass-word";

class ScenarioOfRestores : public Scenario {
 protected:
  static std::string key(const std::string& name = "nightly") {
    return World::key_of_snapshot(kKey, name);
  }
  void snapshot(const std::string& name = "nightly") {
    world.snapshot(kKey, name);
    ASSERT_TRUE(world.run_until(
        [&] {
          const auto one = read<v1::EtcdSnapshot>({"prod", name});
          return one && one->status.phase == v1::kSnapshotComplete;
        },
        5min));
  }
  /// A running cluster, and a snapshot of it.
  void stored(int size = 1, const std::string& version = "3.6.16",
              const std::string& password = "") {
    (void)world.start_operator();
    world.create_cluster(kKey, {.replicas = size, .version = version, .password = password});
    rest();
    world.start_clients(4);
    world.run_for(30s);
    snapshot();
  }
  void restore(const World::Wanted& how = {.replicas = 1}, const api::ObjectKey& name = kNew) {
    World::Wanted wanted = how;
    if (wanted.restore.empty()) wanted.restore = key();
    world.create_cluster(name, wanted);
  }
  std::string image_bytes(const std::string& of = key()) {
    const StoredObject* const object = world.store().look(kBucket, of);
    return object ? object->bytes : "";
  }
  /// As a user stores it, without a manifest.
  std::string stored_as(const std::string& name, const std::string& bytes) {
    world.write_object(name, bytes);
    return name;
  }
  std::string why(const char* type = v1::kProgressing, const api::ObjectKey& of = kNew) {
    const auto cluster = read<v1::EtcdCluster>(of);
    const auto* c = cluster ? runtime::find_condition(cluster->status.conditions, type) : nullptr;
    return c ? c->message : "";
  }
  void until_says(const std::string& progressing, Duration limit = 2min) {
    ASSERT_TRUE(world.run_until([&] { return says(v1::kProgressing, kNew) == progressing; }, limit))
        << says(v1::kProgressing, kNew) << ": " << why();
  }
  std::vector<EtcdNet::Birth> births_of(const api::ObjectKey& cluster) {
    std::vector<EtcdNet::Birth> out;
    for (const auto& birth : world.net().births())
      if (birth.cluster == world.etcd_of(cluster)) out.push_back(birth);
    return out;
  }
  std::string address_of(const api::ObjectKey& cluster) {
    for (const auto& p : world.net().processes())
      if (p.cluster == world.etcd_of(cluster) && p.serves) return p.address;
    return "";
  }
  api::ObjectKey seed_pod(const api::ObjectKey& cluster = kNew) {
    const auto all = world.members_of(cluster);
    return all.empty() ? api::ObjectKey{} : all.front();
  }
  std::string claim_uid(const api::ObjectKey& cluster = kNew) {
    return uid_of(kube::PersistentVolumeClaim::resource,
                  {"prod", "data-" + seed_pod(cluster).name});
  }
  /// The data dir is unchanged.
  bool untouched() {
    const auto dir = world.nodes().data_of(claim_uid());
    const auto scratch = world.nodes().scratch_of(claim_uid());
    return !dir || (!dir->owner && scratch->is_clean());
  }
  void give_up() {
    world.delete_cluster(kNew);
    ASSERT_TRUE(world.run_until(
        [&] { return !read<v1::EtcdCluster>(kNew) && world.missing().empty(); }, 1min))
        << world.missing();
  }

  /// How many keys of the snapshot any member lacks, or has with another value.
  int keys_missing_of(const api::ObjectKey& cluster) {
    int missing = 0;
    auto was = image_of(image_bytes());
    const std::string all(1, '\0');
    by_hand([&] {
      for (const auto& p : world.net().processes())
        for (const Store::Found& one : was->store.range(all, all, 0)) {
          if (p.cluster != world.etcd_of(cluster)) continue;
          auto value = world.net().get(world.time(), p.address, one.key);
          missing += !value || std::to_string(*value) != one.version->value;
        }
    });
    return missing;
  }

  /// The steps of a restore agent, in order: "HEAD db/nightly.db", "create", ...
  using Steps = std::vector<std::string>;
  /// Called before and after each step; false ends the agent there.
  std::function<bool(Agent&, std::size_t step, const std::string& what, bool done)> at_step;
  /// The steps of the last started agent.
  Steps steps;
  void listen_to_agents() {
    world.agents().on_start([this](Agent& agent) {
      if (!agent.restores()) return;
      steps.clear();
      agent.passage().before_write = [this, &agent](const std::string& what) {
        steps.push_back(what);
        return !at_step || at_step(agent, steps.size() - 1, what, false);
      };
      agent.passage().after_write = [this, &agent](const std::string& what) {
        return !at_step || at_step(agent, steps.size() - 1, what, true);
      };
    });
  }
  /// Strikes once, at one step.
  void strike_once(std::size_t step, bool after, std::function<void(Agent&)> blow) {
    at_step = [=, this, struck = false](Agent& agent, std::size_t now, const std::string&,
                                        bool done) mutable {
      if (struck || now != step || done != after) return true;
      struck = true;
      strikes_ += 1;
      blow(agent);
      return !agent.passage().dead;
    };
  }
  std::size_t strikes_ = 0;
};

TEST_F(ScenarioOfRestores, AClusterBeginsWithASnapshotAndGrows) {
  stored(3);
  const auto old = world.etcd_of(kKey);
  restore({.replicas = 3});
  until_says("True/Restoring", 30s);
  EXPECT_NE(why().find("s3://backups/db/nightly.db"), std::string::npos) << why();
  rest();
  EXPECT_EQ(says(v1::kAvailable, kNew), kRestoredSaid);
  EXPECT_NE(world.etcd_of(kNew), old);
  ASSERT_EQ(births_of(kNew).size(), 1U);
  ASSERT_TRUE(births_of(kNew)[0].from);
  EXPECT_GT(births_of(kNew)[0].from->image.store.revision(), 1'000'000'000);
  EXPECT_EQ(world.nodes().restores_begun(), 1U);
  EXPECT_EQ(keys_missing_of(kNew), 0);
  world.must_converge(2min);
}

TEST_F(ScenarioOfRestores, TheRevisionStaysIfThatIsAskedFor) {
  stored();
  restore({.replicas = 1, .bump_revision = 0});
  rest();
  EXPECT_EQ(births_of(kNew)[0].from->image, *image_of(image_bytes()));
}

TEST_F(ScenarioOfRestores, ASnapshotOfWhatWasRestoredIsRestoredAgain) {
  stored();
  restore();
  rest();
  world.run_for(30s);
  world.snapshot(kNew, "second");
  ASSERT_TRUE(world.run_until([&] { return !image_bytes("again/second.db").empty(); }, 2min));
  world.run_for(30s);
  restore({.replicas = 1, .restore = "again/second.db"}, {"prod", "third"});
  rest();
  EXPECT_GT(births_of({"prod", "third"})[0].from->image.store.revision(), 2'000'000'000);
}

TEST_F(ScenarioOfRestores, OfThePatchAndOfTheNextMinorItIsTaken) {
  struct Row {
    const char *from, *to;
  };
  const Row rows[] = {{"3.5.35", "3.6.16"}, {"3.6.15", "3.6.16"}, {"3.6.16", "3.7.3"}};
  (void)world.start_operator();
  for (const Row& row : rows) {
    world.create_cluster(kKey, {.replicas = 1, .version = row.from});
    rest();
    const std::string name = std::string("of-") + row.from;
    snapshot(name);
    restore({.replicas = 3, .version = row.to, .restore = key(name)});
    rest();
    EXPECT_EQ(says(v1::kAvailable, kNew), kRestoredSaid) << row.from;
    world.delete_cluster(kKey);
    give_up();
  }
}

// --- crashes -------------------------------------------------------------------------------------

/// T1 to T5, before and after each step of the agent.
TEST_F(ScenarioOfRestores, S48_AnAgentThatIsKilledAtAnyStepIsStartedAgainAndRestoresOnce) {
  stored();
  listen_to_agents();
  restore();
  rest();
  const Steps all = steps;
  ASSERT_GT(all.size(), 8U);
  EXPECT_EQ(std::ranges::count(all, "commit"), 1);
  give_up();
  for (std::size_t step = 0; step < all.size(); ++step)
    for (const bool after : {false, true}) {
      const std::uint64_t begun = world.nodes().restores_begun();
      strike_once(step, after, [&](Agent& agent) { world.agents().kill(agent); });
      restore();
      ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 3min))
          << all[step] << after << ": " << world.missing();
      EXPECT_EQ(births_of(kNew).size(), 1U) << all[step] << after;
      EXPECT_EQ(world.nodes().restores_begun(), begun + 2) << all[step] << after;
      EXPECT_TRUE(world.nodes().scratch_of(claim_uid())->is_clean()) << all[step] << after;
      give_up();
    }
  EXPECT_EQ(strikes_, 2 * all.size());
}

TEST_F(ScenarioOfRestores, S48_APodThatIsLostWhileItIsRestoredIsMadeAgain) {
  stored();
  listen_to_agents();
  const std::vector<std::function<void()>> blows = {
      [&] { world.delete_object(kube::Pod::resource, seed_pod()); },
      [&] { world.nodes().evict(seed_pod()); },
      [&] {
        const std::size_t node = node_of(seed_pod().name);
        world.nodes().node_down(node, true);
        world.soon(20s, [this, node] { world.nodes().node_down(node, false); });
      },
      [&] { world.kill(world.life(0), 5s); },
  };
  for (const char* what : {"GET "
                           "db/nightly.db",
                           "create", "write", "rebuild", "commit"})
    for (std::size_t i = 0; i < blows.size(); ++i)
      for (const bool after : {false, true}) {
        at_step = [&, struck = false](Agent&, std::size_t, const std::string& now,
                                      bool done) mutable {
          if (struck || now != what || done != after) return true;
          struck = true;
          ++strikes_;
          world.checker().struck();
          world.soon(0s, blows[i]);
          return true;
        };
        restore();
        ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 5min))
            << what << i << after << ": " << world.missing();
        EXPECT_EQ(births_of(kNew).size(), 1U) << what << i << after;
        give_up();
      }
  EXPECT_EQ(strikes_, 5 * 2 * blows.size());
}

/// The Pod that founded the cluster still has its init containers: it was not recreated.
TEST_F(ScenarioOfRestores, S48_ANodeThatIsStartedAgainBeforeAnybodySawItsMemberRestoresNothing) {
  stored();
  const std::size_t before = world.net().births().size();
  restore();
  world.once([&] { return world.net().births().size() > before; },
             [&] { world.kill(world.life(0), std::nullopt); });
  world.run_for(30s);
  const std::uint64_t begun = world.nodes().restores_begun();
  const std::size_t node = node_of(seed_pod().name);
  world.checker().struck();
  world.nodes().node_down(node, true);
  world.run_for(20s);
  world.nodes().node_down(node, false);
  world.run_for(20s);
  EXPECT_EQ(world.nodes().restores_begun(), begun + 1);
  EXPECT_EQ(told("restore exits 0: {\"already\":true}"), 1U);
  (void)world.start_operator();
  world.must_converge(5min);
  EXPECT_EQ(world.net().births().size(), before + 1);
}

TEST_F(ScenarioOfRestores, S48_AnEtcdOrAPodThatIsStartedAgainLaterRestoresNothing) {
  stored();
  restore();
  rest();
  const std::uint64_t begun = world.nodes().restores_begun();
  world.checker().struck();
  world.nodes().kill_etcd(seed_pod());
  world.run_for(20s);
  world.must_converge(5min);
  world.delete_object(kube::Pod::resource, seed_pod());
  world.run_for(5s);
  world.must_converge(5min);
  EXPECT_EQ(world.nodes().restores_begun(), begun);
  const auto pod = read<kube::Pod>(seed_pod());
  EXPECT_TRUE(pod->spec.init_containers.empty()) << "it founds nothing";
  EXPECT_EQ(births_of(kNew).size(), 1U);
}

/// Founded, but not yet recorded in the API server.
TEST_F(ScenarioOfRestores, S48_AMemberThatWasRestoredBeforeAnybodySawItIsNotRestoredTwice) {
  stored();
  const std::size_t before = world.net().births().size();
  restore();
  world.once([&] { return world.net().births().size() > before; },
             [&] { world.kill(world.life(0), std::nullopt); });
  world.run_for(1min);
  EXPECT_EQ(world.etcd_of(kNew).value, 0U);
  world.delete_object(kube::Pod::resource, seed_pod());
  world.run_for(10s);
  (void)world.start_operator();
  rest();
  EXPECT_EQ(world.net().births().size(), before + 1);
  EXPECT_GE(told("restore exits 0: {\"already\":true}"), 1U);
}

TEST_F(ScenarioOfRestores, S48_IntoANameThatIsStillGoingItWaits) {
  stored();
  const auto old = world.etcd_of(kKey);
  world.delete_cluster(kKey);
  while (read<v1::EtcdCluster>(kKey)) world.run_for(10ms);
  restore({.replicas = 3}, kKey);
  rest();
  EXPECT_NE(world.etcd_of(kKey), old);
  EXPECT_EQ(births_of(kKey).size(), 1U);
}

TEST_F(ScenarioOfRestores, S48_TwoClustersOfOneSnapshotHaveNothingToDoWithEachOther) {
  stored();
  restore();
  restore({.replicas = 1}, {"prod", "third"});
  rest();
  EXPECT_NE(world.etcd_of(kNew), world.etcd_of({"prod", "third"}));
}

/// T4: a failing restore is no etcd crash that another member could fix.
TEST_F(ScenarioOfRestores, S48_HoweverOftenItFailsTheFirstMemberStays) {
  stored();
  world.store().be_away(true);
  const std::size_t members = made(v1::EtcdMember::resource);
  restore();
  world.run_for(90min);
  EXPECT_TRUE(says(v1::kProgressing, kNew).ends_with("/RestoreFailed"))
      << says(v1::kProgressing, kNew) << ": " << why();
  EXPECT_TRUE(why().starts_with("SourceUnreachable: ")) << why();
  EXPECT_GE(world.nodes().restores_begun(), 6U);
  EXPECT_EQ(made(v1::EtcdMember::resource), members + 1);
  EXPECT_EQ(gone(v1::EtcdMember::resource), 0U);
  EXPECT_TRUE(untouched());
  world.store().be_away(false);
  ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min)) << world.missing();
  EXPECT_EQ(made(v1::EtcdMember::resource), members + 1);
}

// --- what is refused -----------------------------------------------------------------------------

TEST_F(ScenarioOfRestores, S47_WhatIsNotWholeOrDoesNotFitIsRefusedAndTouchesNothing) {
  stored();
  const std::string whole = image_bytes();
  std::string flipped = whole,
              newer = to_bytes({.store = {}, .users = {}, .alarms = {}, .minor = 7});
  flipped[1000] ^= 1;
  Image locked = *image_of(whole);
  (void)locked.users.add("root", Secret("unknown-pass-word"));
  (void)locked.users.grant("root", "root");
  (void)locked.users.enable();
  struct Row {
    const char* name;
    std::string object, reason;
  };
  const Row rows[] = {
      {"missing", "nobody/was-here.db", "SourceNotFound"},
      {"truncated", stored_as("truncated.db", whole.substr(0, whole.size() - 512)),
       "SnapshotBroken"},
      {"no-trailer", stored_as("bare.db", whole.substr(0, whole.size() - 32)), "SnapshotBroken"},
      {"flipped", stored_as("flipped.db", flipped), "SnapshotBroken"},
      {"empty", stored_as("empty.db", ""), "SnapshotBroken"},
      {"no-database", stored_as("letter.db", "Dear Sir or Madam"), "SnapshotBroken"},
      {"newer", stored_as("newer.db", newer), "SnapshotNewer"},
      {"locked", stored_as("locked.db", to_bytes(locked)), "SnapshotNeedsAuth"},
  };
  for (const Row& row : rows) {
    restore({.replicas = 1, .restore = row.object});
    until_says("False/RestoreFailed");
    EXPECT_TRUE(why().starts_with(row.reason + ": ")) << row.name << ": " << why();
    EXPECT_EQ(says(v1::kAvailable, kNew), "False/RestoreFailed") << row.name;
    world.run_for(3min);
    EXPECT_EQ(says(v1::kProgressing, kNew), "False/RestoreFailed") << row.name << ": " << why();
    EXPECT_TRUE(untouched()) << row.name;
    EXPECT_GE(tried("patch etcdclusters/status prod/again"), 1U);
    give_up();
  }
}

TEST_F(ScenarioOfRestores, S47_AnObjectUnderTheManifestOfAnotherIsRefused) {
  stored();
  snapshot("weekly");
  const std::string manifest = image_bytes(key() + agent::kManifestSuffix);
  world.write_object(key("weekly") + agent::kManifestSuffix, manifest);
  restore({.replicas = 1, .restore = key("weekly")});
  until_says("False/RestoreFailed");
  EXPECT_TRUE(why().starts_with("SnapshotForeign: ") || why().starts_with("SnapshotBroken: "))
      << why();
  EXPECT_TRUE(untouched());
  world.run_for(1min);
  // A user removes the manifest: the snapshot is usable without it.
  world.remove_object(key("weekly") + agent::kManifestSuffix);
  ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min)) << world.missing();
}

TEST_F(ScenarioOfRestores, S47_WhereThereIsTooLittleRoomOrNoToolItIsSaid) {
  stored();
  world.agents().trouble().free_bytes = image_bytes().size();
  restore();
  until_says("False/RestoreFailed");
  EXPECT_TRUE(why().starts_with("NoSpace: ")) << why();
  EXPECT_TRUE(untouched());
  world.agents().trouble() = {};
  world.agents().trouble().tool_missing = true;
  ASSERT_TRUE(world.run_until([&] { return why().starts_with("RestoreToolMissing: "); }, 10min))
      << why();
  EXPECT_TRUE(untouched());
  world.agents().trouble() = {};
  world.agents().trouble().tool_fails = 2;
  ASSERT_TRUE(world.run_until([&] { return why().starts_with("RestoreToolFailed: "); }, 10min))
      << why();
  EXPECT_TRUE(untouched());
  ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 20min)) << world.missing();
  EXPECT_EQ(says(v1::kAvailable, kNew), kRestoredSaid);
}

TEST_F(ScenarioOfRestores, WhatIsMissingAndComesIsRestored) {
  stored();
  const std::string bytes = image_bytes();
  restore({.replicas = 1, .restore = "later.db"});
  until_says("False/RestoreFailed");
  world.run_for(10min);
  EXPECT_EQ(says(v1::kProgressing, kNew), "False/RestoreFailed");
  world.write_object("later.db", bytes);
  ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min)) << world.missing();
  world.must_converge(5min);
}

TEST_F(ScenarioOfRestores, CredentialsThatAreMissingOrIncompleteAreNamed) {
  stored();
  const api::ObjectKey secret{"prod", "backup-credentials"};
  world.run_for(1min);
  before("create pods", [&](Life&) {});
  restore();
  world.delete_object(kube::SecretObject::resource, secret);
  ASSERT_TRUE(world.run_until(
      [&] { return why().find("Secret backup-credentials") != std::string::npos; }, 2min))
      << says(v1::kProgressing, kNew) << why();
  world.write_secret(secret, {{"AWS_ACCESS_KEY_ID", kStoreKeyId}});
  ASSERT_TRUE(world.run_until(
      [&] { return why().find("AWS_SECRET_ACCESS_KEY") != std::string::npos; }, 6min))
      << says(v1::kProgressing, kNew) << why();
  EXPECT_EQ(world.nodes().restores_begun(), 0U);
  world.write_secret(secret,
                     {{"AWS_ACCESS_KEY_ID", kStoreKeyId}, {"AWS_SECRET_ACCESS_KEY", kStoreSecret}});
  ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min)) << world.missing();
}

// --- the store -----------------------------------------------------------------------------------

TEST_F(ScenarioOfRestores, S45_WhatAStoreDoesWrongForAWhileCostsTime) {
  stored();
  for (const StoreFault fault : {StoreFault::Slow, StoreFault::SlowDown, StoreFault::Reset,
                                 StoreFault::AnswerLost, StoreFault::Truncates}) {
    world.store().strike(fault, {.one_in = 1});
    restore();
    world.run_for(30s);
    EXPECT_GT(world.store().struck(fault), 0U) << to_string(fault);
    world.store().heal();
    ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min))
        << to_string(fault) << ": " << world.missing() << ": " << why();
    give_up();
  }
}

TEST_F(ScenarioOfRestores, S45_WhatAStoreRefusesIsSaid) {
  stored();
  struct Row {
    const char* reason;
    std::function<void(StoreUser&)> is;
  };
  const Row rows[] = {
      {"SourceAccessDenied", [](StoreUser& u) { u.may_read = false; }},
      {"SourceCredentialsRejected", [](StoreUser& u) { u.known_key = false; }},
      {"SourceCredentialsRejected", [](StoreUser& u) { u.right_secret = false; }},
      {"SourceClockSkewed", [](StoreUser& u) { u.clock_ahead = 1h; }},
  };
  for (const Row& row : rows) {
    row.is(world.agents().user());
    restore();
    until_says("False/RestoreFailed");
    EXPECT_TRUE(why().starts_with(std::string(row.reason) + ": ")) << why();
    EXPECT_TRUE(untouched()) << row.reason;
    give_up();
    world.agents().user() = {};
  }
}

// --- deletion ------------------------------------------------------------------------------------

TEST_F(ScenarioOfRestores, S37_AClusterThatIsDeletedWhileItIsRestoredIsGoneWithinAMinute) {
  stored();
  listen_to_agents();
  restore();
  rest();
  const Steps all = steps;
  give_up();
  for (std::size_t step = 0; step < all.size(); ++step) {
    bool deleted = false;
    strike_once(step, false, [&](Agent&) {
      world.soon(0s, [&] {
        world.delete_cluster(kNew);
        deleted = true;
      });
    });
    restore();
    ASSERT_TRUE(world.run_until([&] { return deleted; }, 1min)) << all[step];
    world.run_for(1min);
    EXPECT_FALSE(read<v1::EtcdCluster>(kNew)) << all[step];
    EXPECT_EQ(world.missing(), "") << all[step];
  }
  EXPECT_EQ(world.store().unfinished(kBucket), 0U);
}

TEST_F(ScenarioOfRestores, S37_AClusterThatFailsToBeRestoredIsDeletedAsAnyOther) {
  stored();
  restore({.replicas = 1, .restore = "nobody/was-here.db"});
  until_says("False/RestoreFailed");
  world.run_for(30min);
  give_up();
  world.must_converge(2min);
}

// --- authentication ------------------------------------------------------------------------------

TEST_F(ScenarioOfRestores, W8b_AuthenticationThatIsOnFromBirthIsTakenOver) {
  for (const char* version : {"3.5.27", "3.5.35", "3.6.9", "3.6.16", "3.7.3"}) {
    if (world.operators() == 0) (void)world.start_operator();
    world.create_cluster(kKey, {.replicas = 1, .version = version, .password = kPassword});
    rest();
    const std::string name = std::string("of-") + version;
    snapshot(name);
    for (const int size : {1, 3}) {
      restore({.replicas = size, .version = version, .password = kPassword, .restore = key(name)});
      ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 5min))
          << version << " of " << size << ": " << world.missing() << ": " << why();
      EXPECT_TRUE(read<v1::EtcdCluster>(kNew)->status.auth_enabled) << version;
      EXPECT_TRUE(world.net().asks_users(world.etcd_of(kNew))) << version;
      world.must_converge(2min);
      give_up();
    }
    world.delete_cluster(kKey);
    world.run_for(30s);
  }
}

TEST_F(ScenarioOfRestores, W8b_APasswordOfAnotherDayIsSaidAndTakenOnceItIsRight) {
  stored(1, "3.6.16", kPassword);
  restore({.replicas = 1, .password = "another-pass-word"});
  world.once([&] { return world.etcd_of(kNew).value != 0; },
             [&] { world.checker().locked_out_by_hand(world.etcd_of(kNew)); });
  world.run_for(3min);
  EXPECT_FALSE(says(v1::kAvailable, kNew).starts_with("True")) << says(v1::kAvailable, kNew);
  EXPECT_NE((why() + why(v1::kAvailable)).find("again-root"), std::string::npos)
      << says(v1::kProgressing, kNew) << ": " << why() << "\n"
      << says(v1::kAvailable, kNew) << ": " << why(v1::kAvailable);
  world.write_password(kNew, kPassword);
  ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min)) << world.missing();
  EXPECT_EQ(births_of(kNew).size(), 1U);
}

/// F1: from authEnabled on, the Secret may be edited at once, whatever happens to the operator.
TEST_F(ScenarioOfRestores, W8b_OnceAuthenticationIsToldOfThePasswordMayBeEdited) {
  for (const char* version : {"3.5.27", "3.6.16", "3.7.3"}) {
    if (world.operators() == 0) (void)world.start_operator();
    world.create_cluster(kKey, {.replicas = 1, .version = version, .password = kPassword});
    rest();
    const std::string name = std::string("of-") + version;
    snapshot(name);
    restore({.replicas = 3, .version = version, .password = kPassword, .restore = key(name)});
    ASSERT_TRUE(
        world.run_until([&] { return read<v1::EtcdCluster>(kNew)->status.auth_enabled; }, 5min))
        << version << ": " << why();
    world.write_password(kNew, "edited-pass-word");
    world.kill(world.life(0), 1s);
    ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min))
        << version << ": " << world.missing() << ": " << why();
    give_up();
    world.delete_cluster(kKey);
    world.run_for(30s);
  }
}

TEST_F(ScenarioOfRestores, APasswordForWhatHadNoneIsSetLikeAnyOther) {
  stored();
  restore({.replicas = 3, .password = kPassword});
  rest();
  EXPECT_TRUE(world.net().asks_users(world.etcd_of(kNew)));
}

}  // namespace
}  // namespace etcdop::sim
