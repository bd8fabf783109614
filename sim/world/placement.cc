#include "sim/world/placement.h"

#include <algorithm>
#include <map>

#include "sim/api/paths.h"

namespace etcdop::sim {
namespace {

using Labels = std::map<std::string, std::string, std::less<>>;

Labels labels_of(const Json& pod) {
  Labels out;
  if (const Json* const labels = at(pod, {"metadata", "labels"}); labels && labels->is_object())
    for (const auto& [key, value] : labels->as_object())
      out[std::string(key)] = std::string(value.as_string());
  return out;
}
Labels labels_of(const Place& node) { return {{kHostLabel, node.name}, {kZoneLabel, node.zone}}; }

bool holds(const Json& expression, const Labels& labels) {
  const auto found = labels.find(text_at(expression, {"key"}));
  const bool there = found != labels.end();
  const std::string op = text_at(expression, {"operator"});
  if (op == "Exists") return there;
  if (op == "DoesNotExist") return !there;
  const bool in = there && std::ranges::any_of(list_at(expression, {"values"}), [&](const Json& v) {
                    return v.as_string() == found->second.c_str();
                  });
  if (op == "In") return in;
  check(op == "NotIn", "an operator of labels");
  return !in;
}
bool all_hold(const json::array& expressions, const Labels& labels) {
  return std::ranges::all_of(expressions, [&](const Json& one) { return holds(one, labels); });
}

/// Null wants nothing.
bool have(const Json* wanted, const Labels& labels) {
  return !wanted || std::ranges::all_of(wanted->as_object(), [&](const auto& one) {
    const auto found = labels.find(std::string_view(one.key()));
    return found != labels.end() && one.value().as_string() == found->second.c_str();
  });
}

/// A selector that is missing selects nothing; an empty one, everything.
bool selects(const Json* selector, const Labels& labels) {
  return selector && have(at(*selector, {"matchLabels"}), labels) &&
         all_hold(list_at(*selector, {"matchExpressions"}), labels);
}

bool is_empty(const Json* selector) { return selector && selector->as_object().empty(); }

/// By nodeSelector, and by one of the terms of required affinity.
bool wants(const Json& pod, const Place& node) {
  const Labels labels = labels_of(node);
  if (!have(at(pod, {"spec", "nodeSelector"}), labels)) return false;
  const json::array terms =
      list_at(pod, {"spec", "affinity", "nodeAffinity",
                    "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  return terms.empty() || std::ranges::any_of(terms, [&](const Json& term) {
           const json::array expressions = list_at(term, {"matchExpressions"});
           return !expressions.empty() && all_hold(expressions, labels);  // An empty term is none.
         });
}

/// Another Pod that takes a place at a node.
struct Placed {
  const Json& pod;
  const Place& node;
};
std::vector<Placed> placed(const Json& pod, std::span<const Place> all,
                           std::span<const ApiServer::Object> others) {
  std::vector<Placed> out;
  for (const ApiServer::Object& other : others) {
    const auto node = std::ranges::find(all, text_at(*other, {"spec", "nodeName"}), &Place::name);
    const bool same = uid_of(*other) == uid_of(pod);
    if (node != all.end() && !same && !pod_has_ended(*other)) out.push_back({*other, *node});
  }
  return out;
}

bool are_of_one_namespace(const Json& one, const Json& other) {
  return text_at(one, {"metadata", "namespace"}) == text_at(other, {"metadata", "namespace"});
}
/// The domain of a node; empty: the key is not one of its labels.
std::string domain_of(const Place& node, const std::string& key) {
  const Labels labels = labels_of(node);
  const auto found = labels.find(key);
  return found == labels.end() ? "" : found->second;
}

/// Whether required anti-affinity of one Pod is about the other one, at these two nodes.
bool repels(const Json& one, const Json& other, const Place& a, const Place& b) {
  return are_of_one_namespace(one, other) &&
         std::ranges::any_of(
             list_at(one, {"spec", "affinity", "podAntiAffinity",
                           "requiredDuringSchedulingIgnoredDuringExecution"}),
             [&](const Json& rule) {
               const std::string domain = domain_of(a, text_at(rule, {"topologyKey"}));
               return !domain.empty() && domain == domain_of(b, text_at(rule, {"topologyKey"})) &&
                      selects(at(rule, {"labelSelector"}), labels_of(other));
             });
}

/// By its own rules or by those of a Pod that is there. A Pod that is being deleted counts until it
/// is gone. Source: pkg/scheduler/framework/plugins/interpodaffinity.
bool is_repelled(const Json& pod, const Place& there, std::span<const Placed> others) {
  return std::ranges::any_of(others, [&](const Placed& other) {
    return repels(pod, other.pod, there, other.node) || repels(other.pod, pod, other.node, there);
  });
}

/// DoNotSchedule. Nodes count as the Pod's own affinity has them, whether they are up or not; Pods
/// that are being deleted do not count, and an empty selector counts none. Source:
/// pkg/scheduler/framework/plugins/podtopologyspread.
bool is_even(const Json& pod, const Place& there, std::span<const Place> all,
             std::span<const Placed> others) {
  return std::ranges::all_of(
      list_at(pod, {"spec", "topologySpreadConstraints"}), [&](const Json& rule) {
        if (text_at(rule, {"whenUnsatisfiable"}) != "DoNotSchedule") return true;
        const std::string key = text_at(rule, {"topologyKey"});
        if (domain_of(there, key).empty()) return false;
        const Json* const selector = at(rule, {"labelSelector"});
        std::map<std::string, std::int64_t> counts;
        for (const Place& node : all)
          if (wants(pod, node)) counts[domain_of(node, key)];
        for (const Placed& other : others)
          if (wants(pod, other.node) && are_of_one_namespace(pod, other.pod) &&
              !at(other.pod, {"metadata", "deletionTimestamp"}) && !is_empty(selector) &&
              selects(selector, labels_of(other.pod)))
            ++counts[domain_of(other.node, key)];
        const std::int64_t least =
            std::ranges::min_element(counts, {}, [](const auto& c) { return c.second; })->second;
        const std::int64_t itself = selects(selector, labels_of(pod)) ? 1 : 0;
        return counts[domain_of(there, key)] + itself - least <=
               at(rule, {"maxSkew"})->to_number<std::int64_t>();
      });
}

/// In thousandths: "2", "0.5", "100m".
std::int64_t cpus_of(const Json& pod) {
  double out = 0;
  for (const Json& container : list_at(pod, {"spec", "containers"})) {
    const std::string text = text_at(container, {"resources", "requests", "cpu"});
    if (!text.empty()) out += std::stod(text) * (text.ends_with('m') ? 1 : 1000);
  }
  return static_cast<std::int64_t>(out);
}
bool has_room(const Json& pod, const Place& there, std::span<const Placed> others) {
  std::int64_t sum = cpus_of(pod);
  for (const Placed& other : others)
    if (other.node.name == there.name) sum += cpus_of(other.pod);
  return sum <= kMilliCpus;
}

}  // namespace

bool may_be_placed(const Json& pod, const Place& there, std::span<const Place> all,
                   std::span<const ApiServer::Object> others) {
  const std::vector<Placed> beside = placed(pod, all, others);
  return wants(pod, there) && !is_repelled(pod, there, beside) &&
         is_even(pod, there, all, beside) && has_room(pod, there, beside);
}

}  // namespace etcdop::sim
