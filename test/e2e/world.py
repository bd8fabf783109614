"""Actions and readings of tests on real nodes: kubectl, etcdctl, the API server's audit log, processes.

Needs KUBECONFIG and kubectl on PATH; ETCDCTL names an etcdctl; AUDIT_LOG names the API server's log, if it can be read.
"""
import json
import os
import signal
import subprocess
import time

GROUP = "etcd-operator.cozystack.io"
OPERATOR_NAMESPACE = os.environ.get("OPERATOR_NAMESPACE", "etcd-operator-system")
OPERATOR_USER = f"system:serviceaccount:{OPERATOR_NAMESPACE}:etcd-operator"
LABEL = f"{GROUP}/cluster"


class Failed(Exception):
    """A failed case; the text says what failed."""


def run(*command, stdin=None, timeout=60):
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:8])}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def kubectl(*words, stdin=None, timeout=60):
    return run("kubectl", *words, stdin=stdin, timeout=timeout)


def get(kind, namespace, name=None, selector=None):
    """One object or a list of them; {} or [] if absent."""
    words = ["get", kind, "-n", namespace, "-o", "json", "--ignore-not-found"]
    words += [name] if name else (["-l", selector] if selector else [])
    text = kubectl(*words)
    if name:
        return json.loads(text) if text else {}
    return json.loads(text)["items"] if text else []


def until(seconds, what, test, every=0.2):
    """Waits until test() is true, and returns its value; raises Failed after that many seconds."""
    end = time.monotonic() + seconds
    while True:
        try:
            value = test()
            problem = ""
        except (Failed, subprocess.TimeoutExpired) as e:
            value, problem = None, f" ({e})"
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}{problem}")
        time.sleep(every)


def condition(thing, kind):
    for c in thing.get("status", {}).get("conditions", []):
        if c["type"] == kind:
            return c
    return {}


class Cluster:
    """One EtcdCluster under test, in its own namespace."""

    def __init__(self, name, namespace, version, replicas=3, spec=None):
        self.name, self.namespace, self.version = name, namespace, version
        self.spec = {"replicas": replicas, "version": version, "storage": {"size": "1Gi"}, **(spec or {})}

    def create_namespace(self, enforce="restricted"):
        kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": self.namespace, "labels": {"pod-security.kubernetes.io/enforce": enforce}}}))

    def create(self):
        kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdCluster",
            "metadata": {"name": self.name, "namespace": self.namespace}, "spec": self.spec}))

    def scale(self, replicas):
        kubectl("scale", f"etcdclusters.{GROUP}", self.name, "-n", self.namespace, f"--replicas={replicas}")

    def object(self):
        return get(f"etcdclusters.{GROUP}", self.namespace, self.name)

    def members(self):
        return get(f"etcdmembers.{GROUP}", self.namespace, selector=f"{LABEL}={self.name}")

    def pods(self):
        return get("pods", self.namespace, selector=f"{LABEL}={self.name}")

    def volumes(self):
        return get("persistentvolumeclaims", self.namespace, selector=f"{LABEL}={self.name}")

    def address(self):
        """The client Service's ClusterIP, which this machine reaches through the local cluster."""
        ip = get("services", self.namespace, f"{self.name}-client")["spec"]["clusterIP"]
        return f"http://{ip}:2379"

    def etcdctl(self, *words, timeout=60, endpoint=None):
        return run(os.environ["ETCDCTL"], f"--endpoints={endpoint or self.address()}", f"--dial-timeout={min(30, timeout)}s",
                   f"--command-timeout={timeout}s", *words, timeout=timeout + 5)

    def etcd_members(self):
        """The names of the voters and of the learners, as etcd lists them; asked again and again, also beside dead members."""
        members = json.loads(self.etcdctl("member", "list", "-w", "json", timeout=10))["members"]
        voters = sorted(m.get("name", "") for m in members if not m.get("isLearner"))
        return voters, sorted(m.get("name", "") for m in members if m.get("isLearner"))

    def etcd_ids(self):
        """The ID of each member, as etcd lists them."""
        return {m.get("name", ""): m["ID"] for m in json.loads(self.etcdctl("member", "list", "-w", "json"))["members"]}

    def leader(self):
        """The leader's Pod."""
        for pod in self.pods():
            endpoint = f"http://{pod['status'].get('podIP')}:2379"
            try:
                status = json.loads(self.etcdctl("endpoint", "status", "-w", "json", endpoint=endpoint, timeout=9))[0]["Status"]
            except (Failed, subprocess.TimeoutExpired):
                continue
            if status["leader"] == status["header"]["member_id"]:
                return pod
        raise Failed("nobody leads")

    def is_settled(self, replicas):
        cluster = self.object()
        progressing = condition(cluster, "Progressing")
        status = cluster.get("status", {})
        return (progressing.get("reason") == "Reconciled" and status.get("readyMembers") == replicas
                and status.get("observed", {}).get("replicas") == replicas
                and progressing.get("observedGeneration") == cluster["metadata"]["generation"])

    def wait_settled(self, replicas, seconds):
        until(seconds, f"{self.namespace}/{self.name} has {replicas} members ready; it says "
              f"{json.dumps(self.object().get('status', {}).get('conditions', []))}", lambda: self.is_settled(replicas))

    def check_exact(self, replicas):
        """Exactly the wanted voters; no orphan member, Pod or volume. Volumes may take a moment to go."""
        def problems():
            names = sorted(m["metadata"]["name"] for m in self.members())
            voters, learners = self.etcd_members()
            pods = sorted(p["metadata"]["name"] for p in self.pods())
            volumes = sorted(v["metadata"]["name"] for v in self.volumes())
            out = []
            if len(names) != replicas:
                out.append(f"EtcdMembers {names}")
            if voters != names or learners:
                out.append(f"etcd has {voters} and learners {learners}, EtcdMembers are {names}")
            if pods != names:
                out.append(f"Pods {pods}, EtcdMembers {names}")
            if volumes != ([] if self.spec["storage"].get("medium") == "Memory" else [f"data-{n}" for n in names]):
                out.append(f"volumes {volumes}, EtcdMembers {names}")
            return out
        last = []

        def none_left():
            last[:] = problems()
            return not last
        try:
            until(180, "exactly the wanted members", none_left)
        except Failed as e:
            raise Failed(f"{e}: {'; '.join(last)}") from None

    def delete(self, seconds=270):
        kubectl("delete", f"etcdclusters.{GROUP}", self.name, "-n", self.namespace, "--wait=false")

        def gone():
            return not (self.members() or self.pods() or self.volumes() or get("services", self.namespace))
        until(seconds, f"nothing is left of {self.namespace}/{self.name}", gone)
        kubectl("delete", "namespace", self.namespace, "--wait=false")


def container_process(pod, container):
    """The PID on this machine of a container's first process: the container's ID is in its cgroup path."""
    for status in pod["status"].get("containerStatuses", []):
        if status["name"] != container or "containerID" not in status:
            continue
        container_id = status["containerID"].split("://")[1]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cgroup", encoding="ascii") as f:
                    if container_id in f.read():
                        return int(pid)
            except OSError:
                continue
    raise Failed(f"no process of {pod['metadata']['name']}/{container} on this machine")


def kill_container(pod, container):
    try:
        os.kill(container_process(pod, container), signal.SIGKILL)
    except ProcessLookupError:
        raise Failed(f"{pod['metadata']['name']}/{container} has just ended") from None


def operator_pods():
    return [p for p in get("pods", OPERATOR_NAMESPACE, selector="control-plane=controller-manager")
            if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]]


class Audit:
    """The operator's requests since this object was created, from the API server's audit log."""

    def __init__(self):
        self.path = os.environ.get("AUDIT_LOG", "")
        self.start = os.path.getsize(self.path) if self.path else 0

    def requests(self, namespace=None, writes=False):
        """The verb and resource of each finished request; watches and the Lease do not count."""
        out = []
        with open(self.path, encoding="utf-8") as f:
            f.seek(self.start)
            for line in f:
                event = json.loads(line)
                ref = event.get("objectRef", {})
                if event["stage"] != "ResponseComplete" or event["user"]["username"] != OPERATOR_USER:
                    continue
                if ref.get("resource") == "leases" or event["verb"] == "watch":
                    continue
                if namespace and ref.get("namespace") != namespace:
                    continue
                if writes and event["verb"] in ("get", "list"):
                    continue
                sub = "/" + ref["subresource"] if ref.get("subresource") else ""
                told = " pod phase: Running" if tells_running(event.get("requestObject")) else ""
                out.append(f"{event['verb']} {ref.get('resource', '?')}{sub}{told}")
        return out


def tells_running(patch):
    """Whether all that this patch of an EtcdMember's status tells is that its Pod runs. It is written once a Pod, if its etcd takes
    longer to become ready than the write of what came before: on a slow machine."""
    status = patch.get("status", {}) if isinstance(patch, dict) else {}
    return set(status) == {"conditions"} and any(c["message"] == "pod phase: Running" for c in status["conditions"])
