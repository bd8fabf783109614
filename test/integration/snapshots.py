#!/usr/bin/python3
"""EtcdSnapshots in an API-only world: of a plain cluster, and of one with TLS and passwords; into a volume, and into versitygw.

    snapshots.py DIR     DIR is the folder of the stand-in, which plays the namespace "snapshots"; see snapshots.sh

etcdutl restores the stored snapshots. The cases run side by side. The last line is "N passed, N failed"; exit 1 if any failed.
"""
import base64
import concurrent.futures
import contextlib
import glob
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import secure  # noqa: E402
import stores  # noqa: E402
from stores import same  # noqa: E402
from world import GROUP, Cluster, Failed, condition, get, kubectl, until  # noqa: E402

NAMESPACE = "snapshots"
BUCKET = "backups"
LIMIT = 600  # seconds, for anything that hangs: a Job retries after 10, then after 20; the garbage collector resyncs every 30
SNAPSHOTS = f"/apis/{GROUP}/v1alpha2/namespaces/{NAMESPACE}/etcdsnapshots"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


class Api:
    """The API server through kubectl proxy: cheap enough for frequent calls."""

    def __init__(self):
        self.proxy, self.address = None, ""

    def start(self):
        self.proxy = subprocess.Popen(["kubectl", "proxy", "--port=0"], stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"127\.0\.0\.1:\d+", self.proxy.stdout.readline())[0]

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status >= 300 and answer.status != 404:
            raise Failed(f"{method} {path}: {said.get('message')}")
        return said if answer.status != 404 else {}

    def stop(self):
        if self.proxy:
            self.proxy.terminate()
            self.proxy.wait()


class Plain(Cluster):
    """Its etcdctl connects to a Pod, because no node routes Services here."""

    def etcdctl_words(self, *words):
        address = f"http://{self.pods()[0]['status']['podIP']}:2379"
        return [os.environ["ETCDCTL"], f"--endpoints={address}", *words]

    def begin(self):
        self.create()
        self.wait_settled(self.spec["replicas"], 600)


class Locked(secure.OwnSecrets):
    """With TLS on both ports and passwords."""

    def __init__(self, version):
        super().__init__(version)
        self.name, self.namespace = "locked", NAMESPACE

    def etcdctl_words(self, *words, endpoint=None):
        return super().etcdctl_words(*words, endpoint=endpoint or f"https://{self.member()}.{self.name}.{NAMESPACE}.svc:2379")

    def member(self):
        return self.pods()[0]["metadata"]["name"]


def secret(name, **data):
    kubectl("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": data}))


class World:
    """Shared by the cases."""

    def __init__(self, folder, api, store):
        self.folder, self.api, self.store = folder, api, store
        kubectl("create", "namespace", NAMESPACE)
        self.bucket = self.store.bucket(BUCKET)
        for name, key, word in (("right", stores.KEY_ID, stores.SECRET), ("guessed", stores.KEY_ID, "guessed"),
                                ("unknown", "somebody", stores.SECRET), ("stranger", stores.STRANGER, stores.SECRET)):
            secret(name, AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=word)
        kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "backups", "namespace": NAMESPACE},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))
        version = os.environ["ETCD_VERSION"]
        self.plain, self.locked = Plain("plain", NAMESPACE, version), Locked(version)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for begun in [pool.submit(c.begin) for c in (self.plain, self.locked)]:
                begun.result()
        self.rounds = {"plain": 9, "locked": 1}
        for cluster in (self.plain, self.locked):
            stores.fill(cluster, self.rounds[cluster.name])  # No client writes besides this.

    def volume(self):
        uid = get("persistentvolumeclaims", NAMESPACE, "backups")["metadata"]["uid"]
        return f"{self.folder}/volumes/{uid}"

    def s3(self, **changes):
        return {"s3": {"endpoint": self.store.url(), "bucket": BUCKET, "region": "us-east-1", "forcePathStyle": True,
                       "credentialsSecretRef": {"name": "right"}, **changes}}

    def make(self, name, destination, cluster="plain"):
        self.api.call("POST", SNAPSHOTS, {
            "apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdSnapshot", "metadata": {"name": name},
            "spec": {"clusterRef": {"name": cluster}, "destination": destination}})

    def snapshot(self, name):
        return self.api.call("GET", f"{SNAPSHOTS}/{name}")

    def ended(self, name, phase, reason):
        """Waits until the snapshot has ended, and checks phase and reason."""
        ends = until(LIMIT, f"{name} ends", lambda: self.if_ended(name))
        ready = condition(ends, "Ready")
        if (ends["status"]["phase"], ready["reason"]) != (phase, reason):
            raise Failed(f"{name} is {ends['status']['phase']}, {ready}")
        same(f"{name} is Ready", ready["status"], "True" if phase == "Complete" else "False")
        return ends

    def if_ended(self, name):
        found = self.snapshot(name)
        return found if found.get("status", {}).get("phase") in ("Complete", "Failed") else None

    def pods_of(self, name):
        """The Pods of its Job."""
        selector = f"batch.kubernetes.io%2Fjob-name%3D{name}-snapshot"
        return self.api.call("GET", f"{PODS}?labelSelector={selector}")["items"]

    def first_failure(self, name):
        """The exit code and reason of its first failed Pod."""
        def said():
            for pod in self.pods_of(name):
                ended = pod["status"].get("containerStatuses", [{}])[0].get("state", {}).get("terminated")
                if ended and ended["exitCode"]:
                    return ended
            return None
        ended = until(LIMIT, f"a Pod of {name} fails", said)
        return ended["exitCode"], json.loads(ended["message"])["reason"]

    def forget(self, name):
        """Deletes it, and waits until its Job and Pods are gone."""
        self.api.call("DELETE", f"{SNAPSHOTS}/{name}")
        until(LIMIT, f"the Job of {name} is gone",
              lambda: not (self.api.call("GET", f"{JOBS}/{name}-snapshot") or self.pods_of(name)))

    def stored(self, name, cluster, uri_end, path):
        """Checks that it is complete, and that the stored object is the cluster's."""
        done = self.ended(name, "Complete", "SnapshotStored")
        told = done["status"]["artifact"]
        if not told["uri"].endswith(uri_end):
            raise Failed(f"{name} is at {told['uri']}")
        asked = {"plain": self.plain, "locked": self.locked}[cluster]
        same("cluster id", told["clusterID"], asked.object()["status"]["clusterID"])
        same("revision", told["revision"], 1 + self.rounds[cluster])
        same("authentication", told["authEnabled"], cluster == "locked")
        same("version", told["etcdVersion"], asked.version)
        stores.check_stored(path, done)
        [pod] = self.pods_of(name)
        same("marker line", [line for line in self.log(pod).splitlines() if line.startswith("snapshot uploaded:")],
             [f'snapshot uploaded: uri="{told["uri"]}" size={told["sizeBytes"]} sha256={told["checksum"].split(":")[1]}'])
        selector = get("services", NAMESPACE, f"{cluster}-client")["spec"]["selector"]
        if selector.items() <= pod["metadata"]["labels"].items():
            raise Failed(f"the client Service selects {pod['metadata']['name']}")

    def log(self, pod):
        return pathlib.Path(self.folder, "logs", f"{NAMESPACE}_{pod['metadata']['name']}.log").read_text(encoding="utf-8")

    def refuses_again(self, name, cluster, destination, path):
        """Another EtcdSnapshot with that name does not change the stored object."""
        before = stores.sha256(path)
        self.forget(name)
        self.make(name, destination, cluster)
        self.ended(name, "Failed", "DestinationExists")
        same("what was stored before", stores.sha256(path), before)


def plain_into_a_volume(world):
    """Into a folder whose name a kubelet would expand if it were not escaped."""
    destination = {"pvc": {"claimName": "backups", "subPath": "daily/$(SNAPSHOT_NAME) $$x"}}
    world.make("volume", destination)
    path = f"{world.volume()}/daily/$(SNAPSHOT_NAME) $$x/volume.db"
    world.stored("volume", "plain", "daily/$(SNAPSHOT_NAME) $$x/volume.db", path)
    world.refuses_again("volume", "plain", destination, path)


def plain_into_a_store(world):
    """With more than one part of an upload."""
    destination = world.s3(key="db/$(SNAPSHOT_NAME)")
    world.make("object", destination)
    path = f"{world.bucket}/db/$(SNAPSHOT_NAME)/object.db"
    world.stored("object", "plain", f"s3://{BUCKET}/db/$(SNAPSHOT_NAME)/object.db", path)
    world.refuses_again("object", "plain", destination, path)


def locked_into_a_volume(world):
    world.make("locked-volume", {"pvc": {"claimName": "backups"}}, "locked")
    world.stored("locked-volume", "locked", "/locked-volume.db", f"{world.volume()}/locked-volume.db")


def locked_into_a_store(world):
    world.make("locked-object", world.s3(), "locked")
    world.stored("locked-object", "locked", f"s3://{BUCKET}/locked-object.db", f"{world.bucket}/locked-object.db")


def refused(name, reason, destination):
    def case(world):
        world.make(name, destination(world))
        done = world.ended(name, "Failed", reason)
        said = condition(done, "Ready")["message"]
        if stores.SECRET in said or len(said) < 20:
            raise Failed(f"the message is {said!r}")
    case.__name__ = f"{name} is {reason}"
    return case


def a_store_that_is_not_there_yet(world):
    # No process listens at this address, or calls from it: the port stays free.
    store = stores.Gateway("127.0.0.2")
    try:
        store.take_port()
        store.bucket(BUCKET)
        world.make("early", world.s3(endpoint=store.url()))
        same("how the first Pod ended", world.first_failure("early"), (1, "DestinationUnreachable"))
        until(LIMIT, "it says why it tries again", lambda: "DestinationUnreachable" in
              condition(world.snapshot("early"), "Ready")["message"])
        store.start()
        world.ended("early", "Complete", "SnapshotStored")
    finally:
        store.end()


def credentials_that_come_late(world):
    world.make("late", world.s3(credentialsSecretRef={"name": "late"}))
    until(LIMIT, "its Pod waits", lambda: any(
        "CreateContainerConfigError" in json.dumps(pod["status"]) for pod in world.pods_of("late")))
    secret("late", AWS_ACCESS_KEY_ID=stores.KEY_ID, AWS_SECRET_ACCESS_KEY=stores.SECRET)
    world.ended("late", "Complete", "SnapshotStored")
    same("Pods", len(world.pods_of("late")), 1)


def a_store_that_goes_away(world):
    """In the middle of an upload: nothing is stored by then, and later everything."""
    cut = stores.Cut(world.store.port, 300_000)
    try:
        folder = world.store.bucket("cut")  # A separate bucket: the upload could not be aborted while the store was down.
        world.make("broken", world.s3(endpoint=cut.url(), bucket="cut"))
        code, reason = world.first_failure("broken")
        if code != 1 or reason not in ("DestinationUnreachable", "DestinationFailed"):
            raise Failed(f"it ended with {code}, {reason}")
        same("cuts", cut.cuts > 0, True)
        same("stored by then", os.path.exists(f"{folder}/broken.db"), False)
        cut.gone = False
        done = world.ended("broken", "Complete", "SnapshotStored")
        stores.check_stored(f"{folder}/broken.db", done)
    finally:
        cut.stop()


CASES = (
    plain_into_a_volume, plain_into_a_store, locked_into_a_volume, locked_into_a_store, a_store_that_is_not_there_yet,
    a_store_that_goes_away, credentials_that_come_late,
    refused("guessed", "DestinationCredentialsRejected", lambda w: w.s3(credentialsSecretRef={"name": "guessed"})),
    refused("unknown", "DestinationCredentialsRejected", lambda w: w.s3(credentialsSecretRef={"name": "unknown"})),
    refused("stranger", "DestinationAccessDenied", lambda w: w.s3(credentialsSecretRef={"name": "stranger"})),
    refused("no-bucket", "BucketNotFound", lambda w: w.s3(bucket="nowhere")),
    refused("outside", "DestinationInvalid", lambda w: {"pvc": {"claimName": "backups", "subPath": "../x"}}),
)


def nothing_is_told(world):
    """Passwords and keys are only in Secrets; and no upload is left unfinished."""
    places = {"objects": kubectl("get", "jobs,pods,events,etcdsnapshots,etcdclusters", "-n", NAMESPACE, "-o", "json")}
    for file in glob.glob(f"{world.folder}/**/*", recursive=True):
        if file.endswith((".log", ".termination")):
            places[file] = pathlib.Path(file).read_text(encoding="utf-8", errors="replace")
    for place, text in places.items():
        for word in (stores.SECRET, secure.PASSWORD, "PRIVATE KEY"):
            if word in text or base64.b64encode(word.encode()).decode() in text:
                raise Failed(f"{place} has a secret")
    if not any(file.endswith(".termination") for file in places):
        raise Failed(f"no logs in {world.folder}")
    same("leftovers of uploads", world.store.leftovers(BUCKET), [])


def nothing_stays(world):
    kubectl("delete", "etcdclusters", "--all", "-n", NAMESPACE, "--wait=false")
    until(LIMIT, "nothing of the clusters is left", lambda: not (world.plain.pods() or world.locked.pods()))


def main():
    """In any case, no child process and no folder of the store is left."""
    with contextlib.ExitStack() as ends:
        api, store = Api(), stores.Gateway()
        ends.callback(api.stop)
        ends.callback(store.end)
        api.start()
        return run_cases(api, store.start())


def run_cases(api, store):
    start = time.monotonic()
    world = World(os.path.abspath(sys.argv[1]), api, store)
    print(f"clusters after {time.monotonic() - start:.1f} s", flush=True)

    def tried(case):
        begun = time.monotonic()
        try:
            case(world)
            problem = ""
        except Exception as e:  # noqa: BLE001: the others go on and are counted.
            problem = repr(e)
        word = f"FAILED {problem}" if problem else "ok"
        print(f"{case.__name__.replace('_', ' ')}: {word} ({time.monotonic() - begun:.1f} s)", flush=True)
        return 1 if problem else 0
    with concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
        failed = sum(pool.map(tried, CASES))
    failed += tried(nothing_is_told) + tried(nothing_stays)
    print(f"{time.monotonic() - start:.1f} s")
    print(f"{len(CASES) + 2 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
