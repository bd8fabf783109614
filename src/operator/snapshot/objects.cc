#include "operator/snapshot/objects.h"

#include "api/v1alpha2/names.h"
#include "operator/agents/agent_pod.h"
#include "operator/agents/snapshot_env.h"
#include "operator/credentials/passwords.h"
#include "operator/credentials/tls.h"
#include "operator/passes/metadata.h"
#include "operator/snapshot/conditions.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;

constexpr int kRetries = 3, kSecondsMax = 1800, kSecondsKept = 600;
constexpr const char* kAuthorityFolder = "/etc/etcd/pki/ca";
constexpr const char* kClientFolder = "/etc/etcd/pki/client";

std::string endpoints_of(const Observation& seen) {
  std::string out;
  for (const std::string& url : seen.endpoints) out += (out.empty() ? "" : ",") + url;
  return out;
}

/// How the agent reaches etcd.
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
  env.push_back(variable_of_secret("ETCD_PASSWORD", seen.password_secret, kPasswordKey));
}

json::object pod_spec(const Observation& seen, const std::string& image) {
  const TlsSecrets tls = tls_secrets_of(*seen.cluster);
  AgentMounts mounted;
  mounted.add_secret("etcd-ca", tls.server, {kAuthorityKey}, kAuthorityFolder);
  mounted.add_secret("etcd-client", tls.operator_client, {kCertificateKey, kPrivateKeyKey},
                     kClientFolder);
  json::array env;
  add_etcd(env, seen, tls);
  add_destination(env, mounted, seen.snapshot.spec.destination);
  json::object out = agent_pod(agent_container(v1::kAgentContainer, "snapshot-agent", image,
                                               std::move(env), std::move(mounted.mounts)),
                               std::move(mounted.volumes), seen.cluster);
  place_agents(out, seen.snapshot.spec.pod);
  return out;
}

json::object metadata(const Observation& seen, std::int32_t attempt) {
  const api::ObjectMeta& of = seen.snapshot.metadata;
  json::object out{{"name", job_name(of.name)}, {"namespace", of.ns}};
  json::object& labels = out["labels"].emplace_object();
  labels[v1::kClusterLabel] = seen.cluster->metadata.name;
  labels[v1::kSnapshotLabel] = of.name;
  out["annotations"].emplace_object()[v1::kAttemptAnnotation] = std::to_string(attempt);
  out["ownerReferences"] = owned_by_controller(seen.snapshot);
  add_metadata(out, seen.cluster->spec.additional_metadata);
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
                        {"podFailurePolicy", agent_failure_policy(v1::kAgentContainer)},
                        {"template", std::move(pod)}}}};
}

}  // namespace etcdop::snapshot
