#include "operator/cluster/spec.h"

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "base/fnv.h"
#include "base/joined.h"
#include "base/quantity.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/version_change.h"
#include "operator/passes/trims.h"
#include "operator/pods/pod_policy.h"
#include "operator/pods/pod_shape.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::int32_t kReplicasMax = 64;  // As many as are asked; more than raft is good for.

/// Without a Secret, a port would have no TLS, or would ask no client for a certificate. TLS is
/// fixed at creation.
std::optional<Refusal> refusal_of_tls(const v1::EtcdClusterSpec& spec) {
  const auto nameless = [](const std::optional<v1::LocalObjectReference>& secret) {
    return secret && secret->name.empty();
  };
  std::string path;
  if (!spec.tls) return std::nullopt;
  if (const auto& client = spec.tls->client) {
    if (nameless(client->server_secret_ref)) path = "client.serverSecretRef";
    if (nameless(client->operator_client_secret_ref)) path = "client.operatorClientSecretRef";
  }
  if (spec.tls->peer && nameless(spec.tls->peer->secret_ref)) path = "peer.secretRef";
  if (path.empty()) return std::nullopt;
  return Refusal{v1::kCertificateMissing,
                 "spec.tls." + path + " names no Secret: recreate the EtcdCluster with one"};
}

/// A rule that a release adds is for new templates only: running clusters may break it.
std::string why_not_new(const v1::PodTemplate& added, const Observation& seen) {
  std::string why = why_not_new_template(added);
  if (why.empty()) why = why_not_by_policy(added, seen.pod_policy);
  if (why.empty() && !seen.account_trouble.empty())
    why = "podTemplate.spec: " + seen.account_trouble;
  return why;
}

/// Refused before any Pod has it: etcd exits at once if it does not know a flag.
std::optional<Refusal> refusal_of_shape(const Observation& seen) {
  const v1::EtcdClusterSpec& spec = seen.cluster.spec;
  if (std::string why = why_not_flags(spec.version, spec.extra_args); !why.empty())
    return Refusal{v1::kUnsupportedFlag, "spec." + why};
  if (!spec.pod_template) return std::nullopt;
  if (std::string why = has_new_template(seen.cluster) ? why_not_new(*spec.pod_template, seen)
                                                       : why_not_template(*spec.pod_template);
      !why.empty())
    return Refusal{v1::kPodTemplateConflict, "spec." + why};
  return std::nullopt;
}

/// The same in one spelling. The Go operator writes sizes in a form of its own ("1024Mi" as "1Gi"),
/// and an empty object where nothing was asked for. An empty affinity or spread is a request: for
/// none of our defaults.
template <class Spec>
Spec plain(Spec spec) {
  if (const auto bytes = bytes_of(spec.storage.size)) spec.storage.size = std::to_string(*bytes);
  if (spec.resources && (spec.resources->is_null() || *spec.resources == Json(json::object())))
    spec.resources.reset();
  if (spec.options == v1::EtcdOptions{}) spec.options.reset();
  if (spec.additional_metadata == v1::AdditionalMetadata{}) spec.additional_metadata.reset();
  return spec;
}

/// Whether a snapshot would be restored again at each start of the node of its only Pod. It no
/// longer matters once the cluster is founded.
bool restores_into_memory(const v1::EtcdCluster& cluster) {
  const auto& bootstrap = cluster.spec.bootstrap;
  return bootstrap && bootstrap->restore && cluster.spec.storage.medium == v1::Medium::Memory &&
         cluster.status.cluster_id.empty();
}

}  // namespace

std::optional<Refusal> refusal_of(const Observation& seen) {
  const v1::EtcdCluster& cluster = seen.cluster;
  std::vector<std::string> missing;
  // An older CRD may have accepted it; the cluster would never reach it.
  if (cluster.spec.replicas < 0 || cluster.spec.replicas > kReplicasMax)
    missing.push_back("replicas: " + std::to_string(cluster.spec.replicas) + " (0 to " +
                      std::to_string(kReplicasMax) + ")");
  if (cluster.spec.replicas == 0 && cluster.spec.storage.medium == v1::Medium::Memory)
    missing.push_back("replicas: 0 with storage.medium Memory, which would lose the data");
  if (restores_into_memory(cluster))
    missing.emplace_back("bootstrap.restore with storage.medium Memory");
  if (!missing.empty())
    return Refusal{v1::kNotImplemented, "this release does not implement " + joined(missing) +
                                            ", remove it from the spec"};
  if (std::string why = why_not_version(seen); !why.empty())
    return Refusal{v1::kUnsupportedVersion, std::move(why)};
  if (auto tls = refusal_of_tls(cluster.spec)) return tls;
  if (std::string why = why_not_tls(seen); !why.empty())
    return Refusal{v1::kMembersFound, std::move(why)};
  return refusal_of_shape(seen);
}

bool refuses(std::string_view reason) {
  return reason == v1::kNotImplemented || reason == v1::kUnsupportedVersion ||
         reason == v1::kCertificateMissing || reason == v1::kUnsupportedFlag ||
         reason == v1::kPodTemplateConflict || reason == v1::kVolumesFound ||
         reason == v1::kMembersFound;
}

bool has_new_template(const v1::EtcdCluster& cluster) {
  const auto& observed = cluster.status.observed;
  return cluster.spec.pod_template &&
         (!observed || observed->pod_template != cluster.spec.pod_template);
}

std::string outdated_spec(const Observation& seen) {
  const auto& added = seen.cluster.spec.pod_template;
  const auto& adopted = seen.cluster.status.observed;
  std::string why = added ? why_not_new(*added, seen) : "";
  if (!why.empty()) why = "spec." + why + ", before podTemplate is edited again";
  else if (adopted && !(why = why_too_large(*adopted)).empty()) why = "spec." + why;
  std::string out = outdated_version(seen);
  if (!out.empty() && !why.empty()) out += "; ";
  return out + why;
}

std::string towards(const v1::ObservedSpec& target) {
  return "working towards " + std::to_string(target.replicas) + " members of etcd " +
         target.version;
}

std::string template_of(const v1::MemberTemplate& made_as) {
  v1::ObservedSpec common;
  static_cast<v1::MemberTemplate&>(common) = plain(made_as);
  return etcd::to_hex(fnv1a(serialize(api::encode(common))));
}

std::string own_token(const api::ObjectMeta& cluster) {
  return cluster.ns + "-" + cluster.name + "-" + cluster.uid;
}

void adopt_spec(const Observation& seen, v1::EtcdClusterStatus& status) {
  const auto& spec = seen.cluster.spec;
  const auto& meta = seen.cluster.metadata;
  v1::ObservedSpec target;
  static_cast<v1::MemberTemplate&>(target) = spec;
  target.replicas = spec.replicas;
  const bool first = !status.observed || status.cluster_token.empty();
  if (!first && plain(*status.observed) == plain(target)) return;

  const api::Condition* before = runtime::find_condition(status.conditions, v1::kProgressing);
  const bool after_deadline =
      before && (before->reason == v1::kDeadlineExceeded || before->reason == v1::kBootstrapFailed);
  if (status.cluster_token.empty()) status.cluster_token = own_token(meta);
  status.observed = target;
  status.progress_deadline =
      to_rfc3339(seen.now + std::chrono::seconds(spec.progress_deadline_seconds));
  const char* reason = first            ? v1::kInitialSnapshot
                       : after_deadline ? v1::kRetryAfterDeadline
                                        : v1::kSpecChanged;
  runtime::set_condition(status.conditions, {v1::kProgressing, "True", reason, towards(target)},
                         meta.generation, seen.now);
}

}  // namespace etcdop::cluster
