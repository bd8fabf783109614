"""An object store on this machine, and checks of stored snapshots.

Needs ETCDUTL, an etcdutl of 3.6 or later (older ones have no hashkv), and VERSITYGW, an S3 gateway to a folder.
"""
import base64
import hashlib
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

from world import Failed, run, until

KEY_ID, SECRET = "snapshots-of-tests", "a secret that nobody tells"
TXN_KEYS, VALUE_BYTES = 100, 10_000  # etcd's limits per call: 128 operations and 1.5 MiB.
STRANGER = "stranger"  # An account without permissions, with the same secret.


class Gateway:
    """versitygw: buckets are folders, and objects are files."""

    def __init__(self, address="127.0.0.1"):
        self.folder, self.address, self.port, self.process = tempfile.mkdtemp(prefix="store-"), address, 0, None
        os.mkdir(f"{self.folder}/accounts")
        with open(f"{self.folder}/accounts/users.json", "w", encoding="ascii") as f:
            json.dump({"accessAccounts": {STRANGER: {"access": STRANGER, "secret": SECRET, "role": "user"}}}, f)

    def url(self):
        return f"http://{self.address}:{self.port}"

    def take_port(self):
        """Picks a port without a listener, for start()."""
        with socket.socket() as s:
            s.bind((self.address, 0))
            self.port = s.getsockname()[1]
        return self.port

    def start(self):
        """Listens on the taken port, or else on a free one; another program may take it in between."""
        for _ in range(1 if self.port else 20):
            port = self.port or self.take_port()
            with open(f"{self.folder}/log", "a", encoding="utf-8") as log:
                self.process = subprocess.Popen(
                    [os.environ["VERSITYGW"], "--access", KEY_ID, "--secret", SECRET, "--port", f"{self.address}:{port}",
                     "--iam-dir", f"{self.folder}/accounts", "posix", self.bucket()], stdout=log, stderr=log)
            if until(60, "the object store listens or has ended", self.state) == "listens":
                return self
            self.port = 0
        raise Failed(f"the object store does not start: {self.folder}/log")

    def state(self):
        with socket.socket() as s:
            listens = s.connect_ex((self.address, self.port)) == 0
        # Checked last: if another program has the port, this one ends.
        if self.process.poll() is not None:
            return "ended"
        return "listens" if listens else ""

    def bucket(self, name=""):
        """The bucket's folder."""
        path = f"{self.folder}/buckets/{name}"
        os.makedirs(path, exist_ok=True)
        return path

    def leftovers(self, bucket):
        """Files of unfinished uploads."""
        return [f"{at}/{name}" for at, _, names in os.walk(f"{self.bucket(bucket)}/.sgwtmp") for name in names]

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder)


class Cut:
    """A proxy to a store that can go away: it cuts open connections after so many bytes to the store, and refuses others at
    once."""

    def __init__(self, port, after):
        self.port, self.after, self.gone, self.cuts = port, after, True, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.gone and self.cuts:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.port))
            for ends in ((near, far, True), (far, near, False)):
                threading.Thread(target=self.hand, args=ends, daemon=True).start()

    def hand(self, source, target, counts):
        passed = 0
        try:
            while data := source.recv(16384):
                passed += len(data)
                if counts and self.gone and passed > self.after:
                    self.cuts += 1
                    break
                target.sendall(data)
        except OSError:
            pass  # The other direction has ended.
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)  # Wakes the other direction.
            except OSError:
                pass
            end.close()  # Later connections are refused, not kept.

    def stop(self):
        self.listener.close()


def fill(cluster, rounds):
    """Puts TXN_KEYS keys at one revision, a megabyte together, this many times."""
    words = cluster.etcdctl_words("--dial-timeout=30s", "--command-timeout=60s", "txn")
    for n in range(rounds):
        puts = [f"put bulk/{n:03d}/{i:03d} {os.urandom(VALUE_BYTES // 2).hex()}" for i in range(TXN_KEYS)]
        said = run(*words, stdin="\n" + "\n".join(puts) + "\n\n\n", timeout=120)
        if "SUCCESS" not in said:
            raise Failed(f"etcd says {said[:200]}")


def sha256(path):
    with open(path, "rb") as f:
        return "sha256:" + hashlib.file_digest(f, "sha256").hexdigest()


def digest_of(keys):
    """The digest of keys in etcdctl's JSON, as defined in src/etcd/key_digest.h."""
    out = hashlib.sha256()
    for one in keys:
        for text in (base64.b64decode(one["key"]), base64.b64decode(one.get("value", ""))):
            out.update(struct.pack(">Q", len(text)) + text)
        out.update(struct.pack(">qqq", one["create_revision"], one["mod_revision"], one["version"]))
    return "sha256:" + out.hexdigest()


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def same(what, got, wanted):
    if got != wanted:
        raise Failed(f"{what}: got {got}, not {wanted}")


def check_stored(path, snapshot):
    """Checks that the file matches the EtcdSnapshot's status, that etcdutl restores it, and that the restored data has etcd's own
    digest."""
    told, meta = snapshot["status"]["artifact"], snapshot["metadata"]
    same("size", os.path.getsize(path), told["sizeBytes"])
    same("checksum", sha256(path), told["checksum"])
    manifest = read_json(f"{path}.json")
    same("the manifest's name", (manifest["kind"], manifest["snapshotName"], manifest["snapshotUID"]),
         ("EtcdSnapshotManifest", meta["name"], meta["uid"]))
    same("the manifest", {k: manifest.get(k) for k in told}, told)
    etcdutl = os.environ["ETCDUTL"]
    with tempfile.TemporaryDirectory() as folder:
        # It verifies etcd's own checksum at the end of the file.
        run(etcdutl, "snapshot", "restore", path, "--data-dir", f"{folder}/data", "--name", "m",
            "--initial-cluster", "m=http://127.0.0.1:1", "--initial-advertise-peer-urls", "http://127.0.0.1:1")
        said = json.loads(run(etcdutl, "hashkv", f"{folder}/data/member/snap/db", "--rev", str(told["revision"]), "-w", "json"))
        same("digest of the restored keys", (said["hash"], said["hashRevision"], said["compactRevision"]),
             (told["hashKV"], told["revision"], told["compactRevision"]))
