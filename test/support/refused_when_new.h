// Templates and versions that this release refuses in a new or edited cluster, and that an earlier
// release accepted: running clusters may have them. Each rule that a release adds has a row.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"

namespace etcdop::testing {

struct RefusedWhenNew {
  std::string name;
  Json template_spec;  ///< spec.podTemplate.spec
  std::string why;     ///< Part of the message.
};

inline std::vector<RefusedWhenNew> refused_when_new() {
  Json deep = json::object();
  for (int i = 0; i < 25; ++i) deep = json::object{{"x", std::move(deep)}};
  Json large = json::array();
  for (int i = 0; i < 300; ++i)
    large.as_array().push_back(
        json::object{{"name", "V" + std::to_string(i)}, {"value", std::string(100, 'x')}});
  return {
      {"twice",
       json::parse(R"({"containers": [{"name": "log"}, {"name": "log", "image": "busybox"}]})"),
       "podTemplate.spec.containers has two elements with the same name"},
      {"deep", json::object{{"x", std::move(deep)}}, "podTemplate is nested more than 20 levels"},
      {"large",
       json::object{
           {"containers", json::array{json::object{{"name", "log"}, {"env", std::move(large)}}}}},
       "bytes, more than 32768"},
  };
}

/// The same for spec.version.
inline std::vector<std::string> versions_refused_when_new() {
  return {"3.6.0", "3.6.1", "3.6.2", "3.6.3"};
}

}  // namespace etcdop::testing
