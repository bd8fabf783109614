// Users who edit any field of an EtcdCluster but its size and version, to values that work, that no
// node can serve, and that are refused. When the world heals they put all of them back. The fields
// of what the operator makes are its own to set right.
#include <string>
#include <utility>

#include "api/v1alpha2/names.h"
#include "kube/core_types.h"
#include "sim/world/world.h"

namespace etcdop::sim {
namespace {

namespace v1 = api::v1alpha2;

/// A field of spec, and a value as JSON; null takes the field away.
struct Edit {
  const char* field;
  const char* value;
};

constexpr Edit kEdits[] = {
    {"options", R"({"snapshotCount": 5000})"},
    {"options", R"({"quotaBackendBytes": 1073741824})"},
    {"options", "null"},
    {"extraArgs", R"({"max-request-bytes": "4194304"})"},
    {"extraArgs", R"({"no-such-flag": "1"})"},                  // Refused.
    {"extraArgs", R"({"listen-peer-urls": "http://[::]:1"})"},  // The operator sets it.
    {"resources", R"({"requests": {"cpu": "100m"}})"},
    {"resources", R"({"requests": {"cpu": "9"}})"},   // One on each node.
    {"resources", R"({"requests": {"cpu": "64"}})"},  // More than a node has.
    {"resources", "null"},
    {"nodeSelector", R"({"disk": "ssd"})"},  // No node has it.
    {"nodeSelector", "null"},
    {"tolerations", R"([{"key": "dedicated", "operator": "Exists"}])"},
    {"priorityClassName", R"("high")"},
    {"imagePullSecrets", R"([{"name": "registry"}])"},
    {"affinity", "{}"},
    {"affinity", R"({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                     "nodeSelectorTerms": [{"matchExpressions": [
                         {"key": "topology.kubernetes.io/zone", "operator": "NotIn",
                          "values": ["zone-0"]}]}]}}})"},
    {"topologySpreadConstraints", R"([{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                                       "whenUnsatisfiable": "ScheduleAnyway"}])"},
    {"topologySpreadConstraints",
     R"([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
          "whenUnsatisfiable": "DoNotSchedule",
          "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "etcd"}}}])"},
    {"additionalMetadata", R"({"labels": {"team": "a"}, "annotations": {"note": "b"}})"},
    {"podTemplate", R"({"metadata": {"annotations": {"note": "b"}}})"},
    {"podTemplate", R"({"spec": {"terminationGracePeriodSeconds": 5}})"},
    {"podTemplate", R"({"spec": {"hostNetwork": true}})"},                           // Refused.
    {"podTemplate", R"({"spec": {"containers": [{"name": "s"}, {"name": "s"}]}})"},  // Refused.
    {"podTemplate", "null"},
    {"progressDeadlineSeconds", "60"},
    {"progressDeadlineSeconds", "1200"},
};
/// The same of what the operator makes.
struct ChildEdit {
  const api::Resource& kind;
  const char* field;
  const char* value;
};
constexpr ChildEdit kChildEdits[] = {
    {v1::EtcdMember::resource, "dormant", "true"},
    {v1::EtcdMember::resource, "initialCluster", R"("edited")"},
    {kube::Service::resource, "selector", R"({"app": "other"})"},
    {kube::Service::resource, "ports", R"([{"name": "client", "port": 2379, "targetPort": 1}])"},
    {kube::Service::resource, "publishNotReadyAddresses", "false"},
    {kube::PodDisruptionBudget::resource, "minAvailable", "0"},
    {kube::PersistentVolumeClaim::resource, "resources", R"({"requests": {"storage": "3Gi"}})"},
};
constexpr const char* kSizes[] = {"1Gi", "2Gi", "100Mi"};
constexpr const char* kWaits[] = {"1m", "5m", "soon"};

}  // namespace

void World::edit_some_field() {
  const auto key = any_cluster();
  if (!key) return;
  const Edit& edit = kEdits[dice_.below(std::size(kEdits))];
  const char* const size = kSizes[dice_.below(std::size(kSizes))];
  const char* const wait = kWaits[dice_.below(std::size(kWaits))];
  const auto what = dice_.below(8);
  fields_before_.try_emplace(*key,
                             server_.look(v1::EtcdCluster::resource, *key)->at("spec").as_object());
  (void)server_.change(v1::EtcdCluster::resource, *key, [&](json::object& cluster) {
    json::object& spec = cluster.at("spec").as_object();
    if (what == 0) {
      trace_.add("user", "sets the annotation that replaces members of " + to_string(*key) +
                             " that are unreachable for " + wait);
      Json& notes = cluster.at("metadata").as_object()["annotations"];
      if (!notes.is_object()) notes = json::object();
      notes.as_object()[v1::kReplaceUnreachableAnnotation] = wait;
    } else if (what == 1) {
      trace_.add("user", "asks for volumes of " + std::string(size) + " in " + to_string(*key));
      spec.at("storage").as_object()["size"] = size;
    } else {
      trace_.add("user",
                 "edits " + std::string(edit.field) + " of " + to_string(*key) + ": " + edit.value);
      Json value = json::parse(edit.value);
      if (value.is_null()) spec.erase(edit.field);
      else spec[edit.field] = std::move(value);
    }
  });
}

void World::edit_some_child() {
  const ChildEdit& edit = kChildEdits[dice_.below(std::size(kChildEdits))];
  const auto key = any_of(edit.kind);
  if (!key) return;
  trace_.add("user", "edits " + std::string(edit.field) + " of " + edit.kind.kind + " " +
                         to_string(*key) + ": " + edit.value);
  (void)server_.change(edit.kind, *key, [&](json::object& child) {
    child["spec"].as_object()[edit.field] = json::parse(edit.value);
  });
}

/// A cluster that was created again meanwhile keeps what says where its data is.
void World::put_fields_back() {
  for (const auto& [key, before] : std::exchange(fields_before_, {})) {
    if (!server_.look(v1::EtcdCluster::resource, key)) continue;
    trace_.add("user", "puts back the fields of " + to_string(key));
    (void)server_.change(v1::EtcdCluster::resource, key, [&](json::object& cluster) {
      json::object& spec = cluster.at("spec").as_object();
      for (const Edit& edit : kEdits) {
        const Json* const was = before.if_contains(edit.field);
        if (was) spec[edit.field] = *was;
        else spec.erase(edit.field);
      }
      spec.at("storage").as_object()["size"] = before.at("storage").at("size");
      Json* const notes = cluster.at("metadata").as_object().if_contains("annotations");
      if (notes && notes->is_object()) notes->as_object().erase(v1::kReplaceUnreachableAnnotation);
    });
  }
}

}  // namespace etcdop::sim
