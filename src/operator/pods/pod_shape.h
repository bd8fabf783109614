// The parts that all Pods of a cluster have in common; and additions by users to the members' Pods,
// etcd flags and a template: which ones are allowed, and how they are merged. Pure.
#pragma once
#include <cstddef>
#include <string>

#include "api/v1alpha2/shape.h"
#include "base/json.h"

namespace etcdop {

/// The labels of all that belongs to a cluster.
json::object cluster_labels(const std::string& cluster);

/// The securityContext of a Pod that the Pod Security Standard `restricted` admits.
json::object pod_security();

/// The same for a container.
json::object container_security();

/// Why an etcd of that version does not take these flags, naming the first one; empty: it does.
/// Does not judge an invalid version.
std::string why_not_flags(const std::string& version, const api::v1alpha2::ExtraArgs& flags);

/// The path of the first part of the template that a user may not set, and why; empty: none.
std::string why_not_template(const api::v1alpha2::PodTemplate& added);

/// Bounds of a new template. A Pod that uses every field of Kubernetes is 12 levels deep.
inline constexpr std::size_t kTemplateDepthMax = 20, kTemplateBytesMax = 32 << 10;

/// The same for a template that no member has yet. It also must not be too deep or too large, nor
/// have two elements with one key in a list. Templates that earlier releases accepted are not
/// checked for this, so that the operator can still repair their members.
std::string why_not_new_template(const api::v1alpha2::PodTemplate& added);

/// Merges a template into a Pod's manifest, as a strategic merge patch: objects by field; the keyed
/// lists of a PodSpec and of its containers by key; other lists, and each volume, as a whole; null
/// removes. Never throws, whatever the template contains.
void merge_template(json::object& pod, const api::v1alpha2::PodTemplate& added);

}  // namespace etcdop
