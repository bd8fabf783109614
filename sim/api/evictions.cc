// Evicts Pods as far as their budgets allow.
#include "sim/api/budgets.h"
#include "sim/api/objects.h"
#include "sim/api/server.h"

namespace etcdop::sim {

using kube::Call;

namespace {

Error would_violate() {
  return {Code::Unavailable, "Cannot evict pod as it would violate the pod's disruption budget."};
}

/// Budgets do not protect Pods that do not run yet or that have ended.
bool ignores_budgets(const Json& pod) {
  const Json* const status = pod.as_object().if_contains("status");
  const std::string phase = status ? text_at(status->as_object(), "phase") : "";
  return terminating(pod) || phase == "Succeeded" || phase == "Failed" || phase == "Pending";
}

/// Sets the Pod's DisruptionTarget condition.
void say_why(json::object& pod, const std::string& now) {
  Json& status = pod["status"];
  if (!status.is_object()) status = json::object();
  Json& conditions = status.as_object()["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  json::object why{{"type", "DisruptionTarget"},
                   {"status", "True"},
                   {"reason", "EvictionByEvictionAPI"},
                   {"message", "Eviction API: evicting"},
                   {"lastTransitionTime", now}};
  for (Json& one : conditions.as_array())
    if (text_at(one.as_object(), "type") == "DisruptionTarget") {
      if (text_at(one.as_object(), "status") != "True") one = std::move(why);
      return;
    }
  conditions.as_array().push_back(std::move(why));
}

Json success() {
  return {{"apiVersion", "v1"},
          {"kind", "Status"},
          {"metadata", json::object()},
          {"status", "Success"},
          {"code", 201}};
}

}  // namespace

/// Whether the budget allows the eviction; if so, counts it.
Result<Done> ApiServer::spend(const ObjectKey& key, const std::string& pod) {
  const Json budget = *look(kBudgets, key);
  const Json* const status = budget.as_object().if_contains("status");
  if (whole(status, "observedGeneration", 0) < whole(&budget.at("metadata"), "generation", 0))
    return would_violate();
  const std::int64_t allowed = whole(status, "disruptionsAllowed", 0);
  if (allowed <= 0) return would_violate();
  (void)change(kBudgets, key, [&](json::object& object) {
    json::object& counted = object["status"].as_object();
    counted["disruptionsAllowed"] = allowed - 1;
    Json& disrupted = counted["disruptedPods"];
    if (!disrupted.is_object()) disrupted = json::object();
    disrupted.as_object()[pod] = now();
  });
  return Done{};
}

Result<Json> ApiServer::evict(const Call& call, Kind& kind) {
  const ObjectKey key{call.ns, call.name};
  const auto* const body = call.body.if_object();
  const Json* const metadata = body ? body->if_contains("metadata") : nullptr;
  if (!metadata || text_at(metadata->as_object(), "name") != call.name)
    return Error{Code::Invalid, "name in URL does not match name in Eviction object"};
  const auto found = kind.objects.find(key);
  if (found == kind.objects.end()) return not_found(call.resource, call.name);
  const Json& pod = *found->second;
  if (!ignores_budgets(pod))
    if (auto allowed = allowed_by_budgets(pod); !allowed) return allowed.error();
  (void)change(kPods, key, [&](json::object& object) { say_why(object, now()); });
  Call end = call;
  end.verb = kube::Verb::Delete;
  end.subresource.clear();
  const Json* const options = body->if_contains("deleteOptions");
  end.body = options ? *options : Json();
  auto gone = remove(end, kind);
  return gone ? Result<Json>(success()) : gone;
}

Result<Done> ApiServer::allowed_by_budgets(const Json& pod) {
  std::vector<Object> budgets;
  if (kinds_.contains("policy/v1/poddisruptionbudgets"))
    for (const Object& budget : look_all(kBudgets))
      if (text_at(meta(*budget), "namespace") == text_at(meta(pod), "namespace") &&
          budget_selects(*budget, pod))
        budgets.push_back(budget);
  if (budgets.empty()) return Done{};
  if (budgets.size() > 1)
    return Error{Code::Lost,
                 "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                 "does not support."};
  const Json& budget = *budgets.front();
  if (!pod_is_ready(pod)) {
    const Json* const status = budget.as_object().if_contains("status");
    const std::int64_t wanted = whole(status, "desiredHealthy", 0);
    if (text_at(budget.at("spec").as_object(), "unhealthyPodEvictionPolicy") == "AlwaysAllow" ||
        (wanted > 0 && whole(status, "currentHealthy", 0) >= wanted))
      return Done{};
  }
  return spend(key_of(budget), text_at(meta(pod), "name"));
}

}  // namespace etcdop::sim
