// What the API server does with the schema of a custom kind: unknown fields go, defaults come, what
// does not fit is said.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"

namespace etcdop::sim {

/// An OpenAPI v3 schema as a CustomResourceDefinition has it. Known: type, properties,
/// additionalProperties, items, required, default, enum, minimum, maximum, minLength, pattern,
/// minItems. Not modelled: rules (CEL), what is behind a `$ref` (anything goes there).
class Schema {
 public:
  explicit Schema(Json openapi);
  /// Takes away what the schema does not know, then adds defaults. apiVersion, kind and metadata
  /// are not its business.
  void complete(json::object& object) const;
  /// As the server lists them, "spec.replicas: Invalid value: ...".
  std::vector<std::string> errors(const Json& object) const;

 private:
  Json root_;
};

}  // namespace etcdop::sim
