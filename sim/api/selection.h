// The objects that a list or a watch selects.
#pragma once
#include <string>

#include "kube/api.h"
#include "sim/api/selector.h"

namespace etcdop::sim {

struct Selection {
  std::string ns;
  LabelSelector labels;
  FieldSelector fields;

  /// Invalid: a selector cannot be parsed.
  static Result<Selection> of(const kube::Call& call) {
    const auto query = [&](const char* key) {
      const auto found = call.query.find(key);
      return found == call.query.end() ? std::string() : found->second;
    };
    auto labels = LabelSelector::parse(query("labelSelector"));
    if (!labels) return labels.error();
    auto fields = FieldSelector::parse(query("fieldSelector"));
    if (!fields) return fields.error();
    return Selection{call.ns, std::move(*labels), std::move(*fields)};
  }
  bool takes(const Json& object) const {
    if (object.is_null()) return false;
    const json::object& metadata = object.at("metadata").as_object();
    const Json* const at = metadata.if_contains("namespace");
    return (ns.empty() || (at && at->is_string() && at->get_string() == ns)) &&
           labels.matches(object) && fields.matches(object);
  }
};

}  // namespace etcdop::sim
