#!/usr/bin/env python3
"""Writes the YAML documents of its input as lines "KIND/NAME PATH=JSON", for grep; a document without a kind as "PATH=JSON".
flatten.py [NAMESPACE]: only objects of this namespace."""
import json
import sys

import yaml


def flat(path, value):
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flat(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list) and value:
        for i, inner in enumerate(value):
            yield from flat(f"{path}.{i}", inner)
    else:
        yield f"{path}={json.dumps(value)}"


for document in yaml.load_all(sys.stdin, Loader=yaml.CSafeLoader):
    if document is None or sys.argv[1:] and document["metadata"].get("namespace") != sys.argv[1]:
        continue
    name = f"{document['kind']}/{document['metadata']['name']} " if "kind" in document else ""
    for line in flat("", document):
        print(name + line)
