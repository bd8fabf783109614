// Quotas, policies and webhooks: they let a write in, change it or refuse it.
#include <algorithm>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "base/fnv.h"
#include "kube/core_types.h"
#include "sim/api/objects.h"
#include "sim/api/paths.h"
#include "sim/world/parts.h"
#include "sim/world/world.h"

namespace etcdop::sim {

namespace v1 = api::v1alpha2;

namespace {

constexpr const char* kLatePolicy = "late-policy.example.com";

/// As service meshes do: a container before or after the others, a volume, a label, an annotation.
void add_sidecar(json::object& pod) {
  json::object& metadata = part(pod, "metadata");
  const std::string name(metadata.at("name").as_string());
  json::object& spec = part(pod, "spec");
  json::array& containers = spec.at("containers").as_array();
  const json::object proxy{{"name", Nodes::kSidecar}, {"image", "mesh.example.com/proxy:v1"}};
  containers.insert(fnv1a(name) % 2 == 0 ? containers.begin() : containers.end(), proxy);
  Json& volumes = spec["volumes"];
  if (!volumes.is_array()) volumes = json::array();
  volumes.as_array().push_back({{"name", "mesh"}, {"emptyDir", json::object()}});
  spec["tolerations"] = json::array{{{"key", "mesh"}, {"operator", "Exists"}}};
  spec["serviceAccountName"] = "default";
  part(metadata, "annotations")["mesh.example.com/injected"] = "true";
}

/// Fields that the API server or admission fills in on objects of the kinds that we make.
void add_defaults(const api::Resource& r, json::object& object) {
  part(part(object, "metadata"), "labels")["policy.example.com/checked"] = "true";
  json::object& spec = part(object, "spec");
  if (r == kube::Service::resource) {
    spec["sessionAffinity"] = "None";
    spec["ipFamilyPolicy"] = "SingleStack";
    spec["internalTrafficPolicy"] = "Cluster";
    part(part(object, "metadata"), "annotations")["policy.example.com/mesh"] = "on";
  } else if (r == kube::PersistentVolumeClaim::resource) {
    if (!spec.contains("storageClassName")) spec["storageClassName"] = "standard";
    spec["volumeMode"] = "Filesystem";
  } else if (r == kube::PodDisruptionBudget::resource) {
    spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow";
  }
}

/// Whether a Pod of a cluster counts in a quota: not once it has ended, nor once its kubelet should
/// have ended it twice over, as that of a lost node.
bool counts(const Json& pod, WallTime now) {
  if (cluster_of(pod.as_object()).empty() || pod_has_ended(pod)) return false;
  const auto until = from_rfc3339(text_at(pod, {"metadata", "deletionTimestamp"}));
  const Json* const grace = at(pod, {"metadata", "deletionGracePeriodSeconds"});
  return !until || !grace || now - *until <= std::chrono::seconds(grace->to_number<std::int64_t>());
}

}  // namespace

/// Before an object is stored for the first time.
void World::admit(const api::Resource& r, json::object& object) const {
  if (!faults_.has(Fault::Sidecars)) return;
  if (object.at("metadata").as_object().contains("resourceVersion")) return;  // It is stored.
  if (cluster_of(object).empty()) return;
  if (r == kube::Pod::resource) add_sidecar(object);
  else add_defaults(r, object);
}

/// Whether a new object of that kind is let in.
Result<Done> World::let_in(const api::Resource& r, const Json& object) {
  auto answer = judge_new(r, object);
  const std::string cluster = cluster_of(object.as_object());
  // No kubelet has the Pod now, and the newest refusal is told until the next try (seed 1778).
  if (!answer && r == kube::Pod::resource && !cluster.empty())
    oracles_.unblocked({key_of(object).ns, cluster}, Nodes::kRefusal);
  return answer;
}

Result<Done> World::judge_new(const api::Resource& r, const Json& object) {
  if (time_.now() < quota_until_)
    return Error{Code::Denied, "exceeded quota: nothing, requested: 1, used: 0, limited: 0"};
  if (late_for_ != r.plural) return r == kube::Pod::resource ? within_pods(object) : Done{};
  if (const std::string cluster = cluster_of(object.as_object()); !cluster.empty())
    oracles_.blocked({key_of(object).ns, cluster}, kLatePolicy, [this, r, key = key_of(object)] {
      return late_for_ == r.plural && lacks(r, key);
    });
  return Error{Code::Denied, std::string("admission webhook \"") + kLatePolicy +
                                 "\" denied the request: no new " + r.plural};
}

/// A quota that somebody set to what the clusters of a namespace need, and not one Pod more: those
/// that they ask for, and all voters while there are more. Users raise it if that is all that keeps
/// etcd from a quorum. A Pod counts until it is gone, or ended, or should be gone.
/// Source: pkg/quota/v1/evaluator/core/pods.go.
Result<Done> World::within_pods(const Json& pod) const {
  if (!faults_.has(Fault::ExactQuota)) return Done{};
  const std::string ns(pod.at("metadata").at("namespace").as_string());
  std::int32_t most = more_pods_, used = 0;
  for (const auto& cluster : server_.read_all<v1::EtcdCluster>()) {
    if (cluster->metadata.ns != ns) continue;
    const auto etcds = net_.membership(etcd_of(cluster->metadata.key()));
    const auto voters = std::ranges::count(etcds, false, &EtcdNet::Member::learner);
    most += std::max(cluster->spec.replicas, static_cast<std::int32_t>(voters));
  }
  for (const auto& one : server_.look_all(kube::Pod::resource))
    used += key_of(*one).ns == ns && counts(*one, date_.wall_now());
  if (cluster_of(pod.as_object()).empty() || used < most) return Done{};
  const std::string limit = "pods=" + std::to_string(most);
  return Error{Code::Denied, std::string(kQuota) + "requested: pods=1, used: pods=" +
                                 std::to_string(used) + ", limited: " + limit};
}

/// A webhook that must agree to each new object of one kind.
std::optional<Duration> World::webhook(const kube::Call& call) {
  const bool down = time_.now() < webhook_until_ && call.verb == kube::Verb::Create &&
                    call.subresource.empty() && call.resource.plural == webhook_for_;
  if (!down) return std::nullopt;
  if (const std::string cluster = cluster_of(call.body.as_object()); !cluster.empty())
    oracles_.blocked({call.ns, cluster}, "webhook",
                     [this, resource = call.resource, key = key_of(call.body)] {
                       return time_.now() < webhook_until_ && webhook_for_ == resource.plural &&
                              lacks(resource, key);
                     });
  return webhook_takes_;
}

/// Whether an object that an operator could not create is still to be made.
bool World::lacks(const api::Resource& r, const api::ObjectKey& key) const {
  if (server_.look(r, key)) return false;
  if (r == kube::Service::resource) return true;
  if (r == v1::EtcdMember::resource)
    return std::ranges::any_of(server_.read_all<v1::EtcdCluster>(), [&](const auto& cluster) {
      return std::ranges::count(cluster->status.pending_members, key.name,
                                &v1::PendingMember::name) > 0;
    });
  const bool volume = r == kube::PersistentVolumeClaim::resource;
  const auto member = read<v1::EtcdMember>({key.ns, volume ? key.name.substr(5) : key.name});
  return member && !member->metadata.terminating() && !member->spec.dormant;
}

}  // namespace etcdop::sim
