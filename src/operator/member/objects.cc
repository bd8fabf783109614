#include "operator/member/objects.h"

#include <chrono>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "etcd/client.h"
#include "etcd/version_facts.h"
#include "operator/member/plan.h"
#include "operator/member/restoring.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/etcd_pod.h"
#include "operator/pods/member_endpoint.h"
#include "operator/pods/pod_shape.h"

namespace etcdop::member {
namespace {

namespace v1 = api::v1alpha2;

constexpr const char* kClientTlsFolder = "/etc/etcd/tls/client";
constexpr const char* kPeerTlsFolder = "/etc/etcd/tls/peer";

json::object labels(const v1::EtcdMember& member) {
  json::object out = cluster_labels(member.spec.cluster_name);
  out[v1::kAppComponentLabel] = member.metadata.name;
  return out;
}

json::object metadata(const v1::EtcdMember& member, const std::string& name, bool votes = false) {
  json::object out{{"name", name},
                   {"namespace", member.metadata.ns},
                   {"labels", labels(member)},
                   {"ownerReferences", owned_by_controller(member)}};
  if (votes) out["labels"].as_object()[v1::kRoleLabel] = v1::kVoter;
  add_metadata(out, member.spec.additional_metadata);
  return out;
}

/// An absent option is left to etcd's default.
void add_options(json::array& command, const v1::EtcdOptions& options) {
  const auto flag = [&](const char* name, const std::string& value) {
    command.emplace_back(std::string("--") + name + "=" + value);
  };
  if (options.quota_backend_bytes)
    flag("quota-backend-bytes", std::to_string(*options.quota_backend_bytes));
  if (options.auto_compaction_mode)
    flag(
        "auto-compaction-mode",
        std::string(
            api::Codec<v1::AutoCompactionMode>::encode(*options.auto_compaction_mode).as_string()));
  if (options.auto_compaction_retention)
    flag("auto-compaction-retention", *options.auto_compaction_retention);
  if (options.snapshot_count) flag("snapshot-count", std::to_string(*options.snapshot_count));
}

/// etcd reads certificate and key again at each handshake, but the CA certificates only at start.
void add_tls(json::array& command, const v1::MemberTls& tls) {
  const auto flag = [&](const char* name, const char* folder, const char* file) {
    command.emplace_back(std::string("--") + name + "=" + folder + "/" + file);
  };
  if (tls.client_server_secret_ref) {
    flag("cert-file", kClientTlsFolder, "tls.crt");
    flag("key-file", kClientTlsFolder, "tls.key");
    if (tls.client_mtls) {
      command.emplace_back("--client-cert-auth=true");
      flag("trusted-ca-file", kClientTlsFolder, "ca.crt");
    }
  }
  if (tls.peer_auto_tls) {
    command.emplace_back("--peer-auto-tls");
  } else if (tls.peer_secret_ref) {
    flag("peer-cert-file", kPeerTlsFolder, "tls.crt");
    flag("peer-key-file", kPeerTlsFolder, "tls.key");
    flag("peer-trusted-ca-file", kPeerTlsFolder, "ca.crt");
    command.emplace_back("--peer-client-cert-auth=true");
  }
}

struct ToldByAnnotation {
  std::string_view flag;
  const char* variable;
  const char* annotation;
  std::string value;
};

/// An option of an etcd with data in memory that is not a flag, which would win, but a variable
/// that the kubelet takes from an annotation at each start of the container. The first start needs
/// it. A later start, after the memory was lost under a running Pod (by a restart of its node),
/// must not have it: etcd would found a second cluster, or vote as a member that has lost its data.
std::optional<ToldByAnnotation> told_by_annotation(const v1::EtcdMember& member, bool founds) {
  if (!in_memory(member)) return std::nullopt;
  if (founds)
    return ToldByAnnotation{kInitialStateFlag, "ETCD_INITIAL_CLUSTER_STATE",
                            v1::kInitialStateAnnotation, "new"};
  return ToldByAnnotation{kInitialClusterFlag, "ETCD_INITIAL_CLUSTER",
                          v1::kInitialClusterAnnotation, member.spec.initial_cluster};
}

json::array command(const v1::EtcdMember& member, const Start& start,
                    const etcd::VersionFacts& facts) {
  const auto everywhere = [](bool tls, int port) {
    return std::string(tls ? "https" : "http") + "://0.0.0.0:" + std::to_string(port);
  };
  json::array out{"etcd",
                  "--name=" + member.metadata.name,
                  "--data-dir=" + data_dir_of(member),
                  "--listen-peer-urls=" + everywhere(peer_tls(member), v1::kPeerPort),
                  "--listen-client-urls=" + everywhere(client_tls(member), v1::kClientPort),
                  "--advertise-client-urls=" + client_url_of(member),
                  "--initial-advertise-peer-urls=" + peer_url_of(member)};
  const auto told = told_by_annotation(member, start.founds);
  if (!told || told->flag != kInitialClusterFlag)
    out.emplace_back(std::string(kInitialClusterFlag) + member.spec.initial_cluster);
  out.emplace_back("--initial-cluster-token=" + member.spec.cluster_token);
  if (!told || told->flag != kInitialStateFlag)
    out.emplace_back(std::string(kInitialStateFlag) + (start.founds ? "new" : "existing"));
  out.emplace_back("--listen-metrics-urls=" + everywhere(false, v1::kMetricsPort));
  if (member.spec.options) add_options(out, *member.spec.options);
  if (member.spec.tls) add_tls(out, *member.spec.tls);
  if (facts.max_learners_flag && start.many_learners)
    out.emplace_back(kMaxLearnersFlag + std::to_string(v1::kManyLearners));
  for (const auto& [flag, value] : member.spec.extra_args)
    out.emplace_back("--" + flag + "=" + value);
  return out;
}

// During a defragmentation etcd reads nothing, and /livez includes a read.
constexpr int kLivePeriod = 10, kLiveFailures = 15;
static_assert(std::chrono::seconds(kLivePeriod * (kLiveFailures - 1)) > etcd::kDefragmentLimit,
              "liveness lets a defragmentation end");

json::object http_probe(const char* path, int period, int timeout, int failures) {
  return {{"httpGet", {{"path", path}, {"port", v1::kMetricsPort}}},
          {"periodSeconds", period},
          {"timeoutSeconds", timeout},
          {"failureThreshold", failures}};
}

/// Liveness checks only the process. Readiness includes a linearizable read, so a learner is never
/// ready.
void add_probes(json::object& container, const etcd::VersionFacts& facts) {
  if (facts.livez_and_readyz) {
    container["startupProbe"] = http_probe("/livez", 1, 5, 3600);
    container["livenessProbe"] = http_probe("/livez", kLivePeriod, 5, kLiveFailures);
    container["readinessProbe"] = http_probe("/readyz", 2, 5, 3);
    return;
  }
  container["livenessProbe"] = json::object{{"tcpSocket", {{"port", v1::kPeerPort}}},
                                            {"initialDelaySeconds", 15},
                                            {"periodSeconds", 10},
                                            {"failureThreshold", 3}};
  container["readinessProbe"] = http_probe("/health", 5, 1, 3);
  container["readinessProbe"].as_object()["initialDelaySeconds"] = 5;
}

Json resources(const v1::EtcdMember& member) {
  if (member.spec.resources && member.spec.resources->is_object() &&
      !member.spec.resources->as_object().empty())
    return *member.spec.resources;
  return json::object{{"requests", {{"cpu", "100m"}, {"memory", "128Mi"}}}};
}

json::array from_annotation(const ToldByAnnotation& told) {
  const std::string path = std::string("metadata.annotations['") + told.annotation + "']";
  return {
      json::object{{"name", told.variable}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}}};
}

json::object data_volume(const v1::EtcdMember& member) {
  if (in_memory(member))
    return {{"name", v1::kDataVolume},
            {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", member.spec.storage.size}}}};
  return {{"name", v1::kDataVolume},
          {"persistentVolumeClaim", {{"claimName", volume_name(member.metadata.name)}}}};
}

json::object etcd_container(const v1::EtcdMember& member, const Start& start,
                            const etcd::VersionFacts& facts, const Images& images) {
  const auto port = [](const char* name, int number) {
    return json::object{{"name", name}, {"containerPort", number}, {"protocol", "TCP"}};
  };
  json::object out{
      {"name", v1::kEtcdContainer},
      {"image", images.etcd_repository + ":v" + member.spec.version},
      {"command", command(member, start, facts)},
      {"terminationMessagePolicy", "FallbackToLogsOnError"},  // The last lines tell of its data.
      {"ports", json::array{port("client", v1::kClientPort), port("peer", v1::kPeerPort),
                            port("metrics", v1::kMetricsPort)}},
      {"resources", resources(member)},
      {"securityContext", container_security()},
      {"volumeMounts", json::array{{{"name", v1::kDataVolume}, {"mountPath", kVolumeRoot}},
                                   {{"name", "tmp"}, {"mountPath", "/tmp"}}}}};
  add_probes(out, facts);
  if (const auto told = told_by_annotation(member, start.founds))
    out["env"] = from_annotation(*told);
  return out;
}

/// The Secrets of its TLS, as volumes, and where etcd looks for them.
void mount_tls(json::object& pod_spec, const v1::MemberTls& tls) {
  const auto mount = [&](const std::optional<v1::LocalObjectReference>& secret, const char* volume,
                         const char* folder) {
    if (!secret) return;
    pod_spec["volumes"].as_array().push_back(
        json::object{{"name", volume}, {"secret", {{"secretName", secret->name}}}});
    pod_spec["containers"]
        .as_array()[0]
        .at("volumeMounts")
        .as_array()
        .push_back(json::object{{"name", volume}, {"mountPath", folder}, {"readOnly", true}});
  };
  mount(tls.client_server_secret_ref, "tls-client", kClientTlsFolder);
  if (!tls.peer_auto_tls) mount(tls.peer_secret_ref, "tls-peer", kPeerTlsFolder);
}

/// By the UID, Pods of others with the cluster's name do not count. By the name, Pods that lack the
/// UID do: those of the Go operator, and of earlier releases until they are labelled.
json::object apart_by(const v1::EtcdMember& member, bool by_uid, const char* topology, int weight) {
  json::object who_stay{{"matchExpressions",
                         json::array{{{"key", v1::kLeavingLabel}, {"operator", "DoesNotExist"}}}}};
  json::object& labels = who_stay["matchLabels"].emplace_object();
  labels[v1::kClusterLabel] = member.spec.cluster_name;
  const api::OwnerReference* cluster = member.metadata.controller();
  if (by_uid && cluster) labels[v1::kClusterUidLabel] = cluster->uid;
  return {{"weight", weight},
          {"podAffinityTerm", {{"topologyKey", topology}, {"labelSelector", who_stay}}}};
}

/// The default: a lost node should cost one member, and a lost zone as few as possible. Only a
/// preference: a cluster of three starts on one node, too.
json::object apart_if_possible(const v1::EtcdMember& member, bool by_uid) {
  json::object out;
  out["podAntiAffinity"].emplace_object()["preferredDuringSchedulingIgnoredDuringExecution"] =
      json::array{apart_by(member, by_uid, "kubernetes.io/hostname", 100),
                  apart_by(member, by_uid, "topology.kubernetes.io/zone", 50)};
  return out;
}

void add_scheduling(json::object& pod_spec, const v1::EtcdMember& member, bool by_uid) {
  const v1::EtcdMemberSpec& wanted = member.spec;
  if (wanted.affinity) pod_spec["affinity"] = *wanted.affinity;
  else if (!wanted.topology_spread_constraints)
    pod_spec["affinity"] = apart_if_possible(member, by_uid);
  if (wanted.topology_spread_constraints)
    pod_spec["topologySpreadConstraints"] = *wanted.topology_spread_constraints;
  if (!wanted.node_selector.empty()) pod_spec["nodeSelector"] = api::encode(wanted.node_selector);
  if (wanted.tolerations) pod_spec["tolerations"] = *wanted.tolerations;
  if (!wanted.priority_class_name.empty())
    pod_spec["priorityClassName"] = wanted.priority_class_name;
}

}  // namespace

Json volume(const v1::EtcdMember& member) {
  json::object spec{{"accessModes", json::array{"ReadWriteOnce"}},
                    {"resources", {{"requests", {{"storage", member.spec.storage.size}}}}}};
  if (member.spec.storage.storage_class_name)
    spec["storageClassName"] = *member.spec.storage.storage_class_name;
  return json::object{{"metadata", metadata(member, volume_name(member.metadata.name))},
                      {"spec", std::move(spec)}};
}

namespace {

void annotate(json::object& metadata, const char* key, const std::string& value) {
  Json& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = json::object();
  annotations.as_object()[key] = value;
}

/// Records which CA certificates its etcd has read: it never reads them again.
void note_authorities(json::object& metadata, const v1::EtcdMember& member, const TlsSeen& tls) {
  const auto note = [&](const char* key, const std::optional<CertificateSeen>& certificate) {
    if (certificate && !certificate->authority.empty())
      annotate(metadata, key, certificate->authority);
  };
  if (member.spec.tls && member.spec.tls->client_mtls)
    note(v1::kClientAuthorityAnnotation, tls.server);
  note(v1::kPeerAuthorityAnnotation, tls.peer);
}

}  // namespace

Result<Json> pod(const v1::EtcdMember& member, Start start, const Images& images,
                 const TlsSeen& tls) {
  const auto version = etcd::parse_version(member.spec.version);
  if (!version || !etcd::facts_of(*version).supported)
    return Error{Code::Invalid,
                 "spec.version " + member.spec.version + " is not an etcd that this release runs"};
  if (std::string why = why_not_flags(member.spec.version, member.spec.extra_args); !why.empty())
    return Error{Code::Invalid, "spec." + why};
  const auto& added = member.spec.pod_template;
  if (std::string why = added ? why_not_template(*added) : ""; !why.empty())
    return Error{Code::Invalid, "spec." + why};
  const etcd::VersionFacts facts = etcd::facts_of(*version);
  json::object spec{
      {"hostname", member.metadata.name},
      {"subdomain", service_of(member)},
      {"automountServiceAccountToken", false},
      {"securityContext", pod_security()},
      {"containers", json::array{etcd_container(member, start, facts, images)}},
      {"volumes", json::array{data_volume(member),
                              json::object{{"name", "tmp"}, {"emptyDir", json::object{}}}}}};
  if (member.spec.tls) mount_tls(spec, *member.spec.tls);
  if (start.founds && member.spec.restore) add_restore(spec, member, images, start.with_auth);
  add_scheduling(spec, member, start.by_uid);
  for (const v1::LocalObjectReference& secret : member.spec.image_pull_secrets) {
    if (!spec.contains("imagePullSecrets")) spec["imagePullSecrets"] = json::array();
    spec["imagePullSecrets"].as_array().push_back(json::object{{"name", secret.name}});
  }
  json::object meta = metadata(member, member.metadata.name, member.status.is_voter);
  if (const api::OwnerReference* cluster = member.metadata.controller())
    meta["labels"].as_object()[v1::kClusterUidLabel] = cluster->uid;
  if (const auto told = told_by_annotation(member, start.founds)) {
    spec["schedulingGates"] = json::array{json::object{{"name", v1::kRecordGate}}};
    annotate(meta, told->annotation, told->value);
  }
  if (member.spec.bootstrap && member.status.member_id.empty())
    annotate(meta, v1::kMadeFromAnnotation, std::to_string(member.metadata.generation));
  note_authorities(meta, member, tls);
  json::object made{{"metadata", std::move(meta)}, {"spec", std::move(spec)}};
  if (added) merge_template(made, *added);
  return Json(std::move(made));
}

namespace {

std::string_view tag_of(std::string_view image) {
  const auto colon = image.rfind(':');
  return colon == image.npos ? "" : image.substr(colon);
}

const kube::Container* etcd_of(const kube::PodSpec& spec) {
  const auto found = std::ranges::find(spec.containers, v1::kEtcdContainer, &kube::Container::name);
  return found == spec.containers.end() ? nullptr : &*found;
}

}  // namespace

bool runs_as(const kube::Pod& pod, const Json& manifest) {
  kube::PodSpec wanted;
  if (!api::decode(manifest.at("spec"), wanted, "spec")) return true;  // Unsure: left alone.
  const kube::Container *is = etcd_of(pod.spec), *should = etcd_of(wanted);
  return !is || !should ||
         (is->command == should->command && tag_of(is->image) == tag_of(should->image));
}

bool in_memory(const v1::EtcdMember& member) {
  return member.spec.storage.medium == v1::Medium::Memory;
}

}  // namespace etcdop::member
