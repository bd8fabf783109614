// A first member that starts from a snapshot: its Pod's containers to the letter, and the messages
// while they work or fail.
#include "operator/member/restoring.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/v1alpha2/names.h"
#include "operator/agents/restore_report.h"
#include "operator/member/plan.h"
#include "runtime/conditions.h"

namespace etcdop::member {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

const Images kImages{"quay.io/coreos/etcd", "etcd-operator:1"};

/// The first member of prod/db, whose snapshot is in an object store.
v1::EtcdMember seed() {
  v1::EtcdMember m;
  m.metadata.name = "db-x1";
  m.metadata.ns = "prod";
  m.metadata.uid = "m-1";
  m.metadata.finalizers = {v1::kMemberFinalizer};
  m.spec.cluster_name = "db";
  m.spec.version = "3.6.16";
  m.spec.bootstrap = true;
  m.spec.initial_cluster = "db-x1=http://db-x1.db.prod.svc:2380";
  m.spec.cluster_token = "prod-db-c-1";
  v1::S3Location& s3 = m.spec.restore.emplace().source.s3.emplace();
  s3.endpoint = "https://s3.example.com";
  s3.bucket = "backups";
  s3.key = "prod/$(HOME).db";
  s3.region = "eu-1";
  s3.force_path_style = true;
  s3.credentials_secret_ref.name = "s3-keys";
  return m;
}

/// The same, with the snapshot in a volume.
v1::EtcdMember seed_of_volume() {
  v1::EtcdMember m = seed();
  m.spec.restore->source.s3.reset();
  m.spec.restore->source.pvc = {"backups", "prod/db.db"};
  m.spec.restore->bump_revision = 0;
  return m;
}

/// "NAME=value" a line; from a Secret "NAME<secret/key", with ? if it is optional.
std::string environment_of(const Json& container) {
  std::string out;
  for (const Json& one : container.at("env").as_array()) {
    const json::object& variable = one.as_object();
    out += std::string(variable.at("name").as_string());
    if (const Json* value = variable.if_contains("value")) {
      out += "=" + std::string(value->as_string()) + "\n";
      continue;
    }
    const json::object& ref = variable.at("valueFrom").at("secretKeyRef").as_object();
    out += "<" + std::string(ref.at("name").as_string()) + "/" +
           std::string(ref.at("key").as_string()) + (ref.contains("optional") ? "?" : "") + "\n";
  }
  return out;
}

TEST(MemberRestoring, TheContainersAreAsTheContractHasThem) {
  const Json made = *pod(seed(), {.founds = true}, kImages);
  const Json& spec = made.at("spec");
  const json::array& inits = spec.at("initContainers").as_array();
  ASSERT_EQ(inits.size(), 2U);
  EXPECT_EQ(inits[0], json::parse(R"({
    "name": "install-tools",
    "image": "etcd-operator:1",
    "command": ["/manager", "install-tools"],
    "env": [{"name": "TOOLS_DEST_DIR", "value": "/tools"}],
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    "securityContext": {
      "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
      "capabilities": {"drop": ["ALL"]}
    },
    "volumeMounts": [{"name": "restore-tools", "mountPath": "/tools"}]
  })"));
  Json restore = inits[1];
  EXPECT_EQ(environment_of(restore),
            "ETCD_DATA_DIR=/var/lib/etcd\n"
            "ETCD_MEMBER_NAME=db-x1\n"
            "ETCD_INITIAL_CLUSTER=db-x1=http://db-x1.db.prod.svc:2380\n"
            "ETCD_INITIAL_CLUSTER_TOKEN=prod-db-c-1\n"
            "ETCD_PEER_URLS=http://db-x1.db.prod.svc:2380\n"
            "SNAPSHOT_DEST_KIND=s3\n"
            "S3_ENDPOINT=https://s3.example.com\n"
            "S3_BUCKET=backups\n"
            "S3_KEY=prod/$$(HOME).db\n"
            "S3_REGION=eu-1\n"
            "S3_FORCE_PATH_STYLE=true\n"
            "AWS_ACCESS_KEY_ID<s3-keys/AWS_ACCESS_KEY_ID\n"
            "AWS_SECRET_ACCESS_KEY<s3-keys/AWS_SECRET_ACCESS_KEY\n"
            "AWS_SESSION_TOKEN<s3-keys/AWS_SESSION_TOKEN?\n"
            "RESTORE_ETCD_VERSION=3.6.16\n"
            "RESTORE_AUTH=false\n"
            "RESTORE_BUMP_REVISION=1000000000\n");
  restore.as_object().erase("env");
  EXPECT_EQ(restore, json::parse(R"({
    "name": "restore",
    "image": "quay.io/coreos/etcd:v3.6.16",
    "command": ["/tools/manager", "restore-agent"],
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    "securityContext": {
      "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
      "capabilities": {"drop": ["ALL"]}
    },
    "volumeMounts": [
      {"name": "data", "mountPath": "/var/lib/etcd"},
      {"name": "restore-tools", "mountPath": "/tools", "readOnly": true}
    ]
  })"));
  EXPECT_EQ(spec.at("volumes").as_array().back(),
            json::parse(R"({"name": "restore-tools", "emptyDir": {}})"));
}

TEST(MemberRestoring, TheSnapshotThatIsWantedIsNamedByItsChecksum) {
  v1::EtcdMember seed = seed_of_volume();
  seed.spec.restore->checksum = "sha256:" + std::string(64, 'a');
  const Json made = *pod(seed, {.founds = true, .with_auth = false}, kImages);
  EXPECT_TRUE(environment_of(made.at("spec").at("initContainers").at(1))
                  .ends_with("RESTORE_CHECKSUM=" + seed.spec.restore->checksum + "\n"));
}

TEST(MemberRestoring, ASnapshotInAVolumeIsMountedToBeRead) {
  const Json made = *pod(seed_of_volume(), {.founds = true, .with_auth = true}, kImages);
  const Json& restore = made.at("spec").at("initContainers").at(1);
  EXPECT_EQ(environment_of(restore),
            "ETCD_DATA_DIR=/var/lib/etcd\n"
            "ETCD_MEMBER_NAME=db-x1\n"
            "ETCD_INITIAL_CLUSTER=db-x1=http://db-x1.db.prod.svc:2380\n"
            "ETCD_INITIAL_CLUSTER_TOKEN=prod-db-c-1\n"
            "ETCD_PEER_URLS=http://db-x1.db.prod.svc:2380\n"
            "SNAPSHOT_DEST_KIND=pvc\n"
            "PVC_MOUNT_PATH=/restore/src\n"
            "PVC_SUBPATH=prod/db.db\n"
            "RESTORE_ETCD_VERSION=3.6.16\n"
            "RESTORE_AUTH=true\n"
            "RESTORE_BUMP_REVISION=0\n");
  EXPECT_EQ(restore.at("volumeMounts"), json::parse(R"([
    {"name": "data", "mountPath": "/var/lib/etcd"},
    {"name": "restore-tools", "mountPath": "/tools", "readOnly": true},
    {"name": "restore-src", "mountPath": "/restore/src", "readOnly": true}
  ])"));
  EXPECT_EQ(made.at("spec").at("volumes").as_array().back(), json::parse(R"({
    "name": "restore-src", "persistentVolumeClaim": {"claimName": "backups", "readOnly": true}
  })"));
}

TEST(MemberRestoring, TheStoresAuthoritiesAreAFile) {
  v1::EtcdMember member = seed();
  member.spec.restore->source.s3->ca_secret_ref.emplace().name = "store-ca";
  member.spec.restore->source.s3->credentials_secret_ref.name.clear();
  const Json made = *pod(member, {.founds = true}, kImages);
  const Json& restore = made.at("spec").at("initContainers").at(1);
  EXPECT_NE(environment_of(restore).find("S3_CA_PATH=/etc/store/ca/ca.crt\n"), std::string::npos);
  EXPECT_EQ(environment_of(restore).find("AWS_"), std::string::npos) << "nor is there a Secret";
  EXPECT_EQ(restore.at("volumeMounts").as_array().back(), json::parse(R"(
    {"name": "restore-ca", "mountPath": "/etc/store/ca", "readOnly": true})"));
  EXPECT_EQ(made.at("spec").at("volumes").as_array().back(), json::parse(R"({
    "name": "restore-ca",
    "secret": {"secretName": "store-ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
  })"));
}

TEST(MemberRestoring, TheKeysOfAnEncryptedSnapshotAreMountedToBeRead) {
  v1::EtcdMember member = seed();
  member.spec.restore->source.encryption.emplace().key_secret_ref.name = "snapshot-keys";
  const Json made = *pod(member, {.founds = true}, kImages);
  const Json& restore = made.at("spec").at("initContainers").at(1);
  EXPECT_NE(environment_of(restore).find("SNAPSHOT_KEYS_PATH=/etc/snapshot-keys\n"),
            std::string::npos);
  EXPECT_EQ(restore.at("volumeMounts").as_array().back(), json::parse(R"(
    {"name": "restore-keys", "mountPath": "/etc/snapshot-keys", "readOnly": true})"));
  EXPECT_EQ(made.at("spec").at("volumes").as_array().back(), json::parse(R"({
    "name": "restore-keys", "secret": {"secretName": "snapshot-keys"}
  })"));
}

TEST(MemberRestoring, AQuotaThatAsksForLimitsGetsThoseOfEtcd) {
  v1::EtcdMember member = seed();
  member.spec.resources = json::parse(R"({"limits": {"cpu": "1", "memory": "1Gi"}})");
  const Json made = *pod(member, {.founds = true}, kImages);
  for (const Json& one : made.at("spec").at("initContainers").as_array())
    EXPECT_EQ(one.at("resources"), *member.spec.resources) << one.at("name");
}

TEST(MemberRestoring, TheRestOfThePodIsThatOfAnyFounder) {
  Json made = *pod(seed(), {.founds = true}, kImages);
  v1::EtcdMember plain = seed();
  plain.spec.restore.reset();
  EXPECT_EQ(made.at("spec").at("containers"),
            pod(plain, {.founds = true}, kImages)->at("spec").at("containers"));
  json::object& spec = made.at("spec").as_object();
  spec.erase("initContainers");
  spec["volumes"].as_array().pop_back();
  EXPECT_EQ(made, *pod(plain, {.founds = true}, kImages));
  EXPECT_EQ(*pod(seed(), {}, kImages), *pod(plain, {}, kImages))
      << "I4: the one that is made once the cluster is founded restores nothing";
}

TEST(MemberRestoring, WhatATemplateAddsComesAfterIt) {
  v1::EtcdMember m = seed();
  m.spec.image_pull_secrets = {{"regcred"}};
  m.spec.pod_template.emplace().spec = json::parse(R"({
    "initContainers": [{"name": "warm", "image": "busybox"}],
    "volumes": [{"name": "scratch", "emptyDir": {}}]
  })");
  const Json made = *pod(m, {.founds = true}, kImages);
  const json::array& inits = made.at("spec").at("initContainers").as_array();
  ASSERT_EQ(inits.size(), 3U);
  EXPECT_EQ(inits[1].at("name"), "restore");
  EXPECT_EQ(inits[2].at("name"), "warm");
  EXPECT_EQ(made.at("spec").at("imagePullSecrets"), json::parse(R"([{"name": "regcred"}])"));
}

// --- Messages ------------------------------------------------------------------------------------

api::OwnerReference owner(const char* kind, const char* name, const char* uid) {
  return {"etcd-operator.cozystack.io/v1alpha2", kind, name, uid, true, true};
}

/// A first member whose Pod has just begun to restore.
Observation restoring() {
  Observation seen;
  seen.now = WallTime{1795233378s};
  seen.member = seed();
  seen.has_image = true;
  seen.cluster.emplace().metadata.uid = "c-1";
  seen.cluster->status.cluster_token = seen.member.spec.cluster_token;
  seen.volume.emplace().metadata.name = "data-db-x1";
  seen.volume->metadata.labels[v1::kClusterLabel] = seen.member.spec.cluster_name;
  seen.volume->metadata.owner_references = {owner("EtcdMember", "db-x1", "m-1")};
  kube::Pod& pod = seen.pod.emplace();
  pod.metadata.name = "db-x1";
  pod.metadata.uid = "p-1";
  pod.metadata.labels = {{v1::kClusterLabel, seen.member.spec.cluster_name},
                         {v1::kClusterUidLabel, "c-1"}};
  pod.metadata.owner_references = {owner("EtcdMember", "db-x1", "m-1")};
  pod.spec.init_containers = {{v1::kInstallToolsContainer, {}}, {v1::kRestoreContainer, {}}};
  pod.spec.containers = {{v1::kEtcdContainer,
                          {"etcd", "--initial-cluster=" + seen.member.spec.initial_cluster,
                           "--initial-cluster-state=new"}}};
  pod.status.phase = "Pending";
  kube::ContainerStatus tools, restore, etcd;
  tools.name = v1::kInstallToolsContainer;
  tools.state.terminated.emplace();
  restore.name = v1::kRestoreContainer;
  etcd.name = v1::kEtcdContainer;
  etcd.state.waiting.emplace().reason = "PodInitializing";
  pod.status.init_container_statuses = {tools, restore};
  pod.status.container_statuses = {etcd};
  return seen;
}

kube::ContainerStatus& tools_in(Observation& o) { return o.pod->status.init_container_statuses[0]; }
kube::ContainerStatus& restore_in(Observation& o) {
  return o.pod->status.init_container_statuses[1];
}

kube::ContainerTerminated ended(int code, std::string message, const char* reason = "Error") {
  return {code, reason, std::move(message)};
}

std::string report_of(const char* reason, const char* message, bool for_good) {
  RestoreReport report;
  report.reason = reason;
  report.message = message;
  report.for_good = for_good;
  return to_text(report);
}

TEST(MemberRestoring, ItIsToldHowItGoes) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* reason;
    const char* message;
  };
  const Row rows[] = {
      {[](auto&) {}, v1::kRestoring,
       "restoring s3://backups/prod/$(HOME).db: see kubectl logs db-x1 -c restore"},
      {[](auto& o) {
         o.member.spec = seed_of_volume().spec;
         o.pod->status.init_container_statuses.clear();
         o.pod->status.container_statuses.clear();
       },
       v1::kRestoring,
       "restoring file prod/db.db of PersistentVolumeClaim backups: see kubectl logs db-x1 -c "
       "restore"},
      {[](auto& o) {
         restore_in(o).state.waiting.emplace().reason = "CrashLoopBackOff";
         restore_in(o).last_state.terminated =
             ended(1, report_of("SourceUnreachable", "s3.example.com does not answer", false));
       },
       v1::kRestoreFailed,
       "SourceUnreachable: s3.example.com does not answer; the kubelet tries again"},
      {[](auto& o) {  // It runs once more, and the outcome is open.
         restore_in(o).last_state.terminated =
             ended(1, report_of("SourceUnreachable", "s3.example.com does not answer", false));
       },
       v1::kRestoreFailed,
       "SourceUnreachable: s3.example.com does not answer; the kubelet tries again"},
      {[](auto& o) {
         restore_in(o).state.terminated =
             ended(3, report_of("SnapshotBroken", "its hash is wrong", true));
       },
       v1::kRestoreFailed,
       "SnapshotBroken: its hash is wrong; fix this (the kubelet tries again every few minutes), "
       "or "
       "delete the EtcdCluster and create it again"},
      {[](auto& o) {  // The old volumes have its data, and would be lost.
         o.cluster->status.restore.emplace().name = "back";
         restore_in(o).state.terminated =
             ended(3, report_of("SnapshotBroken", "its hash is wrong", true));
       },
       v1::kRestoreFailed,
       "SnapshotBroken: its hash is wrong; fix this (the kubelet tries again every few minutes), "
       "or set spec.decision of EtcdRestore back to Rollback"},
      {[](auto& o) { restore_in(o).state.terminated = ended(137, "", "OOMKilled"); },
       v1::kRestoreFailed,
       "the container restore ended with exit code 137 (OOMKilled): see kubectl logs db-x1 -c "
       "restore; the kubelet tries again"},
      {[](auto& o) { restore_in(o).state.terminated = ended(2, "panic", ""); }, v1::kRestoreFailed,
       "the container restore ended with exit code 2: see kubectl logs db-x1 -c restore; the "
       "kubelet tries again"},
      {[](auto& o) {
         tools_in(o).state.terminated = ended(1, "no space left on device");
         o.pod->status.init_container_statuses.pop_back();
       },
       v1::kRestoreFailed,
       "the container install-tools ended with exit code 1 (Error): see kubectl logs db-x1 -c "
       "install-tools; the kubelet tries again"},
      {[](auto& o) {
         tools_in(o).state.terminated.reset();
         tools_in(o).state.waiting.emplace().reason = "ImagePullBackOff";
       },
       v1::kImagePullFailed,
       "the operator's own image, which restores the snapshot, cannot be pulled"},
      {[](auto& o) { restore_in(o).state.waiting.emplace().reason = "ErrImagePull"; },
       v1::kImagePullFailed, "the etcd image of version 3.6.16 cannot be pulled"},
      {[](auto& o) {
         restore_in(o).state.waiting = {"CreateContainerConfigError", "secret \"k\" not found"};
       },
       v1::kPodRejected, "the restore container cannot be created: secret \"k\" not found"},
      {[](auto& o) {
         o.pod->status.conditions = {{"PodScheduled", "False", "Unschedulable", "no claim"}};
       },
       v1::kUnschedulable, "no node can run the Pod: no claim"},
      {[](auto& o) {
         restore_in(o).last_state.terminated = ended(1, report_of("NoSpace", "full", false));
         restore_in(o).state.terminated = ended(0, "{}", "Completed");
       },
       v1::kPodNotReady, "pod phase: Pending"},
      {[](auto& o) {  // Each Pod of the Go operator's first member has these containers.
         o.member.status.member_id = "1";
         o.cluster->status.cluster_id = "c1";
       },
       v1::kPodNotReady, "pod phase: Pending"},
      {[](auto& o) {
         o.pod.reset();
         o.has_image = false;
       },
       v1::kOperatorImageNotConfigured,
       "the operator was started without --operator-image, the image that restores the snapshot: "
       "set this flag"},
      {[](auto& o) {
         o.pod.reset();
         o.credentials_fault = "Secret s3-keys has no AWS_SECRET_ACCESS_KEY";
       },
       v1::kRestoreFailed,
       "SourceCredentialsMissing: Secret s3-keys has no AWS_SECRET_ACCESS_KEY; the operator "
       "creates no Pod until this is fixed"},
      {[](auto& o) {
         o.pod.reset();
         o.member.spec.storage.medium = v1::Medium::Memory;
       },
       v1::kNotImplemented,
       "this release does not implement restore with storage.medium Memory, so the operator "
       "creates no Pod"},
  };
  for (const Row& row : rows) {
    Observation seen = restoring();
    row.edit(seen);
    const Plan p = plan(seen);
    const auto* ready = runtime::find_condition(p.status.conditions, v1::kReady);
    ASSERT_TRUE(ready) << &row - rows;
    EXPECT_EQ(ready->status, "False") << &row - rows;
    EXPECT_EQ(ready->reason, row.reason) << &row - rows;
    EXPECT_EQ(ready->message, row.message) << &row - rows;
    EXPECT_EQ(to_string(p.step), "none") << &row - rows << ": nobody makes it anew";
  }
}

TEST(MemberRestoring, WhatPassesWhileANodeIsFoundIsNotTold) {
  Observation seen = restoring();
  seen.member.status = plan(seen).status;
  seen.pod->status.conditions = {{"PodScheduled", "False", "Unschedulable", "unbound"}};
  seen.now = seen.now + 5s;
  EXPECT_EQ(plan(seen).status, seen.member.status);
  seen.now = seen.now + 6s;
  EXPECT_NE(plan(seen).status, seen.member.status) << "it lasts";
}

}  // namespace
}  // namespace etcdop::member
