// Verifications as tables: when one begins, what its Jobs and their agents report, and which
// failures are final; and the Job, whole.
#include <gtest/gtest.h>

#include "api/describe.h"
#include "operator/agents/stored_location.h"
#include "operator/agents/verify_report.h"
#include "operator/snapshot/verify_job.h"
#include "operator/snapshot/verify_plan.h"
#include "runtime/conditions.h"
#include "test/support/every.h"

namespace etcdop::snapshot {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};
constexpr const char* kSum =
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Stored, and to be verified.
Observation complete() {
  Observation seen;
  seen.now = kNow;
  seen.has_image = true;
  seen.snapshot.metadata.name = "nightly";
  seen.snapshot.metadata.ns = "prod";
  seen.snapshot.metadata.uid = "s-1";
  seen.snapshot.metadata.generation = 1;
  seen.snapshot.spec.cluster_ref.name = "db";
  seen.snapshot.spec.verify = true;
  v1::S3Location& s3 = seen.snapshot.spec.destination.s3.emplace();
  s3.endpoint = "https://s3.example.com";
  s3.bucket = "backups";
  s3.key = "prod";
  s3.credentials_secret_ref.name = "s3";
  seen.snapshot.status.phase = v1::kSnapshotComplete;
  v1::SnapshotArtifact& artifact = seen.snapshot.status.artifact.emplace();
  artifact.uri = "s3://backups/prod/nightly.db";
  artifact.checksum = kSum;
  artifact.etcd_version = "3.5.35";
  artifact.revision = 42;
  artifact.compact_revision = 40;
  artifact.hash_kv = 7;
  artifact.keys = 3;
  v1::EtcdCluster& cluster = seen.cluster.emplace();
  cluster.metadata.name = "db";
  cluster.metadata.ns = "prod";
  cluster.spec.version = "latest";  // A refused edit: its members are what was accepted.
  cluster.status.observed.emplace().version = "3.6.16";
  return seen;
}

/// Begun, with the Job of its attempt.
Observation begun() {
  Observation seen = complete();
  seen.snapshot.status = plan(seen).status;
  JobSeen& job = seen.verify_job.emplace();
  job.uid = "j-1";
  job.ours = true;
  job.attempt = 1;
  job.request = v1::kVerifyOnce;
  job.made = kNow;
  seen.now = {kNow.since_epoch + 60s};
  return seen;
}
void end_job(Observation& seen, const char* type) {
  seen.verify_job->status.conditions.push_back({type, "True", "BackoffLimitExceeded", "", ""});
}
void add_end(Observation& seen, int exit_code, std::string message) {
  kube::Pod& pod = seen.verify_pods.emplace_back();
  pod.metadata.name = "nightly-verify-" + std::to_string(seen.verify_pods.size());
  pod.metadata.creation_timestamp =
      "2026-11-21T00:00:0" + std::to_string(seen.verify_pods.size()) + "Z";
  auto& agent = pod.status.container_statuses.emplace_back();
  agent.name = v1::kVerifyContainer;
  agent.state.terminated = {exit_code, exit_code ? "Error" : "", std::move(message)};
}
VerifyReport good() {
  VerifyReport out;
  out.uri = "s3://backups/prod/nightly.db";
  out.checksum = kSum;
  out.revision = 42;
  out.compact_revision = 40;
  out.hash_kv = 7;
  out.keys = 3;
  out.hash_compared = true;
  out.duration_seconds = 5;
  return out;
}
std::string bad(const char* reason, bool for_good) {
  VerifyReport out;
  out.reason = reason;
  out.message = "so it is";
  out.for_good = for_good;
  return to_text(out);
}
/// "create-verification, attempt 1; Unknown/Verifying: ..."
std::string told(const Observation& seen) {
  const Plan now = plan(seen);
  EXPECT_EQ(now.status.phase, v1::kSnapshotComplete);
  EXPECT_EQ(now.status.artifact, seen.snapshot.status.artifact);
  const auto* c = runtime::find_condition(now.status.conditions, v1::kVerified);
  return to_string(now.step) + (c ? "; " + c->status + "/" + c->reason + ": " + c->message : "");
}
/// The next pass, after this one's writes.
Observation after(Observation seen) {
  seen.snapshot.status = plan(seen).status;
  return seen;
}

TEST(SnapshotVerification, OneThatNobodyAsksForDoesNotBegin) {
  Observation seen = complete();
  seen.snapshot.spec.verify = false;
  EXPECT_EQ(told(seen), "none");
  EXPECT_EQ(plan(seen).status, seen.snapshot.status);
  EXPECT_TRUE(seen.snapshot.settled());
  seen.snapshot.metadata.annotations[v1::kVerifyAnnotation] = "";
  EXPECT_TRUE(seen.snapshot.settled());
}

TEST(SnapshotVerification, ItIsWrittenDownAndThenItsJobIsMade) {
  EXPECT_EQ(
      told(complete()),
      "create-verification, attempt 1; Unknown/Verifying: Job nightly-verify is being created");
  const auto status = plan(complete()).status;
  EXPECT_EQ(status.verification->request, "once");
  EXPECT_EQ(status.verification->attempts, 1);
  Observation crashed = after(complete());
  EXPECT_EQ(
      told(crashed),
      "create-verification, attempt 1; Unknown/Verifying: Job nightly-verify is being created");
  EXPECT_FALSE(crashed.snapshot.settled());
  crashed.snapshot.spec.verify = false;
  EXPECT_FALSE(crashed.snapshot.settled()) << "what has begun ends";
}

TEST(SnapshotVerification, WhatIsAsInTheClusterIsVerified) {
  Observation seen = begun();
  EXPECT_EQ(told(seen), "none; Unknown/Verifying: Job nightly-verify is running");
  EXPECT_EQ(plan(seen).status.verification->job_uid, "j-1");
  add_end(seen, 0, to_text(good()));
  EXPECT_EQ(told(seen), "none; True/Verified: 3 keys at revision 42, HashKV 7: as in the cluster");
  const Observation done = after(seen);
  const v1::SnapshotVerification& it = *done.snapshot.status.verification;
  EXPECT_EQ(it.time, to_rfc3339(seen.now));
  EXPECT_EQ(it.revision, 42);
  EXPECT_EQ(it.hash_kv, 7);
  EXPECT_EQ(it.keys, 3);
  EXPECT_EQ(it.duration_seconds, 5);
  EXPECT_TRUE(done.snapshot.settled());
  EXPECT_EQ(plan(done).status, done.snapshot.status);
}

TEST(SnapshotVerification, WhereHashesCannotBeComparedTheDigestIsNamed) {
  Observation seen = begun();
  VerifyReport report = good();
  report.hash_compared = false;
  report.digest_compared = true;
  report.keys.reset();
  add_end(seen, 0, to_text(report));
  EXPECT_EQ(told(seen),
            "none; True/Verified: all keys at revision 42, sha256 of all keys and values: as in "
            "the cluster");
}

TEST(SnapshotVerification, AHashThatTheReportDoesNotHaveIsNotNamed) {
  Observation seen = begun();
  VerifyReport report = good();
  report.hash_kv.reset();
  add_end(seen, 0, to_text(report));
  EXPECT_EQ(told(seen), "none; True/Verified: 3 keys at revision 42: as in the cluster");
  EXPECT_EQ(plan(seen).status.verification->hash_kv, std::nullopt);
}

TEST(SnapshotVerification, WhatKeepsThePodOfItsJobFromRunningIsTold) {
  Observation seen = begun();
  kube::Pod& pod = seen.verify_pods.emplace_back();
  pod.metadata.name = "nightly-verify-1";
  pod.metadata.creation_timestamp = to_rfc3339(kNow);
  pod.spec.node_name = "node-1";
  pod.status.phase = "Pending";
  auto& agent = pod.status.container_statuses.emplace_back();
  agent.name = v1::kVerifyContainer;
  agent.state.waiting = {"ImagePullBackOff", "Back-off pulling image: 2 s"};
  EXPECT_EQ(told(seen),
            "none; Unknown/Verifying: Pod nightly-verify-1 waits: the image of etcd, spec.version, "
            "cannot be pulled");
  EXPECT_EQ(plan(seen).again, 10s);
}

TEST(SnapshotVerification, WhatIsForGoodIsNotTriedAgainAndTheRestThreeTimes) {
  Observation seen = begun();
  add_end(seen, 3, bad("SnapshotDiffers", true));
  EXPECT_EQ(told(seen), "none; Unknown/Verifying: Job nightly-verify is running")
      << "its Job has not ended";
  end_job(seen, "Failed");
  EXPECT_EQ(told(seen), "none; False/VerificationFailed: SnapshotDiffers: so it is");
  EXPECT_TRUE(after(seen).snapshot.settled());

  seen = begun();
  add_end(seen, 1, bad("SourceUnreachable", false));
  end_job(seen, "Failed");
  EXPECT_EQ(told(seen),
            "delete-verification j-1; Unknown/Verifying: Job nightly-verify is being created "
            "again: SourceUnreachable: so it is");
  seen = after(seen);
  EXPECT_EQ(seen.snapshot.status.verification->attempts, 2);
  seen.verify_pods.clear();
  EXPECT_EQ(told(seen).substr(0, 24), "delete-verification j-1;") << "its answer was lost";
  seen.verify_job->terminating = true;
  EXPECT_EQ(told(seen).substr(0, 5), "none;");
  seen.verify_job.reset();
  EXPECT_EQ(told(seen).substr(0, 30), "create-verification, attempt 2");
  seen.snapshot.status.verification->attempts = kVerifyJobsMax;
  seen.verify_job = begun().verify_job;
  seen.verify_job->attempt = kVerifyJobsMax;
  add_end(seen, 1, bad("SourceUnreachable", false));
  end_job(seen, "Failed");
  EXPECT_EQ(told(seen), "none; False/VerificationFailed: SourceUnreachable: so it is");
}

TEST(SnapshotVerification, WhatAJobLeftUnsaidIsSaid) {
  Observation seen = begun();
  seen.snapshot.status.verification->attempts = kVerifyJobsMax;
  seen.verify_job->attempt = kVerifyJobsMax;
  end_job(seen, "Failed");
  EXPECT_EQ(told(seen),
            "none; False/VerificationFailed: JobFailed: its Job failed (BackoffLimitExceeded)");
  add_end(seen, 137, "");
  EXPECT_EQ(told(seen),
            "none; False/VerificationFailed: JobFailed: the agent in Pod nightly-verify-1 ended "
            "with exit code 137 without a report");
  seen.verify_pods[0].status.container_statuses[0].state.terminated->reason = "OOMKilled";
  EXPECT_EQ(told(seen),
            "none; False/VerificationFailed: JobFailed: the agent in Pod nightly-verify-1 was "
            "killed because it ran out of memory");
  add_end(seen, 3, bad("SnapshotBroken", true));
  EXPECT_EQ(told(seen), "none; False/VerificationFailed: SnapshotBroken: so it is")
      << "the last word counts";
}

TEST(SnapshotVerification, AJobThatIsGoneOrDoesNotEndIsMadeAgainAtMostTwice) {
  Observation seen = after(begun());
  seen.verify_job.reset();
  EXPECT_EQ(told(seen),
            "create-verification, attempt 2; Unknown/Verifying: Job nightly-verify is being "
            "created again: it was deleted before its report was read");
  seen.snapshot.status.verification->attempts = kVerifyJobsMax;
  EXPECT_EQ(told(seen),
            "none; False/VerificationFailed: JobFailed: Job nightly-verify, the last of 3: it was "
            "deleted before its report was read");
  seen = begun();
  seen.now = {kNow.since_epoch + kVerifyJobMax};
  EXPECT_EQ(
      told(seen),
      "delete-verification j-1; Unknown/Verifying: Job nightly-verify is being created again: it "
      "does not end: check whether it is suspended, or the node of its Pod is lost");
  seen.verify_job->attempt = kVerifyJobsMax;
  seen.snapshot.status.verification->attempts = kVerifyJobsMax;
  EXPECT_EQ(told(seen).substr(0, 24), "delete-verification j-1;");
  EXPECT_TRUE(after(seen).snapshot.settled());
  seen.verify_job->terminating = true;
  EXPECT_EQ(told(seen).substr(0, 31), "none; False/VerificationFailed:") << "it is on its way";
}

TEST(SnapshotVerification, AJobOfBeforeThatNobodyLetsGoIsWaitedForNoLongerThanThreeHours) {
  Observation seen = begun();
  seen.snapshot.status.verification->attempts = 2;
  seen.verify_job->terminating = true;
  seen.now = {kNow.since_epoch + kVerifyMax - 1s};
  EXPECT_EQ(told(seen).substr(0, 23), "none; Unknown/Verifying");
  EXPECT_EQ(plan(seen).again, 10s);
  seen.now = {kNow.since_epoch + kVerifyMax};
  EXPECT_EQ(told(seen),
            "none; False/VerificationFailed: JobFailed: Job nightly-verify of an earlier attempt "
            "is not deleted: check its finalizers");
  EXPECT_TRUE(after(seen).snapshot.settled());
  seen.snapshot.status.conditions.clear();  // By a user; the time counts from now on.
  EXPECT_EQ(
      told(seen),
      "none; Unknown/Verifying: Job nightly-verify of an earlier attempt is about to be deleted");
  EXPECT_EQ(plan(seen).again, 10s);
  seen = after(seen);
  seen.now = {seen.now.since_epoch + kVerifyMax};
  EXPECT_EQ(told(seen).substr(0, 26), "none; False/VerificationFa");
}

TEST(SnapshotVerification, WhatKeepsAJobFromBeingMadeIsTold) {
  Observation seen = complete();
  seen.has_image = false;
  EXPECT_EQ(told(seen).substr(0, 59),
            "none; False/VerificationFailed: OperatorImageNotConfigured:");
  EXPECT_EQ(plan(seen).again, 0ms) << "it has ended";
  seen = complete();
  seen.cluster.reset();
  EXPECT_EQ(told(seen).substr(0, 19), "create-verification") << "its own etcd is known";
  seen = after(complete());
  seen.rejected = {"exceeded quota", kNow};
  EXPECT_EQ(told(seen),
            "create-verification, attempt 1; Unknown/Verifying: Job nightly-verify cannot be "
            "created: exceeded quota");
  seen.now = {kNow.since_epoch + kWaitMax};
  EXPECT_EQ(told(seen), "none; False/VerificationFailed: ObjectRejected: exceeded quota");
}

TEST(SnapshotVerification, N11_OnlyAVersionBecomesATagOfAnImage) {
  Observation seen = complete();
  seen.cluster.reset();
  for (const char* version : {"", "3.6", "latest", "3.6.16@sha256:0", "3.6.16/../x"}) {
    seen.snapshot.status.artifact->etcd_version = version;
    EXPECT_EQ(told(seen).substr(0, 47), "none; False/VerificationFailed: ClusterNotFound")
        << version;
  }
}

TEST(SnapshotVerification, AJobOfSomebodyElseIsLeftAlone) {
  Observation seen = begun();
  seen.verify_job->ours = false;
  EXPECT_EQ(told(seen),
            "none; False/VerificationFailed: ObjectRejected: Job nightly-verify has another owner");
  seen.verify_job->of_namesake = true;
  EXPECT_EQ(told(seen).substr(0, 24), "none; Unknown/Verifying:");
  seen.now = {kNow.since_epoch + kVerifyMax};
  EXPECT_EQ(told(seen).substr(0, 31), "none; False/VerificationFailed:");
}

TEST(SnapshotVerification, AskedOnceMoreItBeginsAnewAndBelievesNoJobOfBefore) {
  Observation seen = begun();
  add_end(seen, 0, to_text(good()));
  seen = after(seen);
  seen.snapshot.metadata.annotations[v1::kVerifyAnnotation] = "again";
  seen.verify_pods.clear();
  EXPECT_FALSE(seen.snapshot.settled());
  EXPECT_EQ(told(seen).substr(0, 43), "delete-verification j-1; Unknown/Verifying:");
  seen = after(seen);
  EXPECT_EQ(seen.snapshot.status.verification->request, "again");
  EXPECT_EQ(seen.snapshot.status.verification->hash_kv, std::nullopt);
  seen.verify_job.reset();
  EXPECT_EQ(told(seen).substr(0, 30), "create-verification, attempt 1");
  seen.verify_job = begun().verify_job;
  seen.verify_job->request = "again";
  EXPECT_EQ(told(seen), "none; Unknown/Verifying: Job nightly-verify is running");
}

TEST(SnapshotVerification, AProofStaysUntilSomethingElseIsFoundAndAFaultUntilItIsProven) {
  const struct {
    const char* reason;
    bool proven;
  } rows[] = {{"SourceUnreachable", true},     {"EtcdFailed", true},
              {"SnapshotNotComparable", true}, {"SourceNotFound", false},
              {"SnapshotDiffers", false},      {"SnapshotBroken", false}};
  for (const auto& row : rows) {
    Observation seen = begun();
    add_end(seen, 0, to_text(good()));
    seen = after(seen);
    const auto proven = seen.snapshot.status.verification->proven_time;
    ASSERT_TRUE(proven);
    seen.snapshot.metadata.annotations[v1::kVerifyAnnotation] = "again";
    seen.verify_pods.clear();
    seen.verify_job.reset();
    seen = after(seen);
    EXPECT_EQ(seen.snapshot.status.verification->proven_time, proven);
    seen.verify_job = begun().verify_job;
    seen.verify_job->request = "again";
    add_end(seen, 3, bad(row.reason, true));
    end_job(seen, "Failed");
    seen = after(seen);
    EXPECT_EQ(seen.snapshot.status.verification->proven_time.has_value(), row.proven) << row.reason;
    const std::string failure = seen.snapshot.status.verification->failure;
    EXPECT_EQ(failure.substr(0, failure.find(':')), row.reason);
    seen.snapshot.metadata.annotations[v1::kVerifyAnnotation] = "and again";
    seen.verify_pods.clear();
    seen.verify_job.reset();
    EXPECT_EQ(after(seen).snapshot.status.verification->failure, failure) << "it has just begun";
  }
}

TEST(SnapshotVerification, WhateverIsSeenItEndsAndMakesNoMoreThanThreeJobs) {
  testing::Every pick;
  do {
    Observation seen = complete();
    int made = 0;
    for (int i = 0; i < 40 && !seen.snapshot.settled(); ++i) {
      const Plan now = plan(seen);
      seen.snapshot.status = now.status;
      seen.now = {seen.now.since_epoch + 60s};
      seen.verify_pods.clear();
      if (const auto* create = std::get_if<CreateVerification>(&now.step)) {
        ++made;
        seen.verify_job = begun().verify_job;
        seen.verify_job->attempt = create->attempt;
        seen.verify_job->made = seen.now;
        const int what = pick(4);
        if (what == 0) seen.verify_job.reset(), seen.snapshot.status.verification->job_uid = "j";
        if (what == 1) end_job(seen, "Failed");
        if (what == 2) end_job(seen, "Complete");
        if (what == 3) seen.now = {seen.now.since_epoch + kVerifyJobMax};
      } else if (std::holds_alternative<DeleteVerification>(now.step)) {
        seen.verify_job.reset();
      }
    }
    EXPECT_TRUE(seen.snapshot.settled());
    EXPECT_LE(made, kVerifyJobsMax);
  } while (pick.next());
}

TEST(SnapshotVerification, TheJob) {
  Observation seen = after(complete());
  EXPECT_EQ(verify_job(seen, 1, {"example.com/etcd-operator:1"}), json::parse(R"({
    "metadata": {
      "name": "nightly-verify",
      "namespace": "prod",
      "labels": {
        "etcd-operator.cozystack.io/cluster": "db",
        "etcd-operator.cozystack.io/snapshot": "nightly",
        "app.kubernetes.io/component": "verification"
      },
      "annotations": {"etcd-operator.cozystack.io/attempt": "1",
                      "etcd-operator.cozystack.io/verify": "once"},
      "ownerReferences": [{
        "apiVersion": "etcd-operator.cozystack.io/v1alpha2",
        "kind": "EtcdSnapshot",
        "name": "nightly",
        "uid": "s-1",
        "controller": true,
        "blockOwnerDeletion": true
      }]
    },
    "spec": {
      "backoffLimit": 1,
      "ttlSecondsAfterFinished": 600,
      "activeDeadlineSeconds": 2400,
      "podFailurePolicy": {"rules": [
        {"action": "FailJob",
         "onExitCodes": {"containerName": "verify-agent", "operator": "In", "values": [3]}},
        {"action": "Ignore",
         "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
      ]},
      "template": {
        "metadata": {"labels": {"etcd-operator.cozystack.io/snapshot": "nightly",
                                "app.kubernetes.io/component": "verification"}},
        "spec": {
          "restartPolicy": "Never",
          "automountServiceAccountToken": false,
          "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"}
          },
          "initContainers": [{
            "name": "install-tools",
            "image": "example.com/etcd-operator:1",
            "command": ["/manager", "install-tools"],
            "env": [{"name": "TOOLS_DEST_DIR", "value": "/tools"}],
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"},
                          "limits": {"memory": "256Mi"}},
            "securityContext": {
              "allowPrivilegeEscalation": false,
              "readOnlyRootFilesystem": true,
              "capabilities": {"drop": ["ALL"]}
            },
            "volumeMounts": [{"name": "tools", "mountPath": "/tools"}]
          }],
          "containers": [{
            "name": "verify-agent",
            "image": "quay.io/coreos/etcd:v3.6.16",
            "command": ["/tools/manager", "verify-agent"],
            "env": [
              {"name": "SNAPSHOT_DEST_KIND", "value": "s3"},
              {"name": "S3_ENDPOINT", "value": "https://s3.example.com"},
              {"name": "S3_BUCKET", "value": "backups"},
              {"name": "S3_KEY", "value": "prod/nightly.db"},
              {"name": "S3_REGION", "value": ""},
              {"name": "S3_FORCE_PATH_STYLE", "value": "false"},
              {"name": "AWS_ACCESS_KEY_ID",
               "valueFrom": {"secretKeyRef": {"name": "s3", "key": "AWS_ACCESS_KEY_ID"}}},
              {"name": "AWS_SECRET_ACCESS_KEY",
               "valueFrom": {"secretKeyRef": {"name": "s3", "key": "AWS_SECRET_ACCESS_KEY"}}},
              {"name": "AWS_SESSION_TOKEN",
               "valueFrom": {"secretKeyRef": {"name": "s3", "key": "AWS_SESSION_TOKEN",
                                              "optional": true}}},
              {"name": "VERIFY_SCRATCH_DIR", "value": "/scratch"},
              {"name": "RESTORE_ETCD_VERSION", "value": "3.6.16"},
              {"name": "VERIFY_UID", "value": "s-1"},
              {"name": "VERIFY_CHECKSUM",
               "value": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
              {"name": "VERIFY_REVISION", "value": "42"},
              {"name": "VERIFY_COMPACT_REVISION", "value": "40"},
              {"name": "VERIFY_HASH_KV", "value": "7"},
              {"name": "VERIFY_KEYS", "value": "3"}
            ],
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
            "securityContext": {
              "allowPrivilegeEscalation": false,
              "readOnlyRootFilesystem": true,
              "capabilities": {"drop": ["ALL"]}
            },
            "volumeMounts": [
              {"name": "tools", "mountPath": "/tools", "readOnly": true},
              {"name": "scratch", "mountPath": "/scratch"}
            ]
          }],
          "volumes": [
            {"name": "tools", "emptyDir": {}},
            {"name": "scratch", "emptyDir": {}}
          ]
        }
      }
    }
  })"));
}

TEST(SnapshotVerification, AVolumeIsMountedToBeReadAndItsFileNamed) {
  Observation seen = after(complete());
  seen.snapshot.spec.destination = {};
  v1::PvcLocation& pvc = seen.snapshot.spec.destination.pvc.emplace();
  pvc.claim_name = "backups";
  pvc.sub_path = "prod/";
  seen.snapshot.status.artifact->uri = "file:///snapshot/data/prod/nightly.db";
  EXPECT_EQ(stored_location(seen.snapshot).pvc->sub_path, "prod/nightly.db");
  const Json pod = verify_job(seen, 1, {"op:1"}).at("spec").at("template").at("spec");
  EXPECT_EQ(pod.at("volumes").at(2),
            json::parse(R"({"name": "snapshot-data", "persistentVolumeClaim":
                            {"claimName": "backups", "readOnly": true}})"));
  EXPECT_EQ(pod.at("containers").at(0).at("volumeMounts").at(2),
            json::parse(R"({"name": "snapshot-data", "mountPath": "/snapshot/data",
                            "readOnly": true})"));
}

TEST(SnapshotVerification, ItsPodRunsWhereTheSpecSaysAndTrustsTheStoresAuthorities) {
  Observation seen = after(complete());
  v1::AgentPodSpec& as = seen.snapshot.spec.pod.emplace();
  as.resources = json::parse(R"({"limits": {"memory": "4Gi"}})");
  as.priority_class_name = "low";
  seen.snapshot.spec.destination.s3->ca_secret_ref.emplace().name = "store-ca";
  const Json pod = verify_job(seen, 1, {"op:1"}).at("spec").at("template").at("spec");
  EXPECT_EQ(pod.at("priorityClassName"), "low");
  for (const char* list : {"initContainers", "containers"})
    EXPECT_EQ(pod.at(list).at(0).at("resources"), *as.resources) << list;
  EXPECT_EQ(pod.at("volumes").at(2).at("secret").at("secretName"), "store-ca");
}

TEST(SnapshotVerification, ItsJobAndPodHaveTheClustersLabels) {
  Observation seen = after(complete());
  seen.cluster->spec.additional_metadata.emplace().labels["team"] = "blue";
  const Json made = verify_job(seen, 1, {"op:1"});
  EXPECT_EQ(made.at("metadata").at("labels").at("team"), "blue");
  EXPECT_EQ(made.at("spec").at("template").at("metadata").at("labels").at("team"), "blue");
}

TEST(SnapshotVerification, WithoutTheClusterTheEtcdIsTheOneThatItIsFrom) {
  Observation seen = after(complete());
  seen.snapshot.status.artifact->digest = kSum;
  seen.cluster.reset();
  const Json pod = verify_job(seen, 1, {"op:1"}).at("spec").at("template").at("spec");
  EXPECT_EQ(pod.at("containers").at(0).at("image"), "quay.io/coreos/etcd:v3.5.35");
  EXPECT_EQ(pod.at("containers").at(0).at("env").as_array().back().at("name"), "VERIFY_DIGEST");
}

}  // namespace
}  // namespace etcdop::snapshot
