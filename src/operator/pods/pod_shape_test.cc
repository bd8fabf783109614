// Additions by users to Pods: which ones are refused, and how the others are merged.
#include "operator/pods/pod_shape.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/names.h"
#include "etcd/flag_table.h"
#include "etcd/flags.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

v1::PodTemplate with_spec(const char* text) { return {std::nullopt, json::parse(text)}; }

TEST(PodShape, AFlagIsOneThatThisEtcdTakesAndThatIsNotOurs) {
  EXPECT_EQ(why_not_flags("3.6.16", {}), "");
  EXPECT_EQ(why_not_flags("3.6.16", {{"max-request-bytes", "1"}, {"log-level", "debug"}}), "");
  EXPECT_EQ(why_not_flags("3.6.16", {{"max-request-bytes", "1"}, {"max-request-byte", "1"}}),
            "extraArgs.max-request-byte is not a flag of etcd 3.6");
  EXPECT_EQ(why_not_flags("3.5.35", {{"feature-gates", "InitialCorruptCheck=true"}}),
            "extraArgs.feature-gates is not a flag of etcd 3.5");
  EXPECT_EQ(why_not_flags("3.7.3", {{"experimental-corrupt-check-time", "1m"}}),
            "extraArgs.experimental-corrupt-check-time is not a flag of etcd 3.7");
  EXPECT_EQ(why_not_flags("3.6.16", {{"data-dir", "/tmp"}}),
            "extraArgs.data-dir is set by the operator; remove it");
  EXPECT_EQ(why_not_flags("newest", {{"metrics", "extensive"}}), "");
}

/// A person reads what a new flag of etcd does, and then adds it to one of the two lists.
TEST(PodShape, TheFlagsThatAreTheUsersAreThese) {
  std::string free;
  for (const etcd::KnownFlag& flag : etcd::kKnownFlags)
    if (etcd::takes_flag({3, 7, 0}, flag.name) && !v1::is_own_flag(flag.name))
      free += std::string(flag.name) + " ";
  EXPECT_EQ(
      free,
      "auth-token-ttl backend-batch-interval backend-batch-limit backend-bbolt-freelist-type "
      "bcrypt-cost bootstrap-defrag-threshold-megabytes compact-hash-check-time "
      "compaction-batch-limit compaction-sleep-interval corrupt-check-time cors "
      "distributed-tracing-address distributed-tracing-instance-id "
      "distributed-tracing-sampling-rate distributed-tracing-service-name downgrade-check-time "
      "election-timeout enable-distributed-tracing enable-grpc-gateway enable-pprof feature-gates "
      "grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout heartbeat-interval "
      "host-whitelist log-level max-concurrent-streams max-request-bytes max-snapshots max-txn-ops "
      "max-wals memory-mlock metrics peer-skip-client-san-verification pre-vote raft-read-timeout "
      "raft-write-timeout "
      "snapshot-catchup-entries socket-reuse-address socket-reuse-port warning-apply-duration "
      "warning-unary-request-duration watch-progress-notify-interval ");
}

TEST(PodShape, WhatIsOursInATemplateIsNamed) {
  struct Row {
    const char* spec;
    const char* why;
  };
  const std::string ours = " is set by the operator; remove it";
  const Row rows[] = {
      {R"({"hostname": "x"})", "podTemplate.spec.hostname*"},
      {R"({"restartPolicy": null})", "podTemplate.spec.restartPolicy*"},
      {R"({"containers": [{"name": "etcd", "image": "x"}]})",
       "podTemplate.spec.containers[etcd].image*"},
      {R"({"containers": [{"name": "log"}, {"name": "etcd", "args": []}]})",
       "podTemplate.spec.containers[etcd].args*"},
      {R"({"containers": [{"name": "etcd", "envFrom": []}]})",
       "podTemplate.spec.containers[etcd].envFrom*"},
      {R"({"containers": [{"name": "etcd", "env": [{"name": "ETCD_FORCE_NEW_CLUSTER"}]}]})",
       "podTemplate.spec.containers[etcd].env[ETCD_FORCE_NEW_CLUSTER]: etcd reads ETCD_ variables "
       "as flags; use extraArgs"},
      {R"({"containers": [{"name": "etcd", "volumeMounts": [{"mountPath": "/var/lib/etcd"}]}]})",
       "podTemplate.spec.containers[etcd].volumeMounts[/var/lib/etcd]*"},
      {R"({"initContainers": [{"name": "i",
                               "volumeMounts": [{"mountPath": "/d", "name": "data"}]}]})",
       "podTemplate.spec.initContainers[i].volumeMounts: the volume data can only be mounted with "
       "readOnly: true"},
      {R"({"volumes": [{"name": "data", "emptyDir": {}}]})", "podTemplate.spec.volumes[data]*"},
      {R"({"volumes": [{"name": "restore-src", "emptyDir": {}}]})",
       "podTemplate.spec.volumes[restore-src]*"},
      {R"({"initContainers": [{"name": "restore", "resources": {}}]})",
       "podTemplate.spec.initContainers[restore]: that name is the operator's; use another"},
      {R"({"containers": [{"name": "install-tools"}]})",
       "podTemplate.spec.containers[install-tools]: that name is the operator's; use another"},
      {R"({"containers": {}})", "podTemplate.spec.containers is not a list"},
      {R"({"containers": ["etcd"]})", "podTemplate.spec.containers has an element without name"},
      {R"({"containers": [{"name": "log", "env": [{"value": "x"}]}]})",
       "podTemplate.spec.containers[log].env has an element without name"},
      {R"({"containers": [{"name": "log", "$patch": "delete"}]})",
       "podTemplate.spec.containers[].$patch: directives are not supported"},
      {R"([])", "podTemplate.spec is not an object"},
  };
  for (const Row& row : rows) {
    std::string why = row.why;
    if (why.ends_with('*')) why.replace(why.size() - 1, 1, ours);
    EXPECT_EQ(why_not_template(with_spec(row.spec)), why);
  }
  v1::PodTemplate named;
  named.metadata.emplace().labels = {{"team", "a"}, {v1::kClusterLabel, "b"}};
  EXPECT_EQ(why_not_template(named),
            "podTemplate.metadata.labels[etcd-operator.cozystack.io/cluster]" + ours);
  named.metadata->labels = {{v1::kAppComponentLabel, "b"}};
  EXPECT_EQ(why_not_template(named),
            "podTemplate.metadata.labels[app.kubernetes.io/component]" + ours);
  named.metadata.emplace().annotations = {{"etcd-operator.cozystack.io/x", "b"}};
  EXPECT_EQ(why_not_template(named),
            "podTemplate.metadata.annotations[etcd-operator.cozystack.io/x]" + ours);
}

/// A template that an earlier release accepted is still merged, whatever it contains.
TEST(PodShape, N2_ATemplateWithListsOfNoPodIsMergedAndEndsNothing) {
  for (const char* spec :
       {R"({"containers": [{"name": "s", "x": {"env": [1]}}, {"name": "s", "x": {"env": [2]}}]})",
        R"({"containers": [{"name": "s", "x": {"containers": [1]}},
                              {"name": "s", "x": {"containers": [[], null]}}]})",
        R"({"securityContext": {"volumes": [1], "ports": {}}})",
        R"({"hostAliases": [{"ip": 1}, {"ip": 1}], "volumes": [{"name": {}}, {"name": {}}]})",
        R"({"containers": 7, "volumes": ["x", null]})", R"([1])", R"("text")"}) {
    json::object pod{{"metadata", json::object()},
                     {"spec",
                      {{"securityContext", {{"volumes", json::array{nullptr}}}},
                       {"containers", json::array{{{"name", "etcd"}}}},
                       {"volumes", json::array{{{"name", "data"}}}}}}};
    merge_template(pod, with_spec(spec));
    EXPECT_TRUE(pod.at("spec").is_object()) << spec;
  }
  json::object pod{{"metadata", json::object()}, {"spec", {{"containers", json::array{}}}}};
  merge_template(pod, with_spec(R"({"containers": [{"name": "s", "x": {"env": [1]}},
                                                   {"name": "s", "x": {"env": [2]}}]})"));
  EXPECT_EQ(pod.at("spec"), json::parse(R"({"containers": [{"name": "s", "x": {"env": [2]}}]})"))
      << "env of what is no container is no keyed list";
}

TEST(PodShape, N3_TheTextThatStandsForADeepTemplateIsRefusedAsDeep) {
  EXPECT_EQ(why_not_template(with_spec(R"("nested too deeply to be read")")),
            "podTemplate is nested more than 20 levels deep; remove fields that a Pod does not "
            "have");
}

TEST(PodShape, N2_N3_WhatIsRefusedOfANewTemplateOnly) {
  std::string deep = "1";
  for (std::size_t i = 0; i < kTemplateDepthMax; ++i) deep = R"({"a":)" + deep + "}";
  const std::string large(kTemplateBytesMax, 'x');
  const std::string one_of = "; remove one of them";
  const std::pair<std::string, std::string> rows[] = {
      {R"({"containers": [{"name": "s"}, {"name": "t"}, {"name": "s"}]})",
       "podTemplate.spec.containers has two elements with the same name" + one_of},
      {R"({"containers": [{"name": "s", "env": [{"name": "A"}, {"name": "A"}]}]})",
       "podTemplate.spec.containers[s].env has two elements with the same name" + one_of},
      {R"({"volumes": [{"name": "v"}, {"name": "v"}]})",
       "podTemplate.spec.volumes has two elements with the same name" + one_of},
      {R"({"containers": [{"name": "s", "ports": [{"containerPort": 53, "protocol": "UDP"},
                                                  {"containerPort": 53}]}]})",
       ""},
      {R"({"containers": [{"name": "s", "ports": [{"containerPort": 53, "protocol": "TCP"},
                                                  {"containerPort": 53}]}]})",
       "podTemplate.spec.containers[s].ports has two elements with the same containerPort" +
           one_of},
      {R"({"x": )" + deep + "}",
       "podTemplate is nested more than 20 levels deep; remove fields that a Pod does not have"},
      {R"({"x": ")" + large + "\"}",
       "podTemplate has 32785 bytes, more than 32768; move files and scripts into a ConfigMap"},
      {R"({"hostname": "x"})", "podTemplate.spec.hostname is set by the operator; remove it"}};
  for (const auto& [spec, why] : rows) {
    EXPECT_EQ(why_not_new_template(with_spec(spec.c_str())), why);
    EXPECT_EQ(why_not_template(with_spec(spec.c_str())),
              spec.find("hostname") != std::string::npos ? why : "")
        << "a running cluster may have it, and its members are made all the same";
  }
}

TEST(PodShape, ATemplateIsMergedAsAStrategicMergePatch) {
  json::object pod = json::parse(R"({
    "metadata": {"name": "db-x", "labels": {"app.kubernetes.io/name": "etcd"}},
    "spec": {
      "securityContext": {"runAsNonRoot": true, "fsGroup": 65532},
      "tolerations": [{"key": "a"}],
      "affinity": {"podAntiAffinity": {}},
      "containers": [{"name": "etcd", "command": ["etcd"],
                      "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}],
      "volumes": [{"name": "data"}, {"name": "tmp", "emptyDir": {}}]
    }})")
                         .as_object();
  v1::PodTemplate added = with_spec(R"({
    "serviceAccountName": "etcd",
    "securityContext": {"fsGroup": null, "fsGroupChangePolicy": "OnRootMismatch"},
    "tolerations": [{"key": "b"}],
    "affinity": null,
    "containers": [
      {"name": "log", "image": "busybox",
       "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": true}]},
      {"name": "etcd", "env": [{"name": "GOGC", "value": "50"}], "lifecycle": {},
       "volumeMounts": [{"mountPath": "/tmp", "subPath": "x"},
                        {"mountPath": "/zone", "name": "zone"}]}],
    "volumes": [{"name": "tmp", "hostPath": {"path": "/t"}}, {"name": "zone"}]
  })");
  added.metadata.emplace().labels = {{"team", "a"}};
  added.metadata->annotations = {{"note", "b"}};
  EXPECT_EQ(why_not_template(added), "");
  merge_template(pod, added);
  EXPECT_EQ(Json(pod), json::parse(R"({
    "metadata": {"name": "db-x", "labels": {"app.kubernetes.io/name": "etcd", "team": "a"},
                 "annotations": {"note": "b"}},
    "spec": {
      "securityContext": {"runAsNonRoot": true, "fsGroupChangePolicy": "OnRootMismatch"},
      "tolerations": [{"key": "b"}],
      "containers": [
        {"name": "etcd", "command": ["etcd"],
         "volumeMounts": [{"name": "tmp", "mountPath": "/tmp", "subPath": "x"},
                          {"mountPath": "/zone", "name": "zone"}],
         "env": [{"name": "GOGC", "value": "50"}], "lifecycle": {}},
        {"name": "log", "image": "busybox",
         "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": true}]}],
      "volumes": [{"name": "data"}, {"name": "tmp", "hostPath": {"path": "/t"}}, {"name": "zone"}],
      "serviceAccountName": "etcd"
    }})"));
}

}  // namespace
}  // namespace etcdop
