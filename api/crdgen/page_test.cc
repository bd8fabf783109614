#include "api/crdgen/page.h"

#include <gtest/gtest.h>

namespace etcdop::crdgen {
namespace {

constexpr const char* kCrd = R"({
  "spec": {
    "group": "x.io",
    "names": {"kind": "Cup", "plural": "cups"},
    "versions": [{
      "name": "v1",
      "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n"}},
      "additionalPrinterColumns": [
        {"name": "Size"}, {"name": "Age"}, {"name": "Shelf", "priority": 1}],
      "schema": {"openAPIV3Schema": {
        "description": "A cup.",
        "x-kubernetes-validations": [{"rule": "true", "message": "the name is short"}],
        "properties": {
          "spec": {
            "required": ["n"],
            "properties": {
              "n": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 9,
                    "default": 3, "description": "How many."},
              "mode": {"type": "string", "enum": ["", "Hot"], "description": "Cold\nor | hot."},
              "size": {"x-kubernetes-int-or-string": true, "pattern": "long"},
              "word": {"type": "string", "pattern": "^a|b$", "minLength": 1, "maxLength": 5},
              "owner": {"type": "object", "default": {}, "properties": {
                "name": {"type": "string", "x-kubernetes-validations": [
                  {"rule": "self == oldSelf", "message": "owner.name is fixed"}]}}},
              "marks": {"type": "object", "additionalProperties": {"type": "string"}},
              "affinity": {"$ref": "io.k8s.api.core.v1.Affinity"}
            }
          },
          "status": {
            "x-kubernetes-validations": [{"rule": "true", "message": "nothing is lost"}],
            "properties": {
              "at": {"type": "string", "format": "date-time"},
              "owner": {"type": "object", "properties": {
                "name": {"type": "string", "x-kubernetes-validations": [
                  {"rule": "self == oldSelf", "message": "owner.name is fixed"}]}}},
              "parts": {"type": "array", "maxItems": 4, "items": {
                "type": "object", "required": ["id"], "properties": {
                  "id": {"type": "string"},
                  "spread": {"type": "array",
                             "items": {"$ref": "io.k8s.api.core.v1.Toleration"}}}}}
            }
          }
        }
      }}
    }]
  }
})";

TEST(Page, HasARowForEachFieldWithAllThatIsAskedOfIt) {
  const std::string got = page({json::parse(kCrd)});
  EXPECT_EQ(got.substr(got.find("## Cup")),
            R"(## Cup

A cup. `apiVersion: x.io/v1`. )"
            R"(`kubectl get cups` shows Size, Age; with `-o wide`, also Shelf. )"
            R"(`kubectl scale` sets `.spec.n`.

- the name is short

### spec

| Field | Type | Default | Constraints | Description |
|---|---|---|---|---|
| `spec.n` | int32 | `3` | required; ≥ 1; ≤ 9 | How many. |
| `spec.mode` | string |  | one of `""`, `"Hot"` | Cold or \| hot. |
| `spec.size` | quantity |  |  |  |
| `spec.word` | string |  | length ≥ 1; length ≤ 5; like `^a\|b$` |  |
| `spec.owner` | object | `{}` |  |  |
| `spec.owner.name` | string |  | owner.name is fixed |  |
| `spec.marks` | map to string |  |  |  |
| `spec.affinity` | core/v1 Affinity |  |  |  |

### status

- nothing is lost

| Field | Type | Default | Constraints | Description |
|---|---|---|---|---|
| `status.at` | date-time |  |  |  |
| `status.owner` | object, as `spec.owner` |  |  |  |
| `status.parts` | list of object |  | number ≤ 4 |  |
| `status.parts[].id` | string |  | required |  |
| `status.parts[].spread` | list of core/v1 Toleration |  |  |  |
)");
}

TEST(Page, AKindThatCannotBeScaledDoesNotSaySo) {
  Json crd = json::parse(kCrd);
  crd.at("spec").at("versions").at(0).at("subresources").as_object().erase("scale");
  EXPECT_EQ(page({crd}).find("kubectl scale"), std::string::npos);
}

TEST(Page, EachKindHasASection) {
  Json other = json::parse(kCrd);
  other.at("spec").at("names").as_object()["kind"] = "Mug";
  const std::string got = page({json::parse(kCrd), other});
  EXPECT_LT(got.find("\n## Cup\n"), got.find("\n## Mug\n"));
  EXPECT_NE(got.find("\n## Mug\n"), std::string::npos);
}

}  // namespace
}  // namespace etcdop::crdgen
