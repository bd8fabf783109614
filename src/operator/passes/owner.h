// Whose an object is: by UID, never by name. Pure.
#pragma once
#include <string>

#include "api/meta.h"

namespace etcdop {

/// Whether the object of that UID controls `child`, as metav1.IsControlledBy decides it.
inline bool is_ours(const api::ObjectMeta& child, const std::string& owner_uid) {
  const api::OwnerReference* owner = child.controller();
  return owner && owner->uid == owner_uid;
}

}  // namespace etcdop
