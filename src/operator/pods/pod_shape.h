// What users add to the members' Pods: flags of etcd and a template; whether they may, and how it
// is merged. Pure.
#pragma once
#include <cstddef>
#include <string>

#include "api/v1alpha2/shape.h"
#include "base/json.h"

namespace etcdop {

/// Why an etcd of that version cannot have these flags, naming the first of them; empty: it can. Of
/// a version that is none nothing is said here.
std::string why_not_flags(const std::string& version, const api::v1alpha2::ExtraArgs& flags);

/// The first thing in the template that is not the user's to set, by its path, and why; empty:
/// none.
std::string why_not_template(const api::v1alpha2::PodTemplate& added);

/// Bounds of a new template. A Pod that uses every field of Kubernetes is 12 levels deep.
inline constexpr std::size_t kTemplateDepthMax = 20, kTemplateBytesMax = 64 << 10;

/// The same of a template that no member has yet: it also must not be too deep or too large, nor
/// have two elements of one key in a list. Templates that earlier releases took are not asked this,
/// so that their members go on being repaired.
std::string why_not_new_template(const api::v1alpha2::PodTemplate& added);

/// Merges a template into a Pod's manifest, as a strategic merge patch: objects by field, the keyed
/// lists of a PodSpec and of its containers by their keys, other lists as a whole, a volume as a
/// whole, null removes. Never throws, whatever the template is like.
void merge_template(json::object& pod, const api::v1alpha2::PodTemplate& added);

}  // namespace etcdop
