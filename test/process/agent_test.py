"""agent_test.py MANAGER: `manager snapshot-agent` as a Job runs it, against servers of ours on 127.0.0.1 (fakes.py): what it
leaves in folders and buckets, its exit codes, its words, its memory, and how it ends when it is asked to."""
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import Future

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import Bucket, Etcd  # noqa: E402

MANAGER = sys.argv.pop()
LIMIT_SECONDS = 240  # Of what hangs.
PAGES = [bytes([i % 251]) * 32768 for i in range(40)]
SECRET = "do-not-tell"
MEMORY_MAX_KIB = 32 << 10  # Of its own: pages of the program's file do not count.
GROWTH_MAX_KIB = 8 << 10
KUBELET_WAITS = 30  # seconds between SIGTERM and SIGKILL


class Agent(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data)
        self.log = os.path.join(self.folder, "termination-log")

    def etcd(self, **options):
        etcd = Etcd(**options)
        self.addCleanup(etcd.socket.close)
        return etcd

    def bucket(self, **options):
        bucket = Bucket(**options)
        self.addCleanup(bucket.close)
        return bucket

    def common(self, etcd):
        return {"ETCD_ENDPOINTS": etcd, "SNAPSHOT_NAME": "nightly", "SNAPSHOT_UID": "uid-1", "TERMINATION_LOG_PATH": self.log}

    def as_root(self, environment):
        return {**environment, "ETCD_USERNAME": "root", "ETCD_PASSWORD": SECRET}

    def to_folder(self, etcd, **more):
        return {**self.common(etcd), "SNAPSHOT_DEST_KIND": "pvc", "PVC_MOUNT_PATH": self.data, "PVC_SUBPATH": "prod", **more}

    def to_bucket(self, etcd, bucket, **more):
        return {**self.common(etcd), "SNAPSHOT_DEST_KIND": "s3", "S3_ENDPOINT": bucket, "S3_BUCKET": "b", "S3_KEY": "prod",
                "S3_FORCE_PATH_STYLE": "true", "S3_ALLOW_LOCAL": "true", "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": SECRET, **more}

    def start(self, environment):
        process = subprocess.Popen([MANAGER, "snapshot-agent"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment)
        watchdog = threading.Timer(LIMIT_SECONDS, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return process

    def end(self, process):
        """Exit code, standard output, and the termination message; what it says is checked to be what it promises."""
        out, err = process.communicate()
        self.assertGreaterEqual(process.returncode, 0, f"ended by a signal, {LIMIT_SECONDS} s are the limit: {err}")
        self.assertNotIn(SECRET, out + err)
        with open(self.log, encoding="utf-8") as file:
            text = file.read()
        self.assertLessEqual(len(text), 4096)
        self.assertNotIn(SECRET, text)
        report = json.loads(text)
        if process.returncode == 0:
            self.assertRegex(out, r'\Asnapshot uploaded: uri="[^"]+" size=\d+ sha256=[0-9a-f]{64}\n\Z')
            self.assertEqual(re.findall(r'"(.*)" size=(\d+) sha256=(.*)', out),
                             [(report["uri"], str(report["sizeBytes"]), report["checksum"].removeprefix("sha256:"))])
        else:
            self.assertEqual(out, "")
            self.assertEqual(err.splitlines()[-1], f"snapshot-agent failed: {report['reason']}: {report['message']}")
        return process.returncode, report

    def run_agent(self, environment):
        return self.end(self.start(environment))

    def fails(self, environment, code, reason, words=""):
        ended, report = self.run_agent(environment)
        self.assertEqual((ended, report.get("reason")), (code, reason), report)
        self.assertIn(words, report["message"])

    def read(self, name):
        with open(os.path.join(self.data, "prod", name), "rb") as file:
            return file.read()

    def test_a_folder_gets_the_snapshot(self):
        environment = self.to_folder(self.etcd(pieces=PAGES).url)
        code, report = self.run_agent(environment)
        self.assertEqual(code, 0, report)
        snapshot = b"".join(PAGES)
        stored = snapshot + hashlib.sha256(snapshot).digest()
        self.assertEqual(self.read("nightly.db"), stored)
        self.assertEqual(self.read("nightly.db.uid"), b"uid-1")
        self.assertEqual(report, {
            "uri": f"file://{self.data}/prod/nightly.db", "sizeBytes": len(stored),
            "checksum": "sha256:" + hashlib.sha256(stored).hexdigest(), "etcdVersion": "3.6.16", "clusterID": "00000000000000c1",
            "memberID": "00000000000000a1", "revision": 7, "compactRevision": 3, "hashKV": 11, "authEnabled": False})
        manifest = json.loads(self.read("nightly.db.json"))
        self.assertEqual({**manifest, **report}, manifest)
        self.assertEqual((manifest["kind"], manifest["snapshotUID"]), ("EtcdSnapshotManifest", "uid-1"))
        self.assertEqual(sorted(os.listdir(os.path.join(self.data, "prod"))), ["nightly.db", "nightly.db.json", "nightly.db.uid"])
        # The next Pod of the same Job, after the result was lost: etcd is not even there.
        self.assertEqual(self.run_agent({**environment, "ETCD_ENDPOINTS": "http://127.0.0.1:1"}), (0, report))
        self.fails({**environment, "SNAPSHOT_UID": "uid-2"}, 3, "DestinationExists", "nightly.db")

    def test_a_bucket_gets_the_snapshot(self):
        for pages in (PAGES[:3], PAGES * 10):
            bucket = self.bucket()
            environment = self.to_bucket(self.etcd(pieces=pages).url, bucket.url)
            code, report = self.run_agent(environment)
            self.assertEqual(code, 0, report)
            self.assertEqual(report["uri"], "s3://b/prod/nightly.db")
            snapshot = b"".join(pages)
            stored, metadata = bucket.objects["/b/prod/nightly.db"]
            self.assertEqual(stored, snapshot + hashlib.sha256(snapshot).digest())
            self.assertEqual(metadata["x-amz-meta-etcd-snapshot-uid"], "uid-1")
            manifest = json.loads(bucket.objects["/b/prod/nightly.db.json"][0])
            self.assertEqual({**manifest, **report}, manifest)
            self.assertEqual(bucket.uploads, {})
            self.assertEqual(self.run_agent({**environment, "ETCD_ENDPOINTS": "http://127.0.0.1:1"}), (0, report))
            self.fails({**environment, "SNAPSHOT_UID": "uid-2"}, 3, "DestinationExists", "s3://b/prod/nightly.db")

    def test_memory_does_not_grow_with_the_database(self):
        small, _ = self.peaks(16)
        large, own = self.peaks(80)
        self.assertLess(large - small, GROWTH_MAX_KIB * SLACK)
        self.assertLess(own, MEMORY_MAX_KIB * SLACK)

    def peaks(self, rounds):
        """In KiB, of an agent that uploads so many times PAGES: of all memory, and of its own at the requests."""
        pid, peak, own = Future(), [], []

        def sample(method, path):
            with open(f"/proc/{pid.result()}/status", encoding="utf-8") as file:
                facts = {name: int(size) for name, size in re.findall(r"(\w+):\s*(\d+) kB", file.read())}
            peak.append(facts["VmHWM"])
            own.append(facts["RssAnon"])

        bucket = self.bucket(refuses=sample)
        etcd = self.etcd(pieces=(page for _ in range(rounds) for page in PAGES))
        process = self.start(self.to_bucket(etcd.url, bucket.url, ASAN_OPTIONS="quarantine_size_mb=1"))
        pid.set_result(process.pid)
        code, report = self.end(process)
        self.assertEqual(code, 0, report)
        self.assertEqual(report["sizeBytes"], rounds * sum(map(len, PAGES)) + 32)
        print(f"peak of {report['sizeBytes'] >> 20} MiB uploaded: {peak[-1]} KiB, {max(own)} of its own", file=sys.stderr)
        return peak[-1], max(own)

    def test_a_damaged_snapshot_is_not_stored(self):
        self.fails(self.to_folder(self.etcd(pieces=PAGES, wrong_sum=True).url), 1, "SnapshotBroken", "sha256")
        self.assertEqual(os.listdir(os.path.join(self.data, "prod")), [])
        bucket = self.bucket()
        self.fails(self.to_bucket(self.etcd(pieces=PAGES * 10, wrong_sum=True).url, bucket.url), 1, "SnapshotBroken")
        self.assertEqual((bucket.objects, bucket.uploads), ({}, {}))

    def test_asked_to_end_it_leaves_nothing(self):
        bucket = self.bucket()
        uploading = threading.Event()

        def pieces():
            yield from PAGES * 10
            uploading.set()
            time.sleep(LIMIT_SECONDS)

        process = self.start(self.to_bucket(self.etcd(pieces=pieces()).url, bucket.url))
        self.assertTrue(uploading.wait(LIMIT_SECONDS))
        self.assertEqual(len(bucket.uploads), 1)
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code, report = self.end(process)
        self.assertEqual(code, 1, report)
        self.assertLess(time.monotonic() - begin, KUBELET_WAITS)
        self.assertEqual((bucket.objects, bucket.uploads), ({}, {}))

    def test_what_the_store_says(self):
        etcd = self.etcd(pieces=PAGES).url
        elsewhere = {"location": "https://other.test/b/prod/nightly.db?secret=1"}
        for answer, code, reason, words in (
                ((403, {}, b""), 3, "DestinationAccessDenied", "s3:ListBucket"),
                ((403, {}, Bucket.xml("Error", Code="InvalidAccessKeyId")), 3, "DestinationCredentialsRejected", "access key"),
                ((403, {}, Bucket.xml("Error", Code="RequestTimeTooSkewed")), 1, "DestinationClockSkewed", "clock"),
                ((307, elsewhere, b""), 1, "DestinationFailed", "redirects are not followed (to other.test)")):
            self.fails(self.to_bucket(etcd, self.bucket(refuses=lambda *_, a=answer: a).url), code, reason, words)
        self.fails(self.to_bucket(etcd, "http://127.0.0.1:1"), 1, "DestinationUnreachable")
        self.fails(self.to_bucket(etcd, self.bucket().url.replace("http", "https")), 3, "DestinationUntrusted")

    def test_this_machine_is_no_object_store(self):
        bucket = self.bucket()
        for endpoint in (bucket.url, bucket.url.replace("127.0.0.1", "localhost"), "http://169.254.169.254", "http://[::1]:80"):
            environment = self.to_bucket(self.etcd().url, endpoint)
            del environment["S3_ALLOW_LOCAL"]
            self.fails(environment, 3, "DestinationInvalid", "this machine")
        self.assertEqual(bucket.requests, [])

    def test_no_etcd(self):
        self.fails(self.as_root(self.to_folder("http://127.0.0.1:1")), 1, "EtcdUnreachable", "refused")
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.fails(self.to_folder(f"http://127.0.0.1:{silent.getsockname()[1]}"), 1, "EtcdUnreachable")
        self.assertEqual(os.listdir(os.path.join(self.data, "prod")), [])

    def test_bad_environments(self):
        good = self.as_root(self.to_folder("http://127.0.0.1:1"))
        for name, value in (("PVC_SUBPATH", "../etc"), ("PVC_SUBPATH", "/etc"), ("SNAPSHOT_NAME", "../x"), ("ETCD_ENDPOINTS", ""),
                            ("SNAPSHOT_DEST_KIND", "nfs"), ("SNAPSHOT_UID", "")):
            self.fails({**good, name: value}, 3, "DestinationInvalid", name)
        os.symlink("/tmp", os.path.join(self.data, "prod"))
        self.fails(good, 3, "DestinationInvalid", "symbolic link")
        self.fails(self.to_folder("https://127.0.0.1:1", ETCD_TLS_CA_PATH="/none"), 3, "EtcdCredentialsRejected", "/none")

    def test_a_result_that_cannot_be_told_is_none(self):
        environment = self.to_folder(self.etcd(pieces=PAGES).url, TERMINATION_LOG_PATH="/dev/full")
        process = self.start(environment)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 1)
        self.assertIn("snapshot-agent failed: /dev/full", err)
        self.assertEqual(self.run_agent({**environment, "TERMINATION_LOG_PATH": self.log})[0], 0, "it is stored all the same")


# A build with sanitizers has memory of its own.
SLACK = 16 if b"__asan_init" in open(MANAGER, "rb").read() else 1

if __name__ == "__main__":
    unittest.main()
