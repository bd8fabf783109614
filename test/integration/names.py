#!/usr/bin/python3
"""W17, the rule about names, on the kube-apiserver of KUBECONFIG, which has our CRDs.

    names.py     clusters that the Go operator's CRD accepted stay writable under ours; new ones are refused. It removes the
                 rule from the CRD for a moment: no other test may use that server meanwhile.

The last line is "N passed, N failed"; exit 1 if any failed.
"""
import copy
import os
import pathlib
import subprocess
import sys
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMESPACE = f"names-{os.getpid()}"
DEADLINE = 120  # seconds until a changed CRD is in force
LETTERS = "name must be a DNS-1035 label"
LENGTH = "name must have at most 48 characters"
BAD = {"3db": LETTERS, "my.db": LETTERS, "n" * 49: LENGTH, "n" * 57: LENGTH}


def kubectl(*args, document=None):
    """Whether kubectl succeeded, and its output."""
    command = ["kubectl", "--request-timeout=120s", "-n", NAMESPACE, *args] + (["-f", "-"] if document else [])
    done = subprocess.run(command, input=yaml.safe_dump(document) if document else None, text=True,
                          capture_output=True, timeout=300, check=False)
    return done.returncode == 0, (done.stdout + done.stderr).strip()


def cluster(name):
    return {"apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdCluster", "metadata": {"name": name},
            "spec": {"version": "3.6.16"}}


def until(wanted, what):
    """Polls until what() has succeeded, or failed, as wanted."""
    end = time.monotonic() + DEADLINE
    ok, said = what()
    while ok != wanted and time.monotonic() < end:
        time.sleep(0.1)
        ok, said = what()
    if ok != wanted:
        sys.exit(f"the CRD did not come into force within {DEADLINE} s: {said}")


def install(crd, lets_in):
    ok, said = kubectl("apply", "--server-side", "--force-conflicts", document=crd)
    if not ok:
        sys.exit(said)
    until(lets_in, lambda: kubectl("create", "--dry-run=server", document=cluster("3probe")))


def fault(name, words):
    """How the existing cluster of that name, which has a status, violates W17; empty if it does not."""
    for patch, part in (('{"spec": {"replicas": 1}}', []),
                        ('{"status": {"readyMembers": 1}}', ["--subresource=status"])):
        ok, said = kubectl("patch", "etcdcluster", name, "--type=merge", "-p", patch, *part)
        if not ok:
            return f"was writable under the Go operator's CRD and is not under ours: {said}"
    ok, said = kubectl("delete", "etcdcluster", name)
    if not ok:
        return f"cannot be deleted: {said}"
    ok, said = kubectl("create", document=cluster(name))
    if ok or words not in said:
        return f"new, it must be refused with '{words}': {said}"
    return ""


def main():
    crd = yaml.safe_load((ROOT / "charts/etcd-operator/files/crds/etcdclusters.yaml").read_text(encoding="utf-8"))
    lax = copy.deepcopy(crd)
    del lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]
    ok, said = kubectl("create", "namespace", NAMESPACE)
    if not ok:
        sys.exit(said)
    try:
        install(lax, lets_in=True)
        for name in BAD:
            for args in (["create"], ["replace", "--subresource=status"]):
                ok, said = kubectl(*args, document=cluster(name) | {"status": {"readyMembers": 3}})
                if not ok:
                    sys.exit(said)
        install(crd, lets_in=False)
        faults = {name: fault(name, words) for name, words in BAD.items()}
    finally:
        kubectl("apply", "--server-side", "--force-conflicts", document=crd)
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    for name, why in faults.items():
        if why:
            print(f"FAILED W17 {name}: {why}")
    failed = sum(map(bool, faults.values()))
    print(f"{len(faults) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
