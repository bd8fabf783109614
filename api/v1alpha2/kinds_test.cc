// The kinds' C++ side: decoding and encoding. Samples on a real kube-apiserver test what the CRDs
// refuse.
#include <gtest/gtest.h>

#include "api/leaves.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcddefrag.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"

namespace etcdop::api::v1alpha2 {
namespace {

/// The operator asks for all that an object names in that object's namespace.
TEST(Specs, T1_NoFieldNamesANamespace) {
  for (const auto& all : {leaves<EtcdClusterSpec>(), leaves<EtcdMemberSpec>(),
                          leaves<EtcdDefragSpec>(), leaves<EtcdRestoreSpec>(),
                          leaves<EtcdSnapshotSpec>(), leaves<EtcdSnapshotScheduleSpec>()}) {
    EXPECT_GT(all.size(), 1U);
    for (const std::string& path : all)
      EXPECT_FALSE(path.ends_with("amespace") || path.ends_with("amespaces")) << path;
  }
}

TEST(EtcdCluster, AMinimalOneHasTheDocumentedDefaults) {
  EtcdCluster cluster;
  ASSERT_TRUE(decode(json::parse(R"({"metadata":{"name":"db"},"spec":{"version":"3.6.16"}})"),
                     cluster, "EtcdCluster"));
  EXPECT_EQ(cluster.spec.replicas, 3);
  EXPECT_EQ(cluster.spec.storage.size, "1Gi");
  EXPECT_EQ(cluster.spec.storage.medium, Medium::Disk);
  EXPECT_EQ(cluster.spec.storage.storage_class_name, std::nullopt);
  EXPECT_EQ(cluster.spec.progress_deadline_seconds, 600);
  EXPECT_EQ(differs_from_default(cluster.spec), std::vector<std::string>{"version"});
}

TEST(EtcdCluster, OneWithoutSpecIsReadBecauseTheSchemaAllowsIt) {
  EtcdCluster cluster;
  EXPECT_TRUE(decode(json::parse(R"({"metadata":{"name":"db"}})"), cluster, "EtcdCluster"));
  EXPECT_EQ(cluster.spec.version, "");
}

TEST(EtcdCluster, AStatusOfTheReferenceIsReadAndWrittenBackUnchanged) {
  const Json status = json::parse(R"({
    "readyMembers": 3, "brokenMembers": 1, "selector": "a=b", "clusterID": "00000000000000c1",
    "clusterToken": "ns-db-uid", "authEnabled": true,
    "observed": {"replicas": 3, "version": "3.5.35",
      "storage": {"size": "2Gi", "medium": "Memory", "storageClassName": ""},
      "options": {"quotaBackendBytes": 8589934592, "autoCompactionMode": "periodic",
                  "autoCompactionRetention": "1h", "snapshotCount": 10000},
      "additionalMetadata": {"labels": {"team": "x"}},
      "resources": {"requests": {"cpu": 1}}, "affinity": {"podAntiAffinity": {}},
      "topologySpreadConstraints": [{"maxSkew": 1}], "imagePullSecrets": [{"name": "pull"}],
      "nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "etcd"}],
      "priorityClassName": "high"},
    "progressDeadline": "2026-11-21T03:56:18Z",
    "pendingMembers": [{"sequence": 4, "name": "db-x", "peerURL": "http://x:2380",
                        "since": "2026-11-21T03:56:18Z"}],
    "lastSequence": 4,
    "conditions": [{"type": "Available", "status": "True", "reason": "QuorumHealthy",
      "message": "All members are ready", "lastTransitionTime": "2026-11-21T03:56:18Z",
      "observedGeneration": 2}]})");
  EtcdClusterStatus read;
  ASSERT_TRUE(decode(status, read, "status"));
  EXPECT_EQ(encode(read), status);
  EXPECT_EQ(read.pending_members.at(0).peer_url, "http://x:2380");
  EXPECT_EQ(read.observed->storage.medium, Medium::Memory);
}

TEST(EtcdCluster, WhatIsSetIsNamedByItsLeaves) {
  EtcdClusterSpec spec;
  ASSERT_TRUE(decode(json::parse(R"({"version": "3.6.16", "storage": {"medium": "Memory"},
    "auth": {}, "tls": {"client": {"serverSecretRef": {"name": "s"}}, "peer": {"secretRef": {}}},
    "bootstrap": {"restore": {"source": {"s3": {"endpoint": "e", "bucket": "b", "key": "k",
                                                "credentialsSecretRef": {"name": "c"}}}}},
    "affinity": {}, "imagePullSecrets": [{}]})"),
                     spec, "spec"));
  const std::string s3 = "bootstrap.restore.source.s3.";
  EXPECT_EQ(differs_from_default(spec),
            (std::vector<std::string>{"version", "storage.medium", "affinity", "imagePullSecrets",
                                      "tls.client.serverSecretRef.name", "tls.peer.secretRef",
                                      "auth", s3 + "endpoint", s3 + "bucket",
                                      s3 + "credentialsSecretRef.name", s3 + "key"}));
}

TEST(EtcdMember, ASpecKeepsTheEmptyWordsThatTheSchemaRequires) {
  EtcdMember member;
  member.metadata.name = "db-abcde";
  member.spec.cluster_name = "db";
  member.spec.version = "3.6.16";
  EXPECT_EQ(serialize(encode(member)),
            R"({"apiVersion":"etcd-operator.cozystack.io/v1alpha2","kind":"EtcdMember",)"
            R"("metadata":{"name":"db-abcde"},"spec":{"version":"3.6.16",)"
            R"("storage":{"size":"1Gi","medium":""},"clusterName":"db","initialCluster":"",)"
            R"("clusterToken":"","replicas":1}})");
  EtcdMember back;
  ASSERT_TRUE(decode(encode(member), back, "EtcdMember"));
  EXPECT_EQ(back, member);
}

TEST(EtcdSnapshot, AStatusOfTheReferenceIsReadAndWrittenBackUnchanged) {
  const Json status = json::parse(R"({
    "phase": "Complete",
    "artifact": {"uri": "s3://backups/nightly.db", "sizeBytes": 20508704, "checksum": "sha256:0f"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "SnapshotStored",
      "message": "stored", "lastTransitionTime": "2026-11-21T03:56:18Z",
      "observedGeneration": 1}]})");
  EtcdSnapshotStatus read;
  ASSERT_TRUE(decode(status, read, "status"));
  EXPECT_EQ(encode(read), status);
  EXPECT_TRUE(read.finished());
  EXPECT_EQ(read.artifact->keys, std::nullopt) << "not known is not none";
}

TEST(EtcdSnapshot, OnlyTheLastTwoPhasesAreForGood) {
  EtcdSnapshotStatus status;
  for (const char* phase : {"", kSnapshotPending, kSnapshotStarted}) {
    status.phase = phase;
    EXPECT_FALSE(status.finished()) << phase;
  }
  for (const char* phase : {kSnapshotComplete, kSnapshotFailed}) {
    status.phase = phase;
    EXPECT_TRUE(status.finished()) << phase;
  }
}

}  // namespace
}  // namespace etcdop::api::v1alpha2
