// The effects of Kubernetes' own controllers on objects.
#include <set>
#include <utility>

#include "sim/api/budgets.h"
#include "sim/api/objects.h"
#include "sim/api/server.h"

namespace etcdop::sim {

constexpr std::chrono::minutes kEvictionMax{2};  ///< An evicted Pod must terminate within this.

std::size_t ApiServer::collect_garbage() {
  std::size_t deleted = 0;
  for (bool again = true; std::exchange(again, false);) {
    std::set<std::string> alive;
    for (const auto& [name, of] : kinds_)
      for (const auto& [key, object] : of.objects) alive.insert(text_at(meta(*object), "uid"));
    for (auto& [name, of] : kinds_)
      for (const auto& [key, object] : std::map(of.objects)) {
        const Json* owners = meta(*object).if_contains("ownerReferences");
        const auto lives = [&](const Json& owner) {
          return alive.contains(text_at(owner.as_object(), "uid"));
        };
        if (!owners || terminating(*object) || std::ranges::any_of(owners->as_array(), lives))
          continue;
        (void)begin_end(of, key, false);
        again = true;
        ++deleted;
      }
  }
  return deleted;
}

void ApiServer::finish_namespaces() {
  const auto namespaces = kinds_.find("v1/namespaces");
  if (namespaces == kinds_.end()) return;
  for (const auto& [ns, object] : std::map(namespaces->second.objects)) {
    if (!terminating(*object)) continue;
    bool empty = true;
    for (auto& [name, of] : kinds_)
      for (const auto& [key, content] : std::map(of.objects)) {
        if (key.ns != ns.name) continue;
        if (!terminating(*content)) (void)begin_end(of, key, false);
        empty = empty && !of.objects.contains(key);
      }
    if (empty) commit(namespaces->second, ns, object, nullptr);
  }
}

std::vector<ApiServer::Object> ApiServer::pods_of(const Json& budget) const {
  std::vector<Object> out;
  for (const auto& [key, pod] : kind(kPods).objects)
    if (key.ns == text_at(meta(budget), "namespace") && budget_selects(budget, *pod))
      out.push_back(pod);
  return out;
}

/// Sum of the replicas that the Pods' owners want, by their scale sub-resources. Nullopt: an owner
/// is missing or has no such sub-resource. Pods without an owner do not count.
std::optional<std::int64_t> ApiServer::scale_of(const std::vector<Object>& pods) const {
  std::map<std::string, std::int64_t> scales;
  for (const Object& pod : pods) {
    const std::string uid = controller_of(*pod);
    if (uid.empty() || scales.contains(uid)) continue;
    for (const auto& [name, of] : kinds_)
      for (const auto& [key, object] : of.objects)
        if (of.about.scale && key.ns == text_at(meta(*pod), "namespace") &&
            text_at(meta(*object), "uid") == uid)
          scales[uid] = whole(object->as_object().if_contains("spec"), "replicas", 1);
    if (!scales.contains(uid)) return std::nullopt;
  }
  std::int64_t sum = 0;
  for (const auto& [uid, scale] : scales) sum += scale;
  return sum;
}

/// The status that the disruption controller gives a budget.
Json ApiServer::status_of(const Json& budget) const {
  const std::vector<Object> pods = pods_of(budget);
  const json::object& spec = budget.at("spec").as_object();
  json::object disrupted;
  std::int64_t healthy = 0;
  const Json* const before = budget.as_object().if_contains("status");
  const Json* const evicted = before ? before->as_object().if_contains("disruptedPods") : nullptr;
  for (const Object& pod : pods) {
    if (terminating(*pod)) continue;
    const std::string name = text_at(meta(*pod), "name");
    const Json* const when = evicted ? evicted->as_object().if_contains(name) : nullptr;
    const auto then = when ? from_rfc3339(std::string(when->as_string())) : std::nullopt;
    if (then && clock_.wall_now() - *then < kEvictionMax) disrupted[name] = *when;
    else if (pod_is_ready(*pod)) ++healthy;
  }
  auto expected = static_cast<std::int64_t>(pods.size());
  std::int64_t wanted = whole(&budget.at("spec"), "minAvailable", 0);
  if (spec.contains("maxUnavailable")) {
    const auto scale = scale_of(pods);
    expected = scale.value_or(0);
    wanted = std::max<std::int64_t>(0, expected - whole(&budget.at("spec"), "maxUnavailable", 0));
    if (!scale) healthy = wanted = 0;  // As in Kubernetes: no Pod may be evicted.
  }
  const std::int64_t allowed =
      expected > 0 ? std::max<std::int64_t>(0, healthy - wanted) : std::int64_t{0};
  json::object out{{"observedGeneration", meta(budget).at("generation")},
                   {"disruptionsAllowed", allowed},
                   {"currentHealthy", healthy},
                   {"desiredHealthy", wanted},
                   {"expectedPods", expected}};
  if (!disrupted.empty()) out["disruptedPods"] = std::move(disrupted);
  return out;
}

void ApiServer::update_budgets() {
  if (!kinds_.contains("policy/v1/poddisruptionbudgets")) return;
  for (const auto& [key, budget] : std::map(kind(kBudgets).objects)) {
    Json status = status_of(*budget);
    (void)change(kBudgets, key,
                 [&](json::object& object) { object["status"] = std::move(status); });
  }
}

void ApiServer::run_controllers() {
  (void)collect_garbage();
  finish_namespaces();
  update_budgets();
}

}  // namespace etcdop::sim
