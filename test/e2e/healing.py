"""A cluster on real nodes that is edited and defragmented, and loses members, data and nodes in turn; the clients' history is
checked."""
import calendar
import json
import time

import faults
from history import Writer
from world import Cluster, Failed, condition, get, kill_container, kubectl, until

BOUND = 360  # Seconds for each repair; the actual time is printed.


class Living:
    """A cluster of three with its clients, and the IDs that must stay."""

    def __init__(self, cluster):
        self.cluster = cluster
        cluster.create_namespace()
        cluster.create()
        cluster.wait_settled(3, BOUND)
        self.writer = Writer(cluster)
        self.cluster_id = cluster.object()["status"]["clusterID"]
        self.ids = cluster.etcd_ids()

    def names(self):
        """The members' names; the founder comes first if it still exists."""
        members = sorted(self.cluster.members(), key=lambda m: not m["spec"].get("bootstrap"))
        return [m["metadata"]["name"] for m in members]

    def pod(self, name):
        return next((p for p in self.cluster.pods() if p["metadata"]["name"] == name), None)

    def serves(self, gone=None):
        """Whether there are three voters, each of which answers, without `gone`."""
        voters, learners = self.cluster.etcd_members()
        if gone in voters or len(voters) != 3 or learners:
            return False
        pods = {p["metadata"]["name"]: p["status"].get("podIP") for p in self.cluster.pods()}
        for name in voters:
            self.cluster.etcdctl("endpoint", "health", endpoint=f"http://{pods.get(name)}:2379", timeout=2)
        return True

    def whole_again(self, gone=None):
        """Waits for three healthy voters, and then for everything else that must hold; returns the seconds until the former."""
        start = time.monotonic()
        until(BOUND, f"three voters without {gone}", lambda: self.serves(gone))
        now, seconds = time.time(), time.monotonic() - start
        self.ran_for = min((now - began for p in self.cluster.pods() if (began := started(p)) is not None
                            and p["metadata"]["name"] not in self.ids), default=0.0)
        until(BOUND, f"{self.cluster.namespace} says that it is whole",
              lambda: condition(self.cluster.object(), "Available").get("reason") == "QuorumHealthy")
        self.cluster.wait_settled(3, BOUND)
        self.check(gone)
        return seconds

    def check(self, gone=None):
        cluster, ids = self.cluster, self.cluster.etcd_ids()
        cluster.check_exact(3)
        said = condition(cluster.object(), "Available")
        if (said.get("status"), said.get("reason")) != ("True", "QuorumHealthy"):
            raise Failed(f"Available is {said}")
        found = cluster.object()["status"]["clusterID"]
        if found != self.cluster_id or int(self.writer.cluster_id) != int(self.cluster_id, 16):
            raise Failed(f"the cluster's id is {found}, clients saw {self.writer.cluster_id}, it was {self.cluster_id}")
        changed = [n for n, i in self.ids.items() if n != gone and ids.get(n) != i]
        if changed or (gone and ids.keys() & {gone}) or set(ids.values()) & {self.ids.get(gone)}:
            raise Failed(f"members are {ids}, they were {self.ids}, and {gone} went")
        self.ids = ids
        self.keys = self.writer.check()

    def end(self):
        self.writer.stop()
        self.cluster.delete()


def started(pod):
    """When its etcd started, in whole seconds since 1970, which is Kubernetes' precision."""
    for status in pod["status"].get("containerStatuses", []):
        if "running" in status.get("state", {}):
            return calendar.timegm(time.strptime(status["state"]["running"]["startedAt"], "%Y-%m-%dT%H:%M:%SZ"))
    return None


def replaced(living, what, lose, names=None):
    """Loses each of these members (default: all present ones) in turn, and waits for its replacement."""
    for name in names or living.names():
        living.writer.longest_silence()
        lose(name)
        seconds = living.whole_again(gone=name)
        spread = len({faults.node_of(p) for p in living.cluster.pods()})
        if spread != len(faults.nodes()):
            raise Failed(f"{name} was replaced beside another member: three are on {spread} nodes")
        print(f"  {what} {name}: three healthy voters after {seconds:.1f} s, on {spread} nodes, the new one ran for "
              f"{living.ran_for:.0f} s; writers waited {living.writer.longest_silence():.1f} s at most; "
              f"{living.keys} writes are there", flush=True)


EDIT = {"extraArgs": {"max-txn-ops": "256"}, "priorityClassName": "system-cluster-critical",
        "tolerations": [{"key": "storage", "operator": "Exists"}], "additionalMetadata": {"labels": {"team": "data"}},
        "podTemplate": {"metadata": {"annotations": {"edited": "yes"}}, "spec": {"terminationGracePeriodSeconds": 20}}}


def is_edited(pod):
    spec, etcd = pod["spec"], next(c for c in pod["spec"]["containers"] if c["name"] == "etcd")
    return (any("--max-txn-ops=256" in word for word in etcd["command"] + etcd.get("args", []))
            and spec["priorityClassName"] == "system-cluster-critical" and spec["terminationGracePeriodSeconds"] == 20
            and any(t.get("key") == "storage" for t in spec["tolerations"])
            and pod["metadata"]["labels"].get("team") == "data" and pod["metadata"]["annotations"].get("edited") == "yes")


def updated(cluster):
    return cluster.object()["status"].get("updatedMembers", 0)


def members_deleted(living):
    """Replaces members of a cluster after its spec was edited: new members follow the new spec."""
    cluster = living.cluster
    kubectl("patch", "etcdclusters.etcd-operator.cozystack.io", cluster.name, "-n", cluster.namespace, "--type=merge",
            "-p", json.dumps({"spec": EDIT}))
    until(30, "none of the members is told to be as the spec is", lambda: updated(cluster) == 0)
    if any(is_edited(pod) for pod in cluster.pods()):
        raise Failed("a Pod that runs was edited")

    def lose(name):
        kubectl("delete", "etcdmembers.etcd-operator.cozystack.io", name, "-n", cluster.namespace, "--wait=false")
    replaced(living, "deleted", lose)
    until(30, "all members are told to be as the spec is", lambda: updated(cluster) == 3)
    if not all(is_edited(pod) for pod in cluster.pods()):
        raise Failed(f"a Pod is not as the spec is: {json.dumps([pod['spec'] for pod in cluster.pods()])}")


def defragmented(living):
    """Each member's file shrinks, the leader's last and not while it leads."""
    cluster = living.cluster
    value = "x" * 65536
    for n in range(200):
        cluster.etcdctl("put", f"bulk/{n}", value)
    cluster.etcdctl("del", "--prefix", "bulk/")
    revision = json.loads(cluster.etcdctl("get", "none", "-w", "json"))["header"]["revision"]
    cluster.etcdctl("compact", str(revision), "--physical")
    leader = cluster.leader()["metadata"]["name"]
    living.writer.longest_silence()
    kubectl("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdDefrag",
        "metadata": {"name": "now", "namespace": cluster.namespace},
        "spec": {"clusterRef": {"name": cluster.name}, "rule": {"freeSpaceAbove": "1Mi"}}}))
    run = until(90, "the run is complete", lambda: next(
        (d for d in get("etcddefrags.etcd-operator.cozystack.io", cluster.namespace) if d["status"].get("phase") == "Complete"),
        None))
    done = sorted(run["status"]["members"], key=lambda m: m["finishedAt"])
    if len(done) != 3 or done[-1]["name"] != leader or any(m["reclaimedBytes"] < 8 << 20 for m in done):
        raise Failed(f"{leader} led; the run did {done}")
    living.whole_again()
    print(f"  {[m['reclaimedBytes'] >> 20 for m in done]} MiB given back; writers waited "
          f"{living.writer.longest_silence():.1f} s at most; {living.keys} writes are there", flush=True)


def wiped(living, names):
    replaced(living, "wiped", lambda name: faults.wipe(living.cluster, name), names)


def founder_wiped(living):
    """Empties its volume: it must not found another cluster."""
    wiped(living, living.names()[:1])


def others_wiped(living):
    wiped(living, living.names()[:2])


def node_killed(living):
    """Its member is not replaced and loses nothing."""
    node = faults.node_of(living.cluster.pods()[0])
    faults.move_needed_from(node)
    living.writer.longest_silence()
    start = time.monotonic()
    faults.kill_node(node)
    until(270, "the cluster says that a member is away", lambda: [
        condition(living.cluster.object(), "Available").get(k) for k in ("status", "reason")] == ["True", "QuorumAvailable"])
    said = time.monotonic() - start
    back = time.monotonic()
    faults.start_nodes()
    living.whole_again()
    print(f"  {node} killed: told after {said:.1f} s; whole {time.monotonic() - back:.1f} s after its start; writers waited "
          f"{living.writer.longest_silence():.1f} s at most; {living.keys} writes are there", flush=True)


REPLACE_AFTER = 60  # Seconds: the operator's minimum.


def node_lost(living):
    """Its member is replaced, because a user asked for that beforehand, and not before the requested time."""
    cluster, pod = living.cluster, living.cluster.pods()[0]
    name, node = pod["metadata"]["name"], faults.node_of(pod)
    faults.move_needed_from(node)
    kubectl("annotate", "etcdclusters.etcd-operator.cozystack.io", cluster.name, "-n", cluster.namespace,
            f"etcd-operator.cozystack.io/replace-unreachable-members-after={REPLACE_AFTER}s")
    living.writer.longest_silence()
    start = time.monotonic()
    faults.kill_node(node)
    try:
        until(REPLACE_AFTER + BOUND, f"three voters without {name}", lambda: living.serves(name))
        took = time.monotonic() - start
        if took < REPLACE_AFTER:
            raise Failed(f"{name} was given up after {took:.1f} s")
        if not living.pod(name):
            raise Failed(f"the Pod of {name} is gone, and nobody can know that it has ended")
    finally:
        faults.start_nodes()
    living.whole_again(gone=name)
    print(f"  {node} killed for good: three healthy voters after {took:.1f} s, {REPLACE_AFTER} of which were asked for; nothing "
          f"of {name} is left when its node is back; writers waited {living.writer.longest_silence():.1f} s at most; "
          f"{living.keys} writes are there", flush=True)


def nodes_drained(living):
    """The budget lets one member go at a time; a drained member comes back with its data when its node takes Pods again."""
    for node in faults.nodes():
        living.writer.longest_silence()
        here = [p["metadata"]["name"] for p in living.cluster.pods() if faults.node_of(p) == node]
        try:
            took = faults.drain(node)
            until(30, f"{node} is empty of members",
                  lambda: not any(faults.node_of(p) == node for p in living.cluster.pods()))
            others = [p for p in living.cluster.pods() if p["metadata"]["name"] not in here]
            if here and faults.is_evicted(others[0]):
                raise Failed(f"{others[0]['metadata']['name']} could be evicted while {here} were away")
        finally:
            faults.uncordon(node)
        faults.until_operator_runs()
        living.whole_again()
        print(f"  {node} with {', '.join(here)} drained in {took:.1f} s; writers waited "
              f"{living.writer.longest_silence():.1f} s at most; {living.keys} writes are there", flush=True)


IN_MEMORY = {"storage": {"size": "256Mi", "medium": "Memory"}}


def memory_lost():
    """With data in memory, a deleted Pod is a lost member, and so is a Pod that lost its memory."""
    living = Living(Cluster("db", "e2e-memory", "3.6.16", spec=IN_MEMORY))
    try:
        replaced(living, "memory lost under", lambda name: faults.wipe_memory(living.cluster, name))
        replaced(living, "Pod deleted of", lambda name: kubectl(
            "delete", "pod", name, "-n", living.cluster.namespace, "--wait=false"))
    finally:
        living.end()


def memory_alone():
    """A sole member in memory survives the end of its container, but not of its Pod; then no other cluster is founded in its
    place."""
    cluster = Cluster("db", "e2e-memory-alone", "3.6.16", replicas=1, spec=IN_MEMORY)
    cluster.create_namespace()
    cluster.create()
    cluster.wait_settled(1, 60)
    until(30, "the Service leads to the member", lambda: "OK" in cluster.etcdctl("put", "greeting", "hello", timeout=2))
    ids, before = cluster.etcd_ids(), cluster.object()["status"]["clusterID"]
    pod = cluster.pods()[0]
    start = time.monotonic()
    kill_container(pod, "etcd")
    until(60, "the container runs again", lambda: cluster.pods()[0]["status"]["containerStatuses"][0]["restartCount"] == 1
          and "hello" in cluster.etcdctl("get", "greeting", timeout=2))
    print(f"  its container killed: serves with its data after {time.monotonic() - start:.1f} s")
    cluster.wait_settled(1, 60)
    if cluster.etcd_ids() != ids or cluster.pods()[0]["metadata"]["uid"] != pod["metadata"]["uid"]:
        raise Failed(f"the member is {cluster.etcd_ids()}, it was {ids}")
    start = time.monotonic()
    kubectl("delete", "pod", pod["metadata"]["name"], "-n", cluster.namespace)
    until(60, "the cluster says that its data is lost", lambda: [
        condition(cluster.object(), "Available").get(k) for k in ("status", "reason")] == ["False", "DataLost"])
    print(f"  its Pod deleted: DataLost after {time.monotonic() - start:.1f} s: "
          f"{condition(cluster.members()[0], 'Ready').get('message')}")
    time.sleep(10)
    now = cluster.object()["status"]
    if cluster.pods() or len(cluster.members()) != 1 or now["clusterID"] != before:
        raise Failed(f"something was made in its place: {cluster.pods()}, {cluster.members()}, {now}")
    cluster.delete()
