#!/usr/bin/env python3
"""Runs the rows of recipes.yaml with kubectl against the API server of KUBECONFIG, on which an operator runs already.

Usage: recipes.py [--nodes] [--namespace NS] [--version X.Y.Z] (--log FILE | --nodes)
  --log FILE   the operator's log; with --nodes it is read from Kubernetes
  --nodes      the cluster has nodes: rows that need containers run, too
Prints a line for each row that fails or waits, and ends with the line "N passed, N failed". A row that waits for an issue, or that
another test covers (which must exist), is not counted. A row with a runbook runs a block of docs/user.
"""
import argparse
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

import yaml

import runbook

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT_SECONDS = 300
COMMAND_SECONDS = 600
CLUSTER = "my-etcd"
MEMBERS = "etcdmembers.etcd-operator.cozystack.io"


def shell(command, stdin=None):
    try:
        done = subprocess.run(["bash", "-c", command], input=stdin, capture_output=True, text=True, timeout=COMMAND_SECONDS,
                              check=False)
    except subprocess.TimeoutExpired as late:
        return 124, str(late)
    return done.returncode, done.stdout.strip() + ("\n" + done.stderr.strip() if done.stderr.strip() else "")


def objects(kind, namespace):
    code, out = shell(f"kubectl get {kind} -n {namespace} -l etcd-operator.cozystack.io/cluster={CLUSTER} -o json")
    return json.loads(out)["items"] if code == 0 else []


def body_of(test, text):
    """The body of a test of that name: Suite.Name of GoogleTest, or a Python function. Empty: there is none."""
    if "." in test:
        start = re.search(r"^TEST(_F)?\(" + test.replace(".", r",\s*") + r"\) \{", text, re.M)
        end = "\n}\n"
    else:
        start, end = re.search(rf"^def {test}\(", text, re.M), "\n\n\n"
    return text[start.start():].split(end)[0] if start else ""


class Story:
    def __init__(self, options):
        self.options = options
        self.files = tempfile.TemporaryDirectory()
        self.facts = {"ns": options.namespace, "cluster": CLUSTER, "version": options.version, "files": self.files.name,
                      "repo": str(ROOT)}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.facts["port"] = str(free.getsockname()[1])

    def look(self):
        """The values that rows refer to: current ones, except the cluster's ID, which must not change."""
        members = objects(MEMBERS, self.options.namespace)
        ready = [m["metadata"]["name"] for m in members if not m["spec"].get("bootstrap")]
        pods = [p["metadata"]["name"] for p in objects("pods", self.options.namespace)]
        self.facts["member"] = ready[0] if ready else "none"
        self.facts["pod"] = pods[0] if pods else "none"
        if "cluster_id" not in self.facts:
            _, known = shell(f"kubectl get etcdcluster {CLUSTER} -n {self.options.namespace} -o jsonpath={{.status.clusterID}}")
            if re.fullmatch("[0-9a-f]{16}", known):
                self.facts["cluster_id"] = known

    def fill(self, text):
        for name, value in self.facts.items():
            text = text.replace("{" + name + "}", value)
        return text

    def log(self):
        if self.options.log:
            return pathlib.Path(self.options.log).read_text(encoding="utf-8")
        return shell("kubectl logs -n etcd-operator-system deploy/etcd-operator -c manager --tail=-1")[1]

    def once(self, row):
        """None, or why the row does not hold (yet)."""
        if "log" in row:
            return None if json.dumps(row["log"]) in self.log() else "the log has no such line"
        if "say" in row:
            said = row["say"]
            _, out = shell(f"kubectl get etcdcluster {CLUSTER} -n {self.options.namespace} -o json")
            conditions = json.loads(out).get("status", {}).get("conditions", []) if out.startswith("{") else []
            for c in conditions:
                if (c["type"], c["status"], c["reason"]) == (said["type"], said["status"], said["reason"]) and re.search(
                        self.fill(said["message"]), c["message"]):
                    return None
            return f"the conditions are {[(c['type'], c['status'], c['reason'], c['message']) for c in conditions]}"
        if "runbook" in row:
            names = {name: self.fill(own) for name, own in row.get("names", {}).items()}
            script = runbook.commands(row["runbook"], row.get("block", 0), names)
            code, out = runbook.run(script, self.files.name, self.options.namespace, COMMAND_SECONDS)
        else:
            code, out = shell(self.fill(row["do"]), self.fill(row["stdin"]) if "stdin" in row else None)
        if code == 0 and re.search(self.fill(row["want"]), out, re.M):
            return None
        return f"status {code}, output: {out[:600]}"

    def run(self, row):
        end = time.monotonic() + LIMIT_SECONDS
        self.look()
        again = not row.keys() & {"stdin", "runbook"} and not row.get("want") in ("patched", "deleted", "another")
        while (why := self.once(row)) and again and time.monotonic() < end:
            time.sleep(1)
        return why


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespace", default="recipes")
    parser.add_argument("--version", default="3.6.16")
    parser.add_argument("--log")
    parser.add_argument("--nodes", action="store_true")
    options = parser.parse_args()
    story = Story(options)
    shell(f"kubectl create namespace {options.namespace}")
    counts = {"passed": 0, "failed": 0, "waiting": 0, "elsewhere": 0}
    for row in yaml.safe_load((HERE / "recipes.yaml").read_text(encoding="utf-8")):
        name = row.get("do") or row.get("runbook") or row.get("log") or row.get("message") or str(row.get("say"))
        if "waits" in row or (row.get("needs") == "nodes" and not options.nodes):
            counts["waiting"] += 1
            print(f"waits for {'nodes' if 'needs' in row else 'issue ' + str(row['waits'])}: {name}")
            continue
        if "by" in row:
            covered = row["has"] in body_of(row["by"], (ROOT / row["test"]).read_text(encoding="utf-8"))
            counts["elsewhere" if covered else "failed"] += 1
            if not covered:
                print(f"FAILED {name}: {row['by']} in {row['test']} does not have it")
            continue
        why = story.run(row)
        counts["failed" if why else "passed"] += 1
        if why:
            print(f"FAILED {name}: {why}")
    print(f"{counts['waiting']} rows wait, {counts['elsewhere']} are covered by other tests")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
