// The metadata of created objects: the owner, and the user's labels and annotations. Pure.
#pragma once
#include <optional>

#include "api/meta.h"
#include "api/v1alpha2/common.h"
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

}  // namespace etcdop
