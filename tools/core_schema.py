#!/usr/bin/python3
"""Cuts the parts of core/v1 that our CRDs pass through out of Kubernetes' own OpenAPI document.

    kubectl get --raw /openapi/v3/api/v1 | tools/core_schema.py > api/crdgen/core_v1.json

The input may also be api/openapi-spec/v3/api__v1_openapi.json of the k8s.io/kubernetes module. The output has one schema per type,
with "$ref": "<type>" between them. Defaults and enums are left out: the API server applies and checks them when the Pod is created,
and a default would hide that a required field is missing.
"""
import json
import sys

ROOTS = ("Affinity", "ResourceRequirements", "Toleration", "TopologySpreadConstraint")
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"  # crdgen has its schema
KEPT = ("type", "format", "description", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type")


def cut(schema, types):
    """The schema reduced to the keywords that we keep; the types that it refers to are added to `types`."""
    out = {key: schema[key] for key in KEPT if key in schema}
    if "description" in out:  # a server lists the values that it knows; the file in the module does not
        out["description"] = out["description"].split("\n\nPossible enum values:")[0]
    for part in [schema] + schema.get("allOf", []):
        if "$ref" in part:
            out["$ref"] = part["$ref"].rsplit("/", 1)[1]
            types.append(out["$ref"])
    for key in ("items", "additionalProperties"):
        if key in schema:
            out[key] = cut(schema[key], types)
    if "properties" in schema:
        out["properties"] = {name: cut(child, types) for name, child in schema["properties"].items()}
    return out


def main():
    schemas = json.load(sys.stdin)["components"]["schemas"]
    todo, out = ["io.k8s.api.core.v1." + root for root in ROOTS], {}
    while todo:
        name = todo.pop()
        if name not in out and name != QUANTITY:
            out[name] = cut(schemas[name], todo)
    json.dump(out, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
