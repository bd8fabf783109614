"""agent_test.py MANAGER: `manager snapshot-agent` and `manager delete-agent` as Jobs run them, against our own servers on 127.0.0.1
(fakes.py): what they leave in folders and buckets, exit codes, messages, memory, and their end on SIGTERM."""
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
from fakes import Bucket, DIGEST, Etcd, Lender, authority  # noqa: E402

MANAGER = sys.argv.pop()
LIMIT_SECONDS = 240  # For anything that hangs.
PAGES = [bytes([i % 251]) * 32768 for i in range(40)]
SECRET = "do-not-tell"
MEMORY_MAX_KIB = 32 << 10  # Its own memory: pages of the program's file do not count.
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

    def start(self, environment, program="snapshot-agent"):
        process = subprocess.Popen([MANAGER, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment)
        watchdog = threading.Timer(LIMIT_SECONDS, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return process

    def end(self, process):
        """Exit code, standard output, and the termination message, which is checked against its format."""
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

    def delete(self, environment):
        """Exit code, termination message and standard error of a delete-agent, which gets nothing about etcd."""
        process = self.start({name: value for name, value in environment.items() if not name.startswith("ETCD_")}, "delete-agent")
        out, err = process.communicate()
        with open(self.log, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn(SECRET, out + err + text)
        report = json.loads(text)
        if process.returncode == 0:
            self.assertEqual(out, f"snapshot deleted: uri=\"{report['uri']}\": {report['message']}\n")
        else:
            self.assertEqual(out, "")
            self.assertEqual(err.splitlines()[-1], f"delete-agent failed: {report['reason']}: {report['message']}")
        return process.returncode, report, err

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
            "memberID": "00000000000000a1", "revision": 7, "compactRevision": 3, "hashKV": 11, "keys": 1,
            "digest": DIGEST, "authEnabled": False})
        manifest = json.loads(self.read("nightly.db.json"))
        self.assertEqual({**manifest, **report}, manifest)
        self.assertEqual((manifest["kind"], manifest["snapshotUID"]), ("EtcdSnapshotManifest", "uid-1"))
        self.assertEqual(sorted(os.listdir(os.path.join(self.data, "prod"))), ["nightly.db", "nightly.db.json", "nightly.db.uid"])
        # The next Pod of the same Job, after the result was lost: etcd does not even run.
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

    def test_what_a_folder_has_is_deleted(self):
        environment = self.to_folder(self.etcd(pieces=PAGES).url)
        self.assertEqual(self.run_agent(environment)[0], 0)
        code, report, _ = self.delete({**environment, "SNAPSHOT_UID": "uid-2"})
        self.assertEqual((code, report["reason"]), (3, "DestinationExists"))
        prod = os.path.join(self.data, "prod")
        self.assertEqual(len(os.listdir(prod)), 3)
        code, report, log = self.delete(environment)
        self.assertEqual((code, report), (0, {"uri": f"file://{prod}/nightly.db",
                                              "message": "removed nightly.db.json, nightly.db, nightly.db.uid"}))
        self.assertEqual([line["what"] for line in map(json.loads, log.splitlines()) if "what" in line],
                         ["nightly.db.json", "nightly.db", "nightly.db.uid"])
        self.assertEqual(os.listdir(prod), [])
        code, report, _ = self.delete(environment)
        self.assertEqual((code, report["message"]), (0, "already gone"))
        os.rmdir(self.data + "/prod")
        self.assertEqual(self.delete(environment)[1]["message"], "already gone")
        self.assertEqual(os.listdir(self.data), [])
        code, report, _ = self.delete({**environment, "PVC_SUBPATH": "../etc"})
        self.assertEqual((code, report["reason"]), (3, "DestinationInvalid"))

    def test_what_a_bucket_has_is_deleted(self):
        bucket = self.bucket()
        environment = self.to_bucket(self.etcd(pieces=PAGES[:3]).url, bucket.url)
        self.assertEqual(self.run_agent(environment)[0], 0)
        self.assertEqual(len(bucket.objects), 2)
        code, report, _ = self.delete({**environment, "SNAPSHOT_UID": "uid-2"})
        self.assertEqual((code, report["reason"]), (3, "DestinationExists"))
        self.assertEqual(len(bucket.objects), 2)
        bucket.refuses = lambda method, path: (403, {}, Bucket.xml("Error", Code="AccessDenied")) if method == "DELETE" else None
        code, report, _ = self.delete(environment)
        self.assertEqual((code, report["reason"]), (3, "DestinationAccessDenied"))
        self.assertEqual(len(bucket.objects), 2)
        bucket.refuses = lambda method, path: None
        bucket.requests.clear()
        code, report, _ = self.delete(environment)
        self.assertEqual((code, report), (0, {"uri": "s3://b/prod/nightly.db",
                                              "message": "removed prod/nightly.db.json, prod/nightly.db"}))
        self.assertEqual([request for request in bucket.requests if request.startswith("DELETE")],
                         ["DELETE /b/prod/nightly.db.json", "DELETE /b/prod/nightly.db"])
        self.assertEqual(bucket.objects, {})
        code, report, _ = self.delete(environment)
        self.assertEqual((code, report["message"]), (0, "already gone"))

    def test_asked_to_end_a_deletion_ends(self):
        arrived = threading.Event()

        def waits(method, path):
            arrived.set()
            time.sleep(4 * KUBELET_WAITS)  # The thread of a daemon: the test does not wait for it.

        environment = self.to_bucket("", self.bucket(refuses=waits).url)
        process = self.start(environment, "delete-agent")
        self.assertTrue(arrived.wait(LIMIT_SECONDS))
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.communicate()
        self.assertLess(time.monotonic() - begin, KUBELET_WAITS)
        with open(self.log, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((process.returncode, report["reason"], report["message"]), (1, "DestinationFailed", "it was asked to end"))

    def test_memory_does_not_grow_with_the_database(self):
        # Its own memory, because the kernel decides how many pages of the program's file it maps. Up to three times: depending on
        # how requests arrive, the C library may keep one part's buffer more; real growth shows each time.
        small = self.peak(16)
        for _ in range(3):
            large = self.peak(80)
            if large - small < GROWTH_MAX_KIB * SLACK and large < MEMORY_MAX_KIB * SLACK:
                return
        self.fail(f"{small} KiB with 20 MiB, {large} KiB with 100 MiB")

    def peak(self, rounds):
        """Peak in KiB of its own memory, at the requests, of an agent that uploads PAGES this many times."""
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
        return max(own)

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
        self.assertEqual((code, report["reason"], report["message"]), (1, "DestinationFailed", "it was asked to end"))
        self.assertLess(time.monotonic() - begin, KUBELET_WAITS)
        self.assertEqual((bucket.objects, bucket.uploads), ({}, {}))

    def test_what_the_store_says(self):
        etcd = self.etcd(pieces=PAGES).url
        elsewhere = {"location": "https://other.test/b/prod/nightly.db?secret=1"}
        for answer, code, reason, words in (
                ((403, {}, b""), 3, "DestinationAccessDenied", "s3:ListBucket"),
                ((403, {}, Bucket.xml("Error", Code="InvalidAccessKeyId")), 3, "DestinationCredentialsRejected", "access key"),
                ((403, {}, Bucket.xml("Error", Code="RequestTimeTooSkewed")), 1, "DestinationClockSkewed", "clock"),
                ((301, {}, Bucket.xml("Error", Code="PermanentRedirect")), 3, "DestinationInvalid", "region and endpoint"),
                ((307, elsewhere, b""), 1, "DestinationFailed", "redirects are not followed (to other.test)")):
            self.fails(self.to_bucket(etcd, self.bucket(refuses=lambda *_, a=answer: a).url), code, reason, words)
        self.fails(self.to_bucket(etcd, "http://127.0.0.1:1"), 1, "DestinationUnreachable")
        self.fails(self.to_bucket(etcd, self.bucket().url.replace("http", "https")), 3, "DestinationUntrusted")

    def test_a_store_of_an_authority_of_its_own(self):
        ca, certificate = authority(self.folder, "ours")
        other, _ = authority(self.folder, "other")
        bucket = self.bucket(certificate=certificate)
        etcd = self.etcd(pieces=PAGES).url
        self.fails(self.to_bucket(etcd, bucket.url), 3, "DestinationUntrusted", "set caSecretRef")
        self.fails(self.to_bucket(etcd, bucket.url, S3_CA_PATH=other), 3, "DestinationUntrusted", "that caSecretRef names")
        for path in ("/none", certificate.replace(".pem", ".key")):
            self.fails(self.to_bucket(etcd, bucket.url, S3_CA_PATH=path), 3, "DestinationUntrusted", "the store's caSecretRef: ")
        self.assertEqual(bucket.objects, {})
        environment = self.to_bucket(etcd, bucket.url, S3_CA_PATH=ca)
        self.assertEqual(self.run_agent(environment)[0], 0)
        self.assertIn("/b/prod/nightly.db", bucket.objects)
        self.assertEqual(self.delete(environment)[0], 0)
        self.assertEqual(bucket.objects, {})

    def keyless(self, bucket, **more):
        environment = self.to_bucket(self.etcd(pieces=PAGES).url, bucket.url, **more)
        del environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]
        return environment

    def token(self, text):
        path = os.path.join(self.folder, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def lender(self, answer):
        lender = Lender(answer)
        self.addCleanup(lender.close)
        return lender

    def test_as_a_role(self):
        answer = ("<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                  f"<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>session</SessionToken>"
                  "<Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
                  "</AssumeRoleWithWebIdentityResponse>")
        sts, bucket = self.lender(lambda _: (200, answer)), self.bucket()
        environment = self.keyless(bucket, AWS_ENDPOINT_URL_STS=sts.url, AWS_ROLE_ARN="arn:aws:iam::1:role/b",
                                   AWS_WEB_IDENTITY_TOKEN_FILE=self.token(SECRET))
        self.assertEqual(self.run_agent(environment)[0], 0)
        self.assertEqual(bucket.keys, {("ASIA", "session")})
        (method, path, _, asked), = sts.requests
        self.assertEqual((method, path), ("POST", "/"))
        self.assertEqual(asked, {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "WebIdentityToken": SECRET,
                                 "RoleArn": "arn:aws:iam::1:role/b", "RoleSessionName": "etcd-operator"})

    def test_as_whom_the_node_knows_it(self):
        for life in (2, 8, 30):  # On a busy machine the first credentials may expire before they are used.
            code, node, bucket = self.upload_with_first_credentials_for(life)
            if code == 0 and len(node.requests) == 2:
                break
        self.assertEqual(code, 0)
        self.assertEqual(bucket.keys, {("ASIA1", "t"), ("ASIA2", "t")})
        self.assertEqual([(method, path, headers["authorization"]) for method, path, headers, _ in node.requests],
                         [("GET", "/v1/credentials", SECRET)] * 2)

    def upload_with_first_credentials_for(self, life):
        """Exit code, the node and the bucket."""
        ends = []

        def answer(number):
            ends.append(time.time() + (life if number == 1 else 3600))
            until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ends[-1]))
            return 200, json.dumps({"AccessKeyId": f"ASIA{number}", "SecretAccessKey": SECRET, "Token": "t", "Expiration": until})

        node, bucket = self.lender(answer), self.bucket()

        def pieces():
            yield from PAGES * 15  # Two parts of an upload; the second one comes after the first credentials have expired.
            time.sleep(max(0.0, ends[0] + 1 - time.time()))
            yield from PAGES * 15

        environment = self.keyless(bucket, AWS_CONTAINER_CREDENTIALS_FULL_URI=node.url + "/v1/credentials",
                                   AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=self.token(SECRET + "\n"))
        environment["ETCD_ENDPOINTS"] = self.etcd(pieces=pieces()).url
        return self.run_agent(environment)[0], node, bucket

    def test_who_it_is_is_not_taken(self):
        bucket = self.bucket()
        for status, code, reason, words in ((403, 3, "DestinationCredentialsRejected", "check that the role"),
                                            (503, 1, "DestinationUnreachable", "503")):
            sts = self.lender(lambda _, s=status: (s, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"))
            environment = self.keyless(bucket, AWS_ENDPOINT_URL_STS=sts.url, AWS_ROLE_ARN="arn:aws:iam::1:role/b",
                                       AWS_WEB_IDENTITY_TOKEN_FILE=self.token(SECRET))
            self.fails(environment, code, reason, words)
        self.fails({**environment, "AWS_WEB_IDENTITY_TOKEN_FILE": "/none"}, 3, "DestinationCredentialsRejected", "/none")
        del environment["S3_ALLOW_LOCAL"]  # It applies to the store's endpoint only.
        self.fails(environment, 1, "DestinationUnreachable", "503")
        self.fails(self.keyless(bucket), 3, "DestinationInvalid", "ServiceAccount")
        self.assertEqual(bucket.requests, [])

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
        for name, value in (("PVC_SUBPATH", "../etc"), ("PVC_SUBPATH", "/../etc"), ("SNAPSHOT_NAME", "../x"),
                            ("ETCD_ENDPOINTS", ""), ("SNAPSHOT_DEST_KIND", "nfs"), ("SNAPSHOT_UID", "")):
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


# A build with sanitizers has extra memory.
SLACK = 16 if b"__asan_init" in open(MANAGER, "rb").read() else 1

if __name__ == "__main__":
    unittest.main()
