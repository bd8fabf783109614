#!/usr/bin/env python3
"""sbom.py BUILD_DIR: the bill of materials of BUILD_DIR/manager, as SPDX 2.3 JSON, on standard output. A static program contains
the Debian packages whose archives the linker read and whose headers the compiler read; their versions are those of this machine."""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def told(*command):
    utc = os.environ | {"TZ": "UTC"}
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=utc).stdout


def linked(build):
    """The linker's input files, from the file that it writes beside the program (-Wl,--dependency-file)."""
    return re.findall(r"[^\s\\:]+", (build / "manager.link.d").read_text(encoding="utf-8"))


def included(build):
    """The headers of all objects, as ninja noted them."""
    return re.findall(r"^    (/\S+)$", told("ninja", "-C", str(build), "-t", "deps"), re.M)


def packages(files):
    """Name and version of the Debian packages that own these files."""
    real = sorted({str(pathlib.Path(f).resolve()) for f in files if f.startswith("/usr/")})
    owners = set()
    for start in range(0, len(real), 500):
        found = subprocess.run(("dpkg", "-S", *real[start:start + 500]), capture_output=True, text=True, check=False).stdout
        owners |= {line.split(":")[0] for line in found.splitlines()}
    rows = told("dpkg-query", "-W", "-f=${Package} ${Version} ${Architecture} ${source:Package}\n", *sorted(owners)).splitlines()
    return [row.split() for row in sorted(set(rows))]


def document(build):
    version = re.search(r"^project\(.* VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)[1]
    commit, date = told("git", "log", "-1", "--format=%H %cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ").split()
    program = {"SPDXID": "SPDXRef-etcd-operator", "name": "etcd-operator", "versionInfo": version,
               "downloadLocation": f"git+https://github.com/cozystack/etcd-operator@{commit}", "filesAnalyzed": False}
    parts = [{"SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}", "name": name, "versionInfo": its_version,
              "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "sourceInfo": f"Debian source package {source}",
              "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                "referenceLocator": f"pkg:deb/debian/{name}@{its_version.replace('+', '%2B')}?arch={arch}"}]}
             for name, its_version, arch, source in packages(linked(build) + included(build))]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": program["SPDXID"]}]
    relations += [{"spdxElementId": program["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
                  for part in parts]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"etcd-operator-{version}",
            "documentNamespace": f"https://github.com/cozystack/etcd-operator/sbom/{commit}",
            "creationInfo": {"created": date, "creators": ["Tool: tools/sbom.py"]},
            "packages": [program, *parts], "relationships": relations}


if __name__ == "__main__":
    print(json.dumps(document((ROOT / sys.argv[1]).resolve()), indent=1))
