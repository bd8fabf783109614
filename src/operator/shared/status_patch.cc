#include "operator/shared/status_patch.h"

namespace etcdop {

json::object status_patch(const Json& before, const Json& after) {
  json::object out;
  for (const auto& [key, value] : after.as_object()) {
    const Json* old = before.as_object().if_contains(key);
    if (!old || *old != value) out[key] = value;
  }
  for (const auto& [key, value] : before.as_object())
    if (!after.as_object().contains(key)) out[key] = nullptr;
  return out;
}

}  // namespace etcdop
