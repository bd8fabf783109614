// The Job of a snapshot, whole; and its parts that depend on the cluster and the destination.
#include "operator/snapshot/objects.h"

#include <gtest/gtest.h>
#include "operator/pods/pod_policy.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;

Observation to_s3() {
  Observation seen;
  seen.snapshot.metadata.name = "nightly";
  seen.snapshot.metadata.ns = "prod";
  seen.snapshot.metadata.uid = "s-1";
  seen.snapshot.spec.cluster_ref.name = "db";
  v1::S3Location& s3 = seen.snapshot.spec.destination.s3.emplace();
  s3.endpoint = "https://s3.example.com";
  s3.bucket = "backups";
  s3.credentials_secret_ref.name = "s3";
  v1::EtcdCluster& cluster = seen.cluster.emplace();
  cluster.metadata.name = "db";
  cluster.metadata.ns = "prod";
  seen.endpoints = {"http://db-a.db.prod.svc:2379", "http://db-b.db.prod.svc:2379"};
  return seen;
}

Json pod_spec(const Json& job) { return job.at("spec").at("template").at("spec"); }
Json agent(const Json& job) { return pod_spec(job).at("containers").at(0); }

/// "NAME=value", or "NAME<secret.key"; "?" behind it: optional.
std::string env(const Json& job) {
  std::string out;
  const Json container = agent(job);
  for (const Json& one : container.at("env").as_array()) {
    out += std::string(one.at("name").as_string());
    if (const Json* value = one.as_object().if_contains("value")) {
      out += "=" + std::string(value->as_string()) + "\n";
      continue;
    }
    const json::object& ref = one.at("valueFrom").at("secretKeyRef").as_object();
    out += "<" + std::string(ref.at("name").as_string()) + "." +
           std::string(ref.at("key").as_string()) + (ref.contains("optional") ? "?\n" : "\n");
  }
  return out;
}

TEST(SnapshotObjects, TheJob) {
  EXPECT_EQ(job(to_s3(), 1, "example.com/etcd-operator:1"), json::parse(R"({
    "metadata": {
      "name": "nightly-snapshot",
      "namespace": "prod",
      "labels": {
        "etcd-operator.cozystack.io/cluster": "db",
        "etcd-operator.cozystack.io/snapshot": "nightly"
      },
      "annotations": {"etcd-operator.cozystack.io/attempt": "1"},
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
      "backoffLimit": 3,
      "ttlSecondsAfterFinished": 600,
      "activeDeadlineSeconds": 1800,
      "podFailurePolicy": {"rules": [
        {"action": "FailJob",
         "onExitCodes": {"containerName": "snapshot-agent", "operator": "In", "values": [3]}},
        {"action": "Ignore",
         "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
      ]},
      "template": {
        "metadata": {"labels": {"etcd-operator.cozystack.io/snapshot": "nightly"}},
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
          "containers": [{
            "name": "snapshot-agent",
            "image": "example.com/etcd-operator:1",
            "command": ["/manager", "snapshot-agent"],
            "env": [
              {"name": "ETCD_ENDPOINTS",
               "value": "http://db-a.db.prod.svc:2379,http://db-b.db.prod.svc:2379"},
              {"name": "SNAPSHOT_NAME", "value": "nightly"},
              {"name": "SNAPSHOT_UID", "value": "s-1"},
              {"name": "SNAPSHOT_DEST_KIND", "value": "s3"},
              {"name": "S3_ENDPOINT", "value": "https://s3.example.com"},
              {"name": "S3_BUCKET", "value": "backups"},
              {"name": "S3_KEY", "value": ""},
              {"name": "S3_REGION", "value": ""},
              {"name": "S3_FORCE_PATH_STYLE", "value": "false"},
              {"name": "AWS_ACCESS_KEY_ID",
               "valueFrom": {"secretKeyRef": {"name": "s3", "key": "AWS_ACCESS_KEY_ID"}}},
              {"name": "AWS_SECRET_ACCESS_KEY",
               "valueFrom": {"secretKeyRef": {"name": "s3", "key": "AWS_SECRET_ACCESS_KEY"}}},
              {"name": "AWS_SESSION_TOKEN",
               "valueFrom": {"secretKeyRef":
                 {"name": "s3", "key": "AWS_SESSION_TOKEN", "optional": true}}}
            ],
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": {
              "requests": {"cpu": "50m", "memory": "64Mi"},
              "limits": {"memory": "256Mi"}
            },
            "securityContext": {
              "allowPrivilegeEscalation": false,
              "readOnlyRootFilesystem": true,
              "capabilities": {"drop": ["ALL"]}
            }
          }]
        }
      }
    }
  })"));
}

TEST(SnapshotObjects, WithTlsAndAuthenticationIntoAVolume) {
  Observation seen = to_s3();
  seen.snapshot.spec.destination.s3.reset();
  v1::PvcLocation& pvc = seen.snapshot.spec.destination.pvc.emplace();
  pvc.claim_name = "backups";
  pvc.sub_path = "etcd/prod";
  v1::ClientTls& tls = seen.cluster->spec.tls.emplace().client.emplace();
  tls.server_secret_ref.emplace().name = "db-server";
  tls.operator_client_secret_ref.emplace().name = "db-operator";
  seen.endpoints = {"https://db-a.db.prod.svc:2379"};
  seen.password_secret = "db-operator-auth";
  const Json made = job(seen, 2, "op:1");
  EXPECT_EQ(env(made),
            "ETCD_ENDPOINTS=https://db-a.db.prod.svc:2379\n"
            "SNAPSHOT_NAME=nightly\n"
            "SNAPSHOT_UID=s-1\n"
            "ETCD_TLS_CA_PATH=/etc/etcd/pki/ca/ca.crt\n"
            "ETCD_TLS_CERT_PATH=/etc/etcd/pki/client/tls.crt\n"
            "ETCD_TLS_KEY_PATH=/etc/etcd/pki/client/tls.key\n"
            "ETCD_USERNAME=root\n"
            "ETCD_PASSWORD<db-operator-auth.password\n"
            "SNAPSHOT_DEST_KIND=pvc\n"
            "PVC_MOUNT_PATH=/snapshot/data\n"
            "PVC_SUBPATH=etcd/prod\n");
  EXPECT_EQ(pod_spec(made).at("volumes"), json::parse(R"([
    {"name": "etcd-ca", "secret": {"secretName": "db-server",
      "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {"name": "etcd-client", "secret": {"secretName": "db-operator",
      "items": [{"key": "tls.crt", "path": "tls.crt"}, {"key": "tls.key", "path": "tls.key"}]}},
    {"name": "snapshot-data", "persistentVolumeClaim": {"claimName": "backups"}}])"));
  EXPECT_EQ(agent(made).at("volumeMounts"), json::parse(R"([
    {"name": "etcd-ca", "mountPath": "/etc/etcd/pki/ca", "readOnly": true},
    {"name": "etcd-client", "mountPath": "/etc/etcd/pki/client", "readOnly": true},
    {"name": "snapshot-data", "mountPath": "/snapshot/data"}])"));
  EXPECT_EQ(made.at("metadata").at("annotations").at(v1::kAttemptAnnotation).as_string(), "2");
}

TEST(SnapshotObjects, WithServerCertificatesAloneTheAgentShowsNone) {
  Observation seen = to_s3();
  seen.cluster->spec.tls.emplace().client.emplace().server_secret_ref.emplace().name = "db-server";
  const std::string variables = env(job(seen, 1, "op:1"));
  EXPECT_NE(variables.find("ETCD_TLS_CA_PATH="), std::string::npos);
  EXPECT_EQ(variables.find("ETCD_TLS_CERT_PATH="), std::string::npos);
  EXPECT_EQ(variables.find("ETCD_PASSWORD"), std::string::npos);
}

TEST(SnapshotObjects, T11_ItsPodFitsTheStrictestStandard) {
  const Json made = job(to_s3(), 1, "op:1");
  EXPECT_EQ(why_not_pod(made.at("spec").at("template").as_object(), PodPolicy::Restricted), "");
}

TEST(SnapshotObjects, N11_ALargeVolumeDelaysNoStart) {
  const Json made = job(to_s3(), 1, "op:1");
  const Json& pod = made.at("spec").at("template").at("spec");
  EXPECT_EQ(pod.at("securityContext").at("fsGroupChangePolicy"), "OnRootMismatch");
}

TEST(SnapshotObjects, T9_TheKubeletExpandsNothingThatAUserWrote) {
  Observation seen = to_s3();
  v1::S3Location& s3 = *seen.snapshot.spec.destination.s3;
  s3.endpoint = "https://$(ETCD_PASSWORD).example.com";
  s3.bucket = "$(AWS_SECRET_ACCESS_KEY)";
  s3.key = "a$$(b)$/";
  s3.region = "$";
  s3.force_path_style = true;
  const std::string of_s3 = env(job(seen, 1, "op:1"));
  EXPECT_NE(of_s3.find("S3_ENDPOINT=https://$$(ETCD_PASSWORD).example.com\n"
                       "S3_BUCKET=$$(AWS_SECRET_ACCESS_KEY)\nS3_KEY=a$$$$(b)$$/\nS3_REGION=$$\n"
                       "S3_FORCE_PATH_STYLE=true\n"),
            std::string::npos)
      << of_s3;
  seen.snapshot.spec.destination.s3.reset();
  seen.snapshot.spec.destination.pvc.emplace().sub_path = "$(ETCD_PASSWORD)";
  const std::string of_pvc = env(job(seen, 1, "op:1"));
  EXPECT_NE(of_pvc.find("PVC_SUBPATH=$$(ETCD_PASSWORD)\n"), std::string::npos) << of_pvc;
}

TEST(SnapshotObjects, WhatTheClusterSaysOfItsPodsAndChildren) {
  Observation seen = to_s3();
  seen.cluster->spec.image_pull_secrets.push_back({"pull"});
  seen.cluster->spec.additional_metadata.emplace().labels = {
      {"team", "x"}, {v1::kClusterLabel, "stolen"}, {v1::kSnapshotLabel, "stolen"}};
  seen.cluster->spec.additional_metadata->annotations = {{"note", "y"}};
  const Json made = job(seen, 1, "op:1");
  EXPECT_EQ(pod_spec(made).at("imagePullSecrets"), json::parse(R"([{"name": "pull"}])"));
  EXPECT_EQ(made.at("metadata").at("labels"), json::parse(R"({
    "etcd-operator.cozystack.io/cluster": "db", "etcd-operator.cozystack.io/snapshot": "nightly",
    "team": "x"})"));
  const Json& pod = made.at("spec").at("template").at("metadata");
  EXPECT_EQ(pod.at("labels"),
            json::parse(R"({"etcd-operator.cozystack.io/snapshot": "nightly", "team": "x"})"))
      << "no Service of the cluster selects it";
  EXPECT_EQ(pod.at("annotations"), json::parse(R"({"note": "y"})"));
}

TEST(SnapshotObjects, WhereAndAsWhomItsPodRuns) {
  Observation seen = to_s3();
  v1::AgentPodSpec& as = seen.snapshot.spec.pod.emplace();
  Json plain = pod_spec(job(to_s3(), 1, "op:1"));
  EXPECT_EQ(pod_spec(job(seen, 1, "op:1")), plain) << "what is not said stays as it is";
  as.resources = json::parse(R"({"limits": {"cpu": "1", "memory": "128Mi"}})");
  as.affinity = json::parse(R"({"podAntiAffinity": {}})");
  as.tolerations = json::parse(R"([{"key": "backup", "operator": "Exists"}])");
  as.node_selector = {{"disk", "big"}};
  as.priority_class_name = "low";
  as.service_account_name = "backups";
  json::object& expected = plain.as_object();
  expected["nodeSelector"] = json::parse(R"({"disk": "big"})");
  expected["affinity"] = *as.affinity;
  expected["tolerations"] = *as.tolerations;
  expected["priorityClassName"] = "low";
  expected["serviceAccountName"] = "backups";
  plain.at("containers").as_array()[0].as_object()["resources"] = *as.resources;
  EXPECT_EQ(pod_spec(job(seen, 1, "op:1")), plain) << "it has no token of that ServiceAccount";
}

TEST(SnapshotObjects, WithoutASecretThePodHasNoKeysAndNoTokenForKubernetesApi) {
  Observation seen = to_s3();
  seen.snapshot.spec.destination.s3->credentials_secret_ref.name.clear();
  const Json made = job(seen, 1, "op:1");
  EXPECT_EQ(env(made).find("AWS_"), std::string::npos);
  EXPECT_FALSE(pod_spec(made).at("automountServiceAccountToken").as_bool());
}

TEST(SnapshotObjects, TheStoresAuthoritiesAreAFile) {
  Observation seen = to_s3();
  seen.snapshot.spec.destination.s3->ca_secret_ref.emplace().name = "store-ca";
  const Json made = job(seen, 1, "op:1");
  EXPECT_NE(env(made).find("S3_CA_PATH=/etc/store/ca/ca.crt\n"), std::string::npos);
  EXPECT_EQ(pod_spec(made).at("volumes"), json::parse(R"([
    {"name": "store-ca", "secret": {"secretName": "store-ca",
      "items": [{"key": "ca.crt", "path": "ca.crt"}]}}])"));
  EXPECT_EQ(agent(made).at("volumeMounts"), json::parse(R"([
    {"name": "store-ca", "mountPath": "/etc/store/ca", "readOnly": true}])"));
}

TEST(SnapshotObjects, WhoseAJobIsIsDecidedByUid) {
  struct Row {
    const char *kind, *name, *uid;
    bool ours, of_namesake;
  };
  const Row rows[] = {{"EtcdSnapshot", "nightly", "s-1", true, false},
                      {"EtcdSnapshot", "nightly", "s-0", false, true},
                      {"EtcdSnapshot", "weekly", "s-2", false, false},
                      {"CronJob", "nightly", "c-1", false, false}};
  for (const Row& row : rows) {
    kube::Job job;
    job.metadata.uid = "j-1";
    job.metadata.creation_timestamp = "2026-11-21T03:56:18Z";
    api::OwnerReference& owner = job.metadata.owner_references.emplace_back();
    owner.kind = row.kind;
    owner.name = row.name;
    owner.uid = row.uid;
    owner.controller = true;
    const JobSeen seen = seen_as(job, to_s3().snapshot.metadata, v1::EtcdSnapshot::resource.kind);
    EXPECT_EQ(seen.ours, row.ours) << row.kind << row.uid;
    EXPECT_EQ(seen.of_namesake, row.of_namesake) << row.kind << row.uid;
    EXPECT_EQ(seen.uid, "j-1");
    EXPECT_EQ(to_rfc3339(seen.made), "2026-11-21T03:56:18Z");
    job.metadata.owner_references.front().controller = false;
    EXPECT_FALSE(seen_as(job, to_s3().snapshot.metadata, v1::EtcdSnapshot::resource.kind).ours)
        << "one of several owners";
  }
}

TEST(SnapshotObjects, TheHowManiethAJobIs) {
  kube::Job job;
  EXPECT_EQ(seen_as(job, {}, v1::EtcdSnapshot::resource.kind).attempt, 0) << "of the Go operator";
  job.metadata.annotations[v1::kAttemptAnnotation] = "2";
  EXPECT_EQ(seen_as(job, {}, v1::EtcdSnapshot::resource.kind).attempt, 2);
  job.metadata.annotations[v1::kAttemptAnnotation] = "many";
  EXPECT_EQ(seen_as(job, {}, v1::EtcdSnapshot::resource.kind).attempt, 0);
}

}  // namespace
}  // namespace etcdop::snapshot
