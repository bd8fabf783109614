"""Copies of a cluster that the operator has grown, made through the API: faster than growing many.

They equal what the operator makes, except for the names of members: these do not follow from the copy's UID. Any name is accepted.
"""
import concurrent.futures
import json
import re
import time

GROUP = "etcd-operator.cozystack.io"
LABEL = f"{GROUP}/cluster"
AT_ONCE = 8
OURS = f"/apis/{GROUP}/v1alpha2"
KINDS = {"EtcdMember": (OURS, "etcdmembers"), "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
         "Service": ("/api/v1", "services"), "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets"),
         "Pod": ("/api/v1", "pods")}  # In the order of creation: a Pod's volume comes before it.
BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")


def path_of(kind, namespace):
    group, plural = KINDS[kind] if kind in KINDS else (OURS, "etcdclusters")
    return f"{group}/namespaces/{namespace}/{plural}"


def etcd_id(text):
    """Makes ids as the hollow world does: FNV-1a, odd, in the hex of a status."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value | 1:016x}"


def bare(thing):
    """The object as a user would post it."""
    out = json.loads(json.dumps(thing))
    out.pop("status", None)
    for field in BY_SERVER:
        out["metadata"].pop(field, None)
    spec = out.get("spec", {})
    if out["kind"] == "Service" and spec.get("clusterIP") != "None":
        for field in ("clusterIP", "clusterIPs"):
            spec.pop(field, None)
    if out["kind"] == "Pod":
        spec.pop("nodeName", None)
    return out


class Copies:
    """Makes copies of the cluster `name` in `namespace`, which must be at rest and unchanged meanwhile."""

    def __init__(self, api, namespace, name):
        self.api, self.namespace, self.name = api, namespace, name
        cluster = api.get(f"{path_of('EtcdCluster', namespace)}/{name}")
        self.things = [dict(cluster, kind="EtcdCluster", apiVersion=f"{GROUP}/v1alpha2")]
        for kind, (group, _) in KINDS.items():
            items = api.get(f"{path_of(kind, namespace)}?labelSelector={LABEL}={name}")["items"]
            self.things += [dict(item, kind=kind, apiVersion=group.split("/", 2)[2]) for item in items]

    def renamed(self, namespace, name):
        """All objects, as JSON, renamed to that cluster: with its names and its etcd's ids."""
        text = json.dumps(self.things)
        # The name may be followed by "-abcde" and preceded by "data-".
        text = re.sub(rf"(?<!\w){re.escape(self.name)}(?!\w)", name, text)
        text = re.sub(rf"(?<![\w-]){re.escape(self.namespace)}(?![\w-])", namespace, text)
        things = json.loads(text)
        ids = {self.things[0]["status"]["clusterID"]: etcd_id(f"{namespace}/{name}")}
        for pod in (t for t in things if t["kind"] == "Pod"):
            words = pod["spec"]["containers"][0]["command"]
            peer = next(w.split("=", 1)[1] for w in words if w.startswith("--initial-advertise-peer-urls="))
            member = next(t for t in things if t["kind"] == "EtcdMember" and t["metadata"]["name"] == pod["metadata"]["name"])
            ids[member["status"]["memberID"]] = etcd_id(f"{peer}/adopted")
        for old, new in ids.items():
            text = text.replace(f'"{old}"', f'"{new}"')
        return text

    def make(self, namespace, name):
        text = self.renamed(namespace, name)
        cluster = json.loads(text)[0]
        made = self.post(cluster)
        text = text.replace(self.things[0]["metadata"]["uid"], made["metadata"]["uid"])
        things = json.loads(text)
        members, pods = {}, {}  # UIDs by name.
        for thing in things[1:]:
            for owner in thing["metadata"].get("ownerReferences", []):
                if owner["kind"] == "EtcdMember":
                    owner["uid"] = members[owner["name"]]
            uid = self.post(thing)["metadata"]["uid"]
            {"EtcdMember": members, "Pod": pods}.get(thing["kind"], {})[thing["metadata"]["name"]] = uid
        for thing in things:
            if thing["kind"] in ("EtcdCluster", "EtcdMember"):
                status = thing["status"]
                if "podUID" in status:
                    status["podUID"] = pods[status["podName"]]
                path = f"{path_of(thing['kind'], namespace)}/{thing['metadata']['name']}/status"
                self.api.patch(path, {"status": status})

    def post(self, thing):
        path = path_of(thing["kind"], thing["metadata"]["namespace"])
        return self.api.send("POST", path, bare(thing), accepted=(200, 201))

    def make_all(self, names):
        """`names` are (namespace, name); the namespaces exist."""
        for namespace in sorted({n for n, _ in names}):
            self.until_there(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for done, _ in enumerate(pool.map(lambda n: self.make(*n), names), 1):
                if done % 100 == 0:
                    yield done

    def until_there(self, path):
        for _ in range(600):
            if self.api.send("GET", path, accepted=(200, 404)).get("kind") != "Status":
                return
            time.sleep(0.1)
        raise RuntimeError(f"{path} is not there")
