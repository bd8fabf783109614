// Templates and versions that this release refuses in a new or edited cluster, and that an earlier
// release accepted: running clusters may have them. Each rule that a release adds has a row.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/pods/pod_policy.h"

namespace etcdop::testing {

struct RefusedWhenNew {
  std::string name;
  Json template_spec;      ///< spec.podTemplate.spec
  std::string why;         ///< Part of the message.
  std::string where_runs;  ///< The same for a running cluster; empty: it is not told.
  PodPolicy policy = PodPolicy::Baseline;
  std::string account_trouble = {};  ///< Looked for with new templates only.
};

inline std::vector<RefusedWhenNew> refused_when_new() {
  Json deep = json::object();
  for (int i = 0; i < 25; ++i) deep = json::object{{"x", std::move(deep)}};
  Json large = json::array();
  for (int i = 0; i < 300; ++i)
    large.as_array().push_back(
        json::object{{"name", "V" + std::to_string(i)}, {"value", std::string(100, 'x')}});
  const std::string twice = "podTemplate.spec.containers has two elements with the same name";
  const std::string too_deep = "podTemplate is nested more than 20 levels";
  const std::string too_large = "bytes, more than 32768";
  const std::string not_allowed = "podTemplate.spec.hostPID has a value that is not allowed";
  const std::string no_label =
      "ServiceAccount robot must have the label etcd-operator.cozystack.io/allow-pods=true";
  return {
      {"twice",
       json::parse(R"({"containers": [{"name": "log"}, {"name": "log", "image": "busybox"}]})"),
       twice, twice},
      {"deep", json::object{{"x", std::move(deep)}}, too_deep, too_deep},
      {"large",
       json::object{
           {"containers", json::array{json::object{{"name", "log"}, {"env", std::move(large)}}}}},
       too_large, too_large},
      {"bytes of the spec", json::object{{"x", std::string(40 << 10, 'x')}},
       "bytes together, more than 40960", too_large},
      {"values of the spec", json::object{{"x", json::array(2048, 1)}},
       "values together, more than 2048", "values together, more than 2048"},
      {"policy", json::object{{"hostPID", true}}, not_allowed, not_allowed},
      {"account", json::object{{"serviceAccountName", "robot"}}, no_label, "",
       PodPolicy::Restricted, no_label},
  };
}

/// The same for spec.version.
inline std::vector<std::string> versions_refused_when_new() {
  return {"3.6.0", "3.6.1", "3.6.2", "3.6.3"};
}

}  // namespace etcdop::testing
