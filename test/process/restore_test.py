"""restore_test.py MANAGER: `manager restore-agent` and `install-tools` as a Pod's init containers run them, with our own object
store on 127.0.0.1 (fakes.py) and a stand-in for etcdutl: what they leave in data directories, their exit codes, messages and
memory."""
import base64
import filecmp
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import Bucket, Etcd, authority, checksum, database, with_sum  # noqa: E402

MANAGER = sys.argv.pop()
LIMIT_SECONDS = 240  # For anything that hangs.
SECRET = "do-not-tell"
MEMORY_MAX_KIB = 32 << 10  # Its own memory: pages of the program's file do not count.
KUBELET_WAITS = 30  # seconds between SIGTERM and SIGKILL
BUMP = 1000000000
ETCDUTL = """#!/bin/sh
# As etcdutl does it: the file is read, the data directory is made of it.
{
  printf '%s\\n' "$@"
  echo "secret=$AWS_SECRET_ACCESS_KEY"
} >"$WORDS"
for word; do case $word in --data-dir=*) to=${word#--data-dir=} ;; esac; done
mkdir -p "$to/member/snap" "$to/member/wal"
cp "$3" "$to/member/snap/db"
echo '{"level":"info","msg":"restored snapshot"}' >&2
eval "$THEN"
"""


def below(folder):
    """The folder and everything in it, in order. Links are not followed: one leads back to its folder."""
    return sorted([folder] + [os.path.join(where, name) for where, folders, files in os.walk(folder) for name in folders + files])


class Restore(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.data, self.source = self.path("data"), self.path("source")
        os.mkdir(self.data)
        os.makedirs(os.path.join(self.source, "prod"))
        self.log, self.words = self.path("termination-log"), self.path("words")
        self.tool = self.path("etcdutl")
        with open(self.tool, "w", encoding="utf-8") as file:
            file.write(ETCDUTL)
        os.chmod(self.tool, 0o755)
        self.stored = database("3.6.16")
        self.buckets = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def bucket(self, **options):
        bucket = Bucket(**options)
        self.buckets.append(bucket)
        self.addCleanup(bucket.close)
        return bucket

    def common(self, **more):
        return {"ETCD_DATA_DIR": self.data, "ETCD_MEMBER_NAME": "db-0", "ETCD_INITIAL_CLUSTER": "db-0=http://db-0.db.prod.svc:2380",
                "ETCD_INITIAL_CLUSTER_TOKEN": "token", "ETCD_PEER_URLS": "http://db-0.db.prod.svc:2380",
                "RESTORE_ETCD_VERSION": "3.6.15", "RESTORE_AUTH": "false", "ETCDUTL_PATH": self.tool, "PATH": "/usr/bin:/bin",
                "TERMINATION_LOG_PATH": self.log, "WORDS": self.words, **more}

    def from_folder(self, stored=None, manifest=None, uid=None, **more):
        for suffix, text in (("", self.stored if stored is None else stored), (".json", manifest), (".uid", uid)):
            if text is not None:
                with open(os.path.join(self.source, "prod/nightly.db" + suffix), "wb") as file:
                    file.write(text)
        return self.common(SNAPSHOT_DEST_KIND="pvc", PVC_MOUNT_PATH=self.source, PVC_SUBPATH="prod/nightly.db", **more)

    def from_bucket(self, bucket, stored=None, manifest=None, **more):
        bucket.objects["/b/prod/nightly.db"] = (self.stored if stored is None else stored, {})
        if manifest is not None:
            bucket.objects["/b/prod/nightly.db.json"] = manifest, {}
        return self.common(SNAPSHOT_DEST_KIND="s3", S3_ENDPOINT=bucket.url, S3_BUCKET="b", S3_KEY="prod/nightly.db",
                           S3_FORCE_PATH_STYLE="true", S3_ALLOW_LOCAL="true", AWS_ACCESS_KEY_ID="key",
                           AWS_SECRET_ACCESS_KEY=SECRET, **more)

    def manifest(self, stored, **more):
        return json.dumps({"kind": "EtcdSnapshotManifest", "formatVersion": 1, "snapshotName": "nightly", "snapshotUID": "uid-1",
                           "attempt": "1", "takenAt": "2026-11-23T00:00:00Z", "uri": "s3://b/prod/nightly.db",
                           "sizeBytes": len(stored), "checksum": checksum(stored), "etcdVersion": "3.6.16",
                           "clusterID": "00000000000000c1", "memberID": "00000000000000a1", "authEnabled": False,
                           **more}).encode()

    def start(self, environment, program="restore-agent"):
        process = subprocess.Popen([MANAGER, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment)
        watchdog = threading.Timer(LIMIT_SECONDS, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return process

    def end(self, process):
        """Exit code, log lines and the termination message, which is checked against its format."""
        out, err = process.communicate()
        self.assertGreaterEqual(process.returncode, 0, f"ended by a signal, {LIMIT_SECONDS} s are the limit: {err}")
        self.assertNotIn(SECRET, out + err)
        with open(self.log, encoding="utf-8") as file:
            text = file.read()
        self.assertLessEqual(len(text), 4096)
        self.assertNotIn(SECRET, text)
        report = json.loads(text)
        lines = err.splitlines()
        if process.returncode == 0:
            self.assertNotIn("reason", report)
        else:
            self.assertEqual(lines.pop(), f"restore-agent failed: {report['reason']}: {report['message']}")
            self.assertEqual(process.returncode, 3 if report.get("forGood") else 1)
        return process.returncode, [json.loads(line) for line in lines], report

    def restores(self, environment):
        code, log, report = self.end(self.start(environment))
        self.assertEqual(code, 0, report)
        with open(os.path.join(self.data, "member/snap/db"), "rb") as file:
            self.assertEqual(file.read(), self.stored)
        self.assertEqual(os.listdir(self.data), ["member"])
        return log, report

    def in_data(self):
        """Everything in the data directory: path, inode and, for files, the checksum."""
        out = []
        for path in below(self.data):
            content = None
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            out.append((path, os.stat(path).st_ino, content))
        return out

    def in_stores(self):
        """Without the contents of files, some of which are sparse."""
        files = []
        for path in below(self.source):
            facts = os.lstat(path)
            files.append((path, facts.st_ino, facts.st_size, facts.st_mtime_ns))
        return files, [(dict(bucket.objects), dict(bucket.uploads)) for bucket in self.buckets]

    def refuses(self, environment, code, reason, words="", tool_runs=False):
        """And leaves everything as it was, also entries of the file system and of users."""
        foreign, lost = os.path.join(self.data, "notes.txt"), os.path.join(self.data, "lost+found")
        os.mkdir(lost)
        for path in (foreign, os.path.join(lost, "#7")):
            with open(path, "w", encoding="utf-8") as file:
                file.write("not the agent's")
        before = self.in_data(), self.in_stores()
        self.assertGreaterEqual(len(before[0]), 4)
        ended, _, report = self.end(self.start(environment))
        self.assertEqual((ended, report.get("reason")), (code, reason), report)
        self.assertIn(words, report["message"])
        self.assertEqual((self.in_data(), self.in_stores()), before)
        self.assertEqual(os.path.exists(self.words), tool_runs)
        os.remove(foreign)
        shutil.rmtree(lost)

    def said(self):
        with open(self.words, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_out_of_a_folder(self):
        log, report = self.restores(self.from_folder(manifest=self.manifest(self.stored), uid=b"uid-1\n"))
        self.assertEqual(report, {"uri": f"file://{self.source}/prod/nightly.db", "checksum": checksum(self.stored),
                                  "etcdVersion": "3.6.16", "revision": BUMP + 4})
        words = self.said()
        self.assertRegex(words.pop(2), rf"\A{self.data}/etcd-restore-[0-9a-f]+\.db\Z")
        self.assertEqual(words, [
            "snapshot", "restore", f"--data-dir={self.data}/.restore", "--name=db-0",
            "--initial-cluster=db-0=http://db-0.db.prod.svc:2380", "--initial-cluster-token=token",
            "--initial-advertise-peer-urls=http://db-0.db.prod.svc:2380", f"--bump-revision={BUMP}", "--mark-compacted", "secret="])
        # The output of `kubectl logs SEED -c restore`.
        self.assertEqual([line["msg"] for line in log], [
            "restoring a snapshot", "the snapshot is whole and fits", "rebuilding the data directory", "etcdutl ended", "restored"])
        self.assertIn("restored snapshot", log[3]["last_words"])

    def test_out_of_a_bucket(self):
        for manifest in (None, self.manifest(self.stored)):
            with self.subTest(manifest=manifest):
                bucket = self.bucket()
                _, report = self.restores(self.from_bucket(bucket, manifest=manifest))
                self.assertEqual(report["uri"], "s3://b/prod/nightly.db")
                self.assertEqual(report["etcdVersion"], "3.6.16" if manifest else "3.6.0", "of the database: the cluster's")
                self.assertEqual(self.said()[-1], "secret=")
                self.assertEqual({request.split()[0] for request in bucket.requests}, {"HEAD", "GET"})
                subprocess.run(["rm", "-r", os.path.join(self.data, "member")], check=True)

    def keys(self, **entries):
        """A Secret as the kubelet mounts it: its entries are links through ..data."""
        folder = tempfile.mkdtemp(dir=self.folder)
        os.mkdir(f"{folder}/..data")
        for name, text in entries.items():
            with open(f"{folder}/..data/{name}", "w", encoding="ascii") as file:
                file.write(text)
            os.symlink(f"..data/{name}", f"{folder}/{name}")
        return {"SNAPSHOT_KEYS_PATH": folder}

    def test_encrypted(self):
        etcd = Etcd(pieces=[self.stored[:-32]])
        self.addCleanup(etcd.socket.close)
        first, second = "0123456789abcdef" * 4, base64.b64encode(bytes(range(32))).decode() + "\n"
        taken = {"ETCD_ENDPOINTS": etcd.url, "SNAPSHOT_NAME": "nightly", "SNAPSHOT_UID": "uid-1", "TERMINATION_LOG_PATH": self.log,
                 "SNAPSHOT_DEST_KIND": "pvc", "PVC_MOUNT_PATH": self.source, "PVC_SUBPATH": "prod"}
        for wrong in (self.keys(other=first), self.keys(key="short")):
            process = self.start({**taken, **wrong}, "snapshot-agent")
            self.assertIn("EncryptionKeyInvalid", process.communicate()[1])
            self.assertEqual(process.returncode, 3)
        self.assertEqual(os.listdir(f"{self.source}/prod"), [])
        process = self.start({**taken, **self.keys(key=first)}, "snapshot-agent")
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        self.assertNotIn(first, out + err)
        with open(f"{self.source}/prod/nightly.db", "rb") as file:
            sealed = file.read()
        self.assertTrue(sealed.startswith(b"ETCDOP-SEALED-1\n"))
        self.assertNotIn(self.stored[:64], sealed)
        with open(f"{self.source}/prod/nightly.db.json", encoding="utf-8") as file:
            manifest = json.load(file)
        self.assertEqual((manifest["sizeBytes"], manifest["checksum"]), (len(sealed), checksum(sealed)))
        restored = self.common(SNAPSHOT_DEST_KIND="pvc", PVC_MOUNT_PATH=self.source, PVC_SUBPATH="prod/nightly.db")
        self.refuses(restored, 3, "EncryptionKeyMissing", "encryption.keySecretRef")
        self.refuses({**restored, **self.keys(key=second)}, 3, "EncryptionKeyMissing", manifest["encryptionKeyID"])
        self.refuses({**restored, **self.keys(key=first, notes="of last year")}, 3, "EncryptionKeyInvalid", "entry notes")
        self.restores({**restored, **self.keys(key=second, last_year=first)})

    def test_without_a_bump(self):
        _, report = self.restores(self.from_folder(RESTORE_BUMP_REVISION="0"))
        self.assertEqual(report["revision"], 4)
        self.assertFalse([word for word in self.said() if "bump" in word or "compacted" in word])

    def test_a_member_stays_as_it_is(self):
        os.mkdir(os.path.join(self.data, "member"))
        with open(os.path.join(self.data, "etcd-restore-1.db"), "w", encoding="utf-8"):
            pass  # A run was killed right after the member had its name.
        code, log, report = self.end(self.start(self.from_folder()))
        self.assertEqual((code, report), (0, {"already": True}))
        self.assertIn("already", log[0]["msg"])
        self.assertEqual(os.listdir(self.data), ["member"])
        self.assertEqual(os.listdir(os.path.join(self.data, "member")), [])
        self.assertFalse(os.path.exists(self.words))

    def test_killed_at_each_step_it_begins_anew(self):
        for at in ("kill -9 $PPID", "rm -r $to/member/wal; kill -9 $PPID"):
            process = self.start(self.from_folder(THEN=at))
            process.communicate()
            self.assertEqual(process.returncode, -9)
            self.assertEqual(len(os.listdir(self.data)), 2, "the snapshot and what is made of it")
        self.restores(self.from_folder())

    def test_what_is_no_whole_snapshot_is_refused(self):
        flipped = bytearray(self.stored)
        flipped[5000] ^= 1
        no_database = with_sum(b"\1" * 8192)
        for stored, words in ((b"", "no sha256"), (self.stored[:-1], "no sha256"), (self.stored[:-32], "no sha256"),
                              (self.stored[:8192], "no sha256"), (self.stored[:8192 + 32], "does not have its sha256"),
                              (bytes(flipped), "does not have its sha256"), (no_database, "no database of etcd"),
                              (with_sum(self.stored[:-32][:8192]), "no database of etcd"), (b"{}", "no sha256")):
            self.refuses(self.from_folder(stored=stored), 3, "SnapshotBroken", words)
            self.refuses(self.from_bucket(self.bucket(), stored=stored), 3, "SnapshotBroken", words)

    def test_what_is_not_as_its_manifest_says_is_refused(self):
        other = database("3.5.35")
        for manifest, uid, reason, words in (
                (self.manifest(self.stored, sizeBytes=7), b"uid-1", "SnapshotBroken", "and had 7"),
                (self.manifest(self.stored, checksum=checksum(other)), b"uid-1", "SnapshotBroken", checksum(other)),
                (self.manifest(self.stored), b"uid-2", "SnapshotForeign", "uid-2"),
                (b"{}", b"uid-1", "SnapshotForeign", "remove it"),
                (b"", b"uid-1", "SnapshotForeign", "not JSON")):
            self.refuses(self.from_folder(manifest=manifest, uid=uid), 3, reason, words)
        bucket = self.bucket()
        environment = self.from_bucket(bucket, manifest=self.manifest(self.stored))
        for metadata, words in (({"x-amz-meta-etcd-snapshot-uid": "uid-2"}, "uid-2"),
                                ({"x-amz-meta-etcd-snapshot-uid": "uid-1", "x-amz-meta-etcd-snapshot-attempt": "2"}, "again")):
            bucket.objects["/b/prod/nightly.db"] = self.stored, metadata
            self.refuses(environment, 3, "SnapshotForeign", words)

    def test_a_newer_etcds_snapshot_is_refused(self):
        self.refuses(self.from_folder(stored=database("3.7.3")), 3, "SnapshotNewer", "etcd 3.7.0")
        self.refuses(self.from_folder(RESTORE_ETCD_VERSION="3.5.35"), 3, "SnapshotNewer", "spec.version")
        self.refuses(self.from_folder(manifest=self.manifest(self.stored, etcdVersion="3.7.0")), 3, "SnapshotNewer", "3.7.0")
        os.remove(os.path.join(self.source, "prod/nightly.db.json"))
        self.stored = database("3.5.35")
        _, report = self.restores(self.from_folder(RESTORE_ETCD_VERSION="3.7.3"))
        self.assertEqual(report["etcdVersion"], "3.5.0")

    def test_authentication_needs_somebody_who_can_log_in(self):
        self.stored = database("3.5.35", auth=True)
        self.refuses(self.from_folder(), 3, "SnapshotNeedsAuth", "spec.auth")
        self.restores(self.from_folder(RESTORE_AUTH="true"))

    def test_the_manifest_tells_before_the_bytes_come(self):
        bucket = self.bucket()
        self.refuses(self.from_bucket(bucket, manifest=self.manifest(self.stored, authEnabled=True)), 3, "SnapshotNeedsAuth")
        self.assertEqual(bucket.requests, ["HEAD /b/prod/nightly.db", "GET /b/prod/nightly.db.json"])

    def test_too_little_space(self):
        free = os.statvfs(self.data).f_bavail * os.statvfs(self.data).f_frsize
        path = os.path.join(self.source, "prod/nightly.db")
        environment = self.from_folder(stored=b"")
        os.truncate(path, free // 2 + (1 << 30))  # A sparse file.
        self.refuses(environment, 3, "NoSpace", "a larger volume")

    def test_etcdutl(self):
        self.refuses(self.from_folder(THEN="echo 'Error: expected sha256 [1], got [2]' >&2; exit 1"), 1, "RestoreToolFailed",
                     "ended with 1: Error: expected sha256 [1], got [2]", tool_runs=True)
        os.remove(self.words)
        self.refuses(self.from_folder(THEN="echo 'Error: write db: no space left on device' >&2; exit 1"), 3, "NoSpace", "no space",
                     tool_runs=True)
        os.remove(self.words)
        self.refuses(self.from_folder(THEN="kill -9 $$"), 1, "RestoreToolFailed", "signal 9", tool_runs=True)
        os.remove(self.words)
        os.chmod(self.tool, 0o644)
        if not os.path.exists("/usr/local/bin/etcdutl"):
            self.refuses(self.from_folder(), 3, "RestoreToolMissing", "/usr/local/bin/etcdutl")
        os.chmod(self.tool, 0o755)
        self.restores(self.from_folder(ETCDUTL_PATH="", PATH=f"/none:{self.folder}:/usr/bin:/bin"))

    def test_what_the_source_says(self):
        missing = self.from_folder()
        self.refuses({**missing, "PVC_SUBPATH": "prod/none.db"}, 3, "SourceNotFound", "none.db")
        self.refuses({**missing, "PVC_SUBPATH": "none/nightly.db"}, 3, "SourceNotFound")
        os.symlink(self.source, os.path.join(self.source, "link"))
        os.symlink("nightly.db", os.path.join(self.source, "prod/link.db"))
        for path in ("link/prod/nightly.db", "prod/link.db", "prod"):
            self.refuses({**missing, "PVC_SUBPATH": path}, 3, "SourceInvalid")
        bucket = self.bucket()
        environment = self.from_bucket(bucket)
        bucket.objects.clear()
        self.refuses(environment, 3, "SourceNotFound", "prod/nightly.db")
        for answer, code, reason, words in (
                ((403, {}, b""), 3, "SourceAccessDenied", "s3:ListBucket"),
                ((404, {}, Bucket.xml("Error", Code="NoSuchBucket")), 3, "BucketNotFound", "no such bucket"),
                ((403, {}, Bucket.xml("Error", Code="InvalidAccessKeyId")), 3, "SourceCredentialsRejected", "access key"),
                ((403, {}, Bucket.xml("Error", Code="RequestTimeTooSkewed")), 1, "SourceClockSkewed", "clock"),
                ((307, {"location": "https://other.test/b?secret=1"}, b""), 1, "SourceFailed", "redirects are not followed")):
            self.refuses(self.from_bucket(self.bucket(refuses=lambda *_, a=answer: a)), code, reason, words)
        self.refuses({**environment, "S3_ENDPOINT": "http://127.0.0.1:1"}, 1, "SourceUnreachable")
        self.refuses({**environment, "S3_ENDPOINT": bucket.url.replace("http", "https")}, 3, "SourceUntrusted")
        ca, certificate = authority(self.folder, "ours")
        secret = self.bucket(certificate=certificate)
        self.refuses(self.from_bucket(secret), 3, "SourceUntrusted", "set caSecretRef")
        del environment["S3_ALLOW_LOCAL"]
        self.refuses(environment, 3, "SourceInvalid", "this machine")
        self.restores(self.from_bucket(secret, S3_CA_PATH=ca))

    def test_bad_environments(self):
        good = self.from_folder()
        for name, value in (("PVC_SUBPATH", ""), ("PVC_SUBPATH", "../etc"), ("SNAPSHOT_DEST_KIND", ""), ("ETCD_MEMBER_NAME", ""),
                            ("ETCD_INITIAL_CLUSTER", ""), ("ETCD_DATA_DIR", "data"), ("RESTORE_BUMP_REVISION", "-1"),
                            ("RESTORE_ETCD_VERSION", "3"), ("RESTORE_AUTH", "yes")):
            self.refuses({**good, name: value}, 3, "SourceInvalid", name)
        self.refuses({**good, "ETCD_DATA_DIR": "/none"}, 3, "DataDirectoryInvalid", "/none")
        self.refuses({**good, "TERMINATION_LOG_PATH": self.log, "ETCD_DATA_DIR": self.tool}, 3, "DataDirectoryInvalid", self.tool)

    def test_asked_to_end_it_leaves_nothing(self):
        process = self.start(self.from_folder(THEN="sleep 1000"))
        while not os.path.exists(self.words):
            time.sleep(0.01)
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code, _, report = self.end(process)
        self.assertEqual((code, report["reason"]), (1, "RestoreToolFailed"), report)
        self.assertLess(time.monotonic() - begin, KUBELET_WAITS)
        self.assertEqual(os.listdir(self.data), [])

    def test_memory_is_bounded(self):
        """The agent's peak alone: etcdutl reads it when everything but the renaming is done."""
        pages = self.stored[:-32]
        self.stored = with_sum(pages + b"\1" * (160 << 20))
        bucket = self.bucket()
        status = self.path("status")
        self.restores(self.from_bucket(bucket, THEN=f"cat /proc/$PPID/status >{status}", ASAN_OPTIONS="quarantine_size_mb=1"))
        with open(status, encoding="utf-8") as file:
            facts = {name: int(size) for name, size in re.findall(r"(\w+):\s*(\d+) kB", file.read())}
        peak, own = facts["VmHWM"], facts["RssAnon"]
        print(f"peak of {len(self.stored) >> 20} MiB restored: {peak} KiB, {own} of its own", file=sys.stderr)
        self.assertLess(peak - facts["RssFile"], MEMORY_MAX_KIB * SLACK)

    def test_install_tools(self):
        def install(**environment):
            return subprocess.run([MANAGER, "install-tools"], env=environment, capture_output=True, text=True, check=False)

        for _ in range(2):  # An init container may run twice.
            ended = install(TOOLS_DEST_DIR=self.data)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertEqual(os.listdir(self.data), ["manager"])
            self.assertTrue(filecmp.cmp(MANAGER, os.path.join(self.data, "manager"), shallow=False))
            self.assertEqual(os.stat(os.path.join(self.data, "manager")).st_mode & 0o777, 0o755)
        for environment, words in (({}, "TOOLS_DEST_DIR"), ({"TOOLS_DEST_DIR": "/none"}, "/none")):
            ended = install(**environment)
            self.assertEqual(ended.returncode, 1)
            self.assertTrue(ended.stderr.startswith("install-tools failed: "), ended.stderr)
            self.assertIn(words, ended.stderr)


# A build with sanitizers has extra memory.
SLACK = 16 if b"__asan_init" in open(MANAGER, "rb").read() else 1

if __name__ == "__main__":
    unittest.main()
