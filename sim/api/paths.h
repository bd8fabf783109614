// Values at a path of an object, as controllers of a simulated cluster read them.
#pragma once
#include <initializer_list>
#include <string>

#include "base/json.h"

namespace etcdop::sim {

/// Null: nothing stands there.
inline const Json* at(const Json& object, std::initializer_list<const char*> path) {
  const Json* here = &object;
  for (const char* key : path) {
    const json::object* const fields = here->if_object();
    here = fields ? fields->if_contains(key) : nullptr;
    if (!here) return nullptr;
  }
  return here;
}

/// Empty: no text stands there.
inline std::string text_at(const Json& object, std::initializer_list<const char*> path) {
  const Json* const found = at(object, path);
  return found && found->is_string() ? std::string(found->as_string()) : "";
}

inline std::string uid_of(const Json& object) { return text_at(object, {"metadata", "uid"}); }

/// Its containers have ended, and none starts again.
inline bool pod_has_ended(const Json& pod) {
  const std::string phase = text_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

/// Empty: no list stands there.
inline json::array list_at(const Json& object, std::initializer_list<const char*> path) {
  const Json* const found = at(object, path);
  return found && found->is_array() ? found->as_array() : json::array();
}

}  // namespace etcdop::sim
