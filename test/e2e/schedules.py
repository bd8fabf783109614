"""An EtcdSnapshotSchedule on real nodes, every minute, of a cluster with TLS, passwords and writing clients, into an S3 store on
this machine. The kept snapshots are verified by restoring them. Damage, refused credentials and an unreachable store are reported,
and no client notices. Has the requirements of snapshots.py."""
import calendar
import contextlib
import json
import os
import sys
import tempfile
import time

import secure
import snapshots
import stores
from world import GROUP, Failed, condition, get, kubectl, until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recipes"))
import runbook  # noqa: E402

NAME, PREFIX, KEPT = "minutely", "scheduled", 3
INTERVAL, LATE = 60, 15
CYCLE = 2 * INTERVAL + 30  # The next run, and its Jobs on a machine with two cores.


def make(cluster, store):
    kubectl("create", "-f", "-", stdin=json.dumps({
        "apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdSnapshotSchedule",
        "metadata": {"name": NAME, "namespace": cluster.namespace},
        "spec": {"clusterRef": {"name": cluster.name}, "schedule": "* * * * *", "retention": {"keepLast": KEPT},
                 "verify": {"every": 1},
                 "template": {"destination": {"s3": {
                     "endpoint": store.url(), "bucket": snapshots.BUCKET, "key": PREFIX, "region": "us-east-1",
                     "forcePathStyle": True, "credentialsSecretRef": {"name": "store"}}}}}}))


def schedule(cluster):
    return get(f"etcdsnapshotschedules.{GROUP}", cluster.namespace, NAME)


def stored(bucket):
    return {name for name in os.listdir(f"{bucket}/{PREFIX}")} if os.path.isdir(f"{bucket}/{PREFIX}") else set()


def kept(cluster):
    return {s["metadata"]["name"]: s for s in get(f"etcdsnapshots.{GROUP}", cluster.namespace)}


def all_proven(cluster, bucket):
    """The names, if exactly as many as wanted are stored, each with its manifest, and each verified; else None."""
    objects = kept(cluster)
    names = {f"{name}.db" for name in objects}
    proven = {name for name, s in objects.items() if condition(s, "Verified").get("status") == "True"}
    exact = stored(bucket) == names | {f"{name}.json" for name in names}
    return sorted(objects) if len(objects) == KEPT and len(proven) == KEPT and exact else None


def says(cluster, kind, status, seconds):
    """Waits until that condition of the schedule has the status."""
    def told():
        found = condition(schedule(cluster), kind)
        return found if found.get("status") == status else None
    found = until(seconds, f"{kind} is {status}", told, every=1)
    print(f"  {kind} is {status}: {found['reason']}: {found['message']}", flush=True)
    return found


def for_minutes(cluster, bucket, minutes):
    """Never more than one extra run beyond the wanted number, and in the end exactly the wanted number."""
    end = time.monotonic() + 60 * minutes
    until(CYCLE + KEPT * INTERVAL, "the first ones are stored and proven", lambda: all_proven(cluster, bucket), every=1)
    while time.monotonic() < end:
        time.sleep(5)
        if len(kept(cluster)) > KEPT + 2:
            raise Failed(f"{KEPT} are to be kept, and there are {sorted(kept(cluster))}")
    names = until(CYCLE, f"{KEPT} are stored, all of them proven", lambda: all_proven(cluster, bucket), every=1)
    for name in names:
        path = f"{bucket}/{PREFIX}/{name}.db"
        if os.path.exists(path):  # The next run may have deleted it.
            stores.check_stored(path, kept(cluster)[name])
    status = schedule(cluster)["status"]
    print(f"  {names} are kept, the last that was proven is {status['lastVerified']}", flush=True)
    for kind in ("BackupStale", "BackupUnverified"):
        says(cluster, kind, "False", CYCLE)


def corrupted(cluster, bucket):
    """One byte of a stored and verified snapshot is wrong; the next verification finds it."""
    name = sorted(kept(cluster))[-1]
    path = f"{bucket}/{PREFIX}/{name}.db"
    until(INTERVAL, f"{name} is stored", lambda: os.path.exists(path))
    with open(path, "r+b") as f:  # The store keeps the object's tag beside the file.
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 1]))
    if name not in says(cluster, "BackupUnverified", "True", CYCLE)["message"]:
        raise Failed(f"it was {name} that was damaged")


def rejected(cluster):
    """The store's password is wrong: the operator reports it one and a half intervals after the last stored snapshot."""
    def password(text):
        kubectl("patch", "secret", "store", "-n", cluster.namespace, "-p",
                json.dumps({"stringData": {"AWS_SECRET_ACCESS_KEY": text}}))
    password("another one")
    told = says(cluster, "BackupStale", "True", 2.5 * INTERVAL + LATE)
    stored_at, told_at = (calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) for text in (
        schedule(cluster)["status"]["lastSuccess"]["time"], told["lastTransitionTime"]))
    if not 1.5 * INTERVAL <= told_at - stored_at <= 1.5 * INTERVAL + LATE:
        raise Failed(f"told {told_at - stored_at} s after the last one was stored")
    password(stores.SECRET)
    says(cluster, "BackupStale", "False", 2 * CYCLE)


def away(cluster, store):
    """The store is down for three cycles; in the end the load shows whether clients noticed."""
    store.process.kill()
    store.process.wait()
    time.sleep(3 * INTERVAL)
    says(cluster, "BackupStale", "True", INTERVAL)
    store.start()
    says(cluster, "BackupStale", "False", 2 * CYCLE)


def by_hand(cluster, bucket):
    """Deletes a snapshot early, as docs/user/backup.md describes."""
    name = sorted(kept(cluster))[-2]
    with tempfile.TemporaryDirectory() as folder:
        script = runbook.commands("On a schedule", names={"nightly-202611230300": name})
        code, said = runbook.run(script, folder, cluster.namespace, CYCLE)
    if code != 0 or f"{name}.db" in stored(bucket):
        raise Failed(f"{name} was to go: status {code}: {said}; {sorted(stored(bucket))}")


def schedules(version, minutes):
    """With `minutes` 0: until the first snapshots are verified and a damaged one is found; without the cases that take many
    cycles."""
    cluster, store = secure.OwnSecrets(version), stores.Gateway(os.environ["API_IP"]).start()
    cluster.namespace = "schedules"
    try:
        bucket = store.bucket(snapshots.BUCKET)
        cluster.begin()
        snapshots.store_secret(cluster.namespace)
        stores.fill(cluster, 2)
        with contextlib.ExitStack() as stops:
            load = secure.Load(cluster)
            stops.callback(load.stop)
            make(cluster, store)
            for_minutes(cluster, bucket, minutes)
            corrupted(cluster, bucket)
            by_hand(cluster, bucket)
            if minutes:
                rejected(cluster)
                away(cluster, store)
            print(f"  {load.end()} puts and one watch without a fault", flush=True)
        kubectl("delete", f"etcdsnapshotschedules.{GROUP}", NAME, "-n", cluster.namespace)
        until(CYCLE, "its EtcdSnapshots went with it", lambda: not kept(cluster))
        if not stored(bucket):
            raise Failed("what is stored is to stay when the schedule is deleted")
        cluster.delete()
    finally:
        store.end()
