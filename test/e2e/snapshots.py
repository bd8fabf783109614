"""Snapshots on real nodes: of a cluster with TLS, passwords and writing clients, into a volume and into an S3 store on this
machine. Has the requirements of stores.py, certificates.py and faults.py."""
import contextlib
import json
import os
import subprocess
import threading
import time

import faults
import secure
import stores
from world import GROUP, Failed, condition, get, kubectl, until

BOUND = 360
BUCKET = "backups"
MEGABYTES = 30  # Several parts of an upload, and time for clients to write.
CLAIM = "backups"


class Seen:
    """All Pods that ever were endpoints of the Service, ready or not."""

    def __init__(self, namespace, service):
        self.namespace, self.service, self.pods, self.stopping = namespace, service, set(), threading.Event()
        self.problem = None
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        missed = 0
        while not self.stopping.wait(0.1):
            try:
                self.look()
                missed = 0
            except Exception as e:  # noqa: BLE001: end() reports that nothing was seen.
                missed += 1
                if missed > 1 or not isinstance(e, (Failed, subprocess.TimeoutExpired)):
                    self.problem = e
                    return

    def look(self):
        for part in get("endpointslices.discovery.k8s.io", self.namespace, selector=f"kubernetes.io/service-name={self.service}"):
            self.pods |= {e["targetRef"]["name"] for e in part.get("endpoints") or []}

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def end(self):
        """Everything that was seen, including now."""
        self.stop()
        if self.problem:
            raise Failed(f"nobody looked at {self.service} to the end: {self.problem!r}")
        self.look()
        return self.pods


def make(cluster, name, destination):
    kubectl("create", "-f", "-", stdin=json.dumps({
        "apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdSnapshot", "metadata": {"name": name, "namespace": cluster.namespace},
        "spec": {"clusterRef": {"name": cluster.name}, "destination": destination}}))


def complete(cluster, name):
    def ended():
        found = get(f"etcdsnapshots.{GROUP}", cluster.namespace, name)
        return found if found.get("status", {}).get("phase") in ("Complete", "Failed") else None
    start = time.monotonic()
    done = until(BOUND, f"{name} has ended", ended)
    if done["status"]["phase"] != "Complete":
        raise Failed(f"{name} is {done['status']['phase']}: {condition(done, 'Ready')}")
    told = done["status"]["artifact"]
    seconds = time.monotonic() - start
    print(f"  {name}: {told['sizeBytes']} bytes at revision {told['revision']}, after {seconds:.1f} s", flush=True)
    return done


def claimed(cluster):
    kubectl("create", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM, "namespace": cluster.namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))
    store_secret(cluster.namespace)


def store_secret(namespace):
    kubectl("create", "secret", "generic", "store", "-n", namespace, f"--from-literal=AWS_ACCESS_KEY_ID={stores.KEY_ID}",
            f"--from-literal=AWS_SECRET_ACCESS_KEY={stores.SECRET}")


def while_written(cluster, store):
    """Both kinds at once; neither fails a client's call, and their Pods are never endpoints of the Service."""
    with contextlib.ExitStack() as stops:
        load = secure.Load(cluster)
        stops.callback(load.stop)
        seen = Seen(cluster.namespace, f"{cluster.name}-client")
        stops.callback(seen.stop)
        make(cluster, "to-volume", {"pvc": {"claimName": CLAIM, "subPath": "daily"}})
        make(cluster, "to-store", {"s3": {
            "endpoint": store.url(), "bucket": BUCKET, "key": "db", "region": "us-east-1", "forcePathStyle": True,
            "credentialsSecretRef": {"name": "store"}}})
        done = {name: complete(cluster, name) for name in ("to-volume", "to-store")}
        jobs = {p["metadata"]["name"] for p in get("pods", cluster.namespace, selector="batch.kubernetes.io/job-name")}
        behind, put = seen.end(), load.end()
    if len(jobs) != 2 or not behind or jobs & behind:
        raise Failed(f"Pods of Jobs {jobs}; behind the Service there were {behind}")
    print(f"  {put} puts and one watch without a fault", flush=True)
    return done


def snapshots(version):
    cluster, store = secure.OwnSecrets(version), stores.Gateway(os.environ["API_IP"]).start()
    cluster.namespace = "snapshots"
    try:
        bucket = store.bucket(BUCKET)
        cluster.begin()
        claimed(cluster)
        stores.fill(cluster, MEGABYTES)
        done = while_written(cluster, store)
        volume = faults.folder_of(get("persistentvolumeclaims", cluster.namespace, CLAIM))
        stores.check_stored(f"{volume}/daily/to-volume.db", done["to-volume"])
        stores.check_stored(f"{bucket}/db/to-store.db", done["to-store"])
        # Stored snapshots stay when the EtcdSnapshots are deleted.
        kubectl("delete", f"etcdsnapshots.{GROUP}", "--all", "-n", cluster.namespace)
        until(BOUND, "the Jobs are gone", lambda: not get("jobs", cluster.namespace))
        stores.check_stored(f"{bucket}/db/to-store.db", done["to-store"])
        kubectl("delete", "persistentvolumeclaim", CLAIM, "-n", cluster.namespace)
        cluster.delete()
    finally:
        store.end()
