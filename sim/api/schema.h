// Applies the schema of a custom kind as the API server does: drops unknown fields, adds defaults
// and reports violations.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"

namespace etcdop::sim {

/// An OpenAPI v3 schema of a CustomResourceDefinition. Known: type, properties,
/// additionalProperties, items, required, default, enum, minimum, maximum, minLength, pattern,
/// minItems. Not modelled: rules (CEL), and anything behind a `$ref`, which accepts every value.
class Schema {
 public:
  explicit Schema(Json openapi);
  /// Removes fields that the schema does not know, then adds defaults. Ignores apiVersion, kind and
  /// metadata.
  void complete(json::object& object) const;
  /// In the server's words: "spec.replicas: Invalid value: ...".
  std::vector<std::string> errors(const Json& object) const;

 private:
  Json root_;
};

}  // namespace etcdop::sim
