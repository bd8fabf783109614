"""K1 and K6: states in which nothing moves, or the same Pod is made again and again, on real nodes."""
import os
import time

from world import Audit, Cluster, Failed, condition, kubectl, run, until

HOSTNAME = "kubernetes.io/hostname"


def alone_on_its_node(name):
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"etcd-operator.cozystack.io/cluster": name}}}]}


def no_node_is_left(version):
    """K1: with required anti-affinity three members fill three nodes, so a replacement waits for the Pod that it replaces."""
    cluster = Cluster("db", "e2e-full", version, spec={"affinity": {"podAntiAffinity": alone_on_its_node("db")}})
    cluster.create_namespace()
    cluster.create()
    cluster.wait_settled(3, 120)
    cluster.etcdctl("put", "greeting", "hello")

    replaced = cluster.members()[-1]["metadata"]
    kubectl("delete", "etcdmembers", replaced["name"], "-n", cluster.namespace, "--wait=false")
    start, said = time.monotonic(), set()

    def healed():
        said.add(condition(cluster.object(), "Progressing").get("message", ""))
        names = [m["metadata"]["name"] for m in cluster.members()]
        return replaced["name"] not in names and cluster.is_settled(3)
    until(300, "a deleted member is replaced where no node is left", healed)
    cluster.check_exact(3)
    print(f"  no node is left: {replaced['name']} was replaced after {time.monotonic() - start:.1f} s")
    for words in sorted(said):
        print(f"    Progressing: {words}")
    if "hello" not in cluster.etcdctl("get", "greeting"):
        raise Failed("the key is gone")
    if not any("is removed before its replacement votes" in words for words in said):
        raise Failed("Progressing did not say that the Pod goes first")
    cluster.delete()


def kubelet_refuses(version):
    """K6: the kubelet refuses each Pod for its sysctl: at most ten in five minutes, and the kubelet's reason is told. Only with a
    policy that is not the default is such a sysctl possible."""
    install("--set", "manager.podTemplatePolicy=any")
    try:
        refused_for_its_sysctl(Cluster("db", "e2e-refused", version, replicas=1, spec={
            "podTemplate": {"spec": {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]}}}}))
    finally:
        install()


def install(*options):
    run(os.path.join(os.path.dirname(os.path.abspath(__file__)), "install.sh"), *options, timeout=200)


def refused_for_its_sysctl(cluster):
    cluster.create_namespace(enforce="privileged")
    audit = Audit()
    cluster.create()

    def words():
        ready = [condition(m, "Ready") for m in cluster.members()]
        return next((c["message"] for c in ready if c.get("reason") == "PodFailed"), None)
    message = until(60, "the member says that its Pod failed", words)
    print(f"  the kubelet refuses: {message}")
    if "SysctlForbidden" not in message:
        raise Failed(f"the kubelet's reason is missing: {message}")
    time.sleep(300)
    requests = audit.requests(namespace=cluster.namespace)
    made, writes = requests.count("create pods"), sum("/status" in request for request in requests)
    print(f"  in five minutes: {made} Pods, {writes} writes of a status")
    if not 2 <= made <= 10:
        raise Failed(f"{made} Pods in five minutes")
    cluster.delete()
