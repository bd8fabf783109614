// The metadata of created objects: the owner, and the user's labels and annotations. Pure.
#pragma once
#include <optional>
#include <string>

#include "api/meta.h"
#include "api/v1alpha2/common.h"
#include "api/v1alpha2/names.h"
#include "base/json.h"

namespace etcdop {

/// Adds them to the `metadata` of a manifest. Existing keys stay. Keys under our own prefix are not
/// added: a user must not mark an object as something that it is not.
void add_metadata(json::object& metadata,
                  const std::optional<api::v1alpha2::AdditionalMetadata>& additional);

/// `metadata.ownerReferences` of an object that a controller creates: it is deleted with its owner.
template <class T>
json::array owned_by_controller(const T& owner) {
  return {json::object{{"apiVersion", api::api_version(T::resource)},
                       {"kind", T::resource.kind},
                       {"name", owner.metadata.name},
                       {"uid", owner.metadata.uid},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}};
}

/// Empty: it has no such label.
inline std::string label_of(const api::ObjectMeta& metadata, const char* key) {
  const auto found = metadata.labels.find(key);
  return found == metadata.labels.end() ? "" : found->second;
}

/// The label selector of all objects of that cluster.
inline std::string selector_of(const std::string& cluster) {
  return std::string(api::v1alpha2::kClusterLabel) + "=" + cluster;
}

}  // namespace etcdop
