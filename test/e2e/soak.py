#!/usr/bin/env python3
"""Rounds of 1 -> 3 -> 5 -> 3 -> 1 under kills of the operator and of an etcd. Usage: soak.py --rounds N [--seed TEXT] [--version V]

After each step: exactly the wanted voters, no orphan member, Pod or volume, and every acknowledged write is there.
"""
import argparse
import json
import random
import subprocess
import sys
import threading
import time

from world import Cluster, Failed, kill_container, kubectl, operator_pods, until


class Writer:
    """Puts one key after another through the client Service and remembers which were acknowledged."""

    def __init__(self, cluster):
        self.cluster, self.acknowledged, self.attempts = cluster, {}, 0
        self.stopping = threading.Event()
        self.endpoint = cluster.address()
        self.thread = threading.Thread(target=self.write, daemon=True)
        self.thread.start()

    def write(self):
        while not self.stopping.is_set():
            self.attempts += 1
            key, value = f"soak/{self.attempts:08d}", str(time.time_ns())
            try:
                self.cluster.etcdctl("put", key, value, timeout=3, endpoint=self.endpoint)
                self.acknowledged[key] = value
            except (Failed, subprocess.TimeoutExpired):
                pass  # Not acknowledged: it may be there or not.
            self.stopping.wait(0.05)

    def check(self):
        expected = dict(self.acknowledged)

        def read():
            text = self.cluster.etcdctl("get", "--prefix", "soak/", timeout=10, endpoint=self.endpoint)
            lines = text.splitlines()
            return dict(zip(lines[::2], lines[1::2])) or None
        found = until(30, "the keys are read", read) if expected else {}
        lost = [k for k, v in expected.items() if found.get(k) != v]
        if lost:
            raise Failed(f"{len(lost)} of {len(expected)} acknowledged writes are lost: {lost[:5]}")
        return len(expected)

    def stop(self):
        self.stopping.set()
        self.thread.join()


def kill_an_etcd(cluster, rng):
    """Of those that are not leaving. One that has ended by itself since it was listed is looked for anew."""
    def killed():
        running = [p for p in cluster.pods()
                   if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]]
        if running:
            kill_container(rng.choice(sorted(running, key=lambda p: p["metadata"]["name"])), "etcd")
        return running
    until(10, "an etcd runs that can be killed", killed)


def soak_round(cluster, writer, seed):
    rng = random.Random(seed)
    steps = [3, 5, 3, 1]
    kill_operator_at, kill_etcd_at = rng.randrange(4), rng.randrange(3)  # A sole member's kill is a plain restart.
    for i, replicas in enumerate(steps):
        start = time.monotonic()
        cluster.scale(replicas)
        events = []
        if i == kill_operator_at:
            events.append((rng.uniform(0, 6), "operator"))
        if i == kill_etcd_at:
            events.append((rng.uniform(0, 6), "etcd"))
        for when, what in sorted(events):
            time.sleep(max(0.0, start + when - time.monotonic()))
            if what == "operator":
                for pod in operator_pods():
                    kill_container(pod, "manager")
                    # A new Pod at once: after some kills the kubelet would wait five minutes before it starts this one again.
                    kubectl("delete", "pod", pod["metadata"]["name"], "-n", pod["metadata"]["namespace"], "--wait=false")
            else:
                kill_an_etcd(cluster, rng)
            print(f"    {when:.1f} s after scale to {replicas}: SIGKILL {what}", flush=True)
        cluster.wait_settled(replicas, 180)
        cluster.check_exact(replicas)
        keys = writer.check()
        print(f"  {seed}: {replicas} members after {time.monotonic() - start:.1f} s, {keys} acknowledged writes are there",
              flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--version", default="3.6.16")
    options = parser.parse_args()
    cluster = Cluster("db", "soak", options.version, replicas=1)
    cluster.create_namespace()
    cluster.create()
    cluster.wait_settled(1, 60)
    writer = Writer(cluster)
    print(f"seed {options.seed}; repeat with: ./dev soak --rounds {options.rounds} --seed {options.seed}", flush=True)
    start = time.monotonic()
    try:
        for n in range(options.rounds):
            soak_round(cluster, writer, f"{options.seed}-{n}")
    finally:
        writer.stop()
    cluster.delete()
    print(json.dumps({"rounds": options.rounds, "seed": options.seed, "writes": len(writer.acknowledged),
                      "seconds": round(time.monotonic() - start)}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        print(f"soak: {e}", file=sys.stderr)
        sys.exit(1)
