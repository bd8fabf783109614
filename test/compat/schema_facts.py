#!/usr/bin/python3
"""Facts of a CRD's wire contract, without its prose.

    schema_facts.py extract CRD.yaml... > v1alpha2.json            the facts, sorted
    schema_facts.py check [--kind KIND]... FACTS.json CRD.yaml...   what a client of FACTS would miss in these CRDs

`check` prints one line for each fact that the given CRDs lack or contradict, and exits 1 if it printed any.
The CRDs may have more than the facts: extra fields, printer columns, short names, rules. Descriptions and the text of validation
rules are not compared; a real kube-apiserver tests what the rules refuse. With --kind only the facts of these kinds are required.
v1alpha2.json was extracted from the CRDs of cozystack/etcd-operator after v0.5.4.
"""
import argparse
import json
import sys

import yaml

SCALARS = ("type", "format", "default", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength",
           "minItems", "maxItems", "nullable", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
           "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields")


def walk(schema, path, facts):
    """Adds one fact per keyword: 'spec.storage.size|default' -> '1Gi'."""
    for key in SCALARS:
        if key in schema:
            facts[f"{path}|{key}"] = schema[key]
    for name in schema.get("required", []):
        facts[f"{path}.{name}|required"] = True
    if "x-kubernetes-validations" in schema:
        facts[f"{path}|has-rules"] = True
    for name, child in schema.get("properties", {}).items():
        walk(child, f"{path}.{name}" if path else name, facts)
    if isinstance(schema.get("items"), dict):
        walk(schema["items"], path + "[]", facts)
    if isinstance(schema.get("additionalProperties"), dict):
        walk(schema["additionalProperties"], path + "{}", facts)


def facts_of(paths):
    out = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            docs = [d for d in yaml.safe_load_all(f) if d and d.get("kind") == "CustomResourceDefinition"]
        for crd in docs:
            spec = crd["spec"]
            facts = {"|group": spec["group"], "|scope": spec["scope"], "|kind": spec["names"]["kind"],
                     "|plural": spec["names"]["plural"]}
            for version in spec["versions"]:
                v = "|version " + version["name"]
                facts[v] = {"served": version["served"], "storage": version["storage"]}
                facts[v + "|subresources"] = version.get("subresources", {})
                for column in version.get("additionalPrinterColumns", []):
                    facts[f"{v}|column {column['name']}"] = column["jsonPath"]
                walk(version["schema"]["openAPIV3Schema"], "", facts)
            out[spec["names"]["kind"]] = {k: facts[k] for k in sorted(facts)}
    return out


def check(facts_path, crd_paths, kinds):
    with open(facts_path, encoding="utf-8") as f:
        wanted = json.load(f)
    for kind in kinds:
        if kind not in wanted:
            print(f"{facts_path} has no facts about {kind}, only about {', '.join(sorted(wanted))}")
            return 1
    have = facts_of(crd_paths)
    wrong = checked = 0
    for kind in sorted(kinds or wanted):
        for key, value in wanted[kind].items():
            checked += 1
            got = have.get(kind, {}).get(key)
            if got != value:
                wrong += 1
                print(f"{kind}: {key}: wanted {json.dumps(value)}, got {json.dumps(got)}")
    print(f"{checked - wrong} of {checked} facts hold")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    extract = verbs.add_parser("extract")
    extract.add_argument("crds", nargs="+", metavar="CRD.yaml")
    compare = verbs.add_parser("check")
    compare.add_argument("--kind", action="append", default=[], help="only this kind; may be repeated")
    compare.add_argument("facts", metavar="FACTS.json")
    compare.add_argument("crds", nargs="+", metavar="CRD.yaml")
    given = parser.parse_args()
    if given.verb == "check":
        return check(given.facts, given.crds, given.kind)
    json.dump(facts_of(given.crds), sys.stdout, indent=0, sort_keys=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
