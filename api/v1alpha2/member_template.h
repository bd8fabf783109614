// The template of a member: the fields that pass from an EtcdCluster's spec through its
// status.observed to each EtcdMember. A new field is added here, once.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/describe.h"
#include "api/v1alpha2/common.h"
#include "api/v1alpha2/shape.h"

namespace etcdop::api::v1alpha2 {

/// Where the fields stand. A status has no rules: one that was valid once can still be written.
enum class TemplateOf { Cluster, Status, Member };

struct MemberTemplate {
  std::string version;
  StorageSpec storage;
  std::optional<EtcdOptions> options;
  std::optional<AdditionalMetadata> additional_metadata;
  std::optional<Json> resources;                    ///< core/v1 ResourceRequirements
  std::optional<Json> affinity;                     ///< core/v1 Affinity
  std::optional<Json> topology_spread_constraints;  ///< list of core/v1 TopologySpreadConstraint
  std::vector<LocalObjectReference> image_pull_secrets;
  NodeSelector node_selector;
  std::optional<Json> tolerations;  ///< list of core/v1 Toleration
  std::string priority_class_name;
  ExtraArgs extra_args;
  std::optional<PodTemplate> pod_template;
  bool operator==(const MemberTemplate&) const = default;

  template <class S = MemberTemplate>
  static auto fields(TemplateOf where) {
    const bool checked = where != TemplateOf::Status;
    auto storage = required("storage", &S::storage, "");
    if (where == TemplateOf::Cluster) storage.presence = Presence::Defaulted;
    return Fields{
        required("version", &S::version, "Version of etcd, such as 3.6.16.",
                 checked ? json::object{{"pattern", kVersionPattern}} : json::object{}),
        std::move(storage),
        optional("options", &S::options, ""),
        optional("additionalMetadata", &S::additional_metadata, ""),
        optional("resources", &S::resources, "Resources of each member's etcd container.",
                 core("ResourceRequirements")),
        optional("affinity", &S::affinity,
                 "Affinity of the members' Pods. If neither this nor topologySpreadConstraints "
                 "is set, new Pods prefer nodes and zones without another member; {} turns that "
                 "off.",
                 core("Affinity")),
        optional("topologySpreadConstraints", &S::topology_spread_constraints,
                 "How the members' Pods are spread over nodes and zones.",
                 list_of_core("TopologySpreadConstraint")),
        sparse("imagePullSecrets", &S::image_pull_secrets, "Secrets to pull etcd's image with."),
        sparse("nodeSelector", &S::node_selector,
               "Labels of the nodes that may run the members' Pods.", atomic_map()),
        optional("tolerations", &S::tolerations, "Taints that the members' Pods tolerate.",
                 list_of_core("Toleration")),
        sparse("priorityClassName", &S::priority_class_name, "PriorityClass of the members' Pods."),
        sparse("extraArgs", &S::extra_args,
               "More flags of etcd, without the leading dashes: {max-request-bytes: "
               "\"4194304\"}. Only flags that etcd of spec.version knows and that the operator "
               "does not set.",
               checked ? v1alpha2::extra_args() : json::object{}),
        optional("podTemplate", &S::pod_template, "")};
  }
};

}  // namespace etcdop::api::v1alpha2
