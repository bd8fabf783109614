// Every field of the schema is either refused by name, or changes what is made or decided.
#include "operator/cluster/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "api/codec.h"
#include "api/leaves.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/plan.h"
#include "operator/passes/trims.h"
#include "runtime/conditions.h"
#include "test/support/refused_when_new.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

v1::EtcdCluster new_cluster() {
  v1::EtcdCluster c;
  c.metadata.name = "db";
  c.metadata.ns = "prod";
  c.metadata.uid = "u-1";
  c.spec.version = "3.6.16";
  return c;
}

Observation of(const v1::EtcdCluster& cluster) {
  Observation seen;
  seen.now = WallTime{std::chrono::seconds(1795233378)};
  seen.cluster = cluster;
  return seen;
}

/// The result of a new cluster's spec, as text: its seed, its target and its deadline.
std::string effect(const v1::EtcdCluster& cluster) {
  const Plan p = plan(of(cluster));
  v1::EtcdCluster reported = cluster;
  reported.status = p.status;
  std::string out = to_string(p.step) + " " + p.status.progress_deadline.value_or("");
  if (p.status.observed)
    out += " " + std::to_string(p.status.observed->replicas) + " " +
           json::serialize(member(reported, {"m", "u", true}));
  return out;
}

/// The fields that do something, each with an edit that must be seen.
const std::map<std::string, std::function<void(v1::EtcdClusterSpec&)>>& implemented() {
  static const std::map<std::string, std::function<void(v1::EtcdClusterSpec&)>> edits = {
      {"replicas", [](auto& s) { s.replicas = 5; }},
      {"version", [](auto& s) { s.version = "3.5.35"; }},
      {"storage.size", [](auto& s) { s.storage.size = "2Gi"; }},
      {"storage.medium", [](auto& s) { s.storage.medium = v1::Medium::Memory; }},
      {"storage.storageClassName", [](auto& s) { s.storage.storage_class_name = "fast"; }},
      {"progressDeadlineSeconds", [](auto& s) { s.progress_deadline_seconds = 60; }},
      {"resources", [](auto& s) { s.resources = json::parse(R"({"limits":{"memory":"1Gi"}})"); }},
      {"affinity", [](auto& s) { s.affinity = json::parse(R"({"nodeAffinity": {}})"); }},
      {"topologySpreadConstraints",
       [](auto& s) { s.topology_spread_constraints = json::parse(R"([{"maxSkew": 1}])"); }},
      {"additionalMetadata.labels",
       [](auto& s) { s.additional_metadata.emplace().labels["team"] = "a"; }},
      {"additionalMetadata.annotations",
       [](auto& s) { s.additional_metadata.emplace().annotations["team"] = "a"; }},
      {"options.quotaBackendBytes", [](auto& s) { s.options.emplace().quota_backend_bytes = 1; }},
      {"options.autoCompactionMode",
       [](auto& s) {
         s.options.emplace().auto_compaction_mode = v1::AutoCompactionMode::Revision;
       }},
      {"options.autoCompactionRetention",
       [](auto& s) { s.options.emplace().auto_compaction_retention = "1h"; }},
      {"options.snapshotCount", [](auto& s) { s.options.emplace().snapshot_count = 1; }},
      {"imagePullSecrets", [](auto& s) { s.image_pull_secrets = {{"regcred"}}; }},
      {"nodeSelector", [](auto& s) { s.node_selector = {{"disk", "ssd"}}; }},
      {"tolerations", [](auto& s) { s.tolerations = json::parse(R"([{"operator": "Exists"}])"); }},
      {"priorityClassName", [](auto& s) { s.priority_class_name = "high"; }},
      {"extraArgs", [](auto& s) { s.extra_args = {{"log-level", "warn"}}; }},
      {"podTemplate.metadata.labels",
       [](auto& s) { s.pod_template.emplace().metadata.emplace().labels["team"] = "a"; }},
      {"podTemplate.metadata.annotations",
       [](auto& s) { s.pod_template.emplace().metadata.emplace().annotations["team"] = "a"; }},
      {"podTemplate.spec",
       [](auto& s) { s.pod_template.emplace().spec = json::parse(R"({"hostPID": true})"); }},
  };
  return edits;
}

/// Fields that cannot be edited; security_test.cc, issuing_test.cc and the member's
/// restoring_test.cc test what they do.
bool fixed_at_creation(const std::string& leaf) {
  return leaf.starts_with("tls.") || leaf.starts_with("auth.") || leaf.starts_with("bootstrap.");
}

TEST(ClusterSpec, EveryFieldDoesSomething) {
  for (const std::string& leaf : api::leaves<v1::EtcdClusterSpec>())
    EXPECT_EQ(implemented().contains(leaf) + fixed_at_creation(leaf), 1)
        << leaf << ": with an edit here, or fixed, not both";
}

TEST(ClusterSpec, AnEditOfAnImplementedFieldIsSeen) {
  const std::string before = effect(new_cluster());
  for (const auto& [leaf, edit] : implemented()) {
    v1::EtcdCluster c = new_cluster();
    edit(c.spec);
    EXPECT_FALSE(refusal_of(of(c))) << leaf;
    EXPECT_NE(effect(c), before) << leaf;
  }
}

TEST(ClusterSpec, WhatAllMembersHaveInCommonTellsThemFromThoseMadeBefore) {
  v1::EtcdCluster c = new_cluster();
  const auto made = [](v1::EtcdCluster cluster) {
    cluster.status = plan(of(cluster)).status;
    v1::EtcdMemberSpec spec;
    EXPECT_TRUE(api::decode(member(cluster, {"m", "u", true}).at("spec"), spec, "spec"));
    EXPECT_EQ(template_of(spec), template_of(*cluster.status.observed));
    return template_of(spec);
  };
  const std::string before = made(c);
  for (const auto& [leaf, edit] : implemented()) {
    v1::EtcdCluster edited = c;
    edit(edited.spec);
    const bool of_members = leaf != "replicas" && leaf != "progressDeadlineSeconds";
    EXPECT_EQ(made(edited) != before, of_members) << leaf;
  }
}

TEST(ClusterSpec, MembersOfBeforeTheNewerFieldsAreAsTheyWere) {
  v1::ObservedSpec before;
  before.version = "3.6.16";
  before.affinity = json::object();
  before.image_pull_secrets = {{"regcred"}};
  const char* text = R"({"version":"3.6.16","storage":{"size":"1Gi","medium":""},"affinity":{},)"
                     R"("imagePullSecrets":[{"name":"regcred"}],"replicas":0})";
  EXPECT_EQ(serialize(api::encode(before)), text) << "what template_of tells them by";
}

/// An older CRD may have accepted it.
TEST(ClusterSpec, NothingIsRestoredIntoMemory) {
  v1::EtcdCluster c = new_cluster();
  c.spec.bootstrap.emplace();
  c.spec.storage.medium = v1::Medium::Memory;
  EXPECT_FALSE(refusal_of(of(c))) << "an object with nothing set in it asks for nothing";
  c.spec.bootstrap->restore.emplace().source.pvc.emplace().claim_name = "backups";
  EXPECT_EQ(refusal_of(of(c))->message,
            "this release does not implement bootstrap.restore with storage.medium Memory, remove "
            "it from the spec");
  c.status.cluster_id = "00000000000000c1";
  EXPECT_FALSE(refusal_of(of(c))) << "what a cluster came from matters no more once it is there";
  c.status.cluster_id.clear();
  c.spec.storage.medium = v1::Medium::Disk;
  EXPECT_FALSE(refusal_of(of(c)));
}

TEST(ClusterSpec, FlagsAndTemplatesThatCannotBeAreNoTarget) {
  v1::EtcdCluster c = new_cluster();
  c.spec.extra_args = {{"feature-gates", "InitialCorruptCheck=true"}};
  EXPECT_FALSE(refusal_of(of(c)));
  const auto told = [](const v1::EtcdCluster& cluster) {
    const Plan p = plan(of(cluster));
    EXPECT_EQ(to_string(p.step), "none");
    EXPECT_EQ(p.status.observed, cluster.status.observed);
    for (const api::Condition& condition : p.status.conditions)
      if (condition.type == v1::kProgressing)
        return condition.status + " " + condition.reason + ": " + condition.message;
    return std::string();
  };
  c.spec.version = "3.5.35";
  EXPECT_EQ(
      told(c),
      "False UnsupportedFlag: spec.extraArgs.feature-gates is not a flag of etcd 3.5; nothing "
      "was created");
  c.spec.extra_args.clear();
  c.spec.pod_template.emplace().spec = json::parse(R"({"hostNetwork": true})");
  EXPECT_EQ(told(c),
            "False PodTemplateConflict: spec.podTemplate.spec.hostNetwork is set by the operator; "
            "remove it; nothing was created");

  c.spec.pod_template.reset();
  const v1::EtcdClusterStatus born = plan(of(c)).status;
  c.status = born;
  c.status.cluster_id = "00000000000000c1";
  c.status.pending_members.clear();
  c.spec.extra_args = {{"memory-mlock", "true"}};
  Observation seen = of(c);
  seen.seats.emplace_back().name = born.pending_members.at(0).name;
  seen.seats.back().object.emplace();
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.observed, born.observed) << "it is kept as it is";
  EXPECT_EQ(p.status.conditions.at(0).message.substr(0, 80),
            "spec.extraArgs.memory-mlock is not a flag of etcd 3.5; the cluster is kept as it");
}

TEST(ClusterSpec, K13_AVersionThatIsRefusedWhenNewIsKeptWhereItRuns) {
  for (const std::string& version : testing::versions_refused_when_new()) {
    v1::EtcdCluster c = new_cluster();
    c.spec.version = "3.6.16";
    c.status = plan(of(c)).status;
    c.spec.version = version;
    EXPECT_TRUE(refusal_of(of(c))) << version << ": an edit";
    c.status = {};
    EXPECT_EQ(plan(of(c)).status.observed, std::nullopt) << version;
    c.spec.version = "3.6.16";
    c.status = plan(of(c)).status;
    c.status.observed->version = c.spec.version = version;
    c.spec.replicas = 5;
    EXPECT_EQ(plan(of(c)).status.observed->replicas, 5) << version << ": an edit beside it";
    Observation seen = of(c);
    EXPECT_TRUE(outdated_spec(seen).starts_with("spec.version " + version + ": use 3.6.4 or"));
    Observation taken = seen;
    taken.cluster.spec.version = "3.6.4";
    EXPECT_EQ(outdated_spec(taken), "") << "in the pass that accepts it";
    seen.cluster.status.cluster_id = "00000000000000c1";
    seen.seats.emplace_back().name = "db-a";
    seen.seats.back().object.emplace();
    const Plan told = plan(seen);
    EXPECT_NE(runtime::find_condition(told.status.conditions, v1::kProgressing)
                  ->message.find(outdated_spec(seen)),
              std::string::npos);
  }
}

/// A refused template must not keep a member of a running cluster from being repaired.
TEST(ClusterSpec, Rule_WhatIsRefusedWhenNewIsKeptWhereItIs) {
  const auto said = [](const Plan& p) {
    for (const api::Condition& condition : p.status.conditions)
      if (condition.type == v1::kProgressing) return condition.reason + ": " + condition.message;
    return std::string();
  };
  v1::EtcdCluster plain = new_cluster();
  plain.status = plan(of(plain)).status;
  plain.status.cluster_id = "00000000000000c1";
  for (const testing::RefusedWhenNew& row : testing::refused_when_new()) {
    // As it is read, and observed.
    const auto seen_as = [&](v1::EtcdCluster cluster) {
      EXPECT_EQ(trim(cluster), "");
      Observation seen = of(cluster);
      seen.pod_policy = row.policy;
      if (has_new_template(cluster)) seen.account_trouble = row.account_trouble;
      return seen;
    };
    v1::EtcdCluster c = new_cluster();
    c.spec.pod_template.emplace().spec = row.template_spec;
    const Plan birth = plan(seen_as(c));
    EXPECT_EQ(to_string(birth.step), "none") << row.name;
    EXPECT_FALSE(birth.status.observed) << row.name;
    EXPECT_TRUE(said(birth).starts_with("PodTemplateConflict: spec.")) << said(birth);
    EXPECT_NE(said(birth).find(row.why), std::string::npos) << said(birth);

    c.status = plain.status;
    EXPECT_EQ(plan(seen_as(c)).status.observed, plain.status.observed) << row.name << ": an edit";
    EXPECT_TRUE(said(plan(seen_as(c))).starts_with("PodTemplateConflict: ")) << row.name;
    EXPECT_NE(said(plan(seen_as(c))).find(row.why), std::string::npos) << row.name;

    c.status.observed->pod_template = c.spec.pod_template;
    EXPECT_FALSE(refusal_of(seen_as(c))) << row.name << ": an earlier release accepted it";
    Observation seen = seen_as(c);
    seen.seats.emplace_back().name = "db-a";
    seen.seats.back().object.emplace();
    EXPECT_NE(said(plan(seen)).find(row.where_runs), std::string::npos) << said(plan(seen));
    EXPECT_EQ(said(plan(seen)).find("podTemplate") != std::string::npos, !row.where_runs.empty())
        << said(plan(seen));
    c.spec.replicas = 5;
    EXPECT_EQ(plan(seen_as(c)).status.observed->replicas, 5) << row.name << ": an edit beside it";
  }
}

TEST(ClusterSpec, N10_APolicyIsForNewTemplates) {
  v1::EtcdCluster c = new_cluster();
  c.spec.pod_template.emplace().spec = json::parse(R"({"hostPID": true})");
  const auto refused = [&](PodPolicy policy, const std::string& account_trouble = "") {
    Observation seen = of(c);
    seen.pod_policy = policy;
    seen.account_trouble = account_trouble;
    const auto refusal = refusal_of(seen);
    return refusal ? refusal->reason + (": " + refusal->message) : "";
  };
  EXPECT_EQ(refused(PodPolicy::Any), "");
  const std::string why = refused(PodPolicy::Baseline);
  EXPECT_TRUE(why.starts_with("PodTemplateConflict: spec.podTemplate.spec.hostPID ")) << why;
  EXPECT_EQ(refused(PodPolicy::Any, "ServiceAccount x does not exist"),
            "PodTemplateConflict: spec.podTemplate.spec: ServiceAccount x does not exist");
  c.status.observed.emplace().pod_template = c.spec.pod_template;
  EXPECT_FALSE(has_new_template(c));
  EXPECT_EQ(refused(PodPolicy::Baseline, "x"), "") << "members may run with it";
  Observation seen = of(c);
  seen.pod_policy = PodPolicy::Restricted;
  EXPECT_NE(outdated_spec(seen).find("hostPID"), std::string::npos);
}

TEST(ClusterSpec, ASecretWithoutANameWouldLeaveAPortOpen) {
  using Edit = std::function<void(v1::TlsSpec&)>;
  const std::pair<const char*, Edit> rows[] = {
      {"client.serverSecretRef", [](auto& t) { t.client->server_secret_ref->name = ""; }},
      {"client.operatorClientSecretRef",
       [](auto& t) { t.client->operator_client_secret_ref.emplace(); }},
      {"peer.secretRef", [](auto& t) { t.peer.emplace().secret_ref.emplace(); }}};
  for (const auto& [path, edit] : rows) {
    v1::EtcdCluster c = new_cluster();
    c.spec.tls.emplace().client.emplace().server_secret_ref = {"server"};
    EXPECT_FALSE(refusal_of(of(c)));
    edit(*c.spec.tls);
    const auto refusal = refusal_of(of(c));
    ASSERT_TRUE(refusal) << path;
    EXPECT_STREQ(refusal->reason, v1::kCertificateMissing);
    EXPECT_EQ(refusal->message, std::string("spec.tls.") + path +
                                    " names no Secret: recreate the EtcdCluster with one");
  }
}

TEST(ClusterSpec, ASizeThatAnOlderDefinitionLetInIsNoTarget) {
  v1::EtcdCluster c = new_cluster();
  for (const int good : {0, 1, 64}) {
    c.spec.replicas = good;
    EXPECT_FALSE(refusal_of(of(c))) << good;
  }
  for (const int bad : {-1, 65, 2147483647}) {
    c.spec.replicas = bad;
    EXPECT_NE(refusal_of(of(c))->message.find("replicas: " + std::to_string(bad) + " (0 to 64)"),
              std::string::npos);
  }
}

TEST(ClusterSpec, ATargetIsTheWholeSpec) {
  v1::EtcdCluster c = new_cluster();
  v1::EtcdClusterSpec& spec = c.spec;
  spec.replicas = 5;
  spec.storage.size = "7Gi";
  spec.resources = json::parse(R"({"limits":{"memory":"1Gi"}})");
  spec.affinity = json::parse(R"({"nodeAffinity":{}})");
  spec.topology_spread_constraints = json::parse(R"([{"maxSkew":1}])");
  spec.additional_metadata.emplace().labels = {{"team", "a"}};
  spec.options.emplace().snapshot_count = 7;
  spec.image_pull_secrets = {{"regcred"}};
  spec.node_selector = {{"disk", "ssd"}};
  spec.tolerations = json::parse(R"([{"operator": "Exists"}])");
  spec.priority_class_name = "high";
  spec.extra_args = {{"log-level", "warn"}};
  spec.pod_template.emplace().spec = json::object();
  v1::EtcdClusterStatus status;
  adopt_spec(of(c), status);
  ASSERT_TRUE(status.observed);
  EXPECT_EQ(status.observed->replicas, spec.replicas);
  EXPECT_EQ(status.observed->version, spec.version);
  EXPECT_EQ(status.observed->storage, spec.storage);
  EXPECT_EQ(status.observed->resources, spec.resources);
  EXPECT_EQ(status.observed->affinity, spec.affinity);
  EXPECT_EQ(status.observed->topology_spread_constraints, spec.topology_spread_constraints);
  EXPECT_EQ(status.observed->additional_metadata, spec.additional_metadata);
  EXPECT_EQ(status.observed->options, spec.options);
  EXPECT_EQ(status.observed->image_pull_secrets, spec.image_pull_secrets);
  EXPECT_EQ(status.observed->node_selector, spec.node_selector);
  EXPECT_EQ(status.observed->tolerations, spec.tolerations);
  EXPECT_EQ(status.observed->priority_class_name, spec.priority_class_name);
  EXPECT_EQ(status.observed->extra_args, spec.extra_args);
  EXPECT_EQ(status.observed->pod_template, spec.pod_template);
  ASSERT_EQ(status.conditions.size(), 1U);
  EXPECT_EQ(status.conditions[0].status, "True");
  EXPECT_EQ(status.conditions[0].message, "working towards 5 members of etcd 3.6.16");
  const v1::EtcdClusterStatus before = status;
  Observation later = of(c);
  later.now = later.now + std::chrono::hours(1);
  adopt_spec(later, status);
  EXPECT_EQ(status, before) << "it is adopted once";
}

TEST(ClusterSpec, APausedNewClusterMayStillBeEdited) {
  v1::EtcdCluster c = new_cluster();
  c.spec.replicas = 0;
  c.status = plan(of(c)).status;
  c.spec.version = "3.7.3";
  c.spec.storage.size = "9Gi";
  EXPECT_FALSE(refusal_of(of(c)));
}

/// The Go operator writes quantities in a form of its own, and empty objects for absent ones.
TEST(ClusterSpec, TheSameInAnotherSpellingIsNoEdit) {
  v1::EtcdCluster c = new_cluster();
  c.spec.storage.size = "1024Mi";
  c.status = plan(of(c)).status;
  v1::ObservedSpec& observed = *c.status.observed;
  const std::string made_as = template_of(observed);
  observed.storage.size = "1Gi";
  observed.resources = json::object();
  observed.options.emplace();
  observed.additional_metadata.emplace();
  EXPECT_EQ(template_of(observed), made_as);
  v1::EtcdClusterStatus status = c.status;
  adopt_spec(of(c), status);
  EXPECT_EQ(status, c.status);
  observed.affinity = json::object();
  EXPECT_NE(template_of(observed), made_as) << "it asks for no affinity at all";
  observed.affinity.reset();
  observed.storage.size = "1Mi";
  EXPECT_NE(template_of(observed), made_as);
}

TEST(ClusterSpec, TheTokenIsMadeAgainFromTheUid) {
  v1::EtcdCluster c = new_cluster();
  c.status = plan(of(c)).status;
  c.status.cluster_token.clear();
  EXPECT_EQ(plan(of(c)).status.cluster_token, "prod-db-u-1");
}

TEST(ClusterSpec, DefaultsAskForNothing) { EXPECT_FALSE(refusal_of(of(new_cluster()))); }

}  // namespace
}  // namespace etcdop::cluster
