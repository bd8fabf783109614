#!/usr/bin/env python3
"""Measures the manager in an API-only world and prints one line per budget; MB are 10^6 bytes. See bench.sh."""
import argparse
import base64
import concurrent.futures
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

GROUP = "etcd-operator.cozystack.io"
LOG_MAX = 1 << 20  # bytes of a manager's log in which its ports are


class Api:
    """The API server, called with the client certificate of a kubeconfig; one connection per thread."""

    def __init__(self, kubeconfig):
        text = subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "config", "view", "--raw", "-o", "json"],
                              capture_output=True, text=True, check=True).stdout
        config = json.loads(text)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.host = cluster["server"].removeprefix("https://")
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pem.flush()
            self.tls.load_cert_chain(pem.name)
        self.local = threading.local()

    def send(self, method, path, body=None, content="application/json", accepted=(200,)):
        idle = time.monotonic() - getattr(self.local, "used", 0)
        if not hasattr(self.local, "connection") or idle > 20:  # The server closes idle ones.
            self.local.connection = http.client.HTTPSConnection(self.host, context=self.tls, timeout=60)
        self.local.used = time.monotonic()
        self.local.connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": content})
        answer = self.local.connection.getresponse()
        text = answer.read()
        if answer.status not in accepted:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text)

    def get(self, path):
        return self.send("GET", path)

    def patch(self, path, body):
        return self.send("PATCH", path, body, "application/merge-patch+json")

    def post(self, path, body):
        self.send("POST", path, body, accepted=(200, 201, 409))

    def post_all(self, calls):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda c: self.post(*c), calls))


def namespaces(names):
    return [("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}}) for n in names]


def pods(namespace, count):
    env = [{"name": f"SETTING_{i}", "value": "x" * 40} for i in range(20)]  # As large as real Pods.
    spec = {"containers": [{"name": "app", "image": "registry.example/app:v1", "env": env}], "automountServiceAccountToken": False}
    return [(f"/api/v1/namespaces/{namespace}/pods",
             {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"foreign-{i}", "labels": {"app": "foreign"}}, "spec": spec})
            for i in range(count)]


def paused_clusters(namespace, count):
    return [(f"/apis/{GROUP}/v1alpha2/namespaces/{namespace}/etcdclusters",
             {"apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdCluster", "metadata": {"name": f"idle-{i}"},
              "spec": {"replicas": 0, "version": "3.6.16"}}) for i in range(count)]


class Manager:
    """The release binary under measurement. It listens on ports that the kernel chooses, and logs them."""

    def __init__(self, binary, kubeconfig, with_metrics=False, log=None):
        self.started, self.started_wall = time.monotonic(), time.time()
        with open(log, "a+b") if log else tempfile.TemporaryFile() as out:
            begin = os.fstat(out.fileno()).st_size
            self.process = subprocess.Popen(
                [binary, "--kubeconfig", kubeconfig, f"--metrics-bind-address={'127.0.0.1:0' if with_metrics else 0}",
                 "--health-probe-bind-address=127.0.0.1:0"], stdout=out, stderr=out)
            while not self.is_ready(os.pread(out.fileno(), LOG_MAX, begin)):
                if self.process.poll() is not None or time.monotonic() - self.started > 60:
                    raise RuntimeError("the manager did not become ready")
                time.sleep(0.005)
        self.ready_seconds = time.monotonic() - self.started

    def is_ready(self, log):
        told = [json.loads(line) for line in log.splitlines() if b'"serving"' in line and line.endswith(b"}")]
        ports = {entry["what"]: entry["port"] for entry in told}
        self.metrics = ports.get("metrics")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{ports['probes']}/readyz", timeout=1)
            return True
        except (KeyError, OSError):
            return False

    def status_mb(self, field):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(rf"^{field}:\s+(\d+) kB", f.read(), re.M).group(1)) * 1024 / 1e6  # The kernel's kB are 1024 bytes.

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait(15)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--manager", required=True)
    parser.add_argument("--image", required=True)
    parser.add_argument("--idle", type=int, default=300, help="seconds after sync until idle memory is read")
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--clusters", type=int, default=1_000)
    options = parser.parse_args()
    api = Api(options.kubeconfig)
    over = 0

    def say(what, value, unit, budget=None):
        nonlocal over
        verdict = ""
        if budget is not None:
            verdict = f"  (budget {budget} {unit}: {'ok' if value <= budget else 'OVER'})"
            over += value > budget
        print(f"{what:58s} {value:9.2f} {unit}{verdict}", flush=True)

    def idle(what, budget):
        manager = Manager(options.manager, options.kubeconfig)
        ready, busy = manager.ready_seconds, manager.cpu_seconds()
        time.sleep(options.idle)
        rss, cpu = manager.status_mb("VmRSS"), manager.cpu_seconds()
        say(f"{what}: VmRSS {options.idle} s after sync", rss, "MB", budget)
        say(f"{what}: start to ready", ready, "s")
        say(f"{what}: CPU to ready", busy, "s")
        say(f"{what}: CPU while idle", 1000 * (cpu - busy) / options.idle, "ms/s")
        manager.stop()
        return rss

    say("binary", os.path.getsize(options.manager) / 1e6, "MB", 10)
    say("image", os.path.getsize(options.image) / 1e6, "MB", 15)
    empty = idle("empty", 10)
    api.post_all(namespaces([f"foreign-{i}" for i in range(10)]))
    for i in range(10):
        api.post_all(pods(f"foreign-{i}", options.pods // 10))
    idle(f"{options.pods} foreign Pods", empty + 5)
    api.post_all(namespaces(["idle"]))
    api.post_all(paused_clusters("idle", options.clusters))
    idle(f"{options.clusters} idle clusters", None)
    idle(f"{options.clusters} idle clusters, restarted", None)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
