// Scenarios of schedules: one snapshot each minute, three kept, for ten minutes; and a failing
// store.
#include <functional>
#include <set>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "sim/api/jobs.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

class ScenarioOfSchedules : public Scenario {
 protected:
  static constexpr int kKept = 3;
  static constexpr const char* kManifest = ".json";

  void back_up() { world.back_up(kKey, "minutely", kKept); }
  void back_up_and_prove() { world.back_up(kKey, "minutely", kKept, 1); }
  /// The verdicts of the stored snapshots, by name.
  std::string verdicts() {
    std::string out;
    for (const auto& one : snapshots(v1::kSnapshotComplete)) {
      const auto* c = runtime::find_condition(one.status.conditions, v1::kVerified);
      out += (out.empty() ? "" : " ") + (c ? c->status : "none");
    }
    return out;
  }
  bool all_proven() { return is_stored(kKept) && verdicts() == "True True True"; }
  v1::EtcdSnapshotScheduleStatus status() {
    const auto schedule = read<v1::EtcdSnapshotSchedule>({"prod", "minutely"});
    return schedule ? schedule->status : v1::EtcdSnapshotScheduleStatus{};
  }
  /// "True/Scheduled"
  std::string says(const char* type) {
    const auto of = status();
    const auto* c = runtime::find_condition(of.conditions, type);
    return c ? c->status + "/" + c->reason : "none";
  }
  std::string why(const char* type) {
    const auto of = status();
    const auto* c = runtime::find_condition(of.conditions, type);
    return c ? c->message : "";
  }
  std::vector<v1::EtcdSnapshot> snapshots(const char* phase) {
    std::vector<v1::EtcdSnapshot> out;
    for (const auto& object : world.server().look_all(v1::EtcdSnapshot::resource))
      if (v1::EtcdSnapshot one; api::decode(*object, one, "it") && one.status.phase == phase)
        out.push_back(std::move(one));
    return out;
  }
  /// Keys of objects with a manifest.
  std::vector<std::string> stored() {
    std::vector<std::string> out;
    for (const std::string& key : world.store().keys(kBucket))
      if (!key.ends_with(kManifest) && world.store().look(kBucket, key + kManifest))
        out.push_back(key);
    return out;
  }
  bool is_stored(std::size_t count) { return stored().size() == count && status().active.empty(); }
};

TEST_F(ScenarioOfSchedules, AfterTenMinutesThreeObjectsWithTheirManifestsAreThere) {
  settled_cluster(3);
  back_up();
  world.run_for(10min);
  EXPECT_GE(gone(v1::EtcdSnapshot::resource), 6U);
  EXPECT_GE(made(v1::EtcdSnapshot::resource), 9U);
  EXPECT_LE(made(v1::EtcdSnapshot::resource), 11U);
  EXPECT_EQ(says(v1::kReady), "True/Scheduled");
  EXPECT_EQ(says(v1::kBackupStale), "False/SnapshotRecent");
  ASSERT_TRUE(world.run_until([&] { return is_stored(kKept); }, 50s)) << stored().size();
  EXPECT_EQ(world.store().keys(kBucket).size(), 2U * kKept) << "objects, and their manifests";
  std::vector<std::string> uris;
  for (const auto& one : snapshots(v1::kSnapshotComplete)) uris.push_back(one.status.artifact->uri);
  std::vector<std::string> expected;
  for (const std::string& key : stored())
    expected.push_back("s3://" + std::string(kBucket) + "/" + key);
  EXPECT_EQ(uris, expected) << "each EtcdSnapshot has its object, and each object its EtcdSnapshot";
  EXPECT_EQ(says(v1::kRetentionApplied), "True/ExpiredDeleted");
  EXPECT_EQ(status().failures_in_a_row, 0);
}

TEST_F(ScenarioOfSchedules, WithCredentialsThatAreRefusedBackupsAreStaleInOneAndAHalfIntervals) {
  settled_cluster(1);
  back_up();
  world.run_for(5min);
  ASSERT_EQ(says(v1::kBackupStale), "False/SnapshotRecent");
  world.agents().user().right_secret = false;
  const auto last = from_rfc3339(status().last_success->time);
  ASSERT_TRUE(world.run_until([&] { return says(v1::kBackupStale) == "True/NoRecentSnapshot"; },
                              2min + 5s));
  const auto told = status();
  const auto* stale = runtime::find_condition(told.conditions, v1::kBackupStale);
  const auto since = from_rfc3339(stale->last_transition_time);
  const auto stored_last = from_rfc3339(told.last_success->time);
  ASSERT_TRUE(last && since && stored_last);
  EXPECT_LE(*since - *stored_last, 95s);
  EXPECT_GE(*since - *stored_last, 85s);
  EXPECT_NE(stale->message.find("DestinationCredentialsRejected"), std::string::npos)
      << stale->message;
  EXPECT_GE(told.failures_in_a_row, 1);
  world.run_for(6min);
  EXPECT_GE(status().failures_in_a_row, 5);
  EXPECT_LE(snapshots(v1::kSnapshotFailed).size(), 4U) << "three, and one that is about to go";
  EXPECT_GE(stored().size(), static_cast<std::size_t>(kKept)) << "what is good stays";
  world.agents().user() = {};
  ASSERT_TRUE(
      world.run_until([&] { return says(v1::kBackupStale) == "False/SnapshotRecent"; }, 3min));
  EXPECT_EQ(status().failures_in_a_row, 0);
}

TEST_F(ScenarioOfSchedules, AStoreThatIsDownForThreeCyclesCostsClientsNothing) {
  settled_cluster(3);
  back_up();
  world.run_for(4min);
  const std::size_t before = world.history().operations().size();
  world.store().strike(StoreFault::Reset, {.one_in = 1});
  world.run_for(3min);
  const auto kept = stored();
  world.store().heal();
  for (std::size_t i = before; i < world.history().operations().size(); ++i)
    EXPECT_NE(world.history().operations()[i].outcome, Operation::Outcome::Failed);
  EXPECT_GT(world.history().operations().size(), before + 100);
  EXPECT_GE(kept.size(), static_cast<std::size_t>(kKept)) << "what is good stays";
  ASSERT_TRUE(world.run_until(
      [&] {
        return says(v1::kBackupStale) == "False/SnapshotRecent" && status().active.empty() &&
               status().failures_in_a_row == 0 && stored().size() == kKept;
      },
      20min))
      << stored().size() << " are stored; " << why(v1::kBackupStale);
}

TEST_F(ScenarioOfSchedules, AnOperatorThatDiesEachMinuteLosesNoRunAndKeepsNoMore) {
  settled_cluster(1);
  back_up();
  world.run_for(3min);
  for (int i = 0; i < 5; ++i) {
    world.run_for(55s + std::chrono::seconds(i * 2));
    world.kill(world.life(0), 3s);
  }
  EXPECT_GE(made(v1::EtcdSnapshot::resource), 7U);
  EXPECT_LE(made(v1::EtcdSnapshot::resource), 9U);
  ASSERT_TRUE(world.run_until([&] { return is_stored(kKept); }, 2min)) << stored().size();
}

TEST_F(ScenarioOfSchedules, WhatMayNotBeDeletedStaysAndIsToldUntilItMay) {
  settled_cluster(1);
  back_up();
  world.agents().user().may_delete = false;
  world.run_for(6min);
  EXPECT_EQ(says(v1::kRetentionApplied), "False/RetentionFailed");
  EXPECT_NE(why(v1::kRetentionApplied).find("DestinationAccessDenied"), std::string::npos)
      << why(v1::kRetentionApplied);
  EXPECT_EQ(says(v1::kBackupStale), "False/SnapshotRecent") << "runs go on";
  EXPECT_GE(stored().size(), 5U);
  world.agents().user() = {};
  ASSERT_TRUE(world.run_until(
      [&] { return is_stored(kKept) && says(v1::kRetentionApplied) == "True/ExpiredDeleted"; },
      10min))
      << stored().size() << " are stored; " << why(v1::kRetentionApplied);
}

TEST_F(ScenarioOfSchedules, AfterTenMinutesThreeObjectsAreThereAndAllAreVerified) {
  settled_cluster(3);
  back_up_and_prove();
  world.run_for(10min);
  EXPECT_EQ(says(v1::kBackupUnverified), "False/BackupVerified") << why(v1::kBackupUnverified);
  EXPECT_EQ(says(v1::kBackupStale), "False/SnapshotRecent");
  ASSERT_TRUE(world.run_until([&] { return all_proven(); }, 59s)) << verdicts();
  EXPECT_EQ(world.store().keys(kBucket).size(), 2U * kKept) << "objects, and their manifests";
  const auto last = status().last_verified;
  ASSERT_TRUE(last && last->hash_kv && last->keys);
  EXPECT_LE(made(v1::EtcdSnapshot::resource), 12U) << "no run waits for a proof";
}

TEST_F(ScenarioOfSchedules, OneThatIsSpoiltLaterIsFoundWithinACycleAndForgottenOnceItIsGone) {
  settled_cluster(1);
  back_up_and_prove();
  world.run_for(5min);
  ASSERT_TRUE(world.run_until([&] { return all_proven(); }, 59s)) << verdicts();
  world.spoil_object(stored().back());
  ASSERT_TRUE(world.run_until(
      [&] { return says(v1::kBackupUnverified) == "True/VerificationFailed"; }, 2min))
      << verdicts();
  EXPECT_NE(why(v1::kBackupUnverified).find("SnapshotBroken"), std::string::npos)
      << why(v1::kBackupUnverified);
  ASSERT_TRUE(world.run_until(
      [&] { return says(v1::kBackupUnverified) == "False/BackupVerified" && all_proven(); }, 6min))
      << verdicts() << "; " << why(v1::kBackupUnverified);
}

struct Spoilt {
  const char *name, *reason;
  /// Spoils `newest`, given `oldest`.
  void (*spoil)(World&, const std::string& newest, const std::string& oldest);
};
class ScenarioOfSpoilt : public ScenarioOfSchedules,
                         public ::testing::WithParamInterface<Spoilt> {};

TEST_P(ScenarioOfSpoilt, IsFoundWithinACycle) {
  settled_cluster(1);
  back_up_and_prove();
  world.run_for(5min);
  ASSERT_TRUE(world.run_until([&] { return all_proven(); }, 59s)) << verdicts();
  GetParam().spoil(world, stored().back(), stored().front());
  ASSERT_TRUE(world.run_until(
      [&] { return says(v1::kBackupUnverified) == "True/VerificationFailed"; }, 2min))
      << verdicts();
  EXPECT_NE(why(v1::kBackupUnverified).find(GetParam().reason), std::string::npos)
      << why(v1::kBackupUnverified);
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, ScenarioOfSpoilt,
    ::testing::Values(Spoilt{"CutOff", "SnapshotBroken",
                             [](World& world, const std::string& newest, const std::string&) {
                               const std::string whole = world.store().look(kBucket, newest)->bytes;
                               world.write_object(newest, whole.substr(0, whole.size() / 2));
                             }},
                      Spoilt{
                          "AnotherOne", "SnapshotForeign",
                          [](World& world, const std::string& newest, const std::string& oldest) {
                            for (const char* end : {"", ".json"})
                              world.write_object(newest + end,
                                                 world.store().look(kBucket, oldest + end)->bytes);
                          }},
                      Spoilt{"Gone", "SourceNotFound",
                             [](World& world, const std::string& newest, const std::string&) {
                               world.remove_object(newest);
                             }}),
    [](const auto& row) { return row.param.name; });

TEST_F(ScenarioOfSchedules, AStoreThatIsDownSpoilsNoVerdictForLong) {
  settled_cluster(1);
  back_up_and_prove();
  world.run_for(4min);
  world.store().strike(StoreFault::Reset, {.one_in = 1});
  world.run_for(10min);
  world.store().heal();
  ASSERT_TRUE(world.run_until(
      [&] { return says(v1::kBackupUnverified) == "False/BackupVerified" && all_proven(); }, 20min))
      << verdicts() << "; " << why(v1::kBackupUnverified);
}

TEST_F(ScenarioOfSchedules, AVerificationGoesOnWhileTheClusterIsPaused) {
  settled_cluster(1);
  world.snapshot(kKey, "nightly");
  ASSERT_TRUE(world.run_until([&] { return snapshots(v1::kSnapshotComplete).size() == 1; }, 2min));
  world.scale(kKey, 0);
  world.run_for(1min);
  (void)world.server().change(
      v1::EtcdSnapshot::resource, {"prod", "nightly"},
      [](json::object& object) { object["spec"].as_object()["verify"] = true; });
  ASSERT_TRUE(world.run_until([&] { return verdicts() == "True"; }, 2min)) << verdicts();
}

TEST_F(ScenarioOfSchedules, AnAgentThatIsKilledAtAnyStepCostsOneMoreTry) {
  settled_cluster(1);
  world.snapshot(kKey, "nightly");
  ASSERT_TRUE(world.run_until([&] { return snapshots(v1::kSnapshotComplete).size() == 1; }, 2min));
  std::set<std::string> steps;
  std::string dies_at;
  world.agents().on_start([&](Agent& agent) {
    agent.passage().before_write = [&, one = &agent](const std::string& what) {
      steps.insert(what);
      if (what != dies_at) return true;
      dies_at.clear();
      world.agents().kill(*one);
      return false;
    };
  });
  int asked = 0;
  const auto prove = [&] {
    (void)world.server().change(v1::EtcdSnapshot::resource, {"prod", "nightly"},
                                [&](json::object& object) {
                                  object["metadata"].as_object()["annotations"] = {
                                      {v1::kVerifyAnnotation, "time " + std::to_string(++asked)}};
                                });
    return world.run_until(
        [&] {
          const auto one = snapshots(v1::kSnapshotComplete).front();
          return !one.verifying() && verdicts() == "True";
        },
        5min);
  };
  ASSERT_TRUE(prove()) << verdicts();
  EXPECT_GE(steps.size(), 10U);
  for (const std::string& step : std::set(steps)) {
    dies_at = step;
    EXPECT_TRUE(prove()) << step << ": " << verdicts();
    EXPECT_EQ(dies_at, "") << step;
  }
}

TEST_F(ScenarioOfSchedules, AnOperatorThatDiesEachMinuteProvesAllTheSame) {
  settled_cluster(1);
  back_up_and_prove();
  world.run_for(3min);
  for (int i = 0; i < 5; ++i) {
    world.run_for(50s + std::chrono::seconds(i * 3));
    world.kill(world.life(0), 3s);
  }
  ASSERT_TRUE(world.run_until(
      [&] { return says(v1::kBackupUnverified) == "False/BackupVerified" && all_proven(); }, 5min))
      << verdicts();
}

}  // namespace
}  // namespace etcdop::sim
