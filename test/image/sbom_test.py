#!/usr/bin/env python3
"""sbom_test.py FILE: the bill of materials has each library that the program contains, in the version of this machine (N11)."""
import json
import subprocess
import sys
import unittest

# Five archives, and one package with headers only.
CONTAINED = ("libboost-context1.81-dev", "libc6-dev", "libcli11-dev", "libnghttp2-dev", "libssl-dev", "libstdc++-12-dev")


class N11BillOfMaterials(unittest.TestCase):
    file = ""

    def test_N11_each_contained_package_has_its_version(self):
        with open(self.file, encoding="utf-8") as f:
            document = json.load(f)
        parts = {part["name"]: part["versionInfo"] for part in document["packages"]}
        for name in CONTAINED:
            installed = subprocess.run(("dpkg-query", "-W", "-f=${Version}", name), capture_output=True, text=True, check=True)
            self.assertEqual(parts.get(name), installed.stdout, name)
        described = {r["relatedSpdxElement"] for r in document["relationships"]}
        self.assertEqual(described, {part["SPDXID"] for part in document["packages"]})


if __name__ == "__main__":
    N11BillOfMaterials.file = sys.argv.pop(1)
    unittest.main()
