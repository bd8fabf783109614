// Label and field selectors, as the API server parses them in a query.
#pragma once
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace etcdop::sim {

/// "a=b,c!=d,e,!f,g in (x,y),h notin (z)". An empty selector matches everything.
class LabelSelector {
 public:
  static Result<LabelSelector> parse(std::string_view);
  bool matches(const Json& object) const;

 private:
  struct Term {
    std::string key;
    std::vector<std::string> values;
    bool any_value = false;  ///< The label only has to exist.
    bool negated = false;
  };
  std::vector<Term> terms_;
};

/// "metadata.name=x,metadata.namespace=y": the two fields that every kind has.
class FieldSelector {
 public:
  static Result<FieldSelector> parse(std::string_view);
  bool matches(const Json& object) const;
  /// Whether it selects by metadata.name, so at most one object per namespace.
  bool is_of_one() const;

 private:
  std::vector<std::pair<std::string, std::string>> terms_;
};

}  // namespace etcdop::sim
