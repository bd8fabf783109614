#include "operator/snapshot/verify_job.h"

#include <optional>
#include <utility>

#include "api/v1alpha2/names.h"
#include "etcd/version_facts.h"
#include "operator/agents/agent_pod.h"
#include "operator/agents/snapshot_env.h"
#include "operator/agents/stored_location.h"
#include "operator/passes/metadata.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;

// The agent's own limit is 30 minutes; Kubernetes needs time before and after.
constexpr int kRetries = 1, kSecondsMax = 2400, kSecondsKept = 600;
constexpr const char* kComponent = "verification";

/// The cluster's data when the snapshot was taken, as far as it is known.
void add_expected(json::array& env, const v1::EtcdSnapshot& of) {
  const v1::SnapshotArtifact& artifact = *of.status.artifact;
  const auto add = [&env](const char* name, const std::optional<std::int64_t>& value) {
    if (value) env.push_back(variable(name, std::to_string(*value)));
  };
  env.push_back(variable("VERIFY_UID", of.metadata.uid));
  if (!artifact.checksum.empty()) env.push_back(variable("VERIFY_CHECKSUM", artifact.checksum));
  add("VERIFY_REVISION", artifact.revision);
  add("VERIFY_COMPACT_REVISION", artifact.compact_revision);
  add("VERIFY_HASH_KV", artifact.hash_kv);
  add("VERIFY_KEYS", artifact.keys);
  if (!artifact.digest.empty()) env.push_back(variable("VERIFY_DIGEST", artifact.digest));
}

json::object pod_spec(const Observation& seen, const VerifyImages& images) {
  VerifyWork work{.from = stored_location(seen.snapshot),
                  .etcd_version = verify_version(seen),
                  .expected = {},
                  .placed = seen.snapshot.spec.pod};
  add_expected(work.expected, seen.snapshot);
  return verify_pod(work, images, seen.cluster);
}

json::object metadata(const Observation& seen, std::int32_t attempt) {
  const api::ObjectMeta& of = seen.snapshot.metadata;
  json::object out{{"name", verify_job_name(of.name)}, {"namespace", of.ns}};
  json::object& labels = out["labels"].emplace_object();
  labels[v1::kClusterLabel] = seen.snapshot.spec.cluster_ref.name;
  labels[v1::kSnapshotLabel] = of.name;
  labels[v1::kAppComponentLabel] = kComponent;
  json::object& annotations = out["annotations"].emplace_object();
  annotations[v1::kAttemptAnnotation] = std::to_string(attempt);
  if (const auto& now = seen.snapshot.status.verification)
    annotations[v1::kVerifyAnnotation] = now->request;
  out["ownerReferences"] = owned_by_controller(seen.snapshot);
  return out;
}

}  // namespace

std::string verify_job_name(const std::string& snapshot) { return snapshot + "-verify"; }

std::string verify_version(const Observation& seen) {
  std::string version;
  if (seen.cluster && seen.cluster->status.observed)
    version = seen.cluster->status.observed->version;
  else if (seen.snapshot.status.artifact)
    version = seen.snapshot.status.artifact->etcd_version;  // An agent reported it, or a user.
  return etcd::parse_version(version) ? version : "";
}

Json verify_job(const Observation& seen, std::int32_t attempt, const VerifyImages& images) {
  json::object made = metadata(seen, attempt), pod_metadata;
  json::object& labels = pod_metadata["labels"].emplace_object();
  labels[v1::kSnapshotLabel] = seen.snapshot.metadata.name;
  labels[v1::kAppComponentLabel] = kComponent;
  if (seen.cluster) {
    add_metadata(made, seen.cluster->spec.additional_metadata);
    add_metadata(pod_metadata, seen.cluster->spec.additional_metadata);
  }
  return json::object{
      {"metadata", std::move(made)},
      {"spec",
       {{"backoffLimit", kRetries},
        {"ttlSecondsAfterFinished", kSecondsKept},
        {"activeDeadlineSeconds", kSecondsMax},
        {"podFailurePolicy", agent_failure_policy(v1::kVerifyContainer)},
        {"template", {{"metadata", std::move(pod_metadata)}, {"spec", pod_spec(seen, images)}}}}}};
}

}  // namespace etcdop::snapshot
