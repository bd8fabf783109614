#!/usr/bin/python3
"""Tests which objects our CRDs accept and refuse, with the kube-apiserver that KUBECONFIG names.

    samples.py [NAME...]     applies the CRDs, then tries samples/{valid,invalid}/*.yaml (or those named)

A sample with one document is created by a dry run. With two, the first is created in a scratch namespace and the second
replaces it; a document with a status also replaces the status. An invalid sample must be refused, in its last document,
with the words of its first line, "# error: ...". The last line is "N passed, N failed"; exit 1 if any failed.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMESPACE = f"samples-{os.getpid()}"


def kubectl(*args, document=None, namespace=NAMESPACE):
    """Whether kubectl succeeded, and its output."""
    command = ["kubectl", "--request-timeout=120s", "-n", namespace, *args] + (["-f", "-"] if document else [])
    done = subprocess.run(command, input=yaml.safe_dump(document) if document else None, text=True,
                          capture_output=True, timeout=300, check=False)
    return done.returncode == 0, (done.stdout + done.stderr).strip()


def own_name(document, sample):
    """Samples run side by side: each gets its own name, unless its name matters."""
    if document["metadata"]["name"].startswith("sample"):
        document["metadata"]["name"] = sample.stem[:48].rstrip("-")
    return document


def written(verb, document):
    """Creates or replaces the object, then its status if the document has one."""
    ok, said = kubectl(verb, document=document)
    if ok and "status" in document:
        ok, said = kubectl("replace", "--subresource=status", document=document)
    return ok, said


def attempt(sample):
    """Whether the last document of the sample was accepted (None if the first one was not), and the output."""
    documents = [own_name(d, sample) for d in yaml.safe_load_all(sample.read_text(encoding="utf-8"))]
    if len(documents) == 1:
        return kubectl("create", "--dry-run=server", document=documents[0])
    ok, said = written("create", documents[0])
    return written("replace", documents[1]) if ok else (None, said)


def fault(sample):
    """Why the sample does not behave as its folder's name says; empty if it does."""
    ok, said = attempt(sample)
    if ok is None:
        return f"its first document was refused: {said}"
    if sample.parent.name == "valid":
        return "" if ok else f"refused: {said}"
    first = sample.read_text(encoding="utf-8").splitlines()[0]
    if not first.startswith("# error: "):
        return "does not begin with a line '# error: ...'"
    words = first.removeprefix("# error: ")
    if ok:
        return f"accepted; wanted: {words}"
    return "" if words in said else f"refused, but without the words '{words}': {said}"


def main():
    samples = sorted(s for s in (ROOT / "samples").glob("*/*.yaml") if len(sys.argv) < 2 or s.stem in sys.argv[1:])
    if "KUBECONFIG" not in os.environ or not samples:
        print(__doc__ if samples else "no such sample", file=sys.stderr)
        return 2
    crds = ROOT / "charts/etcd-operator/files/crds"
    for step in (["apply", "--server-side", "--force-conflicts", "-f", str(crds)],
                 ["wait", "--for=condition=Established", "--timeout=120s", "-f", str(crds)],
                 ["create", "namespace", NAMESPACE]):
        ok, said = kubectl(*step, namespace="default")
        if not ok:
            print(said, file=sys.stderr)
            return 2
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            faults = list(pool.map(fault, samples))
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    for sample, why in zip(samples, faults):
        if why:
            print(f"FAILED {sample.relative_to(ROOT)}: {why}")
    failed = sum(map(bool, faults))
    print(f"{len(samples) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
