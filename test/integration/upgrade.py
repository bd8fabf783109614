#!/usr/bin/python3
"""Another build of the operator takes over clusters that it would not accept as new ones, on the kube-apiserver of KUBECONFIG.

    upgrade.py STANDIN OLD_MANAGER NEW_MANAGER DIR VERSION=FOLDER    FOLDER has the programs of that etcd

The old operator grows a cluster for each template that only it accepts. Then the new one runs, names the field of each, and each
member's Pod, once deleted, is made again. OLD_MANAGER is of commit b74d13f: N1 and N2 end its process, and with N3 it lists
nothing. The last line is "N passed, N failed"; exit 1 if any failed.
"""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

GROUP = "etcd-operator.cozystack.io"
NAMESPACE = "upgrade"
LIMIT = 120  # seconds


def kubectl(*words, document=None):
    done = subprocess.run(("kubectl", "-n", NAMESPACE, *words), input=document, text=True, capture_output=True, timeout=60,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(f"kubectl {' '.join(words[:6])}: {done.stderr.strip()}")
    return done.stdout


def until(what, found):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.2)
    raise RuntimeError(f"waited {LIMIT} s for {what}")


class Standin:
    """Plays Pods with real etcd processes, and runs an operator."""

    def __init__(self, program, folder, manager, etcd):
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen((program, "serve", "--dir", str(self.folder), "--manager", manager, "--etcd", etcd),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        control = self.folder / "control"
        until("the stand-in", lambda: control.exists() and control.read_text(encoding="ascii").strip())
        self.address = control.read_text(encoding="ascii").strip()

    def ask(self, path, method, body=None):
        data = json.dumps(body).encode() if body else None
        with urllib.request.urlopen(urllib.request.Request(f"http://{self.address}{path}", data, method=method), timeout=60) as answer:
            return json.load(answer)

    def start(self, name, manager):
        addresses = [f"--{what}-bind-address=127.0.0.1:0" for what in ("metrics", "health-probe", "flight-recorder")]
        return self.ask("/instances", "POST", {
            "name": name, "namespace": NAMESPACE,
            "command": [manager, "--kubeconfig", "{kubeconfig}", "--watch-namespace", "{namespace}", *addresses]})

    def state(self, name):
        return self.ask(f"/instances/{name}", "GET")

    def stop(self, name):
        self.ask(f"/instances/{name}", "DELETE")

    def end(self):
        self.process.terminate()
        self.process.wait(30)


def nested(levels):
    value = "x"
    for _ in range(levels):
        value = {"x": value}
    return value


# By name: a podTemplate that b74d13f accepts and runs, and a part of the new build's words.
RUNNING = {
    "deep": ({"spec": {"x": nested(21)}}, "nested more than 20 levels"),
    "large": ({"metadata": {"annotations": {"note": "x" * 40000}}}, "bytes, more than 32768"),
    "host": ({"spec": {"volumes": [{"name": "logs", "hostPath": {"path": "/var/log"}}]}}, "hostPath"),
}
# A podTemplate that ends its process.
TWICE = {"spec": {"containers": [{"name": "s", "x": {"env": [1]}}, {"name": "s", "x": {"env": [2]}}]}}


def create_cluster(name, template=None, tls=None):
    spec = {"replicas": 1, "version": VERSION, "storage": {"size": "1Gi"}}
    spec |= {"podTemplate": template} if template else {}
    spec |= {"tls": tls} if tls else {}
    kubectl("create", "-f", "-", document=json.dumps({
        "apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdCluster", "metadata": {"name": name}, "spec": spec}))


def create_odd_certificate():
    """A Secret whose certificate has a DNS name with a byte that is not UTF-8."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
                        "-subj", "/CN=odd", "-addext", "subjectAltName=DER:30:0B:82:09:61:FF:2E:65:2E:65:2E:73:76",
                        "-keyout", f"{folder}/key", "-out", f"{folder}/crt"), check=True, capture_output=True)
        data = {field: base64.b64encode(pathlib.Path(folder, file).read_bytes()).decode()
                for field, file in (("tls.crt", "crt"), ("tls.key", "key"), ("ca.crt", "crt"))}
    kubectl("create", "-f", "-", document=json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "odd"}, "type": "kubernetes.io/tls", "data": data}))


def cluster(name):
    return json.loads(kubectl("get", f"etcdclusters.{GROUP}", name, "-o", "json"))


def conditions(name):
    return {c["type"]: c for c in cluster(name).get("status", {}).get("conditions", [])}


def is_ready(name):
    found = conditions(name)
    return cluster(name).get("status", {}).get("readyMembers") == 1 and found.get("Available", {}).get("status") == "True"


def pod_of(name):
    pods = json.loads(kubectl("get", "pods", "-l", f"{GROUP}/cluster={name}", "-o", "json"))["items"]
    return pods[0]["metadata"] if pods else None


def served(standin, new, name):
    """The new build does not end, and serves another cluster beside the odd object."""
    standin.start(f"new-{name}", new)
    create_cluster(f"beside-{name}")
    until(f"beside-{name} to be ready", lambda: is_ready(f"beside-{name}"))
    if standin.state(f"new-{name}")["crashes"]:
        raise RuntimeError("the new build has ended, too")
    standin.stop(f"new-{name}")
    kubectl("delete", f"etcdclusters.{GROUP}", name)


def ends(standin, old, new, name):
    standin.start(f"old-{name}", old)
    until("the old build to have ended twice", lambda: standin.state(f"old-{name}")["crashes"] >= 2)
    standin.stop(f"old-{name}")
    served(standin, new, name)


def blinds(standin, old, new, name):
    standin.start(f"old-{name}", old)
    log = pathlib.Path(standin.state(f"old-{name}")["log"])
    until("the old build to fail to list", lambda: "a body that is not JSON" in log.read_text(encoding="utf-8"))
    standin.stop(f"old-{name}")
    served(standin, new, name)


def upgraded(name, words):
    until(f"{name} to say '{words}'", lambda: words in conditions(name).get("Progressing", {}).get("message", ""))
    before = pod_of(name)
    kubectl("delete", "pod", before["name"])
    until(f"another Pod of {name}", lambda: (now := pod_of(name)) and now["uid"] != before["uid"])
    until(f"{name} to be ready again", lambda: is_ready(name))


def main(program, old, new, folder, etcd):
    failed = []
    kubectl("create", "namespace", NAMESPACE)
    standin = Standin(program, folder, new, etcd)

    def case(name, body, *args):
        try:
            body(*args)
            print(f"ok  {name}", flush=True)
        except (RuntimeError, OSError, subprocess.SubprocessError) as wrong:
            failed.append(name)
            print(f"FAILED {name}: {wrong}", flush=True)

    def grown():
        standin.start("old", old)
        for name, (template, _) in RUNNING.items():
            create_cluster(name, template)
        for name in RUNNING:
            until(f"{name} to be ready", lambda of=name: is_ready(of))
        standin.stop("old")
        standin.start("new", new)
    try:
        case("the old build grows what the new one refuses", grown)
        for name, (_, words) in RUNNING.items():
            case(f"Rule_{name}: it is named, and its Pod is made again", upgraded, name, words)
        standin.stop("new")
        case("N3_blinds the old build once it lists, and not the new one", blinds, standin, old, new, "deep")
        create_odd_certificate()
        create_cluster("n1", tls={"client": {"serverSecretRef": {"name": "odd"}}})
        case("N1_ends the old build, and not the new one", ends, standin, old, new, "n1")
        create_cluster("n2", TWICE)
        case("N2_ends the old build, and not the new one", ends, standin, old, new, "n2")
    finally:
        standin.end()
    print(f"{len(RUNNING) + 4 - len(failed)} passed, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    VERSION = sys.argv[5].split("=")[0]
    sys.exit(main(*sys.argv[1:]))
