// The volume and the Pod of a member, to the letter: users' policies and the Go operator read them.
#include "operator/member/objects.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "operator/pods/pod_policy.h"
#include "test/support/refused_when_new.h"

namespace etcdop::member {
namespace {

namespace v1 = api::v1alpha2;

v1::EtcdMember member(const char* version) {
  v1::EtcdMember m;
  m.metadata.name = "db-x1";
  m.metadata.ns = "prod";
  m.metadata.uid = "m-1";
  m.metadata.owner_references = {
      {"etcd-operator.cozystack.io/v1alpha2", "EtcdCluster", "db", "c-1", true, true}};
  m.spec.cluster_name = "db";
  m.spec.version = version;
  m.spec.initial_cluster = "db-x1=http://db-x1.db.prod.svc:2380";
  m.spec.cluster_token = "prod-db-c-1";
  m.spec.storage.size = "1Gi";
  return m;
}

Json metadata(const char* name) {
  Json out = json::parse(R"({
    "namespace": "prod",
    "labels": {
      "app.kubernetes.io/name": "etcd",
      "app.kubernetes.io/instance": "db",
      "app.kubernetes.io/managed-by": "etcd-operator",
      "etcd-operator.cozystack.io/cluster": "db",
      "app.kubernetes.io/component": "db-x1"
    },
    "ownerReferences": [{
      "apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdMember",
      "name": "db-x1", "uid": "m-1", "controller": true, "blockOwnerDeletion": true
    }]
  })");
  out.as_object()["name"] = name;
  return out;
}

TEST(MemberObjects, TheVolumeIsAsTheContractHasIt) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.storage.storage_class_name = "fast";
  EXPECT_EQ(volume(m).at("metadata"), metadata("data-db-x1"));
  EXPECT_EQ(volume(m).at("spec"), json::parse(R"({
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
    "storageClassName": "fast"
  })"));
}

TEST(MemberObjects, AnAdoptedMembersPodKeepsItsServiceInItsUrlsAndItsFolderInTheVolume) {
  v1::EtcdMember m = member("3.6.16");
  const Json plain = *pod(m, {}, {});
  m.metadata.annotations = {{v1::kHeadlessServiceAnnotation, "db-headless"},
                            {v1::kDataDirSubpathAnnotation, "default.etcd"}};
  const Json adopted = *pod(m, {}, {});
  EXPECT_EQ(adopted.at("spec").at("hostname"), "db-x1");
  EXPECT_EQ(adopted.at("spec").at("subdomain"), "db-headless");
  const auto& was = plain.at("spec").at("containers").at(0).at("command").as_array();
  const auto& now = adopted.at("spec").at("containers").at(0).at("command").as_array();
  ASSERT_EQ(now.size(), was.size());
  json::array changed;
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] != was[i]) changed.push_back(now[i]);
  EXPECT_EQ(changed,
            (json::array{"--data-dir=/var/lib/etcd/default.etcd",
                         "--advertise-client-urls=http://db-x1.db-headless.prod.svc:2379",
                         "--initial-advertise-peer-urls=http://db-x1.db-headless.prod.svc:2380"}));
  EXPECT_EQ(adopted.at("spec").at("containers").at(0).at("volumeMounts"),
            plain.at("spec").at("containers").at(0).at("volumeMounts"));
  EXPECT_FALSE(adopted.at("metadata").as_object().contains("annotations"));
}

TEST(MemberObjects, ThePodIsAsTheContractHasIt) {
  Json labelled = metadata("db-x1");  // K17: the Services select by the EtcdCluster's UID.
  labelled.at("labels").as_object()["etcd-operator.cozystack.io/cluster-uid"] = "c-1";
  EXPECT_EQ(pod(member("3.6.16"), {}, {})->at("metadata"), labelled);
  EXPECT_EQ(pod(member("3.6.16"), {}, {})->at("spec"), json::parse(R"({
    "hostname": "db-x1",
    "subdomain": "db",
    "automountServiceAccountToken": false,
    "securityContext": {
      "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
      "fsGroupChangePolicy": "OnRootMismatch",
      "seccompProfile": {"type": "RuntimeDefault"}
    },
    "containers": [{
      "name": "etcd",
      "image": "quay.io/coreos/etcd:v3.6.16",
      "command": [
        "etcd", "--name=db-x1", "--data-dir=/var/lib/etcd",
        "--listen-peer-urls=http://0.0.0.0:2380", "--listen-client-urls=http://0.0.0.0:2379",
        "--advertise-client-urls=http://db-x1.db.prod.svc:2379",
        "--initial-advertise-peer-urls=http://db-x1.db.prod.svc:2380",
        "--initial-cluster=db-x1=http://db-x1.db.prod.svc:2380",
        "--initial-cluster-token=prod-db-c-1", "--initial-cluster-state=existing",
        "--listen-metrics-urls=http://0.0.0.0:2381"
      ],
      "terminationMessagePolicy": "FallbackToLogsOnError",
      "ports": [
        {"name": "client", "containerPort": 2379, "protocol": "TCP"},
        {"name": "peer", "containerPort": 2380, "protocol": "TCP"},
        {"name": "metrics", "containerPort": 2381, "protocol": "TCP"}
      ],
      "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
      "securityContext": {
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]}
      },
      "volumeMounts": [
        {"name": "data", "mountPath": "/var/lib/etcd"}, {"name": "tmp", "mountPath": "/tmp"}
      ],
      "startupProbe": {
        "httpGet": {"path": "/livez", "port": 2381},
        "periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 3600
      },
      "livenessProbe": {
        "httpGet": {"path": "/livez", "port": 2381},
        "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 15
      },
      "readinessProbe": {
        "httpGet": {"path": "/readyz", "port": 2381},
        "periodSeconds": 2, "timeoutSeconds": 5, "failureThreshold": 3
      }
    }],
    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
      {"weight": 100, "podAffinityTerm": {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"etcd-operator.cozystack.io/cluster": "db"},
          "matchExpressions": [
            {"key": "etcd-operator.cozystack.io/leaving", "operator": "DoesNotExist"}]}}},
      {"weight": 50, "podAffinityTerm": {
        "topologyKey": "topology.kubernetes.io/zone",
        "labelSelector": {"matchLabels": {"etcd-operator.cozystack.io/cluster": "db"},
          "matchExpressions": [
            {"key": "etcd-operator.cozystack.io/leaving", "operator": "DoesNotExist"}]}}}
    ]}},
    "volumes": [
      {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-x1"}},
      {"name": "tmp", "emptyDir": {}}
    ]
  })"));
}

TEST(MemberObjects, WhatAUserAskedForReachesThePod) {
  v1::EtcdMember m = member("3.5.35");
  m.status.is_voter = true;
  m.spec.affinity = json::parse(R"({"nodeAffinity": {}})");
  m.spec.topology_spread_constraints = json::parse(R"([{"maxSkew": 1}])");
  m.spec.image_pull_secrets = {{"one"}, {"two"}};
  m.spec.node_selector = {{"disk", "ssd"}, {"arch", "amd64"}};
  m.spec.tolerations = json::parse(R"([{"key": "etcd", "operator": "Exists"}])");
  m.spec.priority_class_name = "high";
  m.spec.additional_metadata.emplace().labels = {
      {"team", "a"}, {"app.kubernetes.io/name", "mine"}, {v1::kRoleLabel, "learner"}};
  m.spec.additional_metadata->annotations = {{"note", "b"}};
  v1::EtcdOptions& options = m.spec.options.emplace();
  options.quota_backend_bytes = 4294967296;
  options.auto_compaction_mode = v1::AutoCompactionMode::Periodic;
  options.auto_compaction_retention = "1h";
  options.snapshot_count = 10000;

  const Json made = *pod(m, {}, {});
  const Json& spec = made.at("spec");
  EXPECT_EQ(spec.at("affinity"), *m.spec.affinity);
  EXPECT_EQ(spec.at("topologySpreadConstraints"), *m.spec.topology_spread_constraints);
  EXPECT_EQ(spec.at("imagePullSecrets"), json::parse(R"([{"name": "one"}, {"name": "two"}])"));
  EXPECT_EQ(spec.at("nodeSelector"), json::parse(R"({"disk": "ssd", "arch": "amd64"})"));
  EXPECT_EQ(spec.at("tolerations"), *m.spec.tolerations);
  EXPECT_EQ(spec.at("priorityClassName"), "high");
  const json::array& command = spec.at("containers").at(0).at("command").as_array();
  EXPECT_EQ(json::array(command.end() - 4, command.end()),
            (json::array{"--quota-backend-bytes=4294967296", "--auto-compaction-mode=periodic",
                         "--auto-compaction-retention=1h", "--snapshot-count=10000"}));
  EXPECT_EQ(made.at("metadata").at("annotations"), json::parse(R"({"note": "b"})"));
  const Json& labels = made.at("metadata").at("labels");
  EXPECT_EQ(labels.at("team"), "a");
  EXPECT_EQ(labels.at("app.kubernetes.io/name"), "etcd") << "what is ours stays";
  EXPECT_EQ(labels.at(v1::kRoleLabel), "voter");
  EXPECT_EQ(volume(m).at("metadata").at("labels").at("team"), "a");
  EXPECT_FALSE(volume(m).at("metadata").at("labels").as_object().contains(v1::kRoleLabel));
}

TEST(MemberObjects, DataInMemoryIsInAPodThatWaitsToBeRecorded) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.storage.medium = v1::Medium::Memory;
  m.spec.storage.size = "512Mi";
  const auto words = [](const Json& pod) {
    std::string out;
    for (const Json& word : pod.at("spec").at("containers").at(0).at("command").as_array())
      (out += std::string(word.as_string())) += ' ';
    return out;
  };
  const Json joiner = *pod(m, {}, {});
  const Json& spec = joiner.at("spec");
  EXPECT_EQ(spec.at("volumes").at(0), json::parse(R"({
    "name": "data", "emptyDir": {"medium": "Memory", "sizeLimit": "512Mi"}})"));
  EXPECT_EQ(spec.at("schedulingGates").at(0).at("name"), v1::kRecordGate);
  EXPECT_NE(words(joiner).find("--initial-cluster-state=existing "), std::string::npos);
  EXPECT_EQ(words(joiner).find("--initial-cluster="), std::string::npos)
      << "the flag would win over the variable";
  EXPECT_EQ(spec.at("containers").at(0).at("env"), json::parse(R"([{
    "name": "ETCD_INITIAL_CLUSTER",
    "valueFrom": {"fieldRef": {"fieldPath":
        "metadata.annotations['etcd-operator.cozystack.io/initial-cluster']"}}}])"));
  EXPECT_EQ(joiner.at("metadata").at("annotations").at(v1::kInitialClusterAnnotation),
            Json(m.spec.initial_cluster));

  const Json founder = *pod(m, {.founds = true}, {});
  EXPECT_EQ(words(founder).find("--initial-cluster-state"), std::string::npos);
  EXPECT_NE(words(founder).find("--initial-cluster=" + m.spec.initial_cluster), std::string::npos);
  EXPECT_EQ(founder.at("spec").at("containers").at(0).at("env"), json::parse(R"([{
    "name": "ETCD_INITIAL_CLUSTER_STATE",
    "valueFrom": {"fieldRef": {"fieldPath":
        "metadata.annotations['etcd-operator.cozystack.io/initial-cluster-state']"}}}])"));
  EXPECT_EQ(founder.at("metadata").at("annotations").at(v1::kInitialStateAnnotation), "new");
  const Json on_a_volume = *pod(member("3.6.16"), {}, {});
  EXPECT_FALSE(on_a_volume.at("spec").as_object().contains("schedulingGates"));
  EXPECT_FALSE(on_a_volume.at("spec").at("containers").at(0).as_object().contains("env"));
}

TEST(MemberObjects, WhoSaysHowMembersAreSpreadIsTakenAtTheirWord) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.affinity = json::object();
  EXPECT_EQ(pod(m, {}, {})->at("spec").at("affinity"), json::object()) << "none, on purpose";
  m.spec.affinity.reset();
  m.spec.topology_spread_constraints = json::array();
  EXPECT_FALSE(pod(m, {}, {})->at("spec").as_object().contains("affinity"));
}

TEST(MemberObjects, ExtraFlagsComeAfterAllOthers) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.extra_args = {{"metrics", "extensive"}, {"max-request-bytes", "4194304"}};
  m.spec.options.emplace().snapshot_count = 7;
  const Json made = *pod(m, {.many_learners = true}, {});
  const json::array& command = made.at("spec").at("containers").at(0).at("command").as_array();
  EXPECT_EQ(json::array(command.end() - 4, command.end()),
            (json::array{"--snapshot-count=7", "--max-learners=8", "--max-request-bytes=4194304",
                         "--metrics=extensive"}));
}

TEST(MemberObjects, T11_APodWithoutTemplateFitsTheStrictestStandardAndHasNoToken) {
  v1::EtcdMember m = member("3.6.16");
  for (const bool founds : {false, true}) {
    const Json made = *pod(m, {.founds = founds}, {});
    EXPECT_EQ(why_not_pod(made.as_object(), PodPolicy::Restricted), "");
    EXPECT_EQ(made.at("spec").at("automountServiceAccountToken"), false);
    m.spec.storage.medium = v1::Medium::Memory;
  }
}

/// Otherwise the kubelet walks over all files of the volume first.
TEST(MemberObjects, N11_ALargeVolumeDelaysNoStart) {
  for (const bool founds : {false, true}) {
    const Json made = *pod(member("3.6.16"), {.founds = founds}, {});
    EXPECT_EQ(made.at("spec").at("securityContext").at("fsGroupChangePolicy"), "OnRootMismatch");
  }
}

/// Otherwise --initial-cluster and the like could appear twice, and etcd would take the second.
TEST(MemberObjects, T9_EveryFlagOfOursIsRefusedAsAnExtraOne) {
  v1::EtcdMember m = member("3.7.3");
  v1::EtcdOptions& options = m.spec.options.emplace();
  options.quota_backend_bytes = 1;
  options.auto_compaction_mode = v1::AutoCompactionMode::Revision;
  options.auto_compaction_retention = "1";
  options.snapshot_count = 1;
  const Json made = *pod(m, {.founds = true}, {});
  const json::array& command = made.at("spec").at("containers").at(0).at("command").as_array();
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string flag(command[i].as_string());
    EXPECT_TRUE(v1::is_own_flag(flag.substr(2, flag.find('=') - 2))) << flag;
  }
  EXPECT_GT(command.size(), 14U);
}

TEST(MemberObjects, ATemplateIsMergedIntoThePodAndEtcdStaysTheFirstContainer) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.pod_template.emplace().spec = json::parse(
      R"({"terminationGracePeriodSeconds": 90, "containers": [{"name": "log", "image": "i"}]})");
  m.spec.pod_template->metadata.emplace().labels = {{"team", "a"}};
  m.spec.additional_metadata.emplace().labels = {{"team", "everybody"}};
  const Json made = *pod(m, {}, {});
  EXPECT_EQ(made.at("spec").at("terminationGracePeriodSeconds"), 90);
  EXPECT_EQ(made.at("spec").at("containers").at(0).at("name"), "etcd");
  EXPECT_EQ(made.at("spec").at("containers").at(1).at("name"), "log");
  EXPECT_EQ(made.at("metadata").at("labels").at("team"), "a") << "it is nearer to the Pod";
  EXPECT_EQ(volume(m).at("metadata").at("labels").at("team"), "everybody");
}

TEST(MemberObjects, WhatIsNotTheUsersToSetGetsNoPod) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.extra_args = {{"proxy", "on"}};
  EXPECT_EQ(pod(m, {}, {}).error().message,
            "spec.extraArgs.proxy is set by the operator; remove it");
  m.spec.extra_args.clear();
  m.spec.pod_template.emplace().spec = json::parse(R"({"hostname": "x"})");
  EXPECT_EQ(pod(m, {}, {}).error().message,
            "spec.podTemplate.spec.hostname is set by the operator; remove it");
}

/// An earlier release accepted it: a drained member must get its Pod again.
TEST(MemberObjects, Rule_WhatIsRefusedWhenNewGetsAPodWhereItIs) {
  for (const testing::RefusedWhenNew& row : testing::refused_when_new()) {
    v1::EtcdMember m = member("3.6.16");
    m.spec.pod_template.emplace().spec = row.template_spec;
    auto made = pod(m, {}, {});
    ASSERT_TRUE(made) << row.name << ": " << made.error().message;
    EXPECT_EQ(made->at("spec").at("containers").at(0).at("name"), "etcd") << row.name;
  }
}

TEST(MemberObjects, AnOldEtcdGetsTheProbesOfTheReference) {
  const Json made = pod(member("3.5.9"), {}, {})->at("spec").at("containers").at(0);
  EXPECT_EQ(made.at("livenessProbe"), json::parse(R"({
    "tcpSocket": {"port": 2380},
    "initialDelaySeconds": 15, "periodSeconds": 10, "failureThreshold": 3
  })"));
  EXPECT_EQ(made.at("readinessProbe"), json::parse(R"({
    "httpGet": {"path": "/health", "port": 2381},
    "initialDelaySeconds": 5, "periodSeconds": 5, "timeoutSeconds": 1, "failureThreshold": 3
  })"));
  EXPECT_FALSE(made.as_object().contains("startupProbe"));
}

/// The parts of a Pod that the plain one does not have: of its command, mounts and volumes.
struct More {
  explicit More(const v1::EtcdMember& m) {
    v1::EtcdMember plain = m;
    plain.spec.tls.reset();
    const Json was = pod(plain, {}, {})->at("spec"), now = pod(m, {}, {})->at("spec");
    command = only_in(etcd(now).at("command"), etcd(was).at("command"));
    mounts = only_in(etcd(now).at("volumeMounts"), etcd(was).at("volumeMounts"));
    volumes = only_in(now.at("volumes"), was.at("volumes"));
  }
  static const Json& etcd(const Json& spec) { return spec.at("containers").at(0); }
  static json::array only_in(const Json& now, const Json& was) {
    json::array out;
    for (const Json& one : now.as_array())
      if (std::ranges::count(was.as_array(), one) == 0) out.push_back(one);
    return out;
  }
  json::array command, mounts, volumes;
};

TEST(MemberObjects, TlsIsAsTheContractHasIt) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.options.emplace().quota_backend_bytes = 8;
  v1::MemberTls& tls = m.spec.tls.emplace();
  tls.client_server_secret_ref = v1::LocalObjectReference{"db-server-tls"};
  tls.client_mtls = true;
  tls.peer_secret_ref = v1::LocalObjectReference{"db-peer-tls"};
  const More more(m);
  EXPECT_EQ(more.command, (json::array{
                              "--listen-peer-urls=https://0.0.0.0:2380",
                              "--listen-client-urls=https://0.0.0.0:2379",
                              "--advertise-client-urls=https://db-x1.db.prod.svc:2379",
                              "--initial-advertise-peer-urls=https://db-x1.db.prod.svc:2380",
                              "--cert-file=/etc/etcd/tls/client/tls.crt",
                              "--key-file=/etc/etcd/tls/client/tls.key",
                              "--client-cert-auth=true",
                              "--trusted-ca-file=/etc/etcd/tls/client/ca.crt",
                              "--peer-cert-file=/etc/etcd/tls/peer/tls.crt",
                              "--peer-key-file=/etc/etcd/tls/peer/tls.key",
                              "--peer-trusted-ca-file=/etc/etcd/tls/peer/ca.crt",
                              "--peer-client-cert-auth=true",
                          }));
  EXPECT_EQ(more.mounts, json::parse(R"([
    {"name": "tls-client", "mountPath": "/etc/etcd/tls/client", "readOnly": true},
    {"name": "tls-peer", "mountPath": "/etc/etcd/tls/peer", "readOnly": true}
  ])"));
  EXPECT_EQ(more.volumes, json::parse(R"([
    {"name": "tls-client", "secret": {"secretName": "db-server-tls"}},
    {"name": "tls-peer", "secret": {"secretName": "db-peer-tls"}}
  ])"));
  const Json made = *pod(m, {}, {});
  const auto& command = made.at("spec").at("containers").at(0).at("command").as_array();
  const auto place = [&](const char* flag) { return std::ranges::find(command, Json(flag)); };
  EXPECT_LT(place("--quota-backend-bytes=8"), place("--cert-file=/etc/etcd/tls/client/tls.crt"));
}

TEST(MemberObjects, EachPortHasItsOwnTls) {
  v1::EtcdMember m = member("3.6.16");
  m.spec.tls.emplace().client_server_secret_ref = v1::LocalObjectReference{"own"};
  EXPECT_EQ(More(m).command, (json::array{
                                 "--listen-client-urls=https://0.0.0.0:2379",
                                 "--advertise-client-urls=https://db-x1.db.prod.svc:2379",
                                 "--cert-file=/etc/etcd/tls/client/tls.crt",
                                 "--key-file=/etc/etcd/tls/client/tls.key",
                             }));
  m.spec.tls.emplace().peer_secret_ref = v1::LocalObjectReference{"own"};
  EXPECT_EQ(More(m).command.size(), 6U);
  EXPECT_EQ(More(m).volumes.size(), 1U);
  m.spec.tls.emplace().peer_auto_tls = true;
  EXPECT_EQ(More(m).command, (json::array{
                                 "--listen-peer-urls=https://0.0.0.0:2380",
                                 "--initial-advertise-peer-urls=https://db-x1.db.prod.svc:2380",
                                 "--peer-auto-tls",
                             }));
  EXPECT_EQ(More(m).volumes, json::array{});
}

TEST(MemberObjects, OnlyAVoterHasTheVotersLabel) {
  v1::EtcdMember m = member("3.6.16");
  m.status.is_voter = true;
  EXPECT_EQ(pod(m, {}, {})->at("metadata").at("labels").at(v1::kRoleLabel), "voter");
}

TEST(MemberObjects, ResourcesWithNothingInThemAreNone) {
  const Json defaults = json::parse(R"({"requests": {"cpu": "100m", "memory": "128Mi"}})");
  for (const char* none : {"{}", "null", "[]"}) {
    v1::EtcdMember m = member("3.6.16");
    m.spec.resources = json::parse(none);
    EXPECT_EQ(pod(m, {}, {})->at("spec").at("containers").at(0).at("resources"), defaults) << none;
  }
}

TEST(MemberObjects, AnEtcdThatWeDoNotKnowGetsNoPod) {
  for (const char* version : {"3.4.34", "newest", ""}) {
    const auto made = pod(member(version), {}, {});
    ASSERT_TRUE(made.failed_with(Code::Invalid)) << version;
    EXPECT_EQ(made.error().message,
              std::string("spec.version ") + version + " is not an etcd that this release runs");
  }
}

}  // namespace
}  // namespace etcdop::member
