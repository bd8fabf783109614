// Parts of objects, as admission reads and changes them.
#pragma once
#include <string>

#include "api/v1alpha2/names.h"
#include "base/json.h"

namespace etcdop::sim {

/// The cluster that an object is labelled with; empty: none.
inline std::string cluster_of(const json::object& object) {
  const Json* const labels = object.at("metadata").as_object().if_contains("labels");
  const Json* const cluster =
      labels ? labels->as_object().if_contains(api::v1alpha2::kClusterLabel) : nullptr;
  return cluster ? std::string(cluster->as_string()) : "";
}

/// The object at that key, which is made if it is missing.
inline json::object& part(json::object& of, const char* key) {
  Json& found = of[key];
  if (!found.is_object()) found = json::object();
  return found.as_object();
}

}  // namespace etcdop::sim
