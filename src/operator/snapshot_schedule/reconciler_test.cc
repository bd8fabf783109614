// Passes over schedules: a run is created once, whichever answers are lost; stored data is deleted
// before its EtcdSnapshot, and only by the spec that the API server has. The API server is a fake.
#include "operator/snapshot_schedule/reconciler.h"

#include <gtest/gtest.h>

#include "api/describe.h"
#include "operator/agents/agent_report.h"
#include "operator/snapshot_schedule/objects.h"
#include "operator/snapshot_schedule/timetable.h"
#include "runtime/conditions.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::snapshot_schedule {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

class ScheduleReconciler : public ::testing::Test {
 protected:
  ScheduleReconciler() {
    api.serve({.resource = v1::EtcdSnapshotSchedule::resource, .status = true, .generation = true});
    api.serve({.resource = v1::EtcdSnapshot::resource, .status = true, .generation = true});
    api.serve({.resource = kube::Job::resource, .status = true});
    api.grant(Api::permissions());
  }

  /// As the watch reports it; every minute, and three are kept.
  void put_schedule() {
    const Json s3{{"endpoint", "https://s3.example.com"},
                  {"bucket", "backups"},
                  {"credentialsSecretRef", {{"name", "s3"}}}};
    json::object made{{"metadata", {{"name", "db"}, {"namespace", "prod"}}},
                      {"spec",
                       {{"clusterRef", {{"name", "db"}}},
                        {"schedule", "* * * * *"},
                        {"retention", {{"keepLast", 3}}},
                        {"template", {{"destination", {{"s3", s3}}}}}}}};
    stores.schedules.saw(api.put<v1::EtcdSnapshotSchedule>(std::move(made)));
  }
  template <class T>
  std::optional<T> there(const std::string& name) const {
    return api.find<T>({"prod", name});
  }
  v1::EtcdSnapshotSchedule now() const {
    return there<v1::EtcdSnapshotSchedule>("db").value_or(v1::EtcdSnapshotSchedule());
  }
  /// Their names, the oldest first.
  std::vector<std::string> snapshots() const {
    std::vector<std::string> out;
    for (const auto& one : api.all(v1::EtcdSnapshot::resource))
      out.emplace_back(one.at("metadata").at("name").as_string());
    return out;
  }
  std::string told(const char* type = v1::kReady) const {
    const auto schedule = now();
    const auto* c = runtime::find_condition(schedule.status.conditions, type);
    return c ? c->status + "/" + c->reason : "none";
  }

  Result<runtime::Requeue> pass() {
    Result<runtime::Requeue> out = Error{Code::Cancelled, "not ended"};
    world.spawn([&] { out = reconciler->reconcile({"prod", "db"}); });
    world.run();
    return out;
  }
  void wait(Duration d) { world.advance_to(world.now() + d); }
  /// All members exist, as the watch reports next.
  void has_grown(v1::EtcdCluster& cluster) {
    cluster.metadata.resource_version = "3";
    runtime::set_condition(cluster.status.conditions,
                           {v1::kProgressing, "False", v1::kReconciled, ""}, 1, clock.wall_now());
    stores.clusters.saw(cluster);
  }
  /// To the beginning of the next minute.
  void next_minute() { wait(std::chrono::seconds(60 - clock.wall_now().since_epoch.count() % 60)); }
  std::string run_now() const {
    const auto now = clock.wall_now();
    return run_name("db", {now.since_epoch - now.since_epoch % 60s});
  }
  /// As the watch reports it.
  void end_snapshot(const std::string& name, const char* phase) {
    if (const auto made = there<v1::EtcdSnapshot>(name)) stores.snapshots.saw(*made);
    api.change(v1::EtcdSnapshot::resource, {"prod", name}, [&](json::object& object) {
      json::object status{{"phase", phase}};
      if (phase == std::string(v1::kSnapshotComplete))
        status["artifact"] = {{"uri", "s3://backups/" + name + ".db"}};
      object["status"] = std::move(status);
    });
    if (const auto ended = there<v1::EtcdSnapshot>(name)) stores.snapshots.saw(*ended);
  }
  void end_job(const std::string& name, const char* type) {
    if (const auto made = there<kube::Job>(name)) stores.jobs.saw(*made);
    api.change(kube::Job::resource, {"prod", name}, [&](json::object& object) {
      object["status"] = {{"conditions", json::array{{{"type", type}, {"status", "True"}}}}};
    });
    if (const auto ended = there<kube::Job>(name)) stores.jobs.saw(*ended);
  }
  /// That many stored runs, one a minute.
  void store(int count) {
    put_schedule();
    for (int i = 0; i < count; ++i) {
      next_minute();
      ASSERT_TRUE(pass());
      end_snapshot(run_now(), v1::kSnapshotComplete);
    }
    ASSERT_EQ(snapshots().size(), static_cast<std::size_t>(count));
  }
  static FakeApi::Fault fails(kube::Verb verb, Code code) {
    return [=](const kube::Call& call) -> std::optional<Error> {
      if (call.verb == verb) return Error{code, "so it is"};
      return std::nullopt;
    };
  }
  void crash() { reconciler = std::make_unique<Reconciler>(with(), "op:1"); }
  Reconciler::Collaborators with() {
    return {{world, api, stores, clock, log, nullptr, &flight}, &metrics};
  }

  sim::Scheduler world{1};
  FakeApi api{world};
  testing::MemoryLog log;
  testing::VirtualWallClock clock{world};
  Stores stores;
  ScheduleMetrics metrics{stores.schedules};
  FlightRecorder flight;
  std::unique_ptr<Reconciler> reconciler = std::make_unique<Reconciler>(with(), "op:1");
};

TEST_F(ScheduleReconciler, ARunIsMadeAtItsTimeAndToldOfAfterwards) {
  put_schedule();
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 0U);
  next_minute();
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots(), std::vector<std::string>{run_now()});
  ASSERT_TRUE(pass());
  EXPECT_EQ(now().status.active, snapshots());
  EXPECT_EQ(told(), "True/Scheduled");
  const auto made = there<v1::EtcdSnapshot>(run_now());
  EXPECT_EQ(made->metadata.controller()->uid, now().metadata.uid);
  EXPECT_EQ(made->metadata.labels.at(v1::kScheduleLabel), "db");
  api.forget_requests();
  auto rest = pass();
  ASSERT_TRUE(rest);
  EXPECT_EQ(api.requests().size(), 0U) << "nothing is due";
  EXPECT_EQ(rest->after, 10s);
  EXPECT_NE(flight.text().find("\"kind\":\"EtcdSnapshotSchedule\""), std::string::npos);
}

TEST_F(ScheduleReconciler, ALostAnswerOrACrashMakesNoSecondRunAndLosesNone) {
  put_schedule();
  next_minute();
  api.after(fails(kube::Verb::Create, Code::Lost));
  EXPECT_FALSE(pass());
  api.after(nullptr);
  ASSERT_EQ(snapshots().size(), 1U);
  EXPECT_EQ(now().status.last_schedule_time, std::nullopt);
  crash();
  ASSERT_TRUE(pass());  // AlreadyExists: it is read.
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 1U);
  EXPECT_EQ(now().status.active, snapshots());
  EXPECT_EQ(api.requests("create etcdsnapshots"), 2);
}

TEST_F(ScheduleReconciler, NothingIsStartedByAnOlderViewOfTheSchedule) {
  put_schedule();
  api.change(v1::EtcdSnapshotSchedule::resource, {"prod", "db"}, [](json::object& object) {
    object["spec"].as_object()["suspend"] = true;  // The watch has not reported it yet.
  });
  next_minute();
  EXPECT_FALSE(pass());
  EXPECT_EQ(snapshots().size(), 0U);
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 0U);
  EXPECT_EQ(told(), "False/Suspended");
}

TEST_F(ScheduleReconciler, ASnapshotOfThatNameThatIsThereAlreadyIsLeft) {
  put_schedule();
  next_minute();
  api.put(v1::EtcdSnapshot::resource,
          {{"metadata", {{"name", run_now()}, {"namespace", "prod"}}},
           {"spec", {{"clusterRef", {{"name", "db"}}}, {"destination", json::object()}}}});
  ASSERT_TRUE(pass());
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "False/SnapshotNameTaken");
  EXPECT_EQ(now().status.active.size(), 0U);
}

TEST_F(ScheduleReconciler, WhatIsRefusedIsToldAndTriedAgain) {
  put_schedule();
  next_minute();
  api.before(fails(kube::Verb::Create, Code::Denied));
  (void)pass();
  (void)pass();
  EXPECT_EQ(told(), "False/ObjectRejected");
  api.before(nullptr);
  wait(5s);
  ASSERT_TRUE(pass());
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 1U);
  EXPECT_EQ(told(), "True/Scheduled");
}

TEST_F(ScheduleReconciler, WhatFailsOnceIsNotToldAndWhatGoesOnFailingIs) {
  put_schedule();
  next_minute();
  api.before(fails(kube::Verb::Create, Code::Unavailable));
  EXPECT_FALSE(pass());
  EXPECT_FALSE(pass());
  EXPECT_EQ(told(), "True/Scheduled");
  EXPECT_FALSE(pass());
  EXPECT_EQ(told(), "False/ObjectRejected");
}

TEST_F(ScheduleReconciler, APassThatWasCutOffIsNoFailure) {
  put_schedule();
  next_minute();
  api.before(fails(kube::Verb::Create, Code::Cancelled));
  EXPECT_TRUE(pass().failed_with(Code::Cancelled));
  api.before(fails(kube::Verb::Create, Code::Unavailable));
  EXPECT_FALSE(pass());
  EXPECT_FALSE(pass());
  EXPECT_EQ(told(), "True/Scheduled") << "the first failure is not told";
}

TEST_F(ScheduleReconciler, WhatHasExpiredIsDeletedByAJobAndThenItsSnapshot) {
  store(4);
  const std::string oldest = snapshots().front();
  ASSERT_TRUE(pass());
  const auto job = there<kube::Job>(oldest + "-delete");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->metadata.controller()->name, oldest);
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 4U) << "it has not ended";
  end_job(oldest + "-delete", "Complete");
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 3U);
  EXPECT_NE(snapshots().front(), oldest);
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(v1::kRetentionApplied), "True/ExpiredDeleted");
}

TEST_F(ScheduleReconciler, WhoDeletesWhatIsEncryptedGetsNoKey) {
  store(1);
  auto stored = there<v1::EtcdSnapshot>(snapshots().front());
  ASSERT_TRUE(stored);
  stored->spec.destination.encryption.emplace().key_secret_ref.name = "the-keys";
  const std::string job = json::serialize(deletion(*stored, std::nullopt, "op:1"));
  EXPECT_EQ(job.find("the-keys"), std::string::npos);
}

TEST_F(ScheduleReconciler, NothingIsDeletedThatSomebodyHasJustAskedToKeep) {
  store(4);
  api.change(v1::EtcdSnapshotSchedule::resource, {"prod", "db"}, [](json::object& object) {
    object["spec"].as_object()["retention"] = {{"keepLast", 10}};  // Not reported yet.
  });
  for (int i = 0; i < 4; ++i) (void)pass();
  EXPECT_EQ(api.all(kube::Job::resource).size(), 0U);
  EXPECT_EQ(snapshots().size(), 4U);
}

TEST_F(ScheduleReconciler, NothingIsDeletedWhileNobodySaysWhatIsToBeKept) {
  store(4);
  api.before([](const kube::Call& call) -> std::optional<Error> {
    const bool asks =
        call.verb == kube::Verb::Get && call.resource == v1::EtcdSnapshotSchedule::resource;
    return asks ? std::optional(Error{Code::TimedOut, "no answer"}) : std::nullopt;
  });
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(pass());
  EXPECT_EQ(api.all(kube::Job::resource).size(), 0U);
  EXPECT_FALSE(there<v1::EtcdSnapshot>(snapshots().front())
                   ->metadata.annotations.contains(v1::kExpiredAnnotation));
}

TEST_F(ScheduleReconciler, NothingIsDeletedWhereTheSnapshotsSpecWasJustEdited) {
  store(4);
  const std::string oldest = snapshots().front();
  api.change(v1::EtcdSnapshot::resource, {"prod", oldest}, [](json::object& object) {
    object["spec"].at("destination").at("s3").as_object()["bucket"] = "other";
  });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(api.all(kube::Job::resource).size(), 0U);
  EXPECT_EQ(told(v1::kRetentionApplied), "False/RetentionFailed");
}

TEST_F(ScheduleReconciler, ALostAnswerToADeletionCostsNothing) {
  store(4);
  const std::string oldest = snapshots().front();
  api.after(fails(kube::Verb::Create, Code::Lost));
  EXPECT_FALSE(pass());
  api.after(nullptr);
  crash();
  ASSERT_TRUE(pass());
  EXPECT_EQ(api.all(kube::Job::resource).size(), 1U);
  EXPECT_TRUE(stores.jobs.get({"prod", oldest + "-delete"})) << "it is known without a watch";
  end_job(oldest + "-delete", "Complete");
  api.after(fails(kube::Verb::Delete, Code::Lost));
  EXPECT_FALSE(pass());
  api.after(nullptr);
  ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 3U);
}

TEST_F(ScheduleReconciler, ADeletionThatFailsIsToldInTheWordsOfItsAgentAndRepeated) {
  store(4);
  const std::string oldest = snapshots().front();
  ASSERT_TRUE(pass());
  const auto job = there<kube::Job>(oldest + "-delete");
  ASSERT_TRUE(job);
  kube::Pod pod;
  pod.metadata.name = oldest + "-delete-x";
  pod.metadata.ns = "prod";
  pod.metadata.labels[v1::kSnapshotLabel] = oldest;
  pod.metadata.owner_references.emplace_back().uid = job->metadata.uid;
  AgentReport failure;
  failure.reason = v1::kDestinationAccessDenied;
  failure.message = "s3:DeleteObject is not allowed";
  auto& agent = pod.status.container_statuses.emplace_back();
  agent.name = v1::kDeleteContainer;
  agent.state.terminated = {3, "Error", to_text(failure)};
  stores.agents.saw(pod);
  end_job(oldest + "-delete", "Failed");
  ASSERT_TRUE(pass());
  const auto schedule = now();
  const auto* said = runtime::find_condition(schedule.status.conditions, v1::kRetentionApplied);
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->message, oldest +
                               " has expired and cannot be deleted: s3:DeleteObject is not "
                               "allowed (DestinationAccessDenied)");
  next_minute();
  ASSERT_TRUE(pass());  // The next run comes first,
  ASSERT_TRUE(pass());  // then the Job is deleted,
  EXPECT_FALSE(there<kube::Job>(oldest + "-delete"));
  ASSERT_TRUE(pass());  // and is recreated.
  const auto again = there<kube::Job>(oldest + "-delete");
  ASSERT_TRUE(again);
  EXPECT_NE(again->metadata.uid, job->metadata.uid);
}

TEST_F(ScheduleReconciler, WhatIsToGoIsMarkedFirstAndGoesThoughMoreIsKeptMeanwhile) {
  store(4);
  const std::string oldest = snapshots().front();
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb == kube::Verb::Create) return Error{Code::Lost, "so it is"};
    return std::nullopt;
  });
  EXPECT_FALSE(pass());
  ASSERT_FALSE(there<kube::Job>(oldest + "-delete"));
  const auto marked = there<v1::EtcdSnapshot>(oldest);
  ASSERT_TRUE(marked);
  EXPECT_TRUE(marked->metadata.annotations.contains(v1::kExpiredAnnotation));
  api.before(nullptr);
  stores.schedules.saw(now());
  api.change(v1::EtcdSnapshotSchedule::resource, {"prod", "db"}, [](json::object& object) {
    object["spec"].as_object()["retention"] = {{"keepLast", 9}};
  });
  stores.schedules.saw(now());
  wait(10s);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(now().spec.retention->keep_last, 9);
  EXPECT_TRUE(there<kube::Job>(oldest + "-delete"));
}

TEST_F(ScheduleReconciler, WhatTheApiServerKnowsByNowKeepsASnapshot) {
  store(4);
  const auto names = snapshots();
  // The caches do not know it yet: of the three newest one is missing, so the oldest is the third.
  api.erase(v1::EtcdSnapshot::resource, {"prod", names[2]});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  EXPECT_FALSE(there<kube::Job>(names[0] + "-delete"));
  const auto oldest = there<v1::EtcdSnapshot>(names[0]);
  ASSERT_TRUE(oldest);
  EXPECT_FALSE(oldest->metadata.annotations.contains(v1::kExpiredAnnotation));
}

TEST_F(ScheduleReconciler, WhatACurrentRestoreReadsIsKeptUntilItIsThrough) {
  store(4);
  const std::string oldest = snapshots().front();
  v1::EtcdCluster cluster;
  cluster.metadata.name = "db-restored";
  cluster.metadata.ns = "other";
  cluster.metadata.uid = "c-9";
  v1::S3Location& s3 = cluster.spec.bootstrap.emplace().restore.emplace().source.s3.emplace();
  s3.bucket = "backups";
  s3.key = oldest + ".db";
  stores.clusters.saw(cluster);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_FALSE(there<kube::Job>(oldest + "-delete"));
  cluster.metadata.resource_version = "2";
  cluster.status.cluster_id = "00000000000000c9";
  stores.clusters.saw(cluster);
  ASSERT_TRUE(pass());
  EXPECT_FALSE(there<kube::Job>(oldest + "-delete")) << "its data has one copy";
  has_grown(cluster);
  ASSERT_TRUE(pass());
  EXPECT_TRUE(there<kube::Job>(oldest + "-delete"));
}

TEST_F(ScheduleReconciler, WhatACurrentRestoreInPlaceReadsIsKeptUntilItHasEnded) {
  store(4);
  const std::string oldest = snapshots().front();
  v1::EtcdRestore restore;
  restore.metadata.name = "back";
  restore.metadata.ns = "prod";
  restore.metadata.uid = "r-1";
  restore.spec.cluster_ref.name = "db";
  v1::S3Location& s3 = restore.spec.source.s3.emplace();
  s3.bucket = "backups";
  s3.key = oldest + ".db";
  stores.restores.saw(restore);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_FALSE(there<kube::Job>(oldest + "-delete"));
  restore.metadata.resource_version = "2";
  restore.status.phase = v1::kRestoreRolledBack;
  stores.restores.saw(restore);
  ASSERT_TRUE(pass());
  EXPECT_TRUE(there<kube::Job>(oldest + "-delete"));
}

/// Its deletion was decided and its Job could not be created; then a user wanted to keep it.
TEST_F(ScheduleReconciler, WhatIsReadIsKeptAlsoWhereNothingIsToBeDeletedAnyMore) {
  store(4);
  const std::string oldest = snapshots().front();
  api.before(fails(kube::Verb::Create, Code::Denied));
  ASSERT_TRUE(pass());
  ASSERT_TRUE(
      there<v1::EtcdSnapshot>(oldest)->metadata.annotations.contains(v1::kExpiredAnnotation));
  api.before(nullptr);
  stores.schedules.saw(now());
  api.change(v1::EtcdSnapshotSchedule::resource, {"prod", "db"},
             [](json::object& object) { object["spec"].as_object().erase("retention"); });
  stores.schedules.saw(now());
  v1::EtcdCluster cluster;
  cluster.metadata.name = "db";
  cluster.metadata.ns = "prod";
  cluster.metadata.uid = "c-9";
  v1::RestoreRecord& record = cluster.status.restore.emplace();
  record.stage = v1::RestoreStage::Committing;
  v1::S3Location& s3 = record.from.source.s3.emplace();
  s3.bucket = "backups";
  s3.key = oldest + ".db";
  stores.clusters.saw(cluster);
  wait(1min);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  EXPECT_FALSE(there<kube::Job>(oldest + "-delete")) << "its EtcdRestore may be gone";
  cluster.metadata.resource_version = "2";
  cluster.status.restore->stage = v1::RestoreStage::Committed;
  stores.clusters.saw(cluster);
  ASSERT_TRUE(pass());
  EXPECT_FALSE(there<kube::Job>(oldest + "-delete")) << "what was restored has one copy";
  has_grown(cluster);
  ASSERT_TRUE(pass());
  EXPECT_TRUE(there<kube::Job>(oldest + "-delete"));
}

TEST_F(ScheduleReconciler, OneWithoutItsLabelIsDeletedAsItIsCounted) {
  store(4);
  const std::string oldest = snapshots().front();
  api.change(v1::EtcdSnapshot::resource, {"prod", oldest},
             [](json::object& object) { object["metadata"].as_object().erase("labels"); });
  stores.snapshots.saw(*there<v1::EtcdSnapshot>(oldest));
  ASSERT_TRUE(pass());
  EXPECT_TRUE(there<kube::Job>(oldest + "-delete"));
}

TEST_F(ScheduleReconciler, NothingIsReplacedThatNobodyCouldLookAt) {
  put_schedule();
  api.change(v1::EtcdSnapshotSchedule::resource, {"prod", "db"}, [](json::object& object) {
    object["spec"].as_object()["concurrencyPolicy"] = "Replace";
  });
  stores.schedules.saw(now());
  next_minute();
  ASSERT_TRUE(pass());
  const std::string name = run_now();
  stores.snapshots.saw(*there<v1::EtcdSnapshot>(name));
  api.change(v1::EtcdSnapshot::resource, {"prod", name},
             [](json::object& object) { object["status"] = {{"phase", v1::kSnapshotComplete}}; });
  next_minute();
  api.before(fails(kube::Verb::Get, Code::TimedOut));
  EXPECT_FALSE(pass());
  EXPECT_EQ(snapshots(), std::vector<std::string>{name}) << "it has ended, which nobody knows";
  api.before(nullptr);
  wait(5s);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(snapshots().size(), 2U);
  EXPECT_EQ(log.count("reason=SnapshotReplaced"), 0);
}

TEST_F(ScheduleReconciler, WhatIsCalledAlmostAsItsRunsAreIsNone) {
  store(3);
  v1::EtcdSnapshot theirs;
  theirs.metadata.name = "db-by-hand";
  theirs.metadata.ns = "prod";
  theirs.metadata.uid = "s-9";
  theirs.status.phase = v1::kSnapshotStarted;
  stores.snapshots.saw(theirs);
  ASSERT_TRUE(pass());
  EXPECT_TRUE(now().status.active.empty());
  EXPECT_EQ(api.all(kube::Job::resource).size(), 0U);
}

TEST_F(ScheduleReconciler, AStepThatIsRefusedWaits) {
  put_schedule();
  next_minute();
  api.before(fails(kube::Verb::Create, Code::Denied));
  for (int i = 0; i < 4; ++i) (void)pass();
  EXPECT_EQ(api.requests("create etcdsnapshots"), 1);
}

TEST_F(ScheduleReconciler, AStatusThatIsRefusedIsTriedOnceAMinute) {
  put_schedule();
  api.before(fails(kube::Verb::Patch, Code::Denied));
  for (int i = 0; i < 3; ++i) (void)pass();
  EXPECT_EQ(api.requests("patch etcdsnapshotschedules/status"), 1);
  wait(1min);
  (void)pass();
  EXPECT_EQ(api.requests("patch etcdsnapshotschedules/status"), 2);
}

TEST_F(ScheduleReconciler, WhatIsReplacedAndWhatHasExpiredAreToldApart) {
  put_schedule();
  api.change(v1::EtcdSnapshotSchedule::resource, {"prod", "db"}, [](json::object& object) {
    object["spec"].as_object()["concurrencyPolicy"] = "Replace";
  });
  stores.schedules.saw(now());
  for (int i = 0; i < 2; ++i) {
    next_minute();
    ASSERT_TRUE(pass());
  }
  EXPECT_EQ(log.count("reason=SnapshotReplaced"), 1);
  EXPECT_EQ(log.count("reason=SnapshotDeleted"), 0);
}

TEST_F(ScheduleReconciler, AVerificationIsAskedForOnceUnderTheVersionThatWasSeen) {
  put_schedule();
  api.change(v1::EtcdSnapshotSchedule::resource, {"prod", "db"},
             [](json::object& object) { object["spec"].as_object()["verify"] = {{"every", 1}}; });
  stores.schedules.saw(now());
  next_minute();
  ASSERT_TRUE(pass());
  const std::string name = run_now();
  end_snapshot(name, v1::kSnapshotComplete);
  const auto asked = [&] { return there<v1::EtcdSnapshot>(name)->asked(); };
  api.change(v1::EtcdSnapshot::resource, {"prod", name}, [](json::object& object) {
    object["metadata"].as_object()["labels"] = {{"by", "people"}};
  });
  ASSERT_TRUE(pass());
  EXPECT_EQ(asked(), "") << "somebody else was quicker";
  stores.snapshots.saw(*there<v1::EtcdSnapshot>(name));
  ASSERT_TRUE(pass());
  EXPECT_EQ(asked(), name);
  EXPECT_TRUE(there<v1::EtcdSnapshot>(name)->verifying());
  api.forget_requests();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(api.requests("patch etcdsnapshots"), 0);
  runtime::Metrics all;
  metrics.show_in(all);
  EXPECT_NE(all.text().find("etcd_operator_backup_unverified{name=\"db\",namespace=\"prod\"} 0"),
            std::string::npos)
      << all.text();
}

TEST_F(ScheduleReconciler, OneThatIsBeingDeletedIsLeft) {
  put_schedule();
  auto going = now();
  going.metadata.deletion_timestamp = "2026-11-23T00:00:00Z";
  going.metadata.resource_version = "x";
  stores.schedules.saw(going);
  next_minute();
  ASSERT_TRUE(pass());
  EXPECT_EQ(api.requests("create"), 0);
}

TEST_F(ScheduleReconciler, MetricsTellOfSchedulesThatAreThere) {
  runtime::Metrics all;
  metrics.show_in(all);
  store(1);
  ASSERT_TRUE(pass());
  EXPECT_NE(all.text().find("etcd_operator_backup_stale{name=\"db\",namespace=\"prod\"} 0"),
            std::string::npos)
      << all.text();
  EXPECT_NE(all.text().find("etcd_operator_backup_last_success_timestamp_seconds{"),
            std::string::npos);
  wait(2min);
  (void)pass();
  EXPECT_NE(all.text().find("etcd_operator_backup_stale{name=\"db\",namespace=\"prod\"} 1"),
            std::string::npos);
  stores.schedules.saw_deleted(now());
  EXPECT_EQ(all.text().find("etcd_operator_backup_stale{"), std::string::npos);
}

TEST_F(ScheduleReconciler, ChangesWakeTheScheduleThatTheyConcern) {
  testing::SeededRandom random(1);
  runtime::Queue queue(world, random, {});
  connect(stores, queue);
  put_schedule();
  EXPECT_EQ(queue.waiting(), 1U);
}

}  // namespace
}  // namespace etcdop::snapshot_schedule
