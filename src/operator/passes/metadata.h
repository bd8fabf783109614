// Of the metadata of what we make: whose it is, and what a user asked for. Pure.
#pragma once
#include <optional>

#include "api/meta.h"
#include "api/v1alpha2/common.h"
#include "base/json.h"

namespace etcdop {

/// Adds them to the `metadata` of a manifest. What is there already stays as it is, and so do the
/// keys under our own prefix: nobody says so of something that it is not.
void add_metadata(json::object& metadata,
                  const std::optional<api::v1alpha2::AdditionalMetadata>& additional);

/// `metadata.ownerReferences` of what its controller makes for an object: it goes with that.
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
