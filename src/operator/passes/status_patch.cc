#include "operator/passes/status_patch.h"

namespace etcdop {

json::object status_patch(const Json& before, const Json& after) {
  json::object out;
  for (const auto& [key, value] : after.as_object()) {
    const Json* old = before.as_object().if_contains(key);
    if (old && *old == value) continue;
    // A server merges objects key by key (RFC 7386): a key that is not named stays.
    if (old && old->is_object() && value.is_object()) out[key] = status_patch(*old, value);
    else out[key] = value;
  }
  for (const auto& [key, value] : before.as_object())
    if (!after.as_object().contains(key)) out[key] = nullptr;
  return out;
}

}  // namespace etcdop
