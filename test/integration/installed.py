#!/usr/bin/python3
"""The operator as the chart installs it, on the kube-apiserver of KUBECONFIG: with exactly the account, the rights, the arguments
and the environment of the chart. Needs helm and kubectl on PATH, and the CRDs on the server.

    installed.py MANAGER     the last line is "N passed, N failed"; exit 1 if any failed
"""
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIGHTS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
LIMIT_SECONDS = 180


def run(*command, document=None):
    """The command's output."""
    done = subprocess.run(command, input=document, text=True, capture_output=True, timeout=180, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout.strip()


def until(what, found):
    """Polls until `found` returns something, and returns that."""
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        if (value := found()) is not None:
            return value
        time.sleep(0.1)
    raise RuntimeError(f"waited {LIMIT_SECONDS} s for {what}")


def account(namespace, name):
    """A new ServiceAccount's token."""
    run("kubectl", "-n", namespace, "create", "serviceaccount", name)
    return run("kubectl", "-n", namespace, "create", "token", name)


def get(url, token=None):
    """Status and body of the answer. The server is not verified: the certificate is the manager's own."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=LIMIT_SECONDS,
                                    context=ssl._create_unverified_context()) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


class Installed:
    """The chart's rights in a namespace of their own, and the operator running with them."""

    def __init__(self, folder, manager, namespace, *flags):
        run("kubectl", "create", "namespace", namespace)
        made = run("helm", "template", namespace, str(ROOT / "charts/etcd-operator"), "--namespace", namespace, "--set",
                   f"crds.enabled=false,fullnameOverride={namespace}", *flags)
        documents = [d for d in yaml.safe_load_all(made) if d]
        rights = [d for d in documents if d["kind"] in RIGHTS]
        run("kubectl", "apply", "-f", "-", document=yaml.safe_dump_all(rights))
        [pod] = [d["spec"]["template"]["spec"] for d in documents if d["kind"] == "Deployment"]
        container = pod["containers"][0]
        self.log = pathlib.Path(folder, f"{namespace}.log")
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [manager, *(re.sub(r"=:\d+$", "=127.0.0.1:0", a) for a in container["args"]),
                 "--flight-recorder-bind-address=0", "--kubeconfig", self.kubeconfig(folder, namespace)],
                env={e["name"]: e["value"] for e in container["env"]}, stdout=log, stderr=log)

    def kubeconfig(self, folder, namespace):
        """The admin's kubeconfig, but with the account's token."""
        config = json.loads(run("kubectl", "config", "view", "--raw", "--output=json"))
        token = run("kubectl", "-n", namespace, "create", "token", namespace)
        cluster = config["clusters"][0]["name"]
        config |= {"users": [{"name": "u", "user": {"token": token}}], "current-context": "c",
                   "contexts": [{"name": "c", "context": {"cluster": cluster, "user": "u", "namespace": namespace}}]}
        path = pathlib.Path(folder, f"{namespace}.kubeconfig")
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)

    def port(self, what):
        """The port on which the operator serves this, from its log."""
        def said():
            for line in self.log.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if entry.get("what") == what and "port" in entry:
                    return entry["port"]
            return None
        return until(f"{self.log} to say where it serves {what}", said)

    def ready(self):
        """Waits until it has filled its caches and holds its Lease."""
        url = f"http://127.0.0.1:{self.port('probes')}/readyz"
        until(f"{url} to be well", lambda: True if get(url)[0] == 200 else None)

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=LIMIT_SECONDS)


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"got {got}, not {wanted}")


def t12_metrics_are_for_whom_the_server_lets_have_them(folder, manager):
    name = f"metrics-{os.getpid()}"
    installed = Installed(folder, manager, name)
    try:
        installed.ready()
        reader, other = account(name, "reader"), account(name, "other")
        run("kubectl", "create", "clusterrolebinding", f"{name}-reader", f"--clusterrole={name}-metrics-reader",
            f"--serviceaccount={name}:reader")
        port = installed.port("metrics")
        url = f"https://127.0.0.1:{port}/metrics"
        same(get(url)[0], 401)
        same(get(url, "no-token-of-anybody")[0], 401)
        same(get(url, other)[0], 403)
        status, text = get(url, reader)
        same((status, "controller_runtime_reconcile_total" in text), (200, True))
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_SECONDS) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            same(b"HTTP/1.1" in plain.recv(4096), False)

        # A revoked right ends within a minute; an operator that may not check callers refuses all of them.
        run("kubectl", "delete", "clusterrolebinding", f"{name}-proxy-rolebinding")
        late = account(name, "late")
        same(until("a 503", lambda: status if (status := get(url, late)[0]) == 503 else None), 503)
    finally:
        installed.end()


def without_the_proxy_metrics_are_for_everybody(folder, manager):
    name = f"plain-{os.getpid()}"
    installed = Installed(folder, manager, name, "--set", "kubeRbacProxy.enabled=false")
    try:
        same(get(f"http://127.0.0.1:{installed.port('metrics')}/metrics")[0], 200)
    finally:
        installed.end()


def rights_in_the_watched_namespaces_are_enough(folder, manager):
    name = f"roles-{os.getpid()}"
    watched = [f"{name}-a", f"{name}-b"]
    for namespace in watched:
        run("kubectl", "create", "namespace", namespace)
    installed = Installed(folder, manager, name, "--set", "kubeRbacProxy.enabled=false",
                          "--set", f"manager.watchNamespaces={{{','.join(watched)}}}")
    try:
        installed.ready()
        elsewhere = ("kubectl", "-n", "default", "auth", "can-i", "list", "pods", f"--as=system:serviceaccount:{name}:{name}")
        said = subprocess.run(elsewhere, text=True, capture_output=True, timeout=180, check=False)
        same(said.stdout.strip(), "no")
        cluster = {"apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdCluster", "metadata": {"name": "db"},
                   "spec": {"version": "3.6.16"}}
        for namespace in watched:
            run("kubectl", "-n", namespace, "create", "-f", "-", document=json.dumps(cluster))
            until(f"a Pod in {namespace}", lambda ns=namespace: run("kubectl", "-n", ns, "get", "pods", "-o", "name") or None)
            run("kubectl", "-n", namespace, "delete", "etcdclusters", "db")
            until(f"{namespace} to be empty",
                  lambda ns=namespace: True if not run("kubectl", "-n", ns, "get", "etcdmembers,pods", "-o", "name") else None)
        same([line for line in installed.log.read_text(encoding="utf-8").splitlines() if "forbidden" in line], [])
    finally:
        installed.end()


def n10_a_pod_template_is_for_those_who_may_create_pods(_folder, _manager):
    """With the chart's admission policy. The right counts, and an edit that leaves the template as it is needs none."""
    name = f"admission-{os.getpid()}"
    run("kubectl", "create", "namespace", name)
    run("kubectl", "label", "namespace", name, f"test={name}")
    policy = run("helm", "template", name, str(ROOT / "charts/etcd-operator"), "--namespace", name,
                 "--show-only", "templates/admissionpolicy.yaml", "--set", "admissionPolicy.enabled=true",
                 "--set", f"admissionPolicy.namespaceSelector.matchLabels.test={name}")
    run("kubectl", "apply", "-f", "-", document=policy)
    try:
        for user, more in (("tenant", ""), ("trusted", ",pods")):
            run("kubectl", "-n", name, "create", "role", user, "--verb=create,get,patch", "--resource=" + ",".join(
                f"{kind}.etcd-operator.cozystack.io"
                for kind in ("etcdclusters", "etcdsnapshots", "etcdsnapshotschedules", "etcdrestores")) + more)
            run("kubectl", "-n", name, "create", "rolebinding", user, f"--role={user}", f"--user={user}")

        def made_by(user, kind, spec, *options):
            manifest = {"apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": kind,
                        "metadata": {"generateName": "x"}, "spec": spec}
            done = subprocess.run(("kubectl", f"--as={user}", "-n", name, "create", "-o", "name", "-f", "-", *options),
                                  input=json.dumps(manifest), text=True, capture_output=True, timeout=180, check=False)
            return done.stdout.strip() or done.stderr
        plain = {"version": "3.6.16"}
        with_template = plain | {"podTemplate": {"spec": {"serviceAccountName": "robot"}}}
        pod = {"pod": {"serviceAccountName": "robot"}}
        store, of_db = {"destination": {"pvc": {"claimName": "c"}}}, {"clusterRef": {"name": "db"}}
        schedule = of_db | {"schedule": "@daily"}
        restore = of_db | {"source": {"pvc": {"claimName": "c", "subPath": "a.db"}}}
        others = (("EtcdSnapshot", of_db | store, of_db | store | pod),
                  ("EtcdSnapshotSchedule", schedule | {"template": store}, schedule | {"template": store | pod}),
                  ("EtcdRestore", restore, restore | pod))
        until("the policy to be in force", lambda: True if "for users who may create Pods" in made_by(
            "tenant", "EtcdCluster", with_template, "--dry-run=server") else None)
        same(made_by("tenant", "EtcdCluster", plain).split("/")[0], "etcdcluster.etcd-operator.cozystack.io")
        for kind, without, with_pod in others:
            same((kind, "for users who may create Pods" in made_by("tenant", kind, with_pod)), (kind, True))
            for user, spec in (("tenant", without), ("trusted", with_pod)):
                same(made_by(user, kind, spec).split("/")[0], f"{kind.lower()}.etcd-operator.cozystack.io")
        cluster = made_by("trusted", "EtcdCluster", with_template)
        patch = ("kubectl", "--as=tenant", "-n", name, "patch", cluster, "--type=merge", "-p")
        run(*patch, '{"spec": {"replicas": 1}}')
        run(*patch, '{"spec": {"podTemplate": null}}')
        again = subprocess.run((*patch, '{"spec": {"podTemplate": {"spec": {"serviceAccountName": "robot"}}}}'),
                               text=True, capture_output=True, timeout=180, check=False)
        same("for users who may create Pods" in again.stderr, True)
    finally:
        run("kubectl", "delete", "-f", "-", document=policy)
        run("kubectl", "delete", "namespace", name, "--wait=false")


CASES = (t12_metrics_are_for_whom_the_server_lets_have_them, without_the_proxy_metrics_are_for_everybody,
         rights_in_the_watched_namespaces_are_enough, n10_a_pod_template_is_for_those_who_may_create_pods)


def main(manager):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            try:
                case(folder, manager)
            except (AssertionError, OSError, RuntimeError, ValueError, subprocess.SubprocessError) as wrong:
                failed += 1
                print(f"FAILED: {case.__name__.replace('_', ' ')}: {wrong}")
                for log in pathlib.Path(folder).glob("*.log"):
                    print("".join(f"    {line}\n" for line in log.read_text(encoding="utf-8").splitlines()[-8:]), end="")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
