"""In-place restores (EtcdRestore) of a cluster on real nodes, with TLS and passwords, under clients that write, watch, and remember
the answers. Has the requirements of snapshots.py."""
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading

import faults
import history
import restores
import secure
import snapshots
import stores
from world import GROUP, Failed, condition, get, kubectl, until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recipes"))
import runbook  # noqa: E402

BOUND = 540
MEGABYTES = 2
RESTORES, FENCE = f"etcdrestores.{GROUP}", f"{GROUP}/fenced"
ENDS = ("Complete", "RolledBack", "Failed")
LATER = 100  # Writes after the snapshot, to see that they are undone.


class Named(http.client.HTTPConnection):
    """TLS to an address, with another server name."""

    def __init__(self, address, name, context, timeout):
        super().__init__(address, timeout=timeout)
        self.name, self.context = name, context

    def connect(self):
        super().connect()
        self.sock = self.context.wrap_socket(self.sock, server_hostname=self.name)


class Writer(history.Writer):
    """Uses a certificate, as root; a member forgets root's token when it ends. etcd's gateway accepts no certificate with a common
    name once authentication is on."""

    def __init__(self, cluster):
        self.name, self.token = f"{cluster.name}-client.{cluster.namespace}.svc", ""
        key, certificate = cluster.authority.leaf("writer", "/O=clients", "clientAuth", [])
        self.context = ssl.create_default_context(cafile=cluster.authority.pem)
        self.context.load_cert_chain(certificate, key)
        self.service = get("services", cluster.namespace, f"{cluster.name}-client")["spec"]["clusterIP"]
        super().__init__(cluster)

    def connection(self, timeout):
        return Named(f"{self.service}:2379", self.name, self.context, timeout)

    def headers(self):
        return {"Authorization": self.token} if self.token else {}

    def call(self, path, body, timeout=3):
        if not self.token:
            answer = super().call("/v3/auth/authenticate", {"name": "root", "password": secure.PASSWORD}, timeout)
            if not answer:
                return None
            self.token = answer["token"]
        answer = super().call(path, body, timeout)
        if answer is None:
            self.token = ""
        return answer


class Watch:
    """A watch of the clients' keys, from the next revision on. etcdctl gives up without a leader; then the watch goes on after the
    last change that it has seen, as clients do, until it hears that this revision was compacted."""

    def __init__(self, cluster):
        self.cluster, self.keys, self.end, self.stopping, self.process = cluster, [], "", threading.Event(), None
        self.revision = json.loads(cluster.etcdctl("get", "none", "-w", "json"))["header"]["revision"]
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.stopping.is_set() and "compacted" not in self.end:
            with tempfile.TemporaryFile("w+") as said:
                self.process = subprocess.Popen(
                    self.cluster.etcdctl_words("watch", "--prefix", history.PREFIX, f"--rev={self.revision + 1}", "-w", "json"),
                    stdout=subprocess.PIPE, stderr=said, text=True)
                for line in self.process.stdout:
                    for event in json.loads(line).get("Events") or []:
                        self.keys.append(history.decoded(event["kv"]["key"]))
                        self.revision = event["kv"]["mod_revision"]
                self.process.wait()
                said.seek(0)
                self.end = said.read()
            self.stopping.wait(0.2)

    def stop(self):
        self.stopping.set()
        while self.thread.is_alive():
            if self.process:
                self.process.kill()
            self.thread.join(0.2)


class Forward:
    """A port of this machine that leads to a Pod's, for a `with`: as users inspect the data under review."""

    def __init__(self, cluster, pod):
        self.words = ["kubectl", "port-forward", "-n", cluster.namespace, f"pod/{pod}", ":2379"]
        self.process, self.endpoint = None, ""

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:\d+", said)
        if not found:
            self.__exit__()
            raise Failed(f"kubectl port-forward says {said}")
        self.endpoint = f"https://{found[0]}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Living:
    """A cluster of three with its clients, a snapshot of it, and later writes."""

    def __init__(self, version):
        self.store, self.writer = stores.Gateway(os.environ["API_IP"]).start(), None
        try:
            self.begin(version)
        except BaseException:
            self.stop()
            raise

    def begin(self, version):
        self.cluster = cluster = secure.OwnSecrets(version)
        cluster.namespace = "in-place"
        self.bucket = self.store.bucket(snapshots.BUCKET)
        cluster.begin()
        snapshots.store_secret(cluster.namespace)
        stores.fill(cluster, MEGABYTES)
        self.writer = Writer(cluster)
        self.more_is_written()
        snapshots.make(cluster, "monday", restores.s3(self.store, "db"))
        self.artifact = snapshots.complete(cluster, "monday")["status"]["artifact"]
        self.more_is_written()
        _, self.before = restores.everything(cluster)
        self.cluster_id = cluster.object()["status"]["clusterID"]

    def more_is_written(self):
        count = len(self.writer.acknowledged)
        until(BOUND, "clients write", lambda: len(self.writer.acknowledged) >= count + LATER)

    def make(self, name, decision, key="db/monday.db"):
        kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": f"{GROUP}/v1alpha2", "kind": "EtcdRestore",
            "metadata": {"name": name, "namespace": self.cluster.namespace},
            "spec": {"clusterRef": {"name": self.cluster.name}, "decision": decision, "source": restores.s3(self.store, key)}}))

    def decide(self, name, decision):
        kubectl("patch", RESTORES, name, "-n", self.cluster.namespace, "--type=merge",
                "-p", json.dumps({"spec": {"decision": decision}}))

    def follow(self, heading, name):
        """Runs the commands of docs/user/restore-in-place.md for the EtcdRestore of that name; returns their output."""
        with tempfile.TemporaryDirectory() as folder:
            script = runbook.commands(heading, names={"db": self.cluster.name, "back-to-monday": name,
                                                      "back-to-monday-check": f"{name}-check"})
            code, said = runbook.run(script, folder, self.cluster.namespace, BOUND)
        if code != 0:
            raise Failed(f"{heading}: status {code}: {said}")
        return said

    def reaches(self, name, phase):
        """The EtcdRestore once it is in that phase; it must not end otherwise."""
        def there():
            found = get(RESTORES, self.cluster.namespace, name)
            return found if found.get("status", {}).get("phase") in (phase, *ENDS) else None
        found = until(BOUND, f"{name} is {phase}; the cluster says {json.dumps(self.cluster.object()['status'])[:3000]}", there)
        if found["status"]["phase"] != phase:
            raise Failed(f"{name} is {found['status']['phase']}, not {phase}: {json.dumps(found['status']['conditions'])}")
        return found

    def services(self):
        return [get("services", self.cluster.namespace, name) for name in (self.cluster.name, f"{self.cluster.name}-client")]

    def behind_services(self):
        return [e for s in self.services() for part in get("endpointslices.discovery.k8s.io", self.cluster.namespace,
                                                           selector=f"kubernetes.io/service-name={s['metadata']['name']}")
                for e in part.get("endpoints") or []]

    def volumes(self):
        return {v["metadata"]["uid"]: v["metadata"]["name"] for v in self.cluster.volumes()}

    def serves_again(self):
        self.cluster.wait_settled(3, BOUND)
        self.cluster.refresh()
        self.cluster.check_exact(3)
        fenced = [s["metadata"]["name"] for s in self.services() if FENCE in s["spec"]["selector"]]
        if fenced:
            raise Failed(f"{fenced} select nothing")

    def bump(self):
        """By how much the restored member raises the snapshot's revision."""
        return self.cluster.object()["status"]["restore"]["from"]["bumpRevision"]

    def stop(self):
        if self.writer:
            self.writer.stop()
        self.store.end()

    def end(self):
        try:
            kubectl("delete", RESTORES, "--all", "-n", self.cluster.namespace)
            self.cluster.delete()
        finally:
            self.stop()


def damaged(living):
    """A byte of the snapshot is wrong. The operator finds that before it stops anything, although Commit was requested."""
    cluster = living.cluster
    path = f"{living.bucket}/db/damaged.db"
    shutil.copy2(f"{living.bucket}/db/monday.db", path)  # With the store's extended attributes.
    with open(path, "r+b") as f:
        f.seek(os.path.getsize(path) // 2)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 1]))
    before, ids = secure.starts(cluster), cluster.etcd_ids()
    living.writer.longest_silence()
    living.make("damaged", "Commit", "db/damaged.db")
    told = condition(living.reaches("damaged", "Failed"), "Checked")
    if told.get("status") != "False" or "SnapshotBroken" not in told["reason"] + told["message"]:
        raise Failed(f"Checked is {told}")
    if secure.starts(cluster) != before or cluster.etcd_ids() != ids or cluster.object()["status"].get("restore"):
        raise Failed(f"something was done: {secure.starts(cluster)}, {cluster.etcd_ids()}, {cluster.object()['status']}")
    living.serves_again()
    said = living.follow("A damaged snapshot", "damaged")
    if told["message"] not in said or "SnapshotBroken" not in said.replace(told["message"], ""):
        raise Failed(f"who looks for the reason is told {said}")
    print(f"  {told['reason']}: {told['message']}; writers waited {living.writer.longest_silence():.1f} s at most; "
          f"{living.writer.check()} writes are there", flush=True)


def says_so(living, name):
    """Checks the cluster's conditions during the restore."""
    def told():
        found = {kind: condition(living.cluster.object(), kind) for kind in ("Available", "Degraded", "Progressing")}
        said = [(found[kind].get("status"), found[kind].get("reason")) for kind in found]
        return found if said == [("False", "Restoring"), ("True", "Restoring"), ("True", "Restoring")] else None
    found = until(BOUND, "the cluster says that it goes back", told)
    if name not in found["Degraded"]["message"]:
        raise Failed(f"Degraded does not name {name}: {found['Degraded']['message']}")
    print(f"  {found['Degraded']['message']}", flush=True)


def looked_at(living, name):
    """Restored, up to its review: one member with the stored data, which no client reaches; the old volumes still exist."""
    cluster, kept = living.cluster, living.volumes()
    living.make(name, "Restore")
    found = living.reaches(name, "Review")
    says_so(living, name)
    written, newest = len(living.writer.acknowledged), living.writer.newest
    founder = cluster.object()["status"]["restore"]["founder"]
    if [p["metadata"]["name"] for p in cluster.pods()] != [founder] or not kept.items() <= living.volumes().items():
        raise Failed(f"{founder} restores; Pods {[p['metadata']['name'] for p in cluster.pods()]}, volumes {living.volumes()}, "
                     f"which were {kept}")
    until(BOUND, "clients are led nowhere", lambda: not living.behind_services())
    if any(FENCE not in s["spec"]["selector"] for s in living.services()):
        raise Failed(f"clients are led by {[s['spec']['selector'] for s in living.services()]}")
    with Forward(cluster, founder) as way:
        restores.check_keys(cluster, living.before, living.artifact, living.bump(), way.endpoint)
        revision, kvs = restores.read(cluster, way.endpoint)
    told, taken = found["status"]["source"], revision - living.bump()
    if (told["checksum"] != living.artifact["checksum"] or not living.artifact["revision"] <= told["revision"] <= taken
            or told["keys"] != sum(kv["mod_revision"] <= told["revision"] for kv in kvs)):
        raise Failed(f"the EtcdRestore tells {told}; the snapshot is {living.artifact}, with {len(kvs)} keys at revision {taken}")
    floor = cluster.object()["status"].get("revisionFloor", 0)
    if revision <= max(newest, floor):
        raise Failed(f"its revision is {revision}; clients have seen {newest}, and the floor is {floor}")
    if is_served(cluster):
        raise Failed("who asks the Service is answered")
    stores.same("writes that were acknowledged since", len(living.writer.acknowledged), written)
    return founder, kept


def is_served(cluster):
    try:
        return bool(cluster.etcdctl("get", "none", "-w", "json", timeout=2))
    except (Failed, subprocess.TimeoutExpired):
        return False


def taken_back(living):
    """The old members, with all acknowledged writes; a watch goes on as if nothing had happened."""
    cluster, writer, ids = living.cluster, living.writer, living.cluster.etcd_ids()
    objects = {m["metadata"]["uid"] for m in cluster.members()}
    watch = Watch(cluster)
    try:
        first = len(writer.values)  # Later writes are watched.
        living.more_is_written()
        writer.longest_silence()
        founder, kept = looked_at(living, "first")
        living.decide("first", "Rollback")
        living.reaches("first", "RolledBack")
        living.more_is_written()
        living.serves_again()
        if cluster.etcd_ids() != ids or {m["metadata"]["uid"] for m in cluster.members()} != objects or living.volumes() != kept:
            raise Failed(f"members are {cluster.etcd_ids()}, they were {ids}; volumes {living.volumes()}, they were {kept}")
        if founder in (p["metadata"]["name"] for p in cluster.pods()):
            raise Failed(f"{founder} is still there")
        stores.same("the cluster's id", cluster.object()["status"]["clusterID"], living.cluster_id)
        count, silence = writer.check(), writer.longest_silence()
        wanted = {k for k in list(writer.acknowledged) if int(k.removeprefix(history.PREFIX)) > first}
        until(BOUND, "the watch has seen every acknowledged write", lambda: wanted <= set(watch.keys))
        seen = list(watch.keys)
        acknowledged = [k for k in seen if k in writer.acknowledged]
        if len(seen) != len(set(seen)) or acknowledged != sorted(acknowledged):
            raise Failed(f"the watch saw {len(seen)} writes, {len(set(seen))} different ones, or not in their order")
    finally:
        watch.stop()
    print(f"  {count} acknowledged writes are there; writers waited {silence:.1f} s; one watch saw {len(seen)} writes, each once",
          flush=True)


def went_back(living, newest, kept, old_id):
    """Checks a cluster after a committed restore, before the first new write. Clients have seen revision `newest`."""
    cluster = living.cluster
    living.serves_again()
    until(BOUND, "the cluster asks for passwords", lambda: cluster.object()["status"].get("authEnabled"))
    status = cluster.object()["status"]
    restores.check_keys(cluster, living.before, living.artifact, living.bump())
    revision, _ = restores.read(cluster)
    if revision <= newest or status["revisionFloor"] < newest:
        raise Failed(f"the revision is {revision}, the floor {status['revisionFloor']}, and clients have seen {newest}")
    if status["clusterID"] == old_id or status["restore"]["stage"] != "Committed":
        raise Failed(f"it was {old_id}; the status is {status}")
    if kept.keys() & living.volumes().keys():
        raise Failed(f"volumes of before are left: {living.volumes()}, there were {kept}")
    said = condition(cluster.object(), "Available")
    if (said["status"], said["reason"]) != ("True", "QuorumHealthy"):
        raise Failed(f"Available is {said}")
    return revision


def committed(living):
    """Committed: three members with the stored data, above all revisions that any client has seen; watchers are told."""
    cluster, writer = living.cluster, living.writer
    old_id = cluster.object()["status"]["clusterID"]
    watch = Watch(cluster)
    try:
        living.more_is_written()
        count = writer.check()
        writer.longest_silence()
        _, kept = looked_at(living, "second")
        silence = writer.longest_silence()
        writer.stop()  # Writes since the snapshot are undone now.
        if writer.problems:
            raise Failed(f"faults in the clients' history: {writer.problems[:5]}")
        living.follow("Committing", "second")
        living.reaches("second", "Complete")
        revision = went_back(living, writer.newest, kept, old_id)
        until(BOUND, "who watched is told that it was compacted", lambda: "compacted" in watch.end)
    finally:
        watch.stop()
    said = subprocess.run(cluster.etcdctl_words("--dial-timeout=30s", "--command-timeout=60s", "watch", "--prefix", history.PREFIX,
                                                f"--rev={writer.newest}"), timeout=120, capture_output=True, text=True, check=False)
    if "compacted" not in said.stdout + said.stderr:
        raise Failed(f"who watches from {writer.newest} on is told {said}")
    put = json.loads(cluster.etcdctl("put", "new", "life", "-w", "json"))["header"]["revision"]
    stores.same("the revision of the first write", put, revision + 1)
    print(f"  of {count} acknowledged writes those since the snapshot are given up; it is revision {revision}, clients had seen "
          f"{writer.newest}; stopped and restored in less than {silence:.1f} s", flush=True)


def quorum_lost(living):
    """Two of three members have lost their data; only the snapshot is left. Commits without a review."""
    cluster = living.cluster
    newest = json.loads(cluster.etcdctl("put", "last", "words", "-w", "json"))["header"]["revision"]
    old_id, kept = cluster.object()["status"]["clusterID"], living.volumes()
    for member in sorted(m["metadata"]["name"] for m in cluster.members())[:2]:
        faults.wipe(cluster, member)

    def told():
        found = condition(cluster.object(), "Available")
        return found if found.get("status") == "False" else None
    found = until(BOUND, "the cluster says that its quorum is lost", told)
    print(f"  {found['reason']}: {found['message']}", flush=True)
    living.make("third", "Commit")
    living.reaches("third", "Complete")
    revision = went_back(living, newest, kept, old_id)
    print(f"  a quorum again, at revision {revision}; {newest} was the last that was acknowledged", flush=True)
