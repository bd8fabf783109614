// The exact Services and EtcdMembers of a cluster: users' policies and the Go operator read them.
#include "operator/cluster/objects.h"
#include "operator/passes/owner.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "api/describe.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr SelectorKeys kAll{.uid = true, .role = true};

v1::EtcdCluster cluster() {
  v1::EtcdCluster c;
  c.metadata.name = "db";
  c.metadata.ns = "prod";
  c.metadata.uid = "u-1";
  c.status.cluster_token = "prod-db-u-1";
  v1::ObservedSpec& observed = c.status.observed.emplace();
  observed.replicas = 3;
  observed.version = "3.6.16";
  observed.storage.size = "1Gi";
  observed.resources = json::parse(R"({"limits": {"memory": "1Gi"}})");
  return c;
}

Json metadata(const char* name) {
  Json out = json::parse(R"({
    "namespace": "prod",
    "labels": {
      "app.kubernetes.io/name": "etcd",
      "app.kubernetes.io/instance": "db",
      "app.kubernetes.io/managed-by": "etcd-operator",
      "etcd-operator.cozystack.io/cluster": "db"
    },
    "ownerReferences": [{
      "apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdCluster",
      "name": "db", "uid": "u-1", "controller": true, "blockOwnerDeletion": true
    }]
  })");
  out.as_object()["name"] = name;
  return out;
}

template <class T>
T decoded(const Json& made) {
  T out;
  EXPECT_TRUE(api::decode(made, out, "it"));
  return out;
}

TEST(ClusterObjects, TheHeadlessServiceNamesMembersThatAreNotReadyYet) {
  const Json made = headless_service(cluster(), kAll);
  EXPECT_EQ(made.at("metadata"), metadata("db"));
  EXPECT_EQ(made.at("spec"), json::parse(R"({
    "clusterIP": "None",
    "publishNotReadyAddresses": true,
    "selector": {"etcd-operator.cozystack.io/cluster": "db",
                 "etcd-operator.cozystack.io/cluster-uid": "u-1"},
    "ports": [
      {"name": "client", "port": 2379, "targetPort": 2379, "protocol": "TCP"},
      {"name": "peer", "port": 2380, "targetPort": 2380, "protocol": "TCP"}
    ]
  })"));
}

TEST(ClusterObjects, TheClientServiceHasTheClientPortAlone) {
  const Json made = client_service(cluster(), kAll);
  EXPECT_EQ(made.at("metadata"), metadata("db-client"));
  EXPECT_EQ(made.at("spec"), json::parse(R"({
    "type": "ClusterIP",
    "selector": {"etcd-operator.cozystack.io/cluster": "db",
                 "etcd-operator.cozystack.io/cluster-uid": "u-1",
                 "etcd-operator.cozystack.io/role": "voter"},
    "ports": [{"name": "client", "port": 2379, "targetPort": 2379, "protocol": "TCP"}]
  })"));
}

TEST(ClusterObjects, K12_K17_BeforeAllPodsHaveTheLabelsAServiceSelectsByNameAlone) {
  const Json by_name = json::parse(R"({"etcd-operator.cozystack.io/cluster": "db"})");
  EXPECT_EQ(headless_service(cluster(), {}).at("spec").at("selector"), by_name);
  EXPECT_EQ(client_service(cluster(), {}).at("spec").at("selector"), by_name);
}

/// The headless Service names learners, too: a member that joins must be found.
TEST(ClusterObjects, K12_OnlyTheClientServiceSelectsVoters) {
  const Json headless = headless_service(cluster(), {.uid = false, .role = true});
  EXPECT_FALSE(headless.at("spec").at("selector").as_object().contains(v1::kRoleLabel));
  const Json client = client_service(cluster(), {.uid = false, .role = true});
  EXPECT_EQ(client.at("spec").at("selector").at(v1::kRoleLabel), v1::kVoter);
}

TEST(ClusterObjects, K17_TheUidOfAnotherEtcdClusterLeavesTheSelector) {
  auto service = decoded<kube::Service>(headless_service(cluster(), kAll));
  service.spec.selector[v1::kClusterUidLabel] = "u-0";
  const Json wanted = headless_service(cluster(), {});
  EXPECT_FALSE(is_as_made(service, wanted));
  EXPECT_TRUE(mended(service, wanted).at("selector").at(v1::kClusterUidLabel).is_null());
}

TEST(ClusterObjects, TheBudgetSelectsVoters) {
  const Json made = budget(cluster(), 2);
  EXPECT_EQ(made.at("metadata"), metadata("db"));
  EXPECT_EQ(made.at("spec"), json::parse(R"({
    "minAvailable": 2,
    "selector": {"matchLabels": {"etcd-operator.cozystack.io/cluster": "db",
                                 "etcd-operator.cozystack.io/role": "voter"}},
    "unhealthyPodEvictionPolicy": "IfHealthyBudget"
  })"));
}

TEST(ClusterObjects, WhatTheServerFillsInIsNoDrift) {
  for (const Json& made : {headless_service(cluster(), kAll), client_service(cluster(), kAll)}) {
    auto service = decoded<kube::Service>(made);
    EXPECT_TRUE(is_as_made(service, made));
    service.spec.cluster_ip = "10.96.0.7";
    service.spec.ports.push_back({"more", 1, 1, "TCP", std::nullopt, std::nullopt});
    service.spec.ports[0].node_port = 30000;
    service.spec.ports[0].app_protocol = "grpc";
    service.metadata.labels["mine"] = "too";
    EXPECT_TRUE(is_as_made(service, made)) << "that is the user's";
  }
  const Json made = budget(cluster(), 2);
  EXPECT_TRUE(is_as_made(decoded<kube::PodDisruptionBudget>(made), budget(cluster(), 3)))
      << "its number is the plan's";
}

TEST(ClusterObjects, WhatLeadsElsewhereIsDrift) {
  const Json made = headless_service(cluster(), kAll);
  const std::function<void(kube::ServiceSpec&)> edits[] = {
      [](auto& s) { s.selector["app"] = "mine"; },
      [](auto& s) { s.selector.clear(); },
      [](auto& s) { s.publish_not_ready_addresses = false; },
      [](auto& s) { s.ports[0].port = 1; },
      [](auto& s) { s.ports[1].target_port = 1; },
      [](auto& s) { s.ports[1].protocol = "UDP"; },
      [](auto& s) { s.ports[0].name = "other"; },
      [](auto& s) { s.ports.pop_back(); },
      [](auto& s) {  // The API server would refuse two ports of one number.
        s.ports[0].port = 1;
        s.ports.insert(s.ports.begin() + 1,
                       {"more", 2379, 2379, "TCP", std::nullopt, std::nullopt});
      },
  };
  for (const auto& edit : edits) {
    auto service = decoded<kube::Service>(made);
    edit(service.spec);
    EXPECT_FALSE(is_as_made(service, made));
    Json spec = made.at("spec");  // As a merge patch has it.
    for (const auto& [field, value] : mended(service, made)) spec.as_object()[field] = value;
    for (const auto& [label, value] : spec.at("selector").as_object())
      if (value.is_null()) EXPECT_EQ(label, "app");
    spec.at("selector").as_object().erase("app");
    service.spec = decoded<kube::ServiceSpec>(spec);
    EXPECT_TRUE(is_as_made(service, made));
    EXPECT_EQ(service.spec.ports.size(), 2U);
  }
}

TEST(ClusterObjects, ABudgetThatAllowsMoreIsDrift) {
  const Json made = budget(cluster(), 2);
  const std::function<void(kube::PodDisruptionBudgetSpec&)> edits[] = {
      [](auto& s) { s.min_available.reset(); },
      [](auto& s) { s.min_available = "30%"; },
      [](auto& s) { s.max_unavailable = 1; },
      [](auto& s) { s.selector.match_labels["app"] = "mine"; },
      [](auto& s) { s.unhealthy_pod_eviction_policy = "AlwaysAllow"; },
      [](auto& s) { s.unhealthy_pod_eviction_policy.clear(); },
  };
  for (const auto& edit : edits) {
    auto there = decoded<kube::PodDisruptionBudget>(made);
    edit(there.spec);
    EXPECT_FALSE(is_as_made(there, made));
    const json::object patch = mended(there, made);
    EXPECT_TRUE(patch.at("maxUnavailable").is_null());
    EXPECT_EQ(patch.at("minAvailable"), 2);
  }
}

TEST(ClusterObjects, AMemberHasItsFinalizerFromTheStartAndNoListUnlessItIsTheSeed) {
  const Json joiner = member(cluster(), {"db-x1", "http://db-x1.db.prod.svc:2380", false});
  Json expected = metadata("db-x1");
  expected.at("labels").as_object()["app.kubernetes.io/component"] = "db-x1";
  expected.as_object()["finalizers"] = json::array{v1::kMemberFinalizer};
  EXPECT_EQ(joiner.at("metadata"), expected);
  const Json& spec = joiner.at("spec");
  EXPECT_EQ(spec.at("clusterName"), "db");
  EXPECT_EQ(spec.at("version"), "3.6.16");
  EXPECT_EQ(spec.at("storage").at("size"), "1Gi");
  EXPECT_EQ(spec.at("resources"), *cluster().status.observed->resources);
  EXPECT_EQ(spec.at("clusterToken"), "prod-db-u-1");
  EXPECT_FALSE(spec.as_object().contains("bootstrap"));
  EXPECT_EQ(spec.at("initialCluster"), "") << "it may not start yet";

  const Json seed = member(cluster(), {"db-x1", "http://db-x1.db.prod.svc:2380", true});
  EXPECT_EQ(seed.at("spec").at("bootstrap"), true);
  EXPECT_EQ(seed.at("spec").at("initialCluster"), "db-x1=http://db-x1.db.prod.svc:2380");
}

/// The whole adopted template is passed on.
TEST(ClusterObjects, AMemberGetsAllThatWasAdopted) {
  v1::EtcdCluster c = cluster();
  v1::ObservedSpec& o = *c.status.observed;
  o.affinity = json::parse(R"({"nodeAffinity": {}})");
  o.topology_spread_constraints = json::parse(R"([{"maxSkew": 1}])");
  o.additional_metadata.emplace().labels = {{"team", "a"}};
  o.options.emplace().snapshot_count = 7;
  o.image_pull_secrets = {{"regcred"}};
  o.node_selector = {{"disk", "ssd"}};
  o.tolerations = json::parse(R"([{"operator": "Exists"}])");
  o.priority_class_name = "high";
  o.extra_args = {{"log-level", "warn"}};
  o.pod_template.emplace().spec = json::object();
  v1::EtcdMemberSpec spec;
  ASSERT_TRUE(api::decode(member(c, {"m", "u", false}).at("spec"), spec, "spec"));
  EXPECT_EQ(spec.affinity, o.affinity);
  EXPECT_EQ(spec.topology_spread_constraints, o.topology_spread_constraints);
  EXPECT_EQ(spec.additional_metadata, o.additional_metadata);
  EXPECT_EQ(spec.options, o.options);
  EXPECT_EQ(spec.image_pull_secrets, o.image_pull_secrets);
  EXPECT_EQ(spec.node_selector, o.node_selector);
  EXPECT_EQ(spec.tolerations, o.tolerations);
  EXPECT_EQ(spec.priority_class_name, o.priority_class_name);
  EXPECT_EQ(spec.extra_args, o.extra_args);
  EXPECT_EQ(spec.pod_template, o.pod_template);
}

TEST(ClusterObjects, WhatIsMadeCarriesTheUsersMetadata) {
  v1::EtcdCluster c = cluster();
  v1::AdditionalMetadata& more = c.status.observed->additional_metadata.emplace();
  more.labels = {{"team", "a"}, {"app.kubernetes.io/name", "mine"}};
  more.annotations = {{"note", "b"}};
  for (const Json& made :
       {headless_service(c, kAll), client_service(c, kAll), member(c, {"m", "u", false})}) {
    const Json& labels = made.at("metadata").at("labels");
    EXPECT_EQ(labels.at("team"), "a");
    EXPECT_EQ(labels.at("app.kubernetes.io/name"), "etcd");
    EXPECT_EQ(made.at("metadata").at("annotations").at("note"), "b");
  }
}

TEST(ClusterObjects, OursIsWhatHasOurUidAmongItsOwners) {
  api::ObjectMeta child;
  EXPECT_FALSE(is_ours(child, cluster().metadata.uid));
  child.owner_references.emplace_back().uid = "u-0";
  child.owner_references.back().name = "db";
  EXPECT_FALSE(is_ours(child, cluster().metadata.uid)) << "the one before, of the same name";
  child.owner_references.emplace_back().uid = "u-1";
  EXPECT_TRUE(is_ours(child, cluster().metadata.uid));
}

}  // namespace
}  // namespace etcdop::cluster
