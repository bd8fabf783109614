// The plan of a snapshot as tables: what delays its beginning, what its Job and Pods report, and
// which failures are final.
#include "operator/snapshot/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "api/describe.h"
#include "operator/snapshot/conditions.h"
#include "runtime/conditions.h"
#include "test/support/every.h"

namespace etcdop::snapshot {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kMade{1795233378s};
constexpr const char* kSum =
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

std::string at(std::chrono::seconds after) { return to_rfc3339(kMade + after); }

/// Pending, and reported so for a moment; its cluster of three is healthy.
Observation pending() {
  Observation seen;
  seen.now = kMade + 1s;
  seen.snapshot.metadata.name = "nightly";
  seen.snapshot.metadata.ns = "prod";
  seen.snapshot.metadata.uid = "s-1";
  seen.snapshot.metadata.generation = 1;
  seen.snapshot.metadata.creation_timestamp = at(0s);
  seen.snapshot.spec.cluster_ref.name = "db";
  seen.snapshot.status.phase = v1::kSnapshotPending;
  seen.snapshot.status.conditions.push_back(
      {v1::kReady, "False", v1::kClusterNotHealthy, "before", at(0s), 1});
  seen.has_image = true;
  v1::EtcdCluster& cluster = seen.cluster.emplace();
  cluster.metadata.name = "db";
  cluster.metadata.uid = "c-1";
  cluster.spec.replicas = 3;
  cluster.status.cluster_id = "00000000000000c1";
  cluster.status.conditions.push_back(
      {v1::kAvailable, "True", v1::kQuorumHealthy, "3 of 3 members are ready", at(-3600s), 1});
  seen.endpoints = {"http://db-a.db.prod.svc:2379"};
  return seen;
}

/// Its cluster has been unavailable since that long before `now`.
void lose_quorum(Observation& seen, std::chrono::seconds before_now,
                 const char* reason = v1::kQuorumLost) {
  seen.cluster->status.conditions.front() = {v1::kAvailable,
                                             "False",
                                             reason,
                                             "1 of 3 members are ready",
                                             to_rfc3339({seen.now.since_epoch - before_now}),
                                             1};
}

/// Begun, with its Job.
Observation started() {
  Observation seen = pending();
  seen.snapshot.status = plan(seen).status;
  seen.now = kMade + 100s;
  JobSeen& job = seen.job.emplace();
  job.uid = "j-1";
  job.ours = true;
  job.attempt = 1;
  job.made = kMade + 1s;
  return seen;
}

kube::Pod& add_pod(Observation& seen, const char* name, const char* phase,
                   std::chrono::seconds made = 2s) {
  kube::Pod& pod = seen.pods.emplace_back();
  pod.metadata.name = name;
  pod.metadata.creation_timestamp = at(made);
  pod.spec.node_name = "node-1";
  pod.status.phase = phase;
  pod.status.container_statuses.emplace_back().name = v1::kAgentContainer;
  return pod;
}

/// A Pod whose agent has ended like this.
void add_end(Observation& seen, const char* name, int exit_code, std::string message,
             std::chrono::seconds made = 2s) {
  kube::Pod& pod = add_pod(seen, name, exit_code == 0 ? "Succeeded" : "Failed", made);
  pod.status.container_statuses.front().state.terminated = {exit_code, exit_code ? "Error" : "",
                                                            std::move(message)};
}

std::string success() {
  AgentReport out;
  out.uri = "s3://backups/nightly.db";
  out.size_bytes = 20480;
  out.checksum = kSum;
  out.etcd_version = "3.6.16";
  out.cluster_id = "00000000000000c1";
  out.member_id = "00000000000000a1";
  out.revision = 42;
  out.compact_revision = 40;
  out.hash_kv = 7;
  out.keys = 3;
  out.key_id = "00000000000000e1";
  out.digest = "sha256:" + std::string(64, 'd');
  out.auth_enabled = false;
  return to_text(out);
}

std::string failure(const char* reason, const char* message) {
  AgentReport out;
  out.reason = reason;
  out.message = message;
  return to_text(out);
}

/// Its Job cannot be created since then.
void reject(Observation& seen, std::chrono::seconds since) {
  seen.job.reset();
  seen.rejected = {"exceeded quota", kMade + since};
}

void end_job(Observation& seen, const char* type, const char* reason = "") {
  seen.job->status.conditions.push_back({type, "True", reason, "", at(80s)});
}

const api::Condition& ready(const v1::EtcdSnapshotStatus& status) {
  static const api::Condition none;
  const auto* found = runtime::find_condition(status.conditions, v1::kReady);
  return found ? *found : none;
}

/// "Started; create-job, attempt 1; False/JobCreated"
std::string told(const Plan& plan) {
  const api::Condition& c = ready(plan.status);
  return plan.status.phase + "; " + to_string(plan.step) + "; " + c.status + "/" + c.reason;
}

TEST(SnapshotPlan, OneThatNobodyHasLookedAtIsPending) {
  Observation seen = pending();
  seen.snapshot.status = {};
  EXPECT_EQ(told(plan(seen)), "Pending; none; /");
  EXPECT_GT(plan(seen).again, 0s);
}

TEST(SnapshotPlan, ItBeginsByRecordingItsJob) {
  const Plan out = plan(pending());
  EXPECT_EQ(told(out), "Started; create-job, attempt 1; False/JobCreated");
  EXPECT_EQ(out.status.attempts, 1);
  EXPECT_EQ(out.status.job_uid, "");
  EXPECT_EQ(out.status.cluster_id, "00000000000000c1");
}

TEST(SnapshotPlan, WhatKeepsItFromBeginning) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* told;
    const char* message;
  };
  const auto auth = [](Observation& o) { o.cluster->spec.auth.emplace().enabled = true; };
  const Row rows[] = {
      {[](auto& o) { o.has_image = false; }, "Failed; none; False/OperatorImageNotConfigured",
       "the operator was started without --operator-image, the image of the Job: set this flag"},
      {[](auto& o) { o.cluster.reset(); }, "Failed; none; False/ClusterNotFound",
       "EtcdCluster db does not exist"},
      {[](auto& o) { o.cluster->metadata.deletion_timestamp = "t"; },
       "Failed; none; False/ClusterNotFound", "EtcdCluster db is being deleted"},
      {[](auto& o) { o.cluster->spec.replicas = 0; }, "Failed; none; False/ClusterPaused",
       "EtcdCluster db is paused: no member runs"},
      {[](auto& o) { o.cluster->status.restore.emplace().stage = v1::RestoreStage::Review; },
       "Pending; none; False/ClusterNotHealthy", "the cluster goes back to a snapshot"},
      {[](auto& o) {
         o.now = kMade + kWaitMax;
         o.cluster->status.restore.emplace().stage = v1::RestoreStage::Review;
       },
       "Failed; none; False/Restoring", "the cluster goes back to a snapshot"},
      // Quorum: an election passes, a lost quorum does not.
      {[](auto& o) { lose_quorum(o, 3600s); }, "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      {[](auto& o) { o.now = kMade + 60s, lose_quorum(o, 3600s); },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      {[](auto& o) { o.now = kMade + 61s, lose_quorum(o, 3600s); },
       "Failed; none; False/QuorumLost", "the cluster has no quorum: 1 of 3 members are ready"},
      {[](auto& o) { o.now = kMade + 500s, lose_quorum(o, 60s); },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      {[](auto& o) { o.now = kMade + 500s, lose_quorum(o, 61s); }, "Failed; none; False/QuorumLost",
       "the cluster has no quorum: 1 of 3 members are ready"},
      {[](auto& o) { o.now = kMade + 15min, lose_quorum(o, 1s); },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      {[](auto& o) {  // No operator ran, and the cluster's status may be old.
         o.snapshot.status.conditions.clear(), o.now = kMade + 1h, lose_quorum(o, 3600s);
       },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      {[](auto& o) {  // The time of the loss is unknown: the snapshot does not fail for that.
         o.now = kMade + 1h, lose_quorum(o, 3600s);
         o.cluster->status.conditions.front().last_transition_time = "";
       },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      // A cluster that is being founded, or resumes.
      {[](auto& o) { o.now = kMade + 899s, o.cluster->status = {}; },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: the EtcdCluster has no condition Available yet"},
      {[](auto& o) { o.now = kMade + 15min, o.cluster->status = {}; },
       "Failed; none; False/QuorumLost",
       "the cluster has no quorum: the EtcdCluster has no condition Available yet"},
      {[](auto& o) {
         o.now = kMade + 899s, lose_quorum(o, 3600s), o.cluster->status.cluster_id = "";
       },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      {[](auto& o) { o.now = kMade + 899s, lose_quorum(o, 3600s, v1::kPaused); },
       "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 1 of 3 members are ready"},
      {[](auto& o) { o.endpoints.clear(); }, "Pending; none; False/ClusterNotHealthy",
       "waiting for the cluster's quorum: 3 of 3 members are ready"},
      // Authentication.
      {[=](auto& o) { auth(o); }, "Pending; none; False/ClusterNotHealthy",
       "waiting until authentication is enabled"},
      {[=](auto& o) { auth(o), o.now = kMade + 899s; }, "Pending; none; False/ClusterNotHealthy",
       "waiting until authentication is enabled"},
      {[=](auto& o) { auth(o), o.now = kMade + 15min; }, "Failed; none; False/AuthLatchTimeout",
       "authentication was not turned on within 15 minutes: see the EtcdCluster"},
      {[](auto& o) { o.password_changing = true; }, "Pending; none; False/ClusterNotHealthy",
       "waiting for a change of root's password"},
      // Defragmentation.
      {[](auto& o) { o.run_before = "weekly"; }, "Pending; none; False/AnotherRunFirst",
       "EtcdDefrag weekly goes first"},
      {[](auto& o) { o.run_before = "weekly", o.run_under_way = true, o.now = kMade + 29min; },
       "Pending; none; False/AnotherRunFirst", "EtcdDefrag weekly goes first"},
  };
  for (const Row& row : rows) {
    Observation seen = pending();
    row.edit(seen);
    const Plan out = plan(seen);
    EXPECT_EQ(told(out), row.told) << row.message;
    EXPECT_EQ(ready(out.status).message, row.message);
    EXPECT_EQ(out.again, out.status.finished() ? 0ms : 10s) << row.message;
  }
}

TEST(SnapshotPlan, WhatIsWaitedForInVainWithoutHarmIsNotWaitedForAnyLonger) {
  Observation seen = pending();
  seen.now = kMade + 15min;
  seen.password_changing = true;
  seen.run_before = "weekly";  // Its turn comes first, and it makes no progress.
  EXPECT_EQ(told(plan(seen)), "Started; create-job, attempt 1; False/JobCreated");
}

TEST(SnapshotPlan, AJobThatIsBeingDeletedIsLookedAtLessOften) {
  Observation seen = started();
  seen.snapshot.status.attempts = 2;
  EXPECT_EQ(plan(seen).again, 1s);
  seen.job->terminating = true;
  EXPECT_EQ(plan(seen).again, 10s);
}

/// Only members that are not accused are asked.
TEST(SnapshotPlan, AClusterWithADamagedMemberIsSaved) {
  Observation seen = pending();
  seen.now = kMade + 1h;
  lose_quorum(seen, 3600s, v1::kCorrupt);
  EXPECT_EQ(plan(seen).status.phase, v1::kSnapshotStarted);
  seen.endpoints.clear();
  EXPECT_EQ(plan(seen).status.phase, v1::kSnapshotFailed);
}

TEST(SnapshotPlan, AuthenticationThatIsOnIsNotWaitedFor) {
  Observation seen = pending();
  seen.cluster->spec.auth.emplace().enabled = true;
  seen.cluster->status.auth_enabled = true;
  EXPECT_EQ(told(plan(seen)), "Started; create-job, attempt 1; False/JobCreated");
}

TEST(SnapshotPlan, WhatItsJobAndPodsSay) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* told;
    const char* message;
  };
  const Row rows[] = {
      {[](auto&) {}, "Started; none; False/JobRunning",
       "Job nightly-snapshot has no Pod: see kubectl describe job, a quota may be used up"},
      {[](auto& o) { o.now = kMade + 20s; }, "Started; none; False/JobRunning",
       "Job nightly-snapshot is running"},
      {[](auto& o) { o.now = o.job->made + 60s; }, "Started; none; False/JobRunning",
       "Job nightly-snapshot has no Pod: see kubectl describe job, a quota may be used up"},
      {[](auto& o) { o.now = o.job->made + 59s; }, "Started; none; False/JobRunning",
       "Job nightly-snapshot is running"},
      {[](auto& o) { o.job->attempt = 0; }, "Started; none; False/JobRunning",
       "Job nightly-snapshot is running"},
      {[](auto& o) { add_pod(o, "p", "Running"); }, "Started; none; False/JobRunning",
       "Job nightly-snapshot is running"},
      {[](auto& o) {
         add_pod(o, "p", "Pending")
             .status.conditions.push_back(
                 {"PodScheduled", "False", "Unschedulable", "claim \"x\" not found"});
       },
       "Started; none; False/JobRunning", "Pod p waits: no node can run it: claim \"x\" not found"},
      {[](auto& o) { add_pod(o, "p", "Pending").spec.node_name = ""; },
       "Started; none; False/JobRunning", "Pod p waits: no node is assigned to it yet"},
      {[](auto& o) { add_pod(o, "p", "Pending", 41s).spec.node_name = ""; },
       "Started; none; False/JobRunning", "Job nightly-snapshot is running"},
      {[](auto& o) {
         add_pod(o, "p", "Pending").status.container_statuses.front().state.waiting = {
             "ImagePullBackOff", "Back-off pulling image: 2 s"};
       },
       "Started; none; False/JobRunning", "Pod p waits: the operator's image cannot be pulled"},
      {[](auto& o) {
         add_pod(o, "p", "Pending").status.container_statuses.front().state.waiting = {
             "CreateContainerConfigError", "secret \"s3\" not found"};
       },
       "Started; none; False/JobRunning",
       "Pod p waits: its container cannot be created: secret \"s3\" not found"},
      {[](auto& o) {
         add_pod(o, "p", "Pending").status.container_statuses.front().state.waiting = {
             "ContainerCreating", ""};
       },
       "Started; none; False/JobRunning",
       "Pod p waits: its container is not created yet: check that each Secret and "
       "PersistentVolumeClaim of the snapshot and its cluster exists, and see kubectl describe "
       "pod"},
      {[](auto& o) {
         add_end(o, "p", 1, failure(v1::kDestinationUnreachable, "no route to s3.example.com"));
       },
       "Started; none; False/JobRunning",
       "Job nightly-snapshot tries again after a failure (DestinationUnreachable): no route to "
       "s3.example.com"},
      {[](auto& o) { add_pod(o, "p", "Running").status.container_statuses.clear(); },
       "Started; none; False/JobRunning", "Job nightly-snapshot is running"},
      // It succeeded by its exit code alone: it is unknown what it stored.
      {[](auto& o) { add_end(o, "p", 0, "all is well"); }, "Started; none; False/JobRunning",
       "Job nightly-snapshot is running"},
      {[](auto& o) { add_end(o, "p", 0, failure(v1::kEtcdUnhealthy, "no leader")); },
       "Started; none; False/JobRunning", "Job nightly-snapshot is running"},
      // The end of the Job.
      {[](auto& o) {
         add_end(o, "p", 1, failure(v1::kEtcdUnhealthy, "older"), 2s);
         add_end(o, "q", 3, failure(v1::kBucketNotFound, "there is no bucket backups"), 30s);
         end_job(o, "Failed", "PodFailurePolicy");
       },
       "Failed; none; False/BucketNotFound",
       "there is no bucket backups; Job nightly-snapshot failed (PodFailurePolicy)"},
      {[](auto& o) {  // In any order.
         add_end(o, "q", 3, failure(v1::kBucketNotFound, "there is no bucket backups"), 30s);
         add_end(o, "p", 1, failure(v1::kEtcdUnhealthy, "older"), 2s);
         end_job(o, "Failed", "PodFailurePolicy");
       },
       "Failed; none; False/BucketNotFound",
       "there is no bucket backups; Job nightly-snapshot failed (PodFailurePolicy)"},
      {[](auto& o) {  // A user has cleared the earlier message.
         o.snapshot.status.conditions.clear();
         end_job(o, "Failed", "DeadlineExceeded");
       },
       "Failed; none; False/JobFailed", "Job nightly-snapshot failed (DeadlineExceeded)"},
      {[](auto& o) {
         add_end(o, "p", 1, "panic");
         end_job(o, "Failed", "BackoffLimitExceeded");
       },
       "Failed; none; False/JobFailed",
       "the agent in Pod p ended with exit code 1 without a report: see kubectl logs; Job "
       "nightly-snapshot failed (BackoffLimitExceeded)"},
      {[](auto& o) {
         add_end(o, "p", 137, "");
         o.pods.back().status.container_statuses.front().state.terminated->reason = "OOMKilled";
         end_job(o, "Failed", "BackoffLimitExceeded");
       },
       "Failed; none; False/JobFailed",
       "the agent in Pod p was killed because it ran out of memory; Job nightly-snapshot failed "
       "(BackoffLimitExceeded)"},
      {[](auto& o) {
         add_end(o, "p", 1, failure("Moonlight", "not a reason of an agent"));
         end_job(o, "Failed", "BackoffLimitExceeded");
       },
       "Failed; none; False/JobFailed",
       "the agent in Pod p ended with exit code 1 without a report: see kubectl logs; Job "
       "nightly-snapshot failed (BackoffLimitExceeded)"},
      {[](auto& o) {
         o.snapshot.status = plan(o).status;
         end_job(o, "Failed", "DeadlineExceeded");
       },
       "Failed; none; False/JobFailed",
       "Job nightly-snapshot failed (DeadlineExceeded); before that: Job nightly-snapshot has no "
       "Pod: see kubectl describe job, a quota may be used up"},
      {[](auto& o) {
         add_end(o, "p", 3, failure(v1::kEtcdCredentialsRejected, "wrong password"));
         end_job(o, "Failed", "PodFailurePolicy");
       },
       "Started; delete-job j-1; False/JobCreated",
       "Job nightly-snapshot is being created again: etcd rejected root's password, which may just "
       "have been changed"},
      {[](auto& o) {
         o.snapshot.status.attempts = o.job->attempt = 2;
         add_end(o, "p", 3, failure(v1::kEtcdCredentialsRejected, "wrong password"));
         end_job(o, "Failed", "PodFailurePolicy");
       },
       "Failed; none; False/EtcdCredentialsRejected",
       "wrong password; Job nightly-snapshot failed (PodFailurePolicy)"},
      {[](auto& o) { end_job(o, "Complete"); }, "Started; delete-job j-1; False/JobCreated",
       "Job nightly-snapshot is being created again: it succeeded, but its report is missing or "
       "cannot be read"},
      {[](auto& o) {
         o.snapshot.status.attempts = o.job->attempt = 2;
         end_job(o, "Complete");
       },
       "Failed; none; False/SnapshotJobLost",
       "Job nightly-snapshot succeeded twice, but its report is missing or cannot be read"},
      {[](auto& o) {
         o.job->attempt = 0;
         o.snapshot.status.attempts = 0;
         end_job(o, "Complete");
       },
       "Started; delete-job j-1; False/JobCreated",
       "Job nightly-snapshot is being created again: it succeeded, but its report is missing or "
       "cannot be read"},
      // It does not end.
      {[](auto& o) { o.now = kMade + 35min, add_pod(o, "p", "Running"); },
       "Started; none; False/JobRunning", "Job nightly-snapshot is running"},
      {[](auto& o) { o.now = kMade + 1s + 35min; }, "Started; delete-job j-1; False/JobCreated",
       "Job nightly-snapshot is being created again: it does not end: check whether it is "
       "suspended, or the node of its Pod is lost"},
      {[](auto& o) { o.now = kMade + 1s + 35min, o.snapshot.status.attempts = o.job->attempt = 2; },
       "Failed; delete-job j-1; False/JobFailed",
       "Job nightly-snapshot does not end, like the one before: check whether it is suspended, or "
       "the nodes of its Pods are lost"},
      {[](auto& o) {
         o.now = kMade + 199s, add_pod(o, "p", "Running");
         end_job(o, "FailureTarget", "DeadlineExceeded");
       },
       "Started; none; False/JobRunning", "Job nightly-snapshot is running"},
      {[](auto& o) {
         o.now = kMade + 200s, add_pod(o, "p", "Running");
         end_job(o, "FailureTarget", "DeadlineExceeded");
       },
       "Started; delete-job j-1; False/JobCreated",
       "Job nightly-snapshot is being created again: it does not end: check whether it is "
       "suspended, or the node of its Pod is lost"},
      // Missing, or another owner's.
      {[](auto& o) { o.job.reset(); }, "Started; create-job, attempt 1; False/JobCreated",
       "Job nightly-snapshot is being created"},
      {[](auto& o) { o.job.reset(), o.snapshot.status.attempts = 0; },
       "Started; create-job, attempt 1; False/JobCreated", "Job nightly-snapshot is being created"},
      {[](auto& o) { o.job.reset(), o.cluster.reset(); }, "Failed; none; False/ClusterNotFound",
       "EtcdCluster db does not exist"},
      {[](auto& o) { reject(o, 1s); }, "Started; create-job, attempt 1; False/ObjectRejected",
       "exceeded quota"},
      {[](auto& o) { reject(o, 1s), o.now = kMade + 15min + 1s; },
       "Failed; none; False/ObjectRejected", "exceeded quota"},
      // It had waited before, and the refusal may pass.
      {[](auto& o) { reject(o, 1h), o.now = kMade + 1h + 899s; },
       "Started; create-job, attempt 1; False/ObjectRejected", "exceeded quota"},
      {[](auto& o) { reject(o, 3h), o.now = kMade + 3h + 59s; },
       "Started; create-job, attempt 1; False/ObjectRejected", "exceeded quota"},
      {[](auto& o) { reject(o, 3h), o.now = kMade + 3h + 60s; },
       "Failed; none; False/ObjectRejected", "exceeded quota"},
      {[](auto& o) { reject(o, 1s), o.now = kMade + 119min, o.snapshot.status.attempts = 2; },
       "Started; create-job, attempt 2; False/ObjectRejected", "exceeded quota"},
      {[](auto& o) { reject(o, 1s), o.now = kMade + 2h, o.snapshot.status.attempts = 2; },
       "Failed; none; False/ObjectRejected", "exceeded quota"},
      {[](auto& o) { o.job.reset(), o.endpoints.clear(), o.now = kMade + 119min; },
       "Started; none; False/ClusterNotHealthy", "waiting for a member that can give a snapshot"},
      {[](auto& o) { o.job.reset(), o.endpoints.clear(), o.now = kMade + 2h; },
       "Failed; none; False/QuorumLost", "the cluster has no member that can give a snapshot"},
      {[](auto& o) {
         o.job.reset(), o.endpoints.clear(), o.now = kMade + 2h, o.cluster->spec.replicas = 0;
       },
       "Failed; none; False/ClusterPaused", "the cluster has no member that can give a snapshot"},
      {[](auto& o) { o.job.reset(), o.password_changing = true; },
       "Started; none; False/ClusterNotHealthy", "waiting for a change of root's password"},
      {[](auto& o) { o.job.reset(), o.password_changing = true, o.now = kMade + 15min; },
       "Started; create-job, attempt 1; False/JobCreated", "Job nightly-snapshot is being created"},
      // The second may find everything stored: it waits longer for a change, and not forever.
      {[](auto& o) {
         o.job.reset(), o.snapshot.status.attempts = 2;
         o.password_changing = true, o.now = kMade + 119min;
       },
       "Started; none; False/ClusterNotHealthy", "waiting for a change of root's password"},
      {[](auto& o) {
         o.job.reset(), o.snapshot.status.attempts = 2;
         o.password_changing = true, o.now = kMade + 2h;
       },
       "Started; create-job, attempt 2; False/JobCreated", "Job nightly-snapshot is being created"},
      {[](auto& o) { o.job.reset(), o.snapshot.status.job_uid = "j-1"; },
       "Started; create-job, attempt 2; False/JobCreated",
       "Job nightly-snapshot is being created again: it was deleted before its report was read"},
      {[](auto& o) {
         o.job.reset(), o.snapshot.status.job_uid = "j-2", o.snapshot.status.attempts = 2;
       },
       "Failed; none; False/SnapshotJobLost",
       "Job nightly-snapshot was deleted before its report was read"},
      {[](auto& o) { add_end(o, "p", 0, success()), o.snapshot.status.cluster_id = "c2"; },
       "Failed; none; False/ClusterReplaced",
       "the snapshot stored as s3://backups/nightly.db is of etcd cluster 00000000000000c1, not of "
       "this cluster, c2"},
      {[](auto& o) {  // An older operator began it.
         add_end(o, "p", 0, success()), o.snapshot.status.cluster_id = "";
         o.cluster->status.cluster_id = "c2";
       },
       "Failed; none; False/ClusterReplaced",
       "the snapshot stored as s3://backups/nightly.db is of etcd cluster 00000000000000c1, not of "
       "this cluster, c2"},
      {[](auto& o) { o.job->ours = false; }, "Failed; none; False/ObjectRejected",
       "Job nightly-snapshot has another owner"},
      {[](auto& o) { o.job->ours = false, o.job->of_namesake = true; },
       "Started; none; False/ObjectRejected",
       "Job nightly-snapshot belongs to an earlier EtcdSnapshot with this name, and is about to be "
       "deleted"},
      {[](auto& o) { o.job->ours = false, o.job->of_namesake = true, o.now = kMade + 15min; },
       "Failed; none; False/ObjectRejected", "Job nightly-snapshot has another owner"},
      {[](auto& o) { o.job->ours = false, o.snapshot.status.job_uid = "j-0"; },
       "Failed; none; False/SnapshotJobLost", "Job nightly-snapshot was replaced by another Job"},
      // From an earlier attempt.
      {[](auto& o) { o.snapshot.status.attempts = 2; }, "Started; delete-job j-1; False/JobCreated",
       "Job nightly-snapshot is being created"},
      {[](auto& o) { o.snapshot.status.attempts = 2, o.job->terminating = true; },
       "Started; none; False/JobCreated", "Job nightly-snapshot is being created"},
      {[](auto& o) {
         o.snapshot.status.attempts = 2, o.job->terminating = true, o.now = kMade + 2h;
       },
       "Failed; none; False/SnapshotJobLost",
       "Job nightly-snapshot of an earlier attempt is not deleted: check its finalizers"},
      {[](auto& o) { o.snapshot.status.attempts = 2, o.now = kMade + 2h; },
       "Failed; delete-job j-1; False/SnapshotJobLost",
       "Job nightly-snapshot of an earlier attempt is not deleted: check its finalizers"},
      {[](auto& o) {  // It must be created again, and its deletion was not tried yet.
         o.now = kMade + 2h;
         add_end(o, "p", 3, failure(v1::kEtcdCredentialsRejected, "wrong password"));
         end_job(o, "Failed", "PodFailurePolicy");
       },
       "Started; delete-job j-1; False/JobCreated",
       "Job nightly-snapshot is being created again: etcd rejected root's password, which may just "
       "have been changed"},
  };
  for (const Row& row : rows) {
    Observation seen = started();
    row.edit(seen);
    const Plan out = plan(seen);
    EXPECT_EQ(told(out), row.told) << row.message;
    EXPECT_EQ(ready(out.status).message, row.message);
    EXPECT_EQ(out.again == 0ms, out.status.finished()) << row.message;
  }
}

TEST(SnapshotPlan, WhatAnAgentStoredIsTheArtifactWhateverBecomesOfItsJob) {
  const std::function<void(Observation&)> jobs[] = {
      [](auto&) {}, [](auto& o) { end_job(o, "Complete"); },
      [](auto& o) { end_job(o, "Failed", "DeadlineExceeded"); },
      [](auto& o) { o.job.reset(), o.snapshot.status.job_uid = "j-1"; }};
  for (const auto& edit : jobs) {
    Observation seen = started();
    add_end(seen, "p", 1, failure(v1::kEtcdUnhealthy, "it had no leader"));
    add_end(seen, "q", 0, success());
    edit(seen);
    const Plan out = plan(seen);
    EXPECT_EQ(told(out), "Complete; none; True/SnapshotStored");
    EXPECT_EQ(ready(out.status).message, "stored as s3://backups/nightly.db, 20480 bytes");
    EXPECT_EQ(api::encode(*out.status.artifact), json::parse(std::string(R"({
      "uri": "s3://backups/nightly.db", "sizeBytes": 20480, "etcdVersion": "3.6.16",
      "clusterID": "00000000000000c1", "memberID": "00000000000000a1", "revision": 42,
      "compactRevision": 40, "hashKV": 7, "keys": 3, "authEnabled": false,
      "encryptionKeyID": "00000000000000e1",
      "digest": "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
      "checksum": ")") + kSum + "\"}"));
  }
}

TEST(SnapshotPlan, AReportOfAnAgentThatFailedIsNoArtifact) {
  Observation seen = started();
  add_end(seen, "p", 1, success());
  EXPECT_EQ(plan(seen).status.artifact, std::nullopt);
}

TEST(SnapshotPlan, OneThatWasTakenOverIsOfTheClusterThatItsJobIsMadeFor) {
  Observation seen = started();
  seen.job.reset();
  seen.snapshot.status.cluster_id = "";
  EXPECT_EQ(plan(seen).status.cluster_id, "00000000000000c1");
  seen.snapshot.status.cluster_id = "c2";
  EXPECT_EQ(plan(seen).status.cluster_id, "c2") << "it began with that one";
}

TEST(SnapshotPlan, WhatIsStoredIsBelievedWhereNobodyKnowsOfWhichClusterItIs) {
  Observation seen = started();
  add_end(seen, "p", 0, success());
  seen.snapshot.status.cluster_id = "";
  seen.cluster.reset();
  EXPECT_EQ(told(plan(seen)), "Complete; none; True/SnapshotStored");
}

TEST(SnapshotPlan, TheJobThatIsSeenIsRecorded) { EXPECT_EQ(plan(started()).status.job_uid, "j-1"); }

TEST(SnapshotPlan, WhatHasEndedStaysAsItIs) {
  for (const char* phase : {v1::kSnapshotComplete, v1::kSnapshotFailed}) {
    Observation seen = started();
    add_end(seen, "q", 0, success());
    seen.snapshot.status.phase = phase;
    const Plan out = plan(seen);
    EXPECT_EQ(out.status, seen.snapshot.status);
    EXPECT_EQ(to_string(out.step), "none");
    EXPECT_EQ(out.again, 0ms);
  }
}

/// For every observation: a Job is created only for an attempt in the status, and deleted only if
/// it is ours and of an earlier attempt; and a plan that is repeated stays the same.
TEST(SnapshotPlan, EveryObservationLeadsToASafeStep) {
  testing::Every pick(10'000);
  int worlds = 0, steps = 0;
  do {
    Observation seen = started();
    v1::EtcdSnapshotStatus& status = seen.snapshot.status;
    constexpr const char* kPhases[] = {"", v1::kSnapshotPending, v1::kSnapshotStarted,
                                       v1::kSnapshotComplete, v1::kSnapshotFailed};
    status.phase = kPhases[pick(5)];
    status.attempts = pick(3);
    status.job_uid = pick(2) == 1 ? "j-1" : "";
    constexpr std::chrono::seconds kAges[] = {10s, 1h, 3h};
    seen.now = kMade + kAges[pick(3)];
    if (pick(2) == 1) lose_quorum(seen, 3600s);
    if (const int there = pick(3); there == 1) seen.cluster.reset();
    else if (there == 2) seen.endpoints.clear();
    if (const int other = pick(3); other == 1) seen.run_before = "weekly";
    else if (other == 2) seen.rejected = {"exceeded quota", kMade};
    if (const int job = pick(4); job == 0) seen.job.reset();
    else seen.job->ours = job != 1, seen.job->terminating = job == 3;
    if (seen.job) seen.job->attempt = pick(3);
    if (seen.job && pick(2) == 1) end_job(seen, pick(2) == 1 ? "Complete" : "Failed");
    if (const int end = pick(3); end == 1) add_end(seen, "p", 0, success());
    else if (end == 2) add_end(seen, "p", 3, failure(v1::kEtcdCredentialsRejected, "no"));

    const Plan out = plan(seen);
    ++worlds;
    if (const auto* create = std::get_if<CreateJob>(&out.step)) {
      ++steps;
      ASSERT_EQ(create->attempt, out.status.attempts);
      ASSERT_EQ(out.status.phase, v1::kSnapshotStarted);
      ASSERT_TRUE(seen.cluster && !seen.endpoints.empty());
      ASSERT_TRUE(status.phase == v1::kSnapshotPending || !seen.job);
      ASSERT_LE(create->attempt, kAttemptsMax);
    }
    if (const auto* gone = std::get_if<DeleteJob>(&out.step)) {
      ++steps;
      ASSERT_TRUE(seen.job && seen.job->ours && seen.job->uid == gone->uid);
      ASSERT_TRUE(std::max(seen.job->attempt, 1) < out.status.attempts || out.status.finished());
    }
    ASSERT_EQ(out.status.finished(), out.again == 0ms);
    if (status.finished()) ASSERT_EQ(out.status, status);
    ASSERT_EQ(out.status.artifact.has_value(),
              out.status.phase == v1::kSnapshotComplete && status.phase == v1::kSnapshotStarted);
    Observation next = seen;
    next.snapshot.status = out.status;
    if (out.status.phase == status.phase && std::holds_alternative<NoStep>(out.step))
      ASSERT_EQ(plan(next).status, out.status) << "in world " << worlds;
  } while (pick.next());
  EXPECT_GT(steps, worlds / 40);
}

}  // namespace
}  // namespace etcdop::snapshot
