// The Job that checks a snapshot, whole.
#include "operator/restore/objects.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"
#include "operator/pods/pod_policy.h"

namespace etcdop::restore {
namespace {

namespace v1 = api::v1alpha2;

Observation seen_of(bool auth) {
  Observation seen;
  seen.restore.metadata.name = "back";
  seen.restore.metadata.ns = "prod";
  seen.restore.metadata.uid = "r-1";
  seen.restore.spec.cluster_ref.name = "db";
  v1::PvcLocation& pvc = seen.restore.spec.source.pvc.emplace();
  pvc.claim_name = "backups";
  pvc.sub_path = "prod/nightly.db";
  seen.restore.spec.pod.emplace().node_selector["disk"] = "large";
  v1::EtcdCluster& cluster = seen.cluster.emplace();
  cluster.metadata.name = "db";
  cluster.spec.version = "3.6.16";
  cluster.spec.image_pull_secrets.push_back({"pull"});
  if (auth) cluster.spec.auth.emplace().enabled = true;
  return seen;
}

std::string value_of(const json::object& container, std::string_view name) {
  for (const Json& one : container.at("env").as_array())
    if (one.at("name").as_string() == name) return std::string(one.at("value").as_string());
  return "not set";
}

TEST(RestoreObjects, T11_ItsPodFitsTheStrictestStandardAndHasNoToken) {
  const Json made = job(seen_of(true), 2, {"op:1", "etcd"});
  const json::object& pod = made.at("spec").at("template").as_object();
  EXPECT_EQ(why_not_pod(pod, PodPolicy::Restricted), "");
  EXPECT_EQ(pod.at("spec").at("automountServiceAccountToken"), false);
}

TEST(RestoreObjects, TheJobRunsTheClustersOwnEtcdOnTheSnapshotInScratch) {
  const Json made = job(seen_of(true), 2, {"op:1", "etcd"});
  EXPECT_EQ(made.at("metadata").at("name").as_string(), "back-check");
  EXPECT_EQ(made.at("metadata").at("namespace").as_string(), "prod");
  EXPECT_EQ(made.at("spec").at("backoffLimit"), Json(1));
  EXPECT_EQ(made.at("spec").at("activeDeadlineSeconds"), Json(2400));
  EXPECT_EQ(made.at("metadata").at("labels").at("app.kubernetes.io/component").as_string(),
            "restore-check");
  EXPECT_EQ(made.at("metadata").at("labels").at(v1::kClusterLabel).as_string(), "db");
  EXPECT_EQ(made.at("metadata").at("annotations").at(v1::kAttemptAnnotation).as_string(), "2");
  EXPECT_EQ(made.at("metadata").at("ownerReferences").at(0).at("uid").as_string(), "r-1");
  const json::object& pod = made.at("spec").at("template").at("spec").as_object();
  const json::object& agent = pod.at("containers").at(0).as_object();
  EXPECT_EQ(agent.at("name").as_string(), v1::kVerifyContainer);
  EXPECT_EQ(agent.at("image").as_string(), "etcd:v3.6.16");
  EXPECT_EQ(agent.at("command"), Json(json::array{"/tools/manager", "verify-agent"}));
  EXPECT_EQ(value_of(agent, "VERIFY_ONLY_CHECK"), "true");
  EXPECT_EQ(value_of(agent, "PVC_SUBPATH"), "prod/nightly.db");
  EXPECT_EQ(value_of(agent, "RESTORE_ETCD_VERSION"), "3.6.16");
  EXPECT_EQ(pod.at("initContainers").at(0).at("image").as_string(), "op:1");
  EXPECT_EQ(pod.at("nodeSelector").at("disk").as_string(), "large");
  EXPECT_EQ(pod.at("imagePullSecrets").at(0).at("name").as_string(), "pull");
}

TEST(RestoreObjects, WhatItsUserWantsOnEverythingIsOnJobAndPod) {
  Observation seen = seen_of(false);
  seen.cluster->spec.additional_metadata.emplace().labels["team"] = "blue";
  const Json made = job(seen, 1, {"op:1", "etcd"});
  EXPECT_EQ(made.at("metadata").at("labels").at("team").as_string(), "blue");
  const Json& pod = made.at("spec").at("template").at("metadata");
  EXPECT_EQ(pod.at("labels").at("team").as_string(), "blue");
}

TEST(RestoreObjects, NoServiceSelectsItsPods) {
  const Json made = job(seen_of(false), 1, {"op:1", "etcd"});
  const json::object& labels =
      made.at("spec").at("template").at("metadata").at("labels").as_object();
  EXPECT_FALSE(labels.contains(v1::kClusterLabel));
  EXPECT_FALSE(labels.contains(v1::kSnapshotLabel));
}

TEST(RestoreObjects, TheEtcdIsThatOfTheMembers) {
  Observation seen = seen_of(false);
  seen.cluster->status.observed.emplace().version = "3.5.35";
  seen.cluster->status.observed->pod_template.emplace().spec =
      json::object{{"serviceAccountName", "reader"}};
  const Json made = job(seen, 1, {"op:1", "etcd"});
  const json::object& pod = made.at("spec").at("template").at("spec").as_object();
  EXPECT_EQ(value_of(pod.at("containers").at(0).as_object(), "RESTORE_ETCD_VERSION"), "3.5.35");
  EXPECT_EQ(pod.at("serviceAccountName").as_string(), "reader");
}

TEST(RestoreObjects, ItReadsTheStoreAsTheMemberWillThatRestores) {
  const auto account = [](const Observation& seen) {
    const Json made = job(seen, 1, {"op:1", "etcd"});
    const json::object& pod = made.at("spec").at("template").at("spec").as_object();
    const Json* const name = pod.if_contains("serviceAccountName");
    return name ? std::string(name->as_string()) : "";
  };
  Observation seen = seen_of(false);
  EXPECT_EQ(account(seen), "");
  seen.cluster->spec.pod_template.emplace();
  EXPECT_EQ(account(seen), "") << "a template without a spec";
  seen.cluster->spec.pod_template->spec = json::object{{"serviceAccountName", "reader"}};
  EXPECT_EQ(account(seen), "reader");
  seen.restore.spec.pod.reset();
  EXPECT_EQ(account(seen), "reader");
  for (const Json& other : {Json(json::object()), Json(json::object{{"serviceAccountName", 7}})}) {
    seen.cluster->spec.pod_template->spec = other;
    EXPECT_EQ(account(seen), "");
  }
  seen.restore.spec.pod.emplace().service_account_name = "checker";
  EXPECT_EQ(account(seen), "checker");
}

TEST(RestoreObjects, AuthenticationInTheSnapshotIsOfUseOnlyWhereTheClusterHasIt) {
  for (const bool auth : {true, false}) {
    const Json made = job(seen_of(auth), 1, {"op:1", "etcd"});
    const json::object& agent =
        made.at("spec").at("template").at("spec").at("containers").at(0).as_object();
    EXPECT_EQ(value_of(agent, "RESTORE_AUTH"), auth ? "true" : "false");
  }
}

}  // namespace
}  // namespace etcdop::restore
