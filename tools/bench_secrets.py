#!/usr/bin/env python3
"""Measures what foreign Secrets cost the manager: its memory at rest beside clusters with TLS and authentication, before and after
thousands of Secrets that belong to no cluster. Prints a Markdown table like bench_clusters.py. See bench.sh."""
import argparse
import base64
import os
import statistics
import sys
import time

from bench import GROUP, Api, Manager, namespaces
from bench_clusters import Table, note

NAMESPACES = 10
CLUSTERS = 10
ISSUED_LIMIT = 120
SAMPLES = 30  # one a second
GROWTH_AIM = 2  # MB


def at(namespace, resource):
    return f"/api/v1/namespaces/{namespace}/{resource}"


def secret(namespace, name, kind, data):
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return (at(namespace, "secrets"),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind, "data": encoded})


def foreign_secrets(namespace, count, size):
    """Their values are random bytes, which do not compress."""
    return (secret(namespace, f"foreign-{i}", "Opaque", {"value": os.urandom(size)}) for i in range(count))


def secure_cluster(namespace, name):
    made = {"operatorManaged": {}}
    return (f"/apis/{GROUP}/v1alpha2/namespaces/{namespace}/etcdclusters",
            {"apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdCluster", "metadata": {"name": name},
             "spec": {"replicas": 3, "version": "3.6.16", "tls": {"client": made, "peer": made},
                      "auth": {"enabled": True, "rootCredentialsSecretRef": {"name": "root"}}}})


class Bench:
    def __init__(self, options):
        self.options, self.api, self.table = options, Api(options.kubeconfig), Table()

    def with_manager(self, body):
        manager = Manager(self.options.manager, self.options.kubeconfig, log=self.options.log)
        try:
            return body(manager)
        finally:
            manager.stop()

    def make_clusters(self):
        """No stand-in plays their Pods: they wait for their first members, and have all their Secrets."""
        names = [f"c-{i}" for i in range(CLUSTERS)]
        root = {"username": b"root", "password": b"correct horse"}
        self.api.post_all(namespaces(["secure"]))
        self.api.post_all([secret("secure", "root", "kubernetes.io/basic-auth", root)])
        self.api.post_all([secure_cluster("secure", name) for name in names])
        wanted = {f"{name}-peer-tls" for name in names}

        def issued(_):
            end = time.monotonic() + ISSUED_LIMIT
            while not wanted <= {s["metadata"]["name"] for s in self.api.get(at("secure", "secrets"))["items"]}:
                if time.monotonic() > end:
                    raise RuntimeError("the clusters' certificates have not been made")
                time.sleep(1)
        self.with_manager(issued)

    def rss(self, what, manager):
        """Median of some seconds at rest, in MB."""
        time.sleep(self.options.rest)
        samples = []
        for _ in range(SAMPLES):
            time.sleep(1)
            samples.append(manager.status_mb("VmRSS"))
        median = statistics.median(samples)
        self.table.add(f"{what}: VmRSS at rest", median, "MB")
        return median

    def make_foreign(self):
        each = self.options.secrets // NAMESPACES
        self.api.post_all(namespaces([f"foreign-{i}" for i in range(NAMESPACES)]))
        began = time.monotonic()
        for i in range(NAMESPACES):
            self.api.post_all(foreign_secrets(f"foreign-{i}", each, self.options.size))
            note(f"{each * (i + 1)} foreign Secrets after {time.monotonic() - began:.0f} s")

    def run(self):
        self.make_clusters()
        foreign = f"{self.options.secrets} foreign Secrets of {self.options.size / 1000:g} kB"

        def while_they_come(manager):
            alone = self.rss(f"{CLUSTERS} clusters with TLS and authentication", manager)
            self.make_foreign()
            return alone, self.rss(f"{foreign} came", manager)
        alone, beside = self.with_manager(while_they_come)
        anew = self.with_manager(lambda manager: self.rss(f"{foreign}, restarted", manager))
        self.table.add("growth while they came", beside - alone, "MB", GROWTH_AIM)
        self.table.add("growth after a restart", anew - alone, "MB", GROWTH_AIM)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--manager", required=True)
    parser.add_argument("--log", default=os.devnull, help="a file for the manager's log")
    parser.add_argument("--secrets", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=15_000, help="bytes of each")
    parser.add_argument("--rest", type=int, default=60, help="seconds before memory is read")
    bench = Bench(parser.parse_args())
    try:
        bench.run()
    finally:
        bench.table.show()
    return 1 if bench.table.over else 0


if __name__ == "__main__":
    sys.exit(main())
