#include "operator/agents/agent_pod.h"

#include <string_view>
#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/agents/snapshot_env.h"
#include "operator/pods/pod_shape.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;

constexpr auto kOrdinaryWait = 60s;  // Usual time to pull images and attach volumes.

constexpr const char* kVolume = "snapshot-data";
constexpr const char* kAuthorityVolume = "store-ca";
constexpr const char* kKeysVolume = "snapshot-keys";

void add_text(json::object& out, const char* name, const std::string& value) {
  if (!value.empty()) out[name] = value;
}

void add_as_it_is(json::object& out, const char* name, const std::optional<Json>& value) {
  if (value) out[name] = *value;
}

/// Replaces our resources: if a user sets only a limit, Kubernetes requests as much.
void set_resources(json::object& pod, const Json& resources) {
  for (const char* list : {"initContainers", "containers"})
    if (Json* containers = pod.if_contains(list))
      for (Json& one : containers->as_array()) one.as_object()["resources"] = resources;
}

/// Why the Pod's agent has not started; empty: it has, or is about to.
std::string waits_for(const kube::Pod& pod, const char* container) {
  const kube::PodCondition* scheduled = pod.condition("PodScheduled");
  if (scheduled && scheduled->status == "False" && scheduled->reason == "Unschedulable")
    return "no node can run it: " + scheduled->message;
  if (pod.spec.node_name.empty()) return "no node is assigned to it yet";
  const kube::ContainerStatus* agent = pod.container(container);
  if (!agent || !agent->state.waiting) return "";
  const kube::ContainerWaiting& waiting = *agent->state.waiting;
  if (waiting.reason == "ErrImagePull" || waiting.reason == "ImagePullBackOff" ||
      waiting.reason == "InvalidImageName")
    return container == std::string_view(v1::kAgentContainer)
               ? "the operator's image cannot be pulled"
               : "the image of etcd, spec.version, cannot be pulled";
  if (waiting.reason == "CreateContainerConfigError" || waiting.reason == "CreateContainerError")
    return "its container cannot be created: " + waiting.message;
  return "its container is not created yet: check that each Secret and PersistentVolumeClaim of "
         "the snapshot and its cluster exists, and see kubectl describe pod";
}

bool is_old(const std::string& created, WallTime now) {
  const auto since = from_rfc3339(created);
  return since && now - *since >= kOrdinaryWait;
}

}  // namespace

void AgentMounts::add(const char* volume, const char* kind, json::object source, const char* folder,
                      bool read_only) {
  json::object made{{"name", volume}};
  made[kind] = std::move(source);
  volumes.emplace_back(std::move(made));
  json::object mount{{"name", volume}, {"mountPath", folder}};
  if (read_only) mount["readOnly"] = true;
  mounts.emplace_back(std::move(mount));
}

void AgentMounts::add_secret(const char* volume, const std::string& secret,
                             std::initializer_list<const char*> keys, const char* folder) {
  if (secret.empty()) return;
  json::object source{{"secretName", secret}};
  json::array items;
  for (const char* key : keys) items.push_back(json::object{{"key", key}, {"path", key}});
  if (!items.empty()) source["items"] = std::move(items);
  add(volume, "secret", std::move(source), folder, true);
}

void add_store_secrets(AgentMounts& mounted, const v1::SnapshotLocation& where) {
  mounted.add_secret(kAuthorityVolume, authority_secret_of(where), {kStoreAuthorityKey},
                     kStoreAuthorityFolder);
  mounted.add_secret(kKeysVolume, keys_secret_of(where), {}, kSnapshotKeysFolder);
}

void add_destination(json::array& env, AgentMounts& mounted, const v1::SnapshotLocation& to) {
  add_location(env, to, kStoredFolder);
  add_store_secrets(mounted, to);
  if (!to.pvc) return;
  mounted.add(kVolume, "persistentVolumeClaim", {{"claimName", to.pvc->claim_name}}, kStoredFolder,
              false);
}

json::object agent_container(const char* name, const char* command, const std::string& image,
                             json::array env, json::array mounts) {
  json::object out{
      {"name", name},
      {"image", image},
      {"command", json::array{"/manager", command}},
      {"env", std::move(env)},
      // After a crash: its last log lines.
      {"terminationMessagePolicy", "FallbackToLogsOnError"},
      {"resources",
       {{"requests", {{"cpu", "50m"}, {"memory", "64Mi"}}}, {"limits", {{"memory", "256Mi"}}}}},
      {"securityContext", container_security()}};
  if (!mounts.empty()) out["volumeMounts"] = std::move(mounts);
  return out;
}

json::object agent_pod(json::object container, json::array volumes,
                       const std::optional<v1::EtcdCluster>& cluster) {
  json::object out{{"restartPolicy", "Never"},
                   {"automountServiceAccountToken", false},
                   {"securityContext", pod_security()},
                   {"containers", json::array{std::move(container)}}};
  if (!volumes.empty()) out["volumes"] = std::move(volumes);
  json::array pulled_with;
  if (cluster)
    for (const v1::LocalObjectReference& secret : cluster->spec.image_pull_secrets)
      pulled_with.push_back(json::object{{"name", secret.name}});
  if (!pulled_with.empty()) out["imagePullSecrets"] = std::move(pulled_with);
  return out;
}

void place_agents(json::object& pod, const std::optional<v1::AgentPodSpec>& as) {
  if (!as) return;
  if (as->resources) set_resources(pod, *as->resources);
  if (!as->node_selector.empty()) {
    json::object& labels = pod["nodeSelector"].emplace_object();
    for (const auto& [name, value] : as->node_selector) labels[name] = value;
  }
  add_as_it_is(pod, "affinity", as->affinity);
  add_as_it_is(pod, "tolerations", as->tolerations);
  add_text(pod, "priorityClassName", as->priority_class_name);
  add_text(pod, "serviceAccountName", as->service_account_name);
}

json::object agent_failure_policy(const char* container) {
  return {{"rules", json::array{{{"action", "FailJob"},
                                 {"onExitCodes",
                                  {{"containerName", container},
                                   {"operator", "In"},
                                   {"values", json::array{kAgentExitForGood}}}}},
                                {{"action", "Ignore"},
                                 {"onPodConditions", json::array{{{"type", "DisruptionTarget"},
                                                                  {"status", "True"}}}}}}}};
}

const kube::Pod* newest(const std::vector<kube::Pod>& pods) {
  const kube::Pod* out = nullptr;
  for (const kube::Pod& pod : pods)
    if (!out || pod.metadata.creation_timestamp > out->metadata.creation_timestamp) out = &pod;
  return out;
}

const kube::ContainerTerminated* end_of(const kube::Pod& pod, const char* container) {
  const kube::ContainerStatus* agent = pod.container(container);
  return agent && agent->state.terminated ? &*agent->state.terminated : nullptr;
}

const kube::Pod* last_ended(const std::vector<kube::Pod>& pods, const char* container) {
  const kube::Pod* out = nullptr;
  for (const kube::Pod& pod : pods)
    if (end_of(pod, container) &&
        (!out || pod.metadata.creation_timestamp > out->metadata.creation_timestamp))
      out = &pod;
  return out;
}

std::string ended_without_report(const kube::Pod& pod, const kube::ContainerTerminated& end) {
  return "the agent in Pod " + pod.metadata.name +
         (end.reason == "OOMKilled"
              ? " was killed because it ran out of memory"
              : " ended with exit code " + std::to_string(end.exit_code) + " without a report");
}

std::string waiting(const std::vector<kube::Pod>& pods, const char* container, WallTime now) {
  const kube::Pod* pod = newest(pods);
  if (!pod || pod->status.phase != "Pending" || !is_old(pod->metadata.creation_timestamp, now))
    return "";
  const std::string why = waits_for(*pod, container);
  return why.empty() ? "" : "Pod " + pod->metadata.name + " waits: " + why;
}

}  // namespace etcdop
