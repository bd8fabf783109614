#include "kube/typed.h"

namespace etcdop::kube {

bool is_kept(const Json& deleted, const char* kind) {
  const json::object* const object = deleted.if_object();
  const Json* const is = object ? object->if_contains("kind") : nullptr;
  const Json* const metadata = object ? object->if_contains("metadata") : nullptr;
  if (!is || *is != kind || !metadata || !metadata->is_object()) return false;
  const json::object& about = metadata->get_object();
  if (!about.contains("deletionTimestamp")) return false;  // The deletion waits for nothing.
  const Json* const finalizers = about.if_contains("finalizers");
  if (finalizers && finalizers->is_array() && !finalizers->get_array().empty()) return true;
  const Json* const grace = about.if_contains("deletionGracePeriodSeconds");
  return grace && grace->is_int64() && grace->get_int64() > 0;
}

}  // namespace etcdop::kube
