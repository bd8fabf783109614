#!/usr/bin/env python3
"""Measures the manager beside many three-member clusters with hollow etcds (test/integration/standin/hollow), and beside black
holes. Prints Markdown tables: value, aim, verdict; MB are 10^6 bytes. See bench.sh."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

from bench import GROUP, Api, Manager, namespaces
from bench_copies import LABEL, Copies

PER_NAMESPACE = 100
MEMBERS = 3
GROW_GRACE = 120  # seconds for clusters begun within --grow
QUIET_LIMIT = 600  # and until no write happens any more
COPIED_LIMIT = 1800  # until the copies look like the original
WAVE = 12  # Clusters that grow side by side. With more, an API server on two cores times out when it assigns Service addresses.
QUIET = 70  # Every period of this length contains a pass over everything.
WRITES = ("POST", "PUT", "PATCH", "DELETE")
EDITS = 20
HOLES = {"answers": "answers", "silent": "takes connections and says nothing", "drops": "drops SYNs",
         "refuses": "is not there"}
RSS_AIMS = {0: 10, 100: 14, 1000: 40}


class Hollow:
    """The process that plays Pods and their etcds."""

    def __init__(self, standin, kubeconfig, folder, logs):
        control = os.path.join(folder, "control")
        self.log = open(os.path.join(logs, "hollow.log"), "w", encoding="utf-8")
        self.process = subprocess.Popen([standin, "hollow", "--kubeconfig", kubeconfig, "--control", control],
                                        stdout=self.log, stderr=self.log)
        for _ in range(200):
            if os.path.exists(control) and os.path.getsize(control):
                break
            time.sleep(0.1)
        with open(control, encoding="ascii") as f:
            self.address = f.read().strip()

    def ask(self, path, method="GET"):
        request = urllib.request.Request(f"http://{self.address}{path}", method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def calls(self):
        return json.loads(self.ask("/calls"))

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


class Scrape:
    """The manager's metrics at one moment."""

    LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.M)

    def __init__(self, manager):
        self.cpu = manager.cpu_seconds()  # Before the scrape, which must not be measured.
        self.at = time.monotonic()
        with urllib.request.urlopen(f"http://127.0.0.1:{manager.metrics}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        self.cpu_after = manager.cpu_seconds()
        self.values = {}
        for name, labels, value in self.LINE.findall(text):
            self.values.setdefault(name, []).append((dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)))

    def sum(self, name, **labels):
        return sum(v for own, v in self.values.get(name, []) if labels.items() <= own.items())

    def requests(self):
        return {verb: self.sum("rest_client_requests_total", method=verb) for verb in ("GET", *WRITES)}

    def writes(self):
        requests = self.requests()
        return sum(requests[verb] for verb in WRITES)

    def passes(self, controller):
        return self.sum("controller_runtime_reconcile_time_seconds_count", controller=controller)

    def buckets(self, controller):
        found = [(float(own["le"].replace("+Inf", "inf")), v)
                 for own, v in self.values.get("controller_runtime_reconcile_time_seconds_bucket", [])
                 if own["controller"] == controller]
        return dict(found)


def quantile(q, before, after):
    """In milliseconds, between two maps of buckets; interpolated within a bucket, as Prometheus does."""
    counts = [(le, after[le] - before.get(le, 0)) for le in sorted(after)]
    wanted, low, seen = q * counts[-1][1], 0.0, 0.0
    for le, count in counts:
        if count >= wanted and count > seen:
            return 1000 * (low if le == float("inf") else low + (le - low) * (wanted - seen) / (count - seen))
        low, seen = le, count
    return float("nan")


class Table:
    def __init__(self):
        self.rows, self.over = [], 0

    def add(self, what, value, unit, aim=None):
        verdict = "" if aim is None else "ok" if value <= aim else "over"
        self.over += verdict == "over"
        self.rows.append((what, f"{value:.2f} {unit}", "" if aim is None else f"{aim} {unit}", verdict))
        print(f"# {what}: {self.rows[-1][1]} {verdict}", file=sys.stderr, flush=True)

    def show(self):
        print("| What | Value | Aim | |\n|---|---|---|---|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


def note(text):
    print(f"# {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, options.logs or folder
        self.api = Api(options.kubeconfig)
        self.hollow = Hollow(options.standin, options.kubeconfig, folder, self.folder)
        self.have, self.copies, self.table, self.latest = 0, 0, Table(), None
        self.quota = 2 << 30  # The value that an edit changes.

    def manager(self):
        self.latest = Manager(self.options.manager, self.options.kubeconfig, with_metrics=True,
                       log=os.path.join(self.folder, f"manager-{self.have}-{time.time():.0f}.log"))
        return self.latest

    def stop(self):
        if self.latest and self.latest.process.poll() is None:
            self.latest.stop()
        self.hollow.stop()

    def etcd_cluster(self, namespace, name):
        return (f"/apis/{GROUP}/v1alpha2/namespaces/{namespace}/etcdclusters",
                {"apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdCluster", "metadata": {"name": name},
                 "spec": {"replicas": MEMBERS, "version": "3.6.16"}})

    def grown(self):
        """Number of clusters that their status reports as complete and at rest."""
        count, more = 0, ""
        while True:
            page = self.api.get(f"/apis/{GROUP}/v1alpha2/etcdclusters?limit=250{more}")
            for cluster in page["items"]:
                status = cluster.get("status", {})
                conditions = {c["type"]: c["status"] for c in status.get("conditions", [])}
                count += (status.get("readyMembers") == MEMBERS and conditions.get("Available") == "True"
                          and conditions.get("Progressing") == "False")
            if not page["metadata"].get("continue"):
                return count
            more = "&continue=" + page["metadata"]["continue"]

    def grow(self, to, namespace_of):
        """Lets the operator create clusters until this many exist."""
        if to <= self.have:
            return
        names = [(namespace_of(i), f"c-{i}") for i in range(self.have, to)]
        self.api.post_all(namespaces(sorted({n for n, _ in names})))
        manager = self.manager()
        began = time.monotonic()
        asked, limit = self.have, began + self.options.grow
        while (grown := self.grown()) < to:
            now = time.monotonic()
            if now > limit + GROW_GRACE:
                raise RuntimeError(f"only {grown} of {to} clusters have grown")
            if now > limit and to > asked:
                note(f"no more than {asked} clusters in {self.options.grow} s")
                to = asked
            more = max(asked, min(to, grown + WAVE))
            self.api.post_all([self.etcd_cluster(*name) for name in names[asked - self.have:more - self.have]])
            if more // 50 > asked // 50:
                note(f"{grown} of {to} clusters have grown")
            asked = more
            time.sleep(0.3 + 0.001 * to)
        what = f"growing to {to} clusters"
        self.table.add(f"{what}: each in", 1000 * (time.monotonic() - began) / (to - self.have), "ms")
        self.table.add(f"{what}: writes for each", Scrape(manager).writes() / (to - self.have), "")
        self.table.add(f"{what}: VmHWM", manager.status_mb("VmHWM"), "MB")
        self.have = to
        manager.stop()

    def copy(self, to, namespace_of):
        """The operator grows the first cluster. The others are copies, which it then sees for the first time."""
        if to <= self.have:
            return
        self.grow(1, namespace_of)
        self.hollow.ask("/adopt", "POST")
        names = [(namespace_of(i), f"c-{i}") for i in range(self.have, to)]
        if not names:
            return
        self.api.post_all(namespaces(sorted({n for n, _ in names})))
        began = time.monotonic()
        for done in Copies(self.api, namespace_of(0), "c-0").make_all(names):
            note(f"{done} of {len(names)} copies")
        while (serving := self.serving()) < MEMBERS * to:
            if time.monotonic() - began > COPIED_LIMIT:
                raise RuntimeError(f"only {serving} members of {to} clusters serve")
            time.sleep(1)
        took = time.monotonic() - began
        self.table.add(f"{len(names)} copies of a cluster that the operator grew: each in", 1000 * took / len(names), "ms")
        self.copies, self.have = self.copies + len(names), to

    def serving(self):
        """Number of ready Pods."""
        count, more = 0, ""
        while True:
            page = self.api.get(f"/api/v1/pods?limit=500&labelSelector={LABEL}{more}")
            count += sum({"type": "Ready", "status": "True"}.items() <= c.items()
                         for pod in page["items"] for c in pod.get("status", {}).get("conditions", []))
            if not page["metadata"].get("continue"):
                return count
            more = "&continue=" + page["metadata"]["continue"]

    def settle(self):
        """The operator sees the copies for the first time. It finds almost nothing to do: the copies are good."""
        if not self.copies:
            return
        manager = self.manager()
        self.table.add(f"{self.copies} copies: the last write of the operator after", self.until_quiet(manager), "s")
        writes = Scrape(manager).writes() / self.copies
        self.table.add(f"{self.copies} copies: its writes for each (who leads, above all)", writes, "")
        self.copies = 0
        manager.stop()

    def until_quiet(self, manager):
        """Waits until no write happens for a while; returns the seconds until that while began."""
        began = time.monotonic()
        last, since = Scrape(manager).writes(), time.monotonic()
        while time.monotonic() - since < QUIET:
            time.sleep(5)
            writes = Scrape(manager).writes()
            if writes != last:
                last, since = writes, time.monotonic()
            if time.monotonic() - began > QUIET_LIMIT:
                note("it goes on writing")
                return QUIET_LIMIT
        return since - began

    def restarted(self):
        """Starts a fresh manager; returns it and how long it took to see everything."""
        what = f"{self.have} clusters"
        self.hollow.ask("/calls/reset", "POST")
        manager = self.manager()
        self.table.add(f"{what}: start to ready", manager.ready_seconds, "s")
        end = time.monotonic() + 120
        while self.have and self.hollow.calls()["clusters"] < self.have and time.monotonic() < end:
            time.sleep(0.05)
        self.table.add(f"{what}: VmRSS once all were asked, metrics not yet read", manager.status_mb("VmRSS"), "MB")
        while True:
            scrape = Scrape(manager)
            done = (scrape.passes("etcdcluster") >= self.have and
                    scrape.passes("etcdmember") >= MEMBERS * self.have)
            if done or time.monotonic() > end:
                break
            time.sleep(0.1)
        if self.have:
            calls = self.hollow.calls()
            self.table.add(f"{what}: restart to the first reconciled", calls["first"] - manager.started_wall, "s", 0.2)
            self.table.add(f"{what}: restart to all asked", calls["latest"] - manager.started_wall, "s")
            self.table.add(f"{what}: restart to all reconciled, members too", scrape.at - manager.started, "s", 5)
            self.table.add(f"{what}: p99 of the first passes", quantile(0.99, {}, scrape.buckets("etcdcluster")), "ms")
            self.table.add(f"{what}: CPU until then", scrape.cpu, "s")
            self.table.add(f"{what}: writes until then", scrape.writes(), "")
        return manager

    def rest(self, manager, size):
        what = f"{self.have} clusters, at rest"
        self.table.add(f"{what} after", self.until_quiet(manager), "s")
        self.hollow.ask("/calls/reset", "POST")
        before = Scrape(manager)
        time.sleep(self.options.rest)
        after = Scrape(manager)
        calls = self.hollow.calls()
        minutes = (after.at - before.at) / 60
        passes = {c: after.passes(c) - before.passes(c) for c in ("etcdcluster", "etcdmember")}
        self.table.add(f"{what}: VmRSS", manager.status_mb("VmRSS"), "MB", RSS_AIMS.get(size))
        self.table.add(f"{what}: of this the program and its constants (RssFile)", manager.status_mb("RssFile"), "MB")
        self.table.add(f"{what}: VmHWM since the start", manager.status_mb("VmHWM"), "MB")
        cpu = after.cpu - before.cpu_after
        self.table.add(f"{what}: CPU a minute", 1000 * cpu / minutes, "ms")
        for controller, count in passes.items():
            self.table.add(f"{what}: passes a minute of {controller}", count / minutes, "")
        if self.have:
            self.table.add(f"{what}: CPU for each cluster's pass and its members'",
                           1000 * cpu / max(passes["etcdcluster"], 1), "ms")
            p99 = quantile(0.99, before.buckets("etcdcluster"), after.buckets("etcdcluster"))
            self.table.add(f"{what}: p99 of passes", p99, "ms", 50)
        begun, ended = before.requests(), after.requests()
        self.table.add(f"{what}: API reads and watches a minute", (ended["GET"] - begun["GET"]) / minutes, "")
        self.table.add(f"{what}: API writes", after.writes() - before.writes(), "", 0)
        for name, count in sorted(calls["calls"].items()):
            self.table.add(f"{what}: etcd {name} a minute", count / minutes, "")

    def sizes(self):
        for size in self.options.sizes:
            note(f"to {size} clusters")
            (self.grow if self.options.grown else self.copy)(size, lambda i: f"bench-{i // PER_NAMESPACE}")
            self.settle()
            manager = self.restarted()
            self.rest(manager, size)
            manager.stop()

    def served(self):
        """Seconds from an edit of the healthy cluster to its status."""
        self.quota += 1 << 20
        value = self.quota
        path = f"/apis/{GROUP}/v1alpha2/namespaces/healthy/etcdclusters/c-{self.have - 1}"
        began = time.monotonic()
        self.api.patch(path, {"spec": {"options": {"quotaBackendBytes": value}}})
        while time.monotonic() - began < 60 and self.latest.process.poll() is None:
            status = self.api.get(path).get("status", {})
            if str(status.get("observed", {}).get("options", {}).get("quotaBackendBytes")) == str(value):
                return time.monotonic() - began
            time.sleep(0.02)
        return float("inf")

    def isolation(self):
        """A healthy cluster beside black holes: how long an edit of its spec takes to reach its status."""
        holes = self.options.holes
        make = self.grow if self.options.grown else self.copy
        make(holes, lambda i: "holes")
        make(holes + 1, lambda i: "healthy" if i == holes else "holes")
        self.settle()
        self.manager()
        time.sleep(5)
        for how, does in HOLES.items():
            took = self.beside(how, EDITS)
            what = f"beside {holes} clusters whose etcd {does}"
            self.table.add(f"{what}: an edit is served within (slowest of {EDITS})", max(took), "s", 1)
            self.table.add(f"{what}: median", sorted(took)[EDITS // 2], "s")
            if how != "answers":
                self.latest.stop()
                manager = self.manager()
                self.table.add(f"{what}: from the start of the operator", manager.ready_seconds + self.served(), "s")
        self.latest.stop()

    def beside(self, how, edits):
        """Seconds until each of some edits of the healthy cluster was served, while the etcds of all others behave as `how`."""
        note(f"etcds of {self.have - 1} clusters: {HOLES[how]}")
        self.hollow.ask(f"/members/holes/{how}", "POST")
        took = []
        for _ in range(edits):  # During the first hanging dials, and afterwards.
            time.sleep(1)
            took.append(self.served())
        return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--manager", required=True)
    parser.add_argument("--standin", required=True)
    parser.add_argument("--sizes", default="0,100,1000", type=lambda t: [int(n) for n in t.split(",") if n])
    parser.add_argument("--rest", type=int, default=120, help="seconds that rest is measured for")
    parser.add_argument("--grow", type=int, default=1800, help="seconds for a size; then it is as large as it has become")
    parser.add_argument("--grown", action="store_true",
                        help="the operator grows all clusters, instead of one, of which the others are copies")
    parser.add_argument("--holes", type=int, default=0,
                        help="instead of sizes: how many clusters are black holes beside a healthy one")
    parser.add_argument("--logs", help="a folder to keep logs in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(options, temporary)
        try:
            if options.holes:
                bench.isolation()
            else:
                bench.sizes()
        finally:
            bench.stop()
            bench.table.show()
    return 1 if bench.table.over else 0


if __name__ == "__main__":
    sys.exit(main())
