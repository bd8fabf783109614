// Passes over EtcdRestores: what is written before a Job is created, the cost of a lost answer, and
// which Pods are believed. The API server is a fake.
#include "operator/restore/reconciler.h"

#include <gtest/gtest.h>

#include "api/describe.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"
#include "operator/agents/verify_report.h"
#include "runtime/conditions.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::restore {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

const api::ObjectKey kKey{"prod", "back"};

class RestoreReconciler : public ::testing::Test {
 protected:
  RestoreReconciler() {
    api.serve({.resource = v1::EtcdRestore::resource, .status = true, .generation = true});
    api.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
    api.serve({.resource = kube::Job::resource, .status = true});
    api.serve({.resource = kube::Pod::resource, .status = true});
    api.grant(Api::permissions());
    stores.clusters.saw(
        api.put<v1::EtcdCluster>({{"metadata", {{"name", "db"}, {"namespace", "prod"}}},
                                  {"spec", {{"replicas", 3}, {"version", "3.6.16"}}}}));
    stores.restores.saw(api.put<v1::EtcdRestore>(
        {{"metadata", {{"name", kKey.name}, {"namespace", kKey.ns}}},
         {"spec",
          {{"clusterRef", {{"name", "db"}}},
           {"source", {{"pvc", {{"claimName", "backups"}, {"subPath", "db.db"}}}}}}}}));
  }

  template <class T>
  std::optional<T> there(const std::string& name) const {
    return api.find<T>({kKey.ns, name});
  }
  v1::EtcdRestore now() const { return *there<v1::EtcdRestore>(kKey.name); }
  std::optional<kube::Job> job() const { return there<kube::Job>("back-check"); }
  Result<runtime::Requeue> pass(Duration later = 10s) {
    world.advance_to(world.now() + later);
    Result<runtime::Requeue> out = Error{Code::Cancelled, "not ended"};
    world.spawn([&] { out = reconciler.reconcile(kKey); });
    world.run();
    return out;
  }
  /// Kubernetes ends the Job, and an agent with that owner has reported.
  void end_job(const char* type, const std::string& owner, const VerifyReport& report) {
    kube::Pod pod;
    pod.metadata.name = "back-check-x";
    pod.metadata.ns = kKey.ns;
    pod.metadata.labels["batch.kubernetes.io/job-name"] = "back-check";
    pod.metadata.owner_references.emplace_back().uid = owner;
    auto& agent = pod.status.container_statuses.emplace_back();
    agent.name = v1::kVerifyContainer;
    agent.state.terminated = {report.failed() ? 3 : 0, "", to_text(report)};
    api.put(kube::Pod::resource, api::encode(pod).as_object());
    api.change(kube::Job::resource, {kKey.ns, "back-check"}, [&](json::object& object) {
      object["status"] = {{"conditions", json::array{{{"type", type}, {"status", "True"}}}}};
    });
    stores.jobs.saw_deleted({kKey.ns, "back-check"}, job()->metadata.uid);
    stores.jobs.saw(*job());
  }
  /// The cluster has reached this stage; the watch has not reported it.
  void begin_behind_the_watch(const char* stage) {
    api.change(v1::EtcdCluster::resource, {"prod", "db"}, [&](json::object& object) {
      const Json source{{"pvc", {{"claimName", "backups"}, {"subPath", "db.db"}}}};
      object["status"] = {{"restore",
                           {{"name", kKey.name},
                            {"uid", now().metadata.uid},
                            {"stage", stage},
                            {"from", {{"source", source}}}}}};
    });
  }
  static VerifyReport good() {
    VerifyReport out;
    out.uri = "file:///snapshot/data/db.db";
    out.checksum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    out.revision = 42;
    return out;
  }
  std::string says(const char* type) const {
    const auto restore = now();
    const auto* c = runtime::find_condition(restore.status.conditions, type);
    return c ? restore.status.phase + " " + c->status + "/" + c->reason : restore.status.phase;
  }

  sim::Scheduler world{1};
  FakeApi api{world};
  testing::MemoryLog log;
  testing::VirtualWallClock clock{world};
  Stores stores;
  FlightRecorder flight;
  Reconciler reconciler{{world, api, stores, clock, log, nullptr, &flight}, {"op:1", "etcd"}};
};

TEST_F(RestoreReconciler, ASnapshotIsCheckedByOneJobAndThenWaitedFor) {
  ASSERT_TRUE(pass());
  EXPECT_FALSE(job()) << "the attempt is recorded first";
  ASSERT_TRUE(pass());
  ASSERT_TRUE(job());
  ASSERT_TRUE(pass());
  EXPECT_EQ(now().status.job_uid, job()->metadata.uid);
  end_job("Complete", job()->metadata.uid, good());
  ASSERT_TRUE(pass());
  EXPECT_EQ(says(v1::kChecked), "Ready True/Checked");
  EXPECT_EQ(now().status.source->revision, 42);
  api.forget_requests();
  auto rest = pass();
  ASSERT_TRUE(rest);
  EXPECT_EQ(log.count("restore has a new phase"), 2) << "Checking, Ready";
  EXPECT_NE(flight.text().find("\"kind\":\"EtcdRestore\""), std::string::npos) << flight.text();
  EXPECT_EQ(rest->after, std::nullopt);
  EXPECT_EQ(api.requests().size(), 0U) << "who waits for a person costs nothing";
}

/// As of a CustomResourceDefinition without the status subresource.
TEST_F(RestoreReconciler, AStatusThatTheServerDoesNotFindIsTriedAgainByTheQueuesBackOff) {
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Patch || call.subresource != "status") return std::nullopt;
    return Error{Code::NotFound, "the server could not find the requested resource"};
  });
  EXPECT_TRUE(pass().failed_with(Code::NotFound));
  EXPECT_FALSE(job());
}

TEST_F(RestoreReconciler, AJobWhoseAnswerWasLostIsFoundMade) {
  ASSERT_TRUE(pass());
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Create) return std::nullopt;
    return Error{Code::AlreadyExists, "it is there"};
  });
  ASSERT_TRUE(pass());
  EXPECT_EQ(says(v1::kChecked), "Checking Unknown/Checking");
  api.before({});
  ASSERT_TRUE(pass());
  ASSERT_TRUE(job());
  ASSERT_TRUE(pass());
  EXPECT_EQ(api.requests("create jobs"), 2);
}

TEST_F(RestoreReconciler, PodsOfAnotherJobOfThatNameAreNotBelieved) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  end_job("Complete", "somebody", good());
  ASSERT_TRUE(pass());
  EXPECT_EQ(says(v1::kChecked), "Checking Unknown/Checking");
  EXPECT_EQ(now().status.attempts, 2);
}

TEST_F(RestoreReconciler, WhatKeepsAJobFromBeingMadeIsTold) {
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Create) return std::nullopt;
    return Error{Code::Denied, "exceeded quota"};
  });
  for (int i = 0; i < 3; ++i) (void)pass();
  const auto restore = now();
  const auto* checked = runtime::find_condition(restore.status.conditions, v1::kChecked);
  ASSERT_TRUE(checked);
  EXPECT_NE(checked->message.find("exceeded quota"), std::string::npos) << checked->message;
  for (int i = 0; i < 20; ++i) (void)pass(1min);
  EXPECT_EQ(says(v1::kChecked), "Failed False/ObjectRejected");
}

TEST_F(RestoreReconciler, AClusterThatTheWatchHasNotToldOfIsAskedFor) {
  stores.clusters.saw_deleted(*stores.clusters.get({"prod", "db"}));
  ASSERT_TRUE(pass());
  EXPECT_EQ(now().status.phase, v1::kRestoreChecking);
  api.erase(v1::EtcdCluster::resource, {"prod", "db"});
  ASSERT_TRUE(pass());
  EXPECT_EQ(says(v1::kChecked), "Failed False/ClusterNotFound");
}

/// A deleted cluster that had the name before.
TEST_F(RestoreReconciler, AWatchThatStillShowsAClusterOfBeforeEndsNothing) {
  const api::ObjectKey cluster{"prod", "db"};
  api.change(v1::EtcdCluster::resource, cluster,
             [](json::object& object) { object["metadata"].as_object()["uid"] = "u-2"; });
  api.change(v1::EtcdRestore::resource, kKey, [](json::object& object) {
    object["status"] = {{"phase", v1::kRestoreChecking}, {"clusterUID", "u-2"}};
  });
  stores.restores.saw(now());
  ASSERT_NE(stores.clusters.get(cluster)->metadata.uid, "u-2");
  ASSERT_TRUE(pass());
  EXPECT_EQ(now().status.phase, v1::kRestoreChecking);
}

/// The seeds 425772993, 425773149 and 425775358: an operator that led before had seen the status of
/// the restore and not that of the cluster, and ended the restore for good while it went on.
TEST_F(RestoreReconciler, AWatchOfTheClusterThatIsBehindEndsNothing) {
  api.change(v1::EtcdRestore::resource, kKey, [&](json::object& object) {
    object["status"] = {{"phase", v1::kRestoreStopping},
                        {"clusterUID", stores.clusters.get({"prod", "db"})->metadata.uid},
                        {"startedAt", "2026-01-01T00:00:00Z"}};
  });
  stores.restores.saw(now());
  begin_behind_the_watch("Review");
  ASSERT_TRUE(pass());
  EXPECT_EQ(now().status.phase, v1::kRestoreReview);
  api.change(v1::EtcdCluster::resource, {"prod", "db"},
             [](json::object& object) { object.erase("status"); });
  ASSERT_TRUE(pass());
  EXPECT_EQ(says(v1::kCommitted), "Failed Unknown/ClusterReplaced") << "it is really so";
}

/// The watch has not reported yet that the cluster has begun.
TEST_F(RestoreReconciler, WhatIsTakenBackIsAskedOfTheClusterItself) {
  api.change(v1::EtcdRestore::resource, kKey, [&](json::object& object) {
    object["spec"].as_object()["decision"] = "Rollback";
    object["status"] = {{"phase", v1::kRestoreReady},
                        {"clusterUID", stores.clusters.get({"prod", "db"})->metadata.uid}};
  });
  stores.restores.saw(now());
  begin_behind_the_watch("Stopping");
  ASSERT_TRUE(pass());
  EXPECT_EQ(now().status.phase, v1::kRestoreStopping)
      << "it is not over before the cluster says so";
}

TEST_F(RestoreReconciler, WhoDoesNotAnswerSaysNothingOfTheCluster) {
  stores.clusters.saw_deleted(*stores.clusters.get({"prod", "db"}));
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Get) return std::nullopt;
    return Error{Code::TimedOut, "no answer"};
  });
  EXPECT_TRUE(pass().failed_with(Code::TimedOut));
  EXPECT_EQ(now().status.phase, "");
}

TEST_F(RestoreReconciler, AClusterThatIsBeingDeletedIsNoneAnyMore) {
  auto going = *stores.clusters.get({"prod", "db"});
  going.metadata.deletion_timestamp = "2026-11-23T00:00:00Z";
  going.metadata.resource_version = "x";
  stores.clusters.saw(going);
  ASSERT_TRUE(pass());
  EXPECT_EQ(says(v1::kChecked), "Failed False/ClusterNotFound");
}

TEST_F(RestoreReconciler, AStatusThatIsRefusedIsTriedOnceAMinute) {
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Patch) return std::nullopt;
    return Error{Code::Denied, "forbidden"};
  });
  (void)pass();
  const auto tried = [&] { return api.requests("patch etcdrestores/status"); };
  const auto first = tried();
  for (int i = 0; i < 3; ++i) (void)pass(0s);
  EXPECT_EQ(tried(), first);
  (void)pass(1min);
  EXPECT_GT(tried(), first);
}

TEST_F(RestoreReconciler, AnOlderViewIsRefused) {
  api.change(v1::EtcdRestore::resource, kKey,
             [](json::object& object) { object["spec"].as_object()["decision"] = "Rollback"; });
  EXPECT_FALSE(pass());
  EXPECT_EQ(now().status.phase, "");
}

}  // namespace
}  // namespace etcdop::restore
