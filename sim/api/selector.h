// Label and field selectors as the API server understands them in a query.
#pragma once
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace etcdop::sim {

/// "a=b,c!=d,e,!f,g in (x,y),h notin (z)". Empty: everything.
class LabelSelector {
 public:
  static Result<LabelSelector> parse(std::string_view);
  bool matches(const Json& object) const;

 private:
  struct Term {
    std::string key;
    std::vector<std::string> values;
    bool any_value = false;  ///< Existence.
    bool negated = false;
  };
  std::vector<Term> terms_;
};

/// "metadata.name=x,metadata.namespace=y": the two fields that every kind has.
class FieldSelector {
 public:
  static Result<FieldSelector> parse(std::string_view);
  bool matches(const Json& object) const;
  /// By metadata.name: it is at most one in a namespace.
  bool is_of_one() const;

 private:
  std::vector<std::pair<std::string, std::string>> terms_;
};

}  // namespace etcdop::sim
