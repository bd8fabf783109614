#!/usr/bin/env python3
"""The cases on real nodes, one function each; see run.sh. Usage: cases.py [--only NAME] [--skip NAME] [--rest SECONDS]"""
import argparse
import collections
import json
import os
import subprocess
import sys
import time
import traceback

import faults
import healing
import in_place
import restores
import schedules
import secure
import snapshots
import tenant
import wedges
from history import Writer
from soak import soak_round
from world import Audit, Cluster, Failed, condition, get, kubectl, operator_pods, until

VERSIONS = os.environ.get("ETCD_TEST_VERSIONS", "3.5.35 3.6.16 3.7.3").split()
MIDDLE = VERSIONS[len(VERSIONS) // 2]
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_requests.txt")
REST_SECONDS = 60


def refusals(cluster):
    """How many times etcd refused a MemberAdd of the cluster for a while, by the operator's log."""
    logs = "".join(kubectl("logs", "-n", p["metadata"]["namespace"], p["metadata"]["name"]) for p in operator_pods())
    words = '"refused for now', f'"{cluster.namespace}/db"', "MemberAdd", "etcdserver:"
    return sum(all(word in line for word in words) for line in logs.splitlines())


def three_members(version):
    """Create -> 3 ready: seconds, API requests against the golden list, data survives the leader's Pod."""
    cluster = Cluster("db", "e2e-" + version.replace(".", "-"), version)
    cluster.create_namespace()
    audit, start = Audit(), time.monotonic()
    cluster.create()
    cluster.wait_settled(3, 360)
    seconds = time.monotonic() - start
    time.sleep(3)  # The last requests reach the log.
    requests = audit.requests(namespace=cluster.namespace)
    counts = collections.Counter(requests)
    print(f"  etcd {version}: three members ready after {seconds:.1f} s, {len(requests)} API requests")
    for request, n in sorted(counts.items()):
        print(f"    {n:3d} {request}")
    cluster.check_exact(3)
    golden = dict(line.split(None, 1)[::-1] for line in open(GOLDEN, encoding="utf-8").read().splitlines()
                  if line and not line.startswith("#"))
    # For each MemberAdd that etcd refused for a while: the EtcdMember reports that it waits, an Event tells it, and the EtcdMember
    # is looked at, and read, once more before the next try (the golden list has two of those).
    refused = refusals(cluster)
    of_a_refusal = ("create events", "get etcdmembers", "patch etcdmembers/status")
    for request, n in counts.items():
        if request not in golden:
            raise Failed(f"a request that {GOLDEN} does not have: {request}")
        if n > int(golden[request]) + refused * (request in of_a_refusal):
            raise Failed(f"{n} x {request}, golden is {golden[request]}; etcd refused {refused} times")
    cluster.etcdctl("put", "greeting", "hello")
    leader = until(60, "one leads", cluster.leader)["metadata"]["name"]
    kubectl("delete", "pod", leader, "-n", cluster.namespace, "--wait=false")
    until(30, "the key is read while the leader's Pod is away", lambda: "hello" in cluster.etcdctl("get", "greeting", timeout=10))
    cluster.wait_settled(3, 180)
    until(180, "the Pod is back", lambda: sorted(p["metadata"]["name"] for p in cluster.pods()
                                                if condition(p, "Ready").get("status") == "True")
          == sorted(m["metadata"]["name"] for m in cluster.members()))
    cluster.check_exact(3)
    return cluster


def at_rest(clusters, seconds):
    """The operator writes nothing but the Lease."""
    until(60, "all is settled", lambda: all(c.is_settled(3) for c in clusters))
    # A changed report on members is written one minute after the last write.
    until(150, "all roles are told", lambda: all(
        m.get("role") for c in clusters for m in c.object()["status"].get("members", [{}])))
    time.sleep(65)  # A repeated Event is counted one minute later.
    audit = Audit()
    time.sleep(seconds)
    writes = audit.requests(writes=True)
    reads = audit.requests()
    print(f"  at rest for {seconds} s: {len(writes)} writes, {len(reads)} requests besides watches and the Lease")
    if writes:
        raise Failed(f"writes at rest: {collections.Counter(writes)}")


def scale(cluster):
    """3 -> 5 -> 1 -> 3."""
    for replicas in (5, 1, 3):
        start = time.monotonic()
        cluster.scale(replicas)
        cluster.wait_settled(replicas, 120)
        print(f"  {replicas} members after {time.monotonic() - start:.1f} s")
        cluster.check_exact(replicas)
    if "hello" not in cluster.etcdctl("get", "greeting"):
        raise Failed("the key is gone")


def soak(cluster, rounds, seed):
    writer = Writer(cluster)
    try:
        for n in range(rounds):
            soak_round(cluster, writer, f"{seed}-{n}", with_node=n % 2 == 1)
    finally:
        writer.stop()
        faults.start_nodes()


def bad_input():
    """Unknown storage class: the condition says so, and the cluster recovers soon after the class exists."""
    no_class = Cluster("db", "e2e-noclass", "3.6.16", replicas=1, spec={"storage": {"size": "1Gi", "storageClassName": "later"}})
    no_class.create_namespace()
    no_class.create()
    member = until(30, "the member says that no node takes its Pod", lambda: next(
        (m for m in no_class.members() if condition(m, "Ready").get("reason") == "Unschedulable"), None))
    print(f"  unknown storage class: {condition(member, 'Ready')['message']}")
    standard = json.loads(kubectl("get", "storageclass", "-o", "json"))["items"][0]
    kubectl("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "later", "annotations": {"defaultVolumeType": "local"}},
        "provisioner": standard["provisioner"], "volumeBindingMode": "WaitForFirstConsumer"}))
    start = time.monotonic()
    no_class.wait_settled(1, 15)  # 10 s are promised; the machine may be busy.
    print(f"  ready {time.monotonic() - start:.1f} s after the class came")
    no_class.delete()
    kubectl("delete", "storageclass", "later")


def quota():
    """A quota on Pods: PodRejected in the member's condition; within 70 s of its removal the Pod is created."""
    cluster = Cluster("db", "e2e-quota", "3.6.16", replicas=1)
    cluster.create_namespace()
    kubectl("create", "quota", "none", "-n", cluster.namespace, "--hard=pods=0")
    until(30, "the quota is in force", lambda: get("resourcequotas", cluster.namespace, "none").get("status", {}).get("hard"))
    cluster.create()
    member = until(60, "the member says that its Pod was refused", lambda: next(
        (m for m in cluster.members() if condition(m, "Ready").get("reason") == "PodRejected"), None))
    message = condition(member, "Ready")["message"]
    if "exceeded quota" not in message:
        raise Failed(f"the message is {message}")
    kubectl("delete", "quota", "none", "-n", cluster.namespace)
    start = time.monotonic()
    cluster.wait_settled(1, 70)
    print(f"  ready {time.monotonic() - start:.1f} s after the quota went")
    cluster.delete()


def deletion(cluster):
    cluster.delete()


def recipes():
    """All rows, also those that need containers; prints each row that fails."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recipes", "recipes.py")
    done = subprocess.run([program, "--nodes", "--namespace", "e2e-recipes", "--version", "3.6.16"],
                          capture_output=True, text=True, timeout=1200, check=False)
    print("".join(f"  {line}\n" for line in done.stdout.splitlines() if not line.startswith("waits")), end="", flush=True)
    if done.returncode != 0:
        raise Failed(done.stderr.strip() or "rows failed")
    kubectl("delete", "namespace", "e2e-recipes", "--wait=false")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--one-of-each", action="store_true", help="one case of each kind: what every run of ./dev test has")
    parser.add_argument("--rest", type=int, default=REST_SECONDS)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--renewals", type=int, default=0, help="of five-minute certificates, 3 minutes each")
    parser.add_argument("--minutes", type=int, default=0, help="of a schedule, before its store fails; 0: it does not")
    parser.add_argument("--seed", default=str(int(time.time())))
    options = parser.parse_args()
    passed = failed = 0
    clusters = {}

    def case(name, body, *args, always=False):
        """`always`: runs with --one-of-each, too."""
        nonlocal passed, failed
        if options.only not in name or any(word in name for word in options.skip) or (options.one_of_each and not always):
            return None
        start = time.monotonic()
        print(f"--- {name}", flush=True)
        try:
            value = body(*args)
            passed += 1
            print(f"ok  {name} ({time.monotonic() - start:.0f} s)", flush=True)
            return value
        except Exception as e:  # noqa: BLE001: any exception fails the case; the others go on.
            failed += 1
            print(f"FAIL {name}: {e}", flush=True)
            if not isinstance(e, Failed):
                traceback.print_exc()
            for pod in operator_pods():
                print(kubectl("logs", "-n", pod["metadata"]["namespace"], pod["metadata"]["name"], "--tail=30"))
            return None

    for version in VERSIONS:
        clusters[version] = case(f"three members of etcd {version}", three_members, version, always=version == VERSIONS[-1])
    alive = [c for c in clusters.values() if c]
    case("at rest nothing is written", at_rest, alive, options.rest)
    if alive:
        case("scale 5, 1, 3", scale, alive[1 if len(alive) > 1 else 0])
    case("bad input: unknown storage class", bad_input)
    case("bad input: quota", quota)
    for version, cluster in clusters.items():
        if cluster:
            case(f"deletion of etcd {version} leaves nothing", deletion, cluster, always=True)
    healed = case("healing: three members under clients",
                  lambda: healing.Living(Cluster("db", "e2e-healing", "3.6.16")), always=True)
    if healed:
        case("healing: every member defragmented, the leader last", healing.defragmented, healed)
        case("healing: a node killed, and returned", healing.node_killed, healed, always=True)
        case("healing: the founder's data wiped", healing.founder_wiped, healed, always=True)
        case("healing: each other member's data wiped in turn", healing.others_wiped, healed)
        case("healing: each member deleted in turn", healing.members_deleted, healed)
        # Runs after these cases to check that a replacement is alone on its node: otherwise the node cannot be drained.
        case("healing: every node drained", healing.nodes_drained, healed)
        case("healing: a node lost for good", healing.node_lost, healed)
        case("healing: deletion under clients leaves nothing", healed.end, always=True)
    living = case("in place: three members with TLS and passwords under clients, and a snapshot of them",
                  lambda: in_place.Living(MIDDLE), always=True)
    if living:
        case("in place: a damaged snapshot stops nobody", in_place.damaged, living)
        case("in place: restored, looked at, and taken back", in_place.taken_back, living)
        case("in place: restored once more, looked at, and committed", in_place.committed, living, always=True)
        case("in place: back to the snapshot after a lost quorum", in_place.quorum_lost, living)
        case("in place: deletion leaves nothing", living.end, always=True)
    case("memory: each member's memory lost, and each Pod deleted, in turn", healing.memory_lost)
    case("memory: a sole member loses its container, then its Pod", healing.memory_alone)
    case("recipes: the commands of the operations guide", recipes)
    case("restores: into the same version and the next ones; what cannot be is refused", restores.restores, VERSIONS)
    case("schedules: every minute, kept, proven, and told when they are not", schedules.schedules, MIDDLE, options.minutes)
    case("snapshots: into a volume and a store, under load", snapshots.snapshots, VERSIONS[-1])
    case("wedges: a member is replaced where no node is left", wedges.no_node_is_left, VERSIONS[-1])
    case("wedges: a kubelet refuses each Pod", wedges.kubelet_refuses, VERSIONS[-1])
    case("tenant: odd objects of one stop nobody", tenant.odd_input, VERSIONS[-1])
    case("security: own Secrets, cert-manager, own authority", secure.secure, VERSIONS[-1], options.renewals)
    soaked = Cluster("db", "e2e-soak", "3.6.16", replicas=1)

    def soak_case():
        soaked.create_namespace()
        soaked.create()
        soaked.wait_settled(1, 60)
        print(f"  seed {options.seed}")
        soak(soaked, options.rounds, options.seed)
        soaked.delete()

    case(f"soak, {options.rounds} rounds", soak_case)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
