#!/usr/bin/env python3
"""Rounds of 1 -> 3 -> 5 -> 3 -> 1 while Pods, members, nodes, data and the operator are killed. Usage: soak.py --rounds N
[--seed TEXT] [--version V]

After each step: exactly the wanted voters, no orphan member, Pod or volume, one cluster ID, and a correct history of the clients.
"""
import argparse
import json
import random
import sys
import time

import faults
from history import Writer
from world import Cluster, Failed, condition, kill_container, kubectl, operator_pods, until


def kill_operator(*_):
    for pod in operator_pods():
        kill_container(pod, "manager")
        # Recreates the Pod: after some kills the kubelet would wait five minutes before it restarts this one.
        kubectl("delete", "pod", pod["metadata"]["name"], "-n", pod["metadata"]["namespace"], "--wait=false")


def running(cluster):
    """Pods whose etcd runs and that are not terminating."""
    return sorted((p for p in cluster.pods() if p["status"].get("phase") == "Running"
                   and "deletionTimestamp" not in p["metadata"]), key=lambda p: p["metadata"]["name"])


def kill_an_etcd(cluster, rng):
    """Picks another one if it has ended by itself since it was listed."""
    def killed():
        pods = running(cluster)
        if pods:
            kill_container(rng.choice(pods), "etcd")
        return pods
    until(10, "an etcd runs that can be killed", killed)


def delete_a_pod(cluster, rng):
    """Sometimes without a graceful shutdown."""
    pod = rng.choice(running(cluster))["metadata"]["name"]
    grace = rng.choice([[], ["--grace-period=0", "--force"]])
    kubectl("delete", "pod", pod, "-n", cluster.namespace, "--wait=false", "--ignore-not-found", *grace)


def delete_a_member(cluster, rng):
    name = rng.choice(sorted(m["metadata"]["name"] for m in cluster.members()))
    kubectl("delete", "etcdmembers.etcd-operator.cozystack.io", name, "-n", cluster.namespace, "--wait=false",
            "--ignore-not-found")


def wipe_a_member(cluster, rng):
    """Picks another one if its node or container has just restarted, although its Pod is listed as running."""
    def wiped():
        pods = running(cluster)
        if pods:
            faults.wipe(cluster, rng.choice(pods)["metadata"]["name"])
        return pods
    until(60, "an etcd runs whose data can be taken", wiped)


def kill_a_node(cluster, rng):
    """And starts it again, half a minute later at most."""
    node = rng.choice(faults.nodes())
    faults.kill_node(node)
    time.sleep(rng.uniform(0, 15))
    faults.start_nodes()
    return node


KILLS = {"operator": kill_operator, "etcd": kill_an_etcd, "pod": delete_a_pod, "node": kill_a_node}
LOSSES = {"member": delete_a_member, "wipe": wipe_a_member}  # Each destroys one member's data for good.


def plan(rng, with_node):
    """The time and kind of each event, for each step of a round. Data is destroyed only in steps with three members or more, one
    member's per step, so that a quorum keeps it and everything must go on. A sole member's Pod may be killed, because its data
    stays."""
    steps = [[3, []], [5, []], [3, []], [1, []]]
    for kill in sorted(KILLS.keys() - (set() if with_node else {"node"})):
        steps[rng.randrange(len(steps))][1].append((rng.uniform(0, 6), kill))
    steps[1 + rng.randrange(2)][1].append((rng.uniform(0, 6), rng.choice(sorted(LOSSES))))
    return steps


def soak_round(cluster, writer, seed, with_node):
    """A killed node costs half a minute, so not every round has one."""
    rng = random.Random(seed)
    for replicas, events in plan(rng, with_node):
        start = time.monotonic()
        cluster.scale(replicas)
        for when, what in sorted(events):
            time.sleep(max(0.0, start + when - time.monotonic()))
            print(f"    {time.monotonic() - start:.1f} s after scale to {replicas}: {what}", flush=True)
            {**KILLS, **LOSSES}[what](cluster, rng)
        cluster.wait_settled(replicas, 240)
        cluster.check_exact(replicas)
        until(60, "its conditions say so", lambda: [
            condition(cluster.object(), "Available").get(k) for k in ("status", "reason")] == ["True", "QuorumHealthy"])
        keys = writer.check()
        print(f"  {seed}: {replicas} members after {time.monotonic() - start:.1f} s, {keys} acknowledged writes are there; writers "
              f"waited {writer.longest_silence():.1f} s at most", flush=True)


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
            soak_round(cluster, writer, f"{options.seed}-{n}", with_node=n % 2 == 1)
    finally:
        writer.stop()
        faults.start_nodes()
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
