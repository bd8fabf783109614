// What users add to the members' Pods: flags of etcd and a template; whether they may, and how it
// is merged. Pure.
#pragma once
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

/// Merges a template that why_not_template() has nothing against into a Pod's manifest, as a
/// strategic merge patch: objects by field, lists of named things by their key, other lists as a
/// whole, a volume as a whole, null removes.
void merge_template(json::object& pod, const api::v1alpha2::PodTemplate& added);

}  // namespace etcdop
