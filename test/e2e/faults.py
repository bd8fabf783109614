"""Faults of the local cluster from outside Kubernetes: emptied disks, killed and restarted nodes, drained nodes.

Needs CLUSTER_STATE (the local cluster's folder), its addresses NODE_NET, API_IP and SERVICE_CIDR, and the requirements of world.py.
"""
import json
import os
import shutil
import signal
import time

from world import Failed, container_process, get, kubectl, operator_pods, run, until

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "cluster")


def data_folder(cluster, member):
    """The folder on this machine with the contents of the member's volume."""
    return folder_of(get("persistentvolumeclaims", cluster.namespace, f"data-{member}"))


def folder_of(claim):
    """The folder on this machine with the contents of the claim's volume: a folder of its node."""
    volume = json.loads(kubectl("get", "persistentvolume", claim["spec"]["volumeName"], "-o", "json"))
    term = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
    return f"{os.environ['CLUSTER_STATE']}/{term['values'][0]}{volume['spec']['local']['path']}"


def wipe(cluster, member):
    """Removes all of etcd's data at one moment, and kills etcd the next, as when a disk is lost. If no etcd runs there, raises
    Failed before it changes anything."""
    folder = data_folder(cluster, member)
    process = container_process(get("pods", cluster.namespace, member), "etcd")
    lost = f"{folder}.lost"
    os.mkdir(lost)
    for name in os.listdir(folder):
        os.rename(f"{folder}/{name}", f"{lost}/{name}")
    os.kill(process, signal.SIGKILL)
    if "member" not in os.listdir(lost):
        raise Failed(f"{member} had no data in {folder}: {os.listdir(lost)}")
    shutil.rmtree(lost)


def wipe_memory(cluster, member):
    """The same for data in memory, as a restart of its node does: its Pod goes on, and starts etcd again."""
    process = container_process(get("pods", cluster.namespace, member), "etcd")
    folder = f"/proc/{process}/root/var/lib/etcd"
    os.rename(f"{folder}/member", f"{folder}/lost")
    os.kill(process, signal.SIGKILL)


def nodes():
    return sorted(n["metadata"]["name"] for n in json.loads(kubectl("get", "nodes", "-o", "json"))["items"])


def node_of(pod):
    return pod["spec"].get("nodeName", "")


def needed_pods():
    """Pods that exist only once: the operator, the cluster's DNS, and the volume provisioner."""
    return (operator_pods() + get("pods", "kube-system", selector="k8s-app=kube-dns")
            + get("pods", "local-path-storage", selector="app=local-path-provisioner"))


def move_needed_from(node):
    """If the node died with them, Kubernetes would take minutes to start them elsewhere."""
    kubectl("cordon", node)
    try:
        for pod in needed_pods():
            if node_of(pod) == node:
                kubectl("delete", "pod", pod["metadata"]["name"], "-n", pod["metadata"]["namespace"], timeout=180)
        until(180, f"operator, DNS and provisioner are elsewhere than on {node}", lambda: sum(
            node_of(p) != node and all(c.get("ready") for c in p["status"].get("containerStatuses", [{}]))
            for p in needed_pods()) == 3)
    finally:
        uncordon(node)


def route_services(through):
    """Routes this machine's traffic to Services through one node, which must be alive (up.sh uses the first)."""
    node = f"{os.environ['NODE_NET']}.{10 + int(through.removeprefix('node'))}"
    run("ip", "route", "replace", os.environ["SERVICE_CIDR"], "via", node, "src", os.environ["API_IP"])


def kill_node(name):
    """As a power failure: every process on it ends at once. Its disk stays."""
    if name == "node1":
        route_services("node2")
    with open(f"{os.environ['CLUSTER_STATE']}/run/{name}.pid", encoding="ascii") as f:
        pid = f.read().split()[0]
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        os.kill(int(f.read().split()[0]), signal.SIGKILL)
    until(60, f"{name} has ended", lambda: not os.path.exists(f"/proc/{pid}"))


def start_nodes():
    """Starts the nodes that do not run."""
    run(f"{TOOLS}/up.sh", timeout=900)


def drain(node, seconds=90):
    """Evicts all Pods as far as budgets allow; no new Pod comes until uncordon()."""
    # kubectl evicts no Pod without a controller, such as those that make and delete volumes of the local class.
    until(60, f"volumes are made and deleted on {node}",
          lambda: not any(p["metadata"]["name"].startswith("helper-pod-") and node_of(p) == node
                          for p in get("pods", "local-path-storage")))
    start = time.monotonic()
    try:
        kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={seconds}s", timeout=seconds + 10)
    except Failed as e:  # It repeats itself.
        raise Failed(str(e).splitlines()[-1]) from None
    return time.monotonic() - start


def uncordon(node):
    kubectl("uncordon", node)


def is_evicted(pod):
    """Tries to evict it once; False if a budget forbids it."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    try:
        kubectl("create", "--raw", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", "-f", "-", stdin=json.dumps({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}))
    except Failed as e:
        if "disruption budget" in str(e):
            return False
        raise
    return True


def until_operator_runs(seconds=60):
    until(seconds, "the operator runs",
          lambda: any(c.get("ready") for p in operator_pods() for c in p["status"].get("containerStatuses", [])))
