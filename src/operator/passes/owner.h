// The owner of an object: by UID, never by name. Pure.
#pragma once
#include <algorithm>
#include <string>

#include "api/meta.h"

namespace etcdop {

/// Whether the object of that UID is among the owners of `child`.
inline bool is_ours(const api::ObjectMeta& child, const std::string& owner_uid) {
  return std::ranges::find(child.owner_references, owner_uid, &api::OwnerReference::uid) !=
         child.owner_references.end();
}

}  // namespace etcdop
