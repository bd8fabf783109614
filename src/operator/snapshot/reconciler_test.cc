// Passes over snapshots: what is written before a Job is created, the cost of a lost answer or a
// crash, and which Jobs and Pods are believed. The API server is a fake.
#include "operator/snapshot/reconciler.h"

#include <gtest/gtest.h>

#include "api/describe.h"
#include "operator/agents/agent_report.h"
#include "operator/agents/verify_report.h"
#include "operator/passes/turns.h"
#include "runtime/conditions.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/secret_shelf.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::snapshot {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

constexpr const char* kSum =
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

class SnapshotReconciler : public ::testing::Test {
 protected:
  SnapshotReconciler() {
    api.serve({.resource = v1::EtcdSnapshot::resource, .status = true, .generation = true});
    api.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
    api.serve({.resource = kube::Job::resource, .status = true});
    api.serve({.resource = kube::Pod::resource, .status = true});
    api.grant(Api::permissions());
    for (const auto& p : kSecretPermissions) api.grant({p});
    auto cluster = api.put<v1::EtcdCluster>({{"metadata", {{"name", "db"}, {"namespace", "prod"}}},
                                             {"spec", {{"replicas", 3}, {"version", "3.6.16"}}}});
    cluster_uid = cluster.metadata.uid;
    cluster.status.cluster_id = "00000000000000c1";
    cluster.status.conditions.push_back(
        {v1::kAvailable, "True", v1::kQuorumHealthy, "", "2026-01-01T00:00:00Z", 1});
    set_cluster(cluster);
    for (const char* name : {"db-a", "db-b", "db-c"}) {
      v1::EtcdMember member;
      member.metadata.name = name;
      member.metadata.ns = "prod";
      member.metadata.uid = name;
      member.metadata.labels[v1::kClusterLabel] = "db";
      member.metadata.owner_references.emplace_back().uid = cluster_uid;
      member.spec.cluster_name = "db";
      member.status.is_voter = *(name + 3) != 'c';
      stores.members.saw(member);
    }
  }

  /// On the server and in the watch.
  void set_cluster(const v1::EtcdCluster& cluster) {
    const Json wanted = api::encode(cluster);
    api.change(v1::EtcdCluster::resource, cluster.metadata.key(), [&](json::object& object) {
      for (const char* part : {"spec", "status"}) object[part] = wanted.at(part);
    });
    stores.clusters.saw(*there<v1::EtcdCluster>(cluster.metadata.name));
  }
  /// As the watch reports it; in that phase, if one is given.
  void put_snapshot(const std::string& name = "nightly", const std::string& phase = "") {
    const Json s3{{"endpoint", "https://s3.example.com"},
                  {"bucket", "backups"},
                  {"credentialsSecretRef", {{"name", "s3"}}}};
    json::object made{{"metadata", {{"name", name}, {"namespace", "prod"}}},
                      {"spec", {{"clusterRef", {{"name", "db"}}}, {"destination", {{"s3", s3}}}}}};
    if (!phase.empty()) made["status"] = {{"phase", phase}};
    stores.snapshots.saw(api.put<v1::EtcdSnapshot>(std::move(made)));
  }
  template <class T>
  std::optional<T> there(const std::string& name) const {
    return api.find<T>({"prod", name});
  }
  v1::EtcdSnapshot now(const std::string& name = "nightly") const {
    return there<v1::EtcdSnapshot>(name).value_or(v1::EtcdSnapshot());
  }
  std::optional<kube::Job> job() const { return there<kube::Job>("nightly-snapshot"); }

  Result<runtime::Requeue> pass(const std::string& name = "nightly") {
    Result<runtime::Requeue> out = Error{Code::Cancelled, "not ended"};
    world.spawn([&] { out = reconciler->reconcile({"prod", name}); });
    world.run();
    return out;
  }
  Result<runtime::Requeue> later(Duration wait = 10s) {
    world.advance_to(world.now() + wait);
    return pass();
  }
  /// Pending, Started with its Job, and that Job recorded.
  void start() {
    put_snapshot();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
    ASSERT_TRUE(job());
    ASSERT_EQ(now().status.job_uid, job()->metadata.uid);
  }
  /// Ends the Job as Kubernetes' own controllers do; the watch reports it.
  void end_job(const char* type, const char* reason = "") {
    if (const auto made = job()) stores.jobs.saw(*made);
    api.change(kube::Job::resource, {"prod", "nightly-snapshot"}, [&](json::object& object) {
      object["status"] = {
          {"conditions", json::array{{{"type", type},
                                      {"status", "True"},
                                      {"reason", reason},
                                      {"lastTransitionTime", to_rfc3339(clock.wall_now())}}}}};
    });
    if (const auto ended = job()) stores.jobs.saw(*ended);
  }
  /// A Pod that has ended like this, with our label; `owner`: UID.
  void put_pod(const std::string& owner, int exit_code, const AgentReport& report,
               bool watched = true) {
    put_pod_of("nightly-snapshot", owner, v1::kAgentContainer, exit_code, to_text(report), watched);
  }
  void put_pod_of(const std::string& job, const std::string& owner, const char* container,
                  int exit_code, const std::string& report, bool watched) {
    kube::Pod pod;
    pod.metadata.name = job + "-" + std::to_string(++pods_);
    pod.metadata.ns = "prod";
    pod.metadata.labels[v1::kSnapshotLabel] = "nightly";
    pod.metadata.owner_references.push_back({"batch/v1", "Job", job, owner, true, true});
    pod.status.phase = exit_code == 0 ? "Succeeded" : "Failed";
    auto& agent = pod.status.container_statuses.emplace_back();
    agent.name = container;
    agent.state.terminated = {exit_code, "", report};
    pod = api.put<kube::Pod>(api::encode(pod));
    if (watched) stores.agents.saw(pod);
  }
  static AgentReport success() {
    AgentReport out;
    out.uri = "s3://backups/nightly.db";
    out.size_bytes = 20480;
    out.checksum = kSum;
    out.etcd_version = "3.6.16";
    out.cluster_id = "00000000000000c1";
    out.member_id = "00000000000000a1";
    return out;
  }
  static AgentReport failure(const char* reason) {
    AgentReport out;
    out.reason = reason;
    out.message = "so it is";
    return out;
  }
  /// "Started False/JobRunning"
  std::string told() const {
    const auto snapshot = now();
    const auto* c = runtime::find_condition(snapshot.status.conditions, v1::kReady);
    return c ? snapshot.status.phase + " " + c->status + "/" + c->reason : snapshot.status.phase;
  }
  std::string message() const {
    const auto snapshot = now();
    const auto* c = runtime::find_condition(snapshot.status.conditions, v1::kReady);
    return c ? c->message : "";
  }
  /// Calls with that verb fail.
  static FakeApi::Fault fails(kube::Verb verb, Code code) {
    return [=](const kube::Call& call) -> std::optional<Error> {
      if (call.verb == verb) return Error{code, "so it is"};
      return std::nullopt;
    };
  }
  void crash() { reconciler = std::make_unique<Reconciler>(with(), VerifyImages{"op:1"}); }
  Reconciler::Collaborators with() {
    return {{world, api, stores, clock, log, nullptr, &flight}, secrets};
  }

  sim::Scheduler world{1};
  FakeApi api{world};
  FlightRecorder flight;
  testing::SecretShelf shelf{api};
  testing::MemoryLog log;
  testing::VirtualWallClock clock{world};
  std::string cluster_uid;
  Stores stores;
  Secrets secrets{world, api};
  std::unique_ptr<Reconciler> reconciler =
      std::make_unique<Reconciler>(with(), VerifyImages{"op:1"});
  int pods_ = 0;
};

TEST_F(SnapshotReconciler, ASnapshotIsTakenAndThenCostsNothing) {
  put_snapshot();
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Pending");
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/JobCreated");
  ASSERT_TRUE(job());
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/JobRunning");
  put_pod(job()->metadata.uid, 0, success());
  end_job("Complete");
  auto ended = pass();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->after, std::nullopt);
  EXPECT_EQ(told(), "Complete True/SnapshotStored");
  EXPECT_EQ(now().status.artifact->uri, "s3://backups/nightly.db");
  EXPECT_EQ(api.requests("patch"), 4);
  EXPECT_EQ(api.requests("create"), 1);
  EXPECT_EQ(api.requests("get") + api.requests("list"), 1) << "of the cluster, when it began";
  api.forget_requests();
  auto rest = pass();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->after, std::nullopt);
  EXPECT_EQ(api.requests().size(), 0U);
  EXPECT_TRUE(stores.snapshots.in_group({"prod", "db"}).empty()) << "nothing wakes it";
  EXPECT_NE(flight.text().find("\"kind\":\"EtcdSnapshot\""), std::string::npos) << flight.text();
}

TEST_F(SnapshotReconciler, TheAgentIsToldTheVoters) {
  start();
  const auto made = api.find(kube::Job::resource, {"prod", "nightly-snapshot"});
  const Json env = made->at("spec").at("template").at("spec").at("containers").at(0).at("env");
  EXPECT_EQ(env.at(0).at("value").as_string(),
            "http://db-a.db.prod.svc:2379,http://db-b.db.prod.svc:2379");
}

TEST_F(SnapshotReconciler, NoJobIsMadeThatTheStatusDoesNotSayFirst) {
  put_snapshot();
  ASSERT_TRUE(pass());
  api.before(fails(kube::Verb::Patch, Code::Conflict));
  EXPECT_FALSE(pass());
  EXPECT_FALSE(job());
  api.before(nullptr);
  ASSERT_TRUE(pass());
  EXPECT_TRUE(job());
}

TEST_F(SnapshotReconciler, ALostAnswerToTheStatusIsLookedAtAndMakesOneJob) {
  put_snapshot();
  ASSERT_TRUE(pass());
  api.after(fails(kube::Verb::Patch, Code::Lost));
  EXPECT_FALSE(pass());
  EXPECT_FALSE(job());
  EXPECT_EQ(now().status.attempts, 1);
  api.after(nullptr);
  ASSERT_TRUE(pass());
  EXPECT_TRUE(job());
  EXPECT_EQ(now().status.attempts, 1);
}

TEST_F(SnapshotReconciler, ALostAnswerToTheJobIsMadeUpForByALook) {
  put_snapshot();
  ASSERT_TRUE(pass());
  api.after(fails(kube::Verb::Create, Code::Lost));
  EXPECT_FALSE(pass());
  api.after(nullptr);
  ASSERT_TRUE(job());
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Started False/JobRunning");
  EXPECT_EQ(api.requests("create jobs"), 1);
}

TEST_F(SnapshotReconciler, ACrashBeforeTheJobIsMadeOrSeenCostsNothing) {
  put_snapshot();
  ASSERT_TRUE(pass());
  api.before(fails(kube::Verb::Create, Code::Unavailable));
  EXPECT_FALSE(pass());
  EXPECT_EQ(told(), "Started False/JobCreated");
  crash();
  api.before(nullptr);
  ASSERT_TRUE(pass());
  const auto first = job();
  ASSERT_TRUE(first);
  stores.jobs.saw_deleted(*first);  // As for an operator whose watch is behind.
  crash();
  ASSERT_TRUE(pass());
  EXPECT_EQ(job()->metadata.uid, first->metadata.uid);
  EXPECT_EQ(told(), "Started False/JobRunning");
  EXPECT_EQ(now().status.attempts, 1);
}

TEST_F(SnapshotReconciler, ItsOwnJobIsFoundWhereTheCreateSaysThatThereIsOne) {
  put_snapshot();
  ASSERT_TRUE(pass());
  json::object owner{{"apiVersion", "etcd-operator.cozystack.io/v1alpha2"},
                     {"kind", "EtcdSnapshot"},
                     {"name", "nightly"},
                     {"uid", now().metadata.uid},
                     {"controller", true}};
  api.put(kube::Job::resource, {{"metadata",
                                 {{"name", "nightly-snapshot"},
                                  {"namespace", "prod"},
                                  {"ownerReferences", json::array{owner}}}}});
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/JobCreated");
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/JobRunning");
  EXPECT_EQ(now().status.job_uid, job()->metadata.uid);
}

TEST_F(SnapshotReconciler, AJobOfSomebodyElseIsNeitherTakenOverNorDeleted) {
  put_snapshot();
  api.put(kube::Job::resource,
          {{"metadata", {{"name", "nightly-snapshot"}, {"namespace", "prod"}}}});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Failed False/ObjectRejected");
  EXPECT_EQ(message(), "Job nightly-snapshot has another owner");
  EXPECT_TRUE(job());
  EXPECT_EQ(api.requests("delete"), 0);
}

TEST_F(SnapshotReconciler, TheJobOfASnapshotThatHadItsNameIsWaitedFor) {
  put_snapshot();
  json::object owner{{"apiVersion", "etcd-operator.cozystack.io/v1alpha2"},
                     {"kind", "EtcdSnapshot"},
                     {"name", "nightly"},
                     {"uid", "s-0"},
                     {"controller", true}};
  api.put(kube::Job::resource, {{"metadata",
                                 {{"name", "nightly-snapshot"},
                                  {"namespace", "prod"},
                                  {"ownerReferences", json::array{owner}}}}});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/ObjectRejected");
  put_pod(job()->metadata.uid, 0, success());
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Started False/ObjectRejected") << "what it stored is not ours";
  api.erase(kube::Job::resource, {"prod", "nightly-snapshot"});
  ASSERT_TRUE(later());
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/JobRunning");
  EXPECT_EQ(now().status.job_uid, job()->metadata.uid);
}

TEST_F(SnapshotReconciler, APodThatOnlySaysThatItIsOursIsNotBelieved) {
  start();
  put_pod("somebody", 0, success());
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Started False/JobRunning");
}

TEST_F(SnapshotReconciler, AJobThatIsGoneIsLookedForBeforeItIsLost) {
  start();
  const auto made = job();
  stores.jobs.saw_deleted(*made);
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Started False/JobRunning") << "only the watch said so";
  api.erase(kube::Job::resource, {"prod", "nightly-snapshot"});
  api.before(fails(kube::Verb::Get, Code::Unavailable));
  EXPECT_FALSE(later());
  EXPECT_EQ(told(), "Started False/JobRunning");
  api.before(nullptr);
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Started False/JobCreated");
  EXPECT_EQ(now().status.attempts, 2) << "what it stored is found by the snapshot's UID";
  ASSERT_TRUE(later());
  stores.jobs.saw_deleted(*job());
  api.erase(kube::Job::resource, {"prod", "nightly-snapshot"});
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Failed False/SnapshotJobLost");
  EXPECT_EQ(api.requests("create jobs"), 2);
}

TEST_F(SnapshotReconciler, WhatAnAgentStoredIsKnownThoughItsJobIsGone) {
  start();
  put_pod(job()->metadata.uid, 0, success());
  stores.jobs.saw_deleted(*job());
  api.erase(kube::Job::resource, {"prod", "nightly-snapshot"});
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Complete True/SnapshotStored");
}

TEST_F(SnapshotReconciler, AJobWhosePodIsGoneIsMadeOnceMore) {
  start();
  const std::string first = job()->metadata.uid;
  end_job("Complete");
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/JobCreated");
  EXPECT_FALSE(job());
  crash();
  ASSERT_TRUE(pass());
  ASSERT_TRUE(job());
  EXPECT_NE(job()->metadata.uid, first);
  EXPECT_EQ(now().status.attempts, 2);
  ASSERT_TRUE(pass());
  put_pod(first, 0, failure(v1::kEtcdUnhealthy));
  put_pod(job()->metadata.uid, 0, success());
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Complete True/SnapshotStored");
}

TEST_F(SnapshotReconciler, TheSecondJobIsTheLast) {
  start();
  for (int i = 0; i < 6; ++i) {
    if (job() && job()->status.conditions.empty()) end_job("Complete");
    ASSERT_TRUE(later());
  }
  EXPECT_EQ(told(), "Failed False/SnapshotJobLost");
  EXPECT_EQ(api.requests("create jobs"), 2);
}

TEST_F(SnapshotReconciler, ADeleteWhoseAnswerIsLostIsMadeAgain) {
  start();
  end_job("Complete");
  api.before(fails(kube::Verb::Delete, Code::Unavailable));
  EXPECT_FALSE(later());
  EXPECT_EQ(now().status.attempts, 2);
  EXPECT_TRUE(job());
  api.before(nullptr);
  ASSERT_TRUE(later());
  EXPECT_FALSE(job());
  ASSERT_TRUE(later());
  EXPECT_TRUE(job());
  EXPECT_EQ(now().status.attempts, 2);
}

TEST_F(SnapshotReconciler, TheAgentsReasonIsTheConditions) {
  start();
  put_pod(job()->metadata.uid, 3, failure(v1::kDestinationAccessDenied));
  end_job("Failed", "PodFailurePolicy");
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Failed False/DestinationAccessDenied");
}

TEST_F(SnapshotReconciler, WhatAnEndedJobCameToIsAskedForWhereThePodsWatchIsBehind) {
  start();
  put_pod("somebody", 0, success(), false);
  put_pod(job()->metadata.uid, 1, failure(v1::kEtcdUnhealthy));
  world.advance_to(world.now() + 20s);
  put_pod(job()->metadata.uid, 3, failure(v1::kBucketNotFound), false);
  end_job("Failed", "PodFailurePolicy");
  api.before(fails(kube::Verb::List, Code::Unavailable));
  EXPECT_FALSE(pass());
  EXPECT_EQ(told(), "Started False/JobRunning");
  api.before(nullptr);
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Failed False/BucketNotFound");
}

TEST_F(SnapshotReconciler, ASnapshotThatIsStoredIsNotLostToAWatchThatIsBehind) {
  start();
  put_pod(job()->metadata.uid, 0, success(), false);
  end_job("Complete");
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Complete True/SnapshotStored");
}

TEST_F(SnapshotReconciler, AJobThatIsRefusedIsToldAndTriedAgainAndThenNot) {
  put_snapshot();
  ASSERT_TRUE(pass());
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb == kube::Verb::Create) return Error{Code::Denied, "exceeded quota"};
    return std::nullopt;
  });
  ASSERT_TRUE(pass());
  ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Started False/ObjectRejected");
  EXPECT_EQ(message(), "create Job nightly-snapshot: exceeded quota");
  api.forget_requests();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(later());
  EXPECT_LE(api.requests("create jobs"), 6) << "once a minute";
  EXPECT_EQ(api.requests("patch"), 0) << "and said once";
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Failed False/ObjectRejected");
}

TEST_F(SnapshotReconciler, AJobThatAWebhookWhichIsDownKeepsFromBeingMadeIsToldAndThenGivenUp) {
  put_snapshot();
  ASSERT_TRUE(pass());
  int tries = 0;
  api.before([&](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Create) return std::nullopt;
    return Error{Code::Lost, "failed calling webhook, try " + std::to_string(++tries)};
  });
  EXPECT_FALSE(pass());
  EXPECT_FALSE(later());
  EXPECT_EQ(told(), "Started False/ObjectRejected");
  EXPECT_EQ(message(), "create Job nightly-snapshot: failed calling webhook, try 1");
  api.forget_requests();
  for (int i = 0; i < 80; ++i) EXPECT_FALSE(later());
  EXPECT_EQ(told(), "Started False/ObjectRejected");
  EXPECT_EQ(api.requests("patch"), 0) << "words that change with each try are said once";
  for (int i = 0; i < 10; ++i) (void)later();
  ASSERT_TRUE(later()) << "it has ended";
  EXPECT_EQ(told(), "Failed False/ObjectRejected");
}

TEST_F(SnapshotReconciler, OneThatWaitedForItsTurnIsNotGivenUpAtTheFirstRefusal) {
  v1::EtcdDefrag run;
  run.metadata.name = "weekly";
  run.metadata.ns = "prod";
  run.metadata.uid = "d-1";
  run.spec.cluster_ref.name = "db";
  run.status.phase = v1::kDefragRunning;
  stores.defrags.saw(run);
  put_snapshot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  stores.defrags.saw_deleted(run);
  api.before(fails(kube::Verb::Create, Code::Denied));
  ASSERT_TRUE(later(20min));
  ASSERT_TRUE(later(200ms));
  EXPECT_EQ(told(), "Started False/ObjectRejected");
  api.before(nullptr);
  ASSERT_TRUE(later());
  EXPECT_TRUE(job());
}

TEST_F(SnapshotReconciler, ARefusalIsForgottenOnceThereIsAJob) {
  put_snapshot();
  ASSERT_TRUE(pass());
  api.after(fails(kube::Verb::Create, Code::Lost));
  EXPECT_FALSE(pass());
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Started False/JobRunning");
  end_job("Complete");
  api.after(nullptr);
  ASSERT_TRUE(later(20min));
  EXPECT_EQ(told(), "Started False/JobCreated");
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Started False/JobCreated") << "what the first was told is not the second's";
  EXPECT_TRUE(job());
  EXPECT_EQ(now().status.attempts, 2);
}

TEST_F(SnapshotReconciler, AClusterThatHasTakenTheNameSinceIsTheOneThatItIsOf) {
  api.erase(v1::EtcdCluster::resource, {"prod", "db"});
  api.put(v1::EtcdCluster::resource, {{"metadata", {{"name", "db"}, {"namespace", "prod"}}},
                                      {"spec", {{"version", "3.6.16"}}}});
  put_snapshot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Pending False/ClusterNotHealthy") << "the watch still tells of the other";
  EXPECT_FALSE(job());
}

TEST_F(SnapshotReconciler, AClusterThatWasMadeInTheSameMomentIsLookedFor) {
  api.erase(v1::EtcdCluster::resource, {"prod", "db"});
  stores.clusters.saw_deleted({"prod", "db"}, cluster_uid);
  api.put(v1::EtcdCluster::resource, {{"metadata", {{"name", "db"}, {"namespace", "prod"}}},
                                      {"spec", {{"version", "3.6.16"}}}});
  put_snapshot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Pending False/ClusterNotHealthy");
  api.erase(v1::EtcdCluster::resource, {"prod", "db"});
  ASSERT_TRUE(later());
  EXPECT_EQ(told(), "Failed False/ClusterNotFound");
}

TEST_F(SnapshotReconciler, AnOperatorThatDoesNotKnowItsImageSaysSo) {
  reconciler = std::make_unique<Reconciler>(with(), VerifyImages{});
  put_snapshot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Failed False/OperatorImageNotConfigured");
}

TEST_F(SnapshotReconciler, ThePasswordIsTheOneThatEtcdHas) {
  v1::EtcdCluster cluster = *stores.clusters.get({"prod", "db"});
  cluster.spec.auth.emplace().enabled = true;
  cluster.spec.auth->root_credentials_secret_ref.emplace().name = "root";
  cluster.status.auth_enabled = true;
  set_cluster(cluster);
  shelf.put("root", {{"password", "new"}});
  shelf.put("db-operator-auth", {{"password", "old"}, {"next", "new"}}, cluster_uid);
  put_snapshot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Pending False/ClusterNotHealthy") << "it is being changed";
  shelf.put("db-operator-auth", {{"password", "new"}, {"previous", "old"}});
  shelf.disown("db-operator-auth", cluster_uid);  // K17: its label tells whose it is.
  ASSERT_TRUE(later(6min));
  const auto made = api.find(kube::Job::resource, {"prod", "nightly-snapshot"});
  ASSERT_TRUE(made);
  const Json env = made->at("spec").at("template").at("spec").at("containers").at(0).at("env");
  EXPECT_EQ(env.at(4).at("valueFrom").at("secretKeyRef"),
            json::parse(R"({"name": "db-operator-auth", "key": "password"})"));
}

TEST_F(SnapshotReconciler, WithoutASecretOfOursThePasswordIsTheUsers) {
  v1::EtcdCluster cluster = *stores.clusters.get({"prod", "db"});
  cluster.spec.auth.emplace().enabled = true;
  cluster.spec.auth->root_credentials_secret_ref.emplace().name = "root";
  cluster.status.auth_enabled = true;
  set_cluster(cluster);
  shelf.put("db-operator-auth", testing::SecretShelf::Texts{{"password", "other"}}, "c-0");
  start();
  const auto made = api.find(kube::Job::resource, {"prod", "nightly-snapshot"});
  const Json env = made->at("spec").at("template").at("spec").at("containers").at(0).at("env");
  EXPECT_EQ(env.at(4).at("valueFrom").at("secretKeyRef"),
            json::parse(R"({"name": "root", "key": "password"})"));
}

TEST_F(SnapshotReconciler, ItWaitsForARunOfDefragmentationAndBeginsInNoOthersMoment) {
  v1::EtcdDefrag run;
  run.metadata.name = "weekly";
  run.metadata.ns = "prod";
  run.metadata.uid = "d-1";
  run.spec.cluster_ref.name = "db";
  run.status.phase = v1::kDefragRunning;
  stores.defrags.saw(run);
  put_snapshot();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  EXPECT_EQ(told(), "Pending False/AnotherRunFirst");
  run.status.phase = v1::kDefragComplete;
  run.metadata.resource_version = "2";
  stores.defrags.saw(run);
  {
    const Claim other(stores.beginnings, {"prod", "db"});
    ASSERT_TRUE(later());
    EXPECT_EQ(told(), "Pending False/AnotherRunFirst");
  }
  ASSERT_TRUE(later());
  EXPECT_EQ(now().status.phase, v1::kSnapshotStarted);
}

TEST_F(SnapshotReconciler, OneThatIsBeingDeletedIsLeftAlone) {
  put_snapshot();
  v1::EtcdSnapshot going = now();
  going.metadata.deletion_timestamp = "2026-11-21T03:56:18Z";
  going.metadata.resource_version = "99";
  stores.snapshots.saw(going);
  api.forget_requests();
  ASSERT_TRUE(pass());
  EXPECT_EQ(api.requests().size(), 0U);
}

/// A stored snapshot, to be verified from then on.
class SnapshotProof : public SnapshotReconciler {
 protected:
  void store() {
    put_snapshot();
    api.change(v1::EtcdSnapshot::resource, {"prod", "nightly"}, [](json::object& object) {
      object["spec"].as_object()["verify"] = true;
      object["status"] = {
          {"phase", v1::kSnapshotComplete},
          {"artifact", {{"uri", "s3://backups/nightly.db"}, {"etcdVersion", "3.6.16"}}}};
    });
    stores.snapshots.saw(now());
  }
  std::optional<kube::Job> proof() const { return there<kube::Job>("nightly-verify"); }
  void end_proof(const char* type) {
    if (const auto made = proof()) stores.jobs.saw(*made);
    api.change(kube::Job::resource, {"prod", "nightly-verify"}, [&](json::object& object) {
      object["status"] = {{"conditions", json::array{{{"type", type}, {"status", "True"}}}}};
    });
    if (const auto ended = proof()) stores.jobs.saw(*ended);
  }
  void put_proof_pod(const std::string& owner, int exit_code, const VerifyReport& report,
                     bool watched) {
    put_pod_of("nightly-verify", owner, v1::kVerifyContainer, exit_code, to_text(report), watched);
  }
  static VerifyReport good() {
    VerifyReport out;
    out.uri = "s3://backups/nightly.db";
    out.checksum = kSum;
    out.revision = 42;
    out.hash_kv = 7;
    out.hash_compared = true;
    return out;
  }
  std::string verdict() const {
    const auto snapshot = now();
    const auto* c = runtime::find_condition(snapshot.status.conditions, v1::kVerified);
    return c ? c->status + "/" + c->reason : "none";
  }
};

TEST_F(SnapshotProof, IsWrittenDownBeforeItsJobIsMadeAndEndsByWhatItsAgentSaid) {
  store();
  api.before(fails(kube::Verb::Create, Code::Unavailable));
  (void)pass();
  EXPECT_EQ(now().status.verification->attempts, 1);
  EXPECT_FALSE(proof());
  api.before(nullptr);
  crash();
  ASSERT_TRUE(later());
  ASSERT_TRUE(proof());
  EXPECT_EQ(proof()->metadata.annotations.at(v1::kVerifyAnnotation), "once");
  ASSERT_TRUE(pass());
  EXPECT_EQ(now().status.verification->job_uid, proof()->metadata.uid);
  put_proof_pod(proof()->metadata.uid, 0, good(), false);
  ASSERT_TRUE(pass());
  EXPECT_EQ(verdict(), "Unknown/Verifying");
  end_proof("Complete");
  ASSERT_TRUE(pass());
  EXPECT_EQ(verdict(), "True/Verified") << "its Pods are asked for";
  EXPECT_EQ(now().status.phase, v1::kSnapshotComplete);
  EXPECT_EQ(now().status.verification->hash_kv, 7);
  api.forget_requests();
  ASSERT_TRUE(later());
  EXPECT_EQ(api.requests().size(), 0U) << "nothing is left to be done";
}

TEST_F(SnapshotProof, GoesOnWithoutTheClusterAndBelievesNoPodOfSomebodyElse) {
  store();
  stores.clusters.saw_deleted({"prod", "db"}, cluster_uid);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  ASSERT_TRUE(proof());
  put_proof_pod("j-0", 0, good(), true);
  ASSERT_TRUE(pass());
  EXPECT_EQ(verdict(), "Unknown/Verifying");
  VerifyReport bad;
  bad.reason = "SnapshotDiffers";
  bad.message = "HashKV 8, and it was 7";
  bad.for_good = true;
  api.erase(kube::Pod::resource, {"prod", "nightly-verify-1"});
  put_proof_pod(proof()->metadata.uid, 3, bad, false);
  end_proof("Failed");
  ASSERT_TRUE(pass());
  EXPECT_EQ(verdict(), "False/VerificationFailed");
}

TEST_F(SnapshotProof, WhatItsAgentSaidIsKnownThoughItsJobIsGone) {
  store();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass());
  const kube::Job gone = *proof();
  put_proof_pod(gone.metadata.uid, 0, good(), true);
  stores.jobs.saw_deleted(gone);
  api.erase(kube::Job::resource, {"prod", "nightly-verify"});
  ASSERT_TRUE(pass());
  EXPECT_EQ(verdict(), "True/Verified");
}

TEST_F(SnapshotProof, APassThatWasCutOffIsNoFailure) {
  store();
  api.before(fails(kube::Verb::Create, Code::Cancelled));
  EXPECT_TRUE(pass().failed_with(Code::Cancelled));
}

TEST_F(SnapshotProof, AJobThatIsLostIsMadeAgain) {
  store();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pass());
  ASSERT_TRUE(proof());
  const kube::Job first = *proof();
  stores.jobs.saw_deleted(first);
  api.erase(kube::Job::resource, {"prod", "nightly-verify"});
  ASSERT_TRUE(later());
  ASSERT_TRUE(proof());
  EXPECT_NE(proof()->metadata.uid, first.metadata.uid);
  EXPECT_EQ(now().status.verification->attempts, 2);
}

}  // namespace
}  // namespace etcdop::snapshot
