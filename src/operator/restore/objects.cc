#include "operator/restore/objects.h"

#include <utility>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"
#include "operator/agents/agent_pod.h"
#include "operator/agents/snapshot_env.h"
#include "operator/credentials/passwords.h"
#include "operator/passes/metadata.h"

namespace etcdop::restore {
namespace {

namespace v1 = api::v1alpha2;

// The agent's own limit is 30 minutes; Kubernetes needs time before and after.
constexpr int kRetries = 1, kSecondsMax = 2400, kSecondsKept = 600;
constexpr const char* kComponent = "restore-check";

json::object metadata(const Observation& seen, std::int32_t attempt) {
  const api::ObjectMeta& of = seen.restore.metadata;
  json::object out{{"name", job_name(of.name)}, {"namespace", of.ns}};
  json::object& labels = out["labels"].emplace_object();
  labels[v1::kClusterLabel] = seen.restore.spec.cluster_ref.name;
  labels[v1::kAppComponentLabel] = kComponent;
  out["annotations"].emplace_object()[v1::kAttemptAnnotation] = std::to_string(attempt);
  out["ownerReferences"] = owned_by_controller(seen.restore);
  add_metadata(out, seen.cluster->spec.additional_metadata);
  return out;
}

/// With another ServiceAccount than the members', the check could succeed and the restore fail, or
/// the other way round.
std::optional<v1::AgentPodSpec> placed(const Observation& seen) {
  std::optional<v1::AgentPodSpec> out = seen.restore.spec.pod;
  const std::string account = account_of(*seen.cluster);
  if (account.empty()) return out;
  if (!out) out.emplace();
  if (out->service_account_name.empty()) out->service_account_name = account;
  return out;
}

}  // namespace

std::string version_of(const v1::EtcdCluster& cluster) {
  const auto& observed = cluster.status.observed;
  return observed ? observed->version : cluster.spec.version;
}

std::string account_of(const v1::EtcdCluster& cluster) {
  const auto& observed = cluster.status.observed;
  const auto& added = observed ? observed->pod_template : cluster.spec.pod_template;
  if (!added || !added->spec || !added->spec->is_object()) return "";
  const Json* const name = added->spec->as_object().if_contains("serviceAccountName");
  return name && name->is_string() ? std::string(name->as_string()) : "";
}

std::string job_name(const std::string& restore) { return restore + "-check"; }

Json job(const Observation& seen, std::int32_t attempt, const VerifyImages& images) {
  const VerifyWork work{
      .from = seen.restore.spec.source,
      .etcd_version = version_of(*seen.cluster),
      .expected = {variable("VERIFY_ONLY_CHECK", "true"),
                   variable("RESTORE_AUTH", wants_auth(*seen.cluster) ? "true" : "false")},
      .placed = placed(seen)};
  json::object pod_metadata;
  pod_metadata["labels"].emplace_object()[v1::kAppComponentLabel] = kComponent;
  add_metadata(pod_metadata, seen.cluster->spec.additional_metadata);
  json::object pod{{"metadata", std::move(pod_metadata)},
                   {"spec", verify_pod(work, images, seen.cluster)}};
  return json::object{{"metadata", metadata(seen, attempt)},
                      {"spec",
                       {{"backoffLimit", kRetries},
                        {"ttlSecondsAfterFinished", kSecondsKept},
                        {"activeDeadlineSeconds", kSecondsMax},
                        {"podFailurePolicy", agent_failure_policy(v1::kVerifyContainer)},
                        {"template", std::move(pod)}}}};
}

}  // namespace etcdop::restore
