"""Clusters that start from a stored snapshot, on real nodes: with the same version of etcd and with the next, from a store and from
a volume, with TLS and passwords; their keys are those of the old cluster. Damaged snapshots are refused. Has the requirements of
snapshots.py."""
import base64
import contextlib
import json
import os
import time

import faults
import secure
import snapshots
import stores
from world import GROUP, Cluster, Failed, condition, get, kubectl, until

BOUND = 180
BUMP = 1_000_000_000  # The default of spec.bootstrap.restore.bumpRevision.
MEGABYTES = 4
KEY = os.urandom(32).hex()


class Restored(secure.OwnSecrets):
    """A cluster whose first member starts from the snapshot at `source`."""

    def __init__(self, version, namespace, source, replicas=3, checksum=None):
        super().__init__(version)
        self.namespace = namespace
        wanted = {"checksum": checksum} if checksum else {}
        self.spec.update({"replicas": replicas, "bootstrap": {"restore": {"source": source, **wanted}}})

    def begin(self):
        if not get("namespaces", "", self.namespace):
            self.create_namespace()
            self.make_secrets()
        start = time.monotonic()
        self.create()
        self.wait_settled(self.spec["replicas"], BOUND)
        until(BOUND, f"{self.namespace} asks for passwords", lambda: self.object()["status"].get("authEnabled"))
        self.refresh()
        print(f"  etcd {self.version} in {self.namespace}: {self.spec['replicas']} ready after {time.monotonic() - start:.1f} s",
              flush=True)

    def make_secrets(self):
        kubectl("create", "secret", "generic", "root", "-n", self.namespace, "--type=kubernetes.io/basic-auth",
                "--from-literal=username=root", f"--from-literal=password={secure.PASSWORD}")
        snapshots.store_secret(self.namespace)
        keys_secret(self.namespace)
        self.prepare()


def keys_secret(namespace):
    """Contains an earlier key, too."""
    kubectl("create", "secret", "generic", "keys", "-n", namespace, f"--from-literal=key={KEY}",
            f"--from-literal=before={'00' * 32}")


def sealed(location):
    return {**location, "encryption": {"keySecretRef": {"name": "keys"}}}


def read(cluster, endpoint=None):
    """The newest revision, and all keys as etcdctl gives them."""
    told = json.loads(cluster.etcdctl("get", "", "--prefix", "-w", "json", timeout=60, endpoint=endpoint))
    return told["header"]["revision"], told["kvs"]


def everything(cluster):
    """The newest revision, and (create revision, mod revision, version, value) of each key."""
    revision, kvs = read(cluster)
    return revision, by_name(kvs)


def by_name(kvs):
    return {base64.b64decode(kv["key"]).decode(): (kv["create_revision"], kv["mod_revision"], kv["version"], kv["value"])
            for kv in kvs}


def is_compacted(cluster, revision, endpoint=None):
    try:
        cluster.etcdctl("get", "x", f"--rev={revision}", endpoint=endpoint)
    except Failed as e:
        if "compacted" not in str(e):
            raise
        return True
    return False


def check_keys(restored, before, artifact, bump=BUMP, endpoint=None):
    """For a restored cluster without new writes: its keys are those of the old cluster at the snapshot's exact revision, which
    follows from the bump. The clients of `before` only add keys, so the old keys are those that are not newer; and the keys at the
    revision that the status reports have the reported digest."""
    revision, kvs = read(restored, endpoint)
    taken = revision - bump
    if not artifact["revision"] <= taken < artifact["revision"] + 100_000:
        raise Failed(f"the restored cluster is at revision {revision}, the snapshot at {artifact['revision']} or a little later")
    keys, wanted = by_name(kvs), {key: kv for key, kv in before.items() if kv[1] <= taken}
    if keys != wanted:
        raise Failed(f"{len(keys)} keys were restored, {len(wanted)} were stored; "
                     f"different: {sorted(k for k in keys.keys() | wanted if keys.get(k) != wanted.get(k))[:5]}")
    stores.same("digest of the keys", stores.digest_of(kv for kv in kvs if kv["mod_revision"] <= artifact["revision"]),
                artifact["digest"])
    if not is_compacted(restored, taken, endpoint):
        raise Failed(f"revision {taken} is not compacted: clients of the old cluster would go on as if nothing had happened")
    print(f"  {len(keys)} keys at revision {taken}, which is {revision} now", flush=True)
    return keys


def story(cluster):
    """The restore's reports, from the Events: the first member's Pod, which had them, was recreated since."""
    events = [e for e in get("events.events.k8s.io", cluster.namespace)
              if e.get("regarding", {}).get("kind") == "EtcdCluster" and e.get("reason") in ("Restoring", "RestoreFailed")]
    return [f"{e['reason']}: {e['note']}" for e in events]


def s3(store, key):
    return {"s3": {"endpoint": store.url(), "bucket": snapshots.BUCKET, "key": key, "region": "us-east-1", "forcePathStyle": True,
                   "credentialsSecretRef": {"name": "store"}}}


def refusal(cluster, reason):
    def told():
        found = condition(cluster.object(), "Progressing")
        return found["message"] if found.get("reason") == "RestoreFailed" and reason in found["message"] else None
    print(f"  refused: {until(BOUND, f'the cluster says {reason}', told)}", flush=True)


def refused(store, path):
    """The snapshot requires passwords and the spec has none; then a byte in its middle is wrong, which shows without a manifest.
    The data directory stays empty."""
    with open(path, "r+b") as f:  # The store keeps the object's tag beside the file.
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 1]))
    cluster = Cluster("db", "restores-refused", "3.7.3", replicas=1,
                      spec={"bootstrap": {"restore": {"source": s3(store, "db/to-store.db")}}})
    cluster.create_namespace()
    snapshots.store_secret(cluster.namespace)
    cluster.create()
    refusal(cluster, "SnapshotNeedsAuth")
    os.remove(f"{path}.json")
    refusal(cluster, "SnapshotBroken")
    member = cluster.members()[0]["metadata"]["name"]
    log = kubectl("logs", member, "-c", "restore", "-n", cluster.namespace)
    if "SnapshotBroken" not in log:
        raise Failed(f"kubectl logs {member} -c restore has {log}")
    volume = faults.folder_of(get("persistentvolumeclaims", cluster.namespace, f"data-{member}"))
    # A further attempt may be reading it.
    until(BOUND, "nothing is in the data directory", lambda: not os.listdir(volume))
    cluster.delete()


def restores(versions):
    """First version -> the same, and the second; then the second, encrypted and named by its checksum -> the third."""
    first, second, third = versions
    store = stores.Gateway(os.environ["API_IP"]).start()
    try:
        old = secure.OwnSecrets(first)
        old.namespace = "restores"
        bucket = store.bucket(snapshots.BUCKET)
        old.begin()
        snapshots.claimed(old)
        stores.fill(old, MEGABYTES)
        done = snapshots.while_written(old, store)
        _, before = everything(old)
        same = Restored(first, "restores-same", s3(store, "db/to-store.db"))
        same.begin()
        check_keys(same, before, done["to-store"]["status"]["artifact"])
        same.delete()
        # The worst case: the cluster is deleted. A new one with its name starts from the volume, with the next version.
        kubectl("delete", f"etcdclusters.{GROUP}", old.name, "-n", old.namespace, "--wait=false")
        until(BOUND, "nothing is left of the old cluster", lambda: not (old.members() or old.pods() or old.volumes()))
        anew = Restored(second, old.namespace, {"pvc": {"claimName": snapshots.CLAIM, "subPath": "daily/to-volume.db"}})
        anew.begin()
        check_keys(anew, before, done["to-volume"]["status"]["artifact"])
        keys_secret(anew.namespace)
        with contextlib.ExitStack() as stops:
            load = secure.Load(anew, "more/")
            stops.callback(load.stop)
            snapshots.make(anew, "again", sealed(s3(store, "second")))
            artifact = snapshots.complete(anew, "again")["status"]["artifact"]
            load.end()
        _, before = everything(anew)
        with open(f"{bucket}/second/again.db", "rb") as f:
            if not f.read().startswith(b"ETCDOP-SEALED-1\n") or "encryptionKeyID" not in artifact:
                raise Failed(f"it was to be encrypted: {artifact}")
        last = Restored(third, "restores-next", sealed(s3(store, "second/again.db")), checksum=artifact["checksum"])
        last.begin()
        check_keys(last, before, artifact)
        for told in story(last):
            print(f"  {told}", flush=True)
        last.delete()
        refused(store, f"{bucket}/db/to-store.db")
        anew.delete()  # And the namespace: the claim is in use while the snapshot's Job exists.
    finally:
        store.end()
