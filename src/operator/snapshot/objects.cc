#include "operator/snapshot/objects.h"

#include <charconv>

#include "api/v1alpha2/names.h"
#include "operator/shared/metadata.h"
#include "operator/shared/passwords.h"
#include "operator/shared/tls.h"
#include "operator/snapshot/conditions.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;

constexpr int kRetries = 3, kSecondsMax = 1800, kSecondsKept = 600;
constexpr const char* kAuthorityFolder = "/etc/etcd/pki/ca";
constexpr const char* kClientFolder = "/etc/etcd/pki/client";
constexpr const char* kVolumeFolder = "/snapshot/data";
constexpr const char* kVolume = "snapshot-data";

/// The kubelet puts variables in place of $(NAME) in a value, passwords among them; $$ is a dollar.
std::string literally(const std::string& text) {
  std::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

json::object variable(const char* name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

json::object from_secret(const char* name, const std::string& secret, const char* key,
                         bool optional = false) {
  json::object ref{{"name", secret}, {"key", key}};
  if (optional) ref["optional"] = true;
  return {{"name", name}, {"valueFrom", {{"secretKeyRef", std::move(ref)}}}};
}

std::string endpoints_of(const Observation& seen) {
  std::string out;
  for (const std::string& url : seen.endpoints) out += (out.empty() ? "" : ",") + url;
  return out;
}

/// How etcd is spoken to.
void add_etcd(json::array& env, const Observation& seen, const TlsSecrets& tls) {
  env.push_back(variable("ETCD_ENDPOINTS", endpoints_of(seen)));
  env.push_back(variable("SNAPSHOT_NAME", seen.snapshot.metadata.name));
  env.push_back(variable("SNAPSHOT_UID", seen.snapshot.metadata.uid));
  const auto file = [](const char* folder, const char* name) {
    return std::string(folder) + "/" + name;
  };
  if (!tls.server.empty())
    env.push_back(variable("ETCD_TLS_CA_PATH", file(kAuthorityFolder, kAuthorityKey)));
  if (!tls.operator_client.empty()) {
    env.push_back(variable("ETCD_TLS_CERT_PATH", file(kClientFolder, kCertificateKey)));
    env.push_back(variable("ETCD_TLS_KEY_PATH", file(kClientFolder, kPrivateKeyKey)));
  }
  if (seen.password_secret.empty()) return;
  env.push_back(variable("ETCD_USERNAME", "root"));
  env.push_back(from_secret("ETCD_PASSWORD", seen.password_secret, kPasswordKey));
}

void add_s3(json::array& env, const v1::S3Location& s3) {
  const std::string& secret = s3.credentials_secret_ref.name;
  env.push_back(variable("SNAPSHOT_DEST_KIND", "s3"));
  env.push_back(variable("S3_ENDPOINT", literally(s3.endpoint)));
  env.push_back(variable("S3_BUCKET", literally(s3.bucket)));
  env.push_back(variable("S3_KEY", literally(s3.key)));
  env.push_back(variable("S3_REGION", literally(s3.region)));
  env.push_back(variable("S3_FORCE_PATH_STYLE", s3.force_path_style ? "true" : "false"));
  env.push_back(from_secret("AWS_ACCESS_KEY_ID", secret, "AWS_ACCESS_KEY_ID"));
  env.push_back(from_secret("AWS_SECRET_ACCESS_KEY", secret, "AWS_SECRET_ACCESS_KEY"));
  env.push_back(from_secret("AWS_SESSION_TOKEN", secret, "AWS_SESSION_TOKEN", true));
}

void add_pvc(json::array& env, const v1::PvcLocation& pvc) {
  env.push_back(variable("SNAPSHOT_DEST_KIND", "pvc"));
  env.push_back(variable("PVC_MOUNT_PATH", kVolumeFolder));
  env.push_back(variable("PVC_SUBPATH", literally(pvc.sub_path)));
}

/// Volumes of the Pod, and where its container has them.
struct Mounts {
  json::array volumes, mounts;

  void add(const char* volume, const char* kind, json::object source, const char* folder,
           bool read_only) {
    json::object made{{"name", volume}};
    made[kind] = std::move(source);
    volumes.emplace_back(std::move(made));
    json::object mount{{"name", volume}, {"mountPath", folder}};
    if (read_only) mount["readOnly"] = true;
    mounts.emplace_back(std::move(mount));
  }
  /// Of a Secret these keys alone: that of the members has their private key, too.
  void add_secret(const char* volume, const std::string& secret,
                  std::initializer_list<const char*> keys, const char* folder) {
    if (secret.empty()) return;
    json::array items;
    for (const char* key : keys) items.push_back(json::object{{"key", key}, {"path", key}});
    add(volume, "secret", {{"secretName", secret}, {"items", std::move(items)}}, folder, true);
  }
};

json::object container(const Observation& seen, const TlsSecrets& tls, const std::string& image,
                       json::array mounts) {
  json::array env;
  add_etcd(env, seen, tls);
  const v1::SnapshotLocation& to = seen.snapshot.spec.destination;
  if (to.s3) add_s3(env, *to.s3);
  if (to.pvc) add_pvc(env, *to.pvc);
  json::object out{
      {"name", v1::kAgentContainer},
      {"image", image},
      {"command", json::array{"/manager", "snapshot-agent"}},
      {"env", std::move(env)},
      // What a crash leaves are its last lines.
      {"terminationMessagePolicy", "FallbackToLogsOnError"},
      {"resources",
       {{"requests", {{"cpu", "50m"}, {"memory", "64Mi"}}}, {"limits", {{"memory", "256Mi"}}}}},
      {"securityContext",
       {{"allowPrivilegeEscalation", false},
        {"readOnlyRootFilesystem", true},
        {"capabilities", {{"drop", json::array{"ALL"}}}}}}};
  if (!mounts.empty()) out["volumeMounts"] = std::move(mounts);
  return out;
}

json::object pod_spec(const Observation& seen, const std::string& image) {
  const TlsSecrets tls = tls_secrets_of(*seen.cluster);
  Mounts mounted;
  mounted.add_secret("etcd-ca", tls.server, {kAuthorityKey}, kAuthorityFolder);
  mounted.add_secret("etcd-client", tls.operator_client, {kCertificateKey, kPrivateKeyKey},
                     kClientFolder);
  if (const auto& pvc = seen.snapshot.spec.destination.pvc)
    mounted.add(kVolume, "persistentVolumeClaim", {{"claimName", pvc->claim_name}}, kVolumeFolder,
                false);
  json::object out{
      {"restartPolicy", "Never"},
      {"automountServiceAccountToken", false},
      {"securityContext",
       {{"runAsNonRoot", true},
        {"runAsUser", v1::kUserId},
        {"runAsGroup", v1::kUserId},
        {"fsGroup", v1::kUserId},
        {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
      {"containers", json::array{container(seen, tls, image, std::move(mounted.mounts))}}};
  if (!mounted.volumes.empty()) out["volumes"] = std::move(mounted.volumes);
  json::array pulled_with;
  for (const v1::LocalObjectReference& secret : seen.cluster->spec.image_pull_secrets)
    pulled_with.push_back(json::object{{"name", secret.name}});
  if (!pulled_with.empty()) out["imagePullSecrets"] = std::move(pulled_with);
  return out;
}

/// What ends for good is not tried again, and what Kubernetes itself cut short does not count.
json::object failure_policy() {
  return {{"rules", json::array{{{"action", "FailJob"},
                                 {"onExitCodes",
                                  {{"containerName", v1::kAgentContainer},
                                   {"operator", "In"},
                                   {"values", json::array{kExitForGood}}}}},
                                {{"action", "Ignore"},
                                 {"onPodConditions", json::array{{{"type", "DisruptionTarget"},
                                                                  {"status", "True"}}}}}}}};
}

json::object metadata(const Observation& seen, std::int32_t attempt) {
  const api::ObjectMeta& of = seen.snapshot.metadata;
  json::object owner{{"apiVersion", api::api_version(v1::EtcdSnapshot::resource)},
                     {"kind", v1::EtcdSnapshot::resource.kind},
                     {"name", of.name},
                     {"uid", of.uid},
                     {"controller", true},
                     {"blockOwnerDeletion", true}};
  json::object out{{"name", job_name(of.name)}, {"namespace", of.ns}};
  json::object& labels = out["labels"].emplace_object();
  labels[v1::kClusterLabel] = seen.cluster->metadata.name;
  labels[v1::kSnapshotLabel] = of.name;
  out["annotations"].emplace_object()[v1::kAttemptAnnotation] = std::to_string(attempt);
  out["ownerReferences"] = json::array({std::move(owner)});
  add_metadata(out, seen.cluster->spec.additional_metadata);
  return out;
}

std::int32_t attempt_of(const kube::Job& job) {
  const auto found = job.metadata.annotations.find(v1::kAttemptAnnotation);
  if (found == job.metadata.annotations.end()) return 0;
  const std::string& text = found->second;
  std::int32_t out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace

Json job(const Observation& seen, std::int32_t attempt, const std::string& image) {
  json::object pod_metadata;
  pod_metadata["labels"].emplace_object()[v1::kSnapshotLabel] = seen.snapshot.metadata.name;
  add_metadata(pod_metadata, seen.cluster->spec.additional_metadata);
  json::object pod{{"metadata", std::move(pod_metadata)}, {"spec", pod_spec(seen, image)}};
  return json::object{{"metadata", metadata(seen, attempt)},
                      {"spec",
                       {{"backoffLimit", kRetries},
                        {"ttlSecondsAfterFinished", kSecondsKept},
                        {"activeDeadlineSeconds", kSecondsMax},
                        {"podFailurePolicy", failure_policy()},
                        {"template", std::move(pod)}}}};
}

JobSeen seen_as(const kube::Job& job, const v1::EtcdSnapshot& snapshot) {
  JobSeen out;
  out.uid = job.metadata.uid;
  out.terminating = job.metadata.terminating();
  out.attempt = attempt_of(job);
  out.made = from_rfc3339(job.metadata.creation_timestamp).value_or(WallTime{});
  out.status = job.status;
  const api::OwnerReference* owner = job.metadata.controller();
  out.ours = owner && owner->uid == snapshot.metadata.uid;
  out.of_namesake = owner && !out.ours && owner->kind == v1::EtcdSnapshot::resource.kind &&
                    owner->name == snapshot.metadata.name;
  return out;
}

}  // namespace etcdop::snapshot
