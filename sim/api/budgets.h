// Pod and budget fields that evictions and the PodDisruptionBudget controller read.
#pragma once
#include <string>

#include "sim/api/objects.h"

namespace etcdop::sim {

inline constexpr api::Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr api::Resource kBudgets{"policy", "v1", "poddisruptionbudgets",
                                        "PodDisruptionBudget"};

/// The number in a field; `otherwise` if absent.
inline std::int64_t whole(const Json* object, const char* field, std::int64_t otherwise) {
  const Json* const value = object ? object->as_object().if_contains(field) : nullptr;
  return value && value->is_number() ? value->to_number<std::int64_t>() : otherwise;
}

/// UID of the controlling owner; "" if none.
inline std::string controller_of(const Json& object) {
  if (const Json* owners = meta(object).if_contains("ownerReferences"))
    for (const Json& owner : owners->as_array())
      if (const Json* is = owner.as_object().if_contains("controller"); is && *is == true)
        return text_at(owner.as_object(), "uid");
  return "";
}

inline bool pod_is_ready(const Json& pod) {
  const Json* const status = pod.as_object().if_contains("status");
  const Json* const all = status ? status->as_object().if_contains("conditions") : nullptr;
  if (all)
    for (const Json& one : all->as_array())
      if (text_at(one.as_object(), "type") == "Ready")
        return text_at(one.as_object(), "status") == "True";
  return false;
}

/// By spec.selector.matchLabels; without any, all Pods. matchExpressions are not modelled.
inline bool budget_selects(const Json& budget, const Json& pod) {
  const json::object& selector = budget.at("spec").at("selector").as_object();
  const Json* const wanted = selector.if_contains("matchLabels");
  const Json* const labels = meta(pod).if_contains("labels");
  if (!wanted) return true;
  for (const auto& [key, value] : wanted->as_object())
    if (!labels || text_at(labels->as_object(), key) != std::string_view(value.as_string()))
      return false;
  return true;
}

/// The first part of a budget's spec that is not modelled; "" if none.
inline std::string not_modelled(const Json& budget) {
  const Json* const spec = budget.as_object().if_contains("spec");
  if (!spec || !spec->is_object() || !spec->as_object().contains("selector"))
    return "a budget without a selector";
  for (const auto& [field, value] : spec->as_object())
    if (field != "selector" && field != "unhealthyPodEvictionPolicy" &&
        !((field == "minAvailable" || field == "maxUnavailable") && value.is_int64()))
      return "a budget's " + std::string(field) + ": " + json::serialize(value);
  const json::object& selector = spec->at("selector").as_object();
  return selector.contains("matchExpressions") ? "a budget's matchExpressions" : "";
}

}  // namespace etcdop::sim
