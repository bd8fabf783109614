#!/usr/bin/env python3
"""policy_paths.py: of the YAML documents of its input, compares what the CEL of each ValidatingAdmissionPolicy reads of an object
with the schemas of the CRDs of the resources that the policy is for. Says each fault on a line: a field that no schema has, a kind
with a `pod` or `podTemplate` in its spec that is not read, and a kind of which nothing is read. Exit 1 if there is any."""
import re
import sys

import yaml

# object.?spec.pod.orValue({}): the fields, without the function at the end.
READ = re.compile(r"\b(object|oldObject)((?:\.\??\w+(?![\w(]))+)")
POD_FIELDS = ("pod", "podTemplate")


def expressions(value):
    """Each text below a key `expression`, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "expression":
                yield inner
            else:
                yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)


def fields(schema, path=()):
    """The paths of all fields of objects in objects: CEL's dots do not lead into lists."""
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name)
        yield from fields(inner, (*path, name))


def faults(policy, definitions):
    read = {"object": set(), "oldObject": set()}
    for text in expressions(policy["spec"]):
        for variable, path in READ.findall(text):
            read[variable].add(tuple(path.replace("?", "")[1:].split(".")))
    schemas = {}
    for rule in policy["spec"]["matchConstraints"]["resourceRules"]:
        for resource in rule["resources"]:
            for version in definitions[resource]["spec"]["versions"]:
                schemas[f"{resource} {version['name']}"] = set(fields(version["schema"]["openAPIV3Schema"]))
    for variable, paths in read.items():
        for path in sorted(paths):
            if not any(path in schema for schema in schemas.values()):
                yield f"{variable}.{'.'.join(path)} is in the schema of no kind of the policy"
        for kind, schema in schemas.items():
            if not paths & schema:
                yield f"nothing of {variable} is read for {kind}"
            for path in sorted(schema - paths):
                if path[0] == "spec" and path[-1] in POD_FIELDS:
                    yield f"{variable}.{'.'.join(path)} of {kind} is not read"


documents = [document for document in yaml.load_all(sys.stdin, Loader=yaml.CSafeLoader) if document]
crds = {d["spec"]["names"]["plural"]: d for d in documents if d["kind"] == "CustomResourceDefinition"}
policies = [d for d in documents if d["kind"] == "ValidatingAdmissionPolicy"]
said = [fault for policy in policies for fault in faults(policy, crds)]
if not policies:
    said.append("there is no ValidatingAdmissionPolicy")
print("\n".join(said))
sys.exit(bool(said))
