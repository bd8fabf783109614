"""N1 to N3: a tenant with rights in one namespace only creates odd objects. The operator goes on, and other clusters grow."""
import base64
import json
import sys
import tempfile
import time

import faults
from world import GROUP, Cluster, Failed, condition, get, kubectl, operator_pods, run, until

NAMESPACE, USER = "e2e-tenant", "tenant"
KINDS = f"etcdclusters.{GROUP}"


def as_tenant(*words, stdin=None):
    return kubectl(f"--as={USER}", "-n", NAMESPACE, *words, stdin=stdin)


def give_rights():
    kubectl("create", "namespace", NAMESPACE)
    kubectl("create", "role", USER, "-n", NAMESPACE, "--verb=create,get,list,delete", f"--resource={KINDS},secrets")
    kubectl("create", "rolebinding", USER, "-n", NAMESPACE, f"--role={USER}", f"--user={USER}")
    try:
        kubectl(f"--as={USER}", "get", KINDS, "-n", "default")
    except Failed:
        return
    raise Failed("the tenant has rights in another namespace")


def create(kind, name, api, **fields):
    as_tenant("create", "-f", "-", stdin=json.dumps({"apiVersion": api, "kind": kind, "metadata": {"name": name}, **fields}))


def odd_secret(name):
    """A certificate with a DNS name that has a byte that is not UTF-8."""
    with tempfile.TemporaryDirectory() as folder:
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
            "-subj", "/CN=odd", "-addext", "subjectAltName=DER:30:0B:82:09:61:FF:2E:65:2E:65:2E:73:76",
            "-keyout", f"{folder}/key", "-out", f"{folder}/crt")
        files = {}
        for field, file in (("tls.crt", "crt"), ("tls.key", "key"), ("ca.crt", "crt")):
            with open(f"{folder}/{file}", "rb") as f:
                files[field] = base64.b64encode(f.read()).decode()
    create("Secret", name, "v1", type="kubernetes.io/tls", data=files)


def nested(levels):
    sys.setrecursionlimit(10_000)  # json.dumps needs a frame for each level.
    value = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


def odd_specs():
    def template(spec):
        return {"podTemplate": {"spec": spec}}
    return {
        "bytes": {"tls": {"client": {"serverSecretRef": {"name": "odd"}}}},
        "twice": template({"containers": [{"name": "s", "x": {"env": [1]}}, {"name": "s", "x": {"env": [2]}}]}),
        "deep": template({"x": nested(28)}),
        "deeper": template({"x": nested(1000)}),
        "long": template({"containers": [{"name": "n" * 40000, "env": [{"value": "1"}]}]}),
    }


def odd_input(version):
    neighbour = Cluster("db", "e2e-neighbour", version, replicas=1)
    neighbour.create_namespace()
    neighbour.create()
    neighbour.wait_settled(1, 120)
    give_rights()
    odd_secret("odd")
    for name, spec in odd_specs().items():
        create("EtcdCluster", name, f"{GROUP}/v1alpha2",
               spec={"replicas": 1, "version": version, "storage": {"size": "1Gi"}, **spec})

    def told(name):
        conditions = get(KINDS, NAMESPACE, name).get("status", {}).get("conditions", [])
        return [f"{c['type']}={c['status']}/{c['reason']}" for c in conditions if c["type"] in ("Progressing", "TLSReady")]
    try:
        for name in odd_specs():
            print(f"  {name}: {', '.join(until(60, f'{name} has a condition', lambda n=name: told(n)))}")
        for pod in operator_pods():  # Another process has to list them all.
            kubectl("delete", "pod", "-n", pod["metadata"]["namespace"], pod["metadata"]["name"])
        faults.until_operator_runs()
        start = time.monotonic()
        neighbour.scale(3)
        neighbour.wait_settled(3, 60)
        restarts = [s["restartCount"] for p in operator_pods() for s in p["status"].get("containerStatuses", [])]
        print(f"  another cluster grew from 1 to 3 in {time.monotonic() - start:.1f} s; the operator's restarts: {restarts}")
        if any(restarts):
            raise Failed(f"the operator restarted: {restarts}")
        for name in odd_specs():
            internal = condition(get(KINDS, NAMESPACE, name), "InternalError")
            if internal.get("status") == "True":
                raise Failed(f"{name}: {internal['message']}")
    finally:
        as_tenant("delete", KINDS, "--all", "--wait=false")
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    neighbour.delete()
