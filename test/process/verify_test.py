"""verify_test.py MANAGER: `manager verify-agent` as a Job runs it, with stand-ins for etcdutl and etcd
(test/integration/restores.py has real ones): what it leaves behind when they fail, its exit codes and messages."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fakes import checksum, database  # noqa: E402

MANAGER = sys.argv.pop()
LIMIT_SECONDS = 240  # For anything that hangs.
ETCDUTL = """#!/bin/sh
for word; do case $word in --data-dir=*) to=${word#--data-dir=} ;; esac; done
mkdir -p "$to/member/snap"
cp "$3" "$to/member/snap/db"
"""


class Verify(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log, self.scratch, self.pid = (os.path.join(self.folder, name) for name in ("log", "scratch", "pid"))
        os.mkdir(self.scratch)
        self.stored = database("3.6.16")
        with open(os.path.join(self.folder, "nightly.db"), "wb") as file:
            file.write(self.stored)
        self.write_manifest()
        self.program("etcdutl", ETCDUTL)

    def program(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def write_manifest(self, **more):
        with open(os.path.join(self.folder, "nightly.db.json"), "w", encoding="utf-8") as file:
            json.dump({"kind": "EtcdSnapshotManifest", "formatVersion": 1, "snapshotName": "nightly", "snapshotUID": "uid-1",
                       "attempt": "1", "takenAt": "2026-11-23T00:00:00Z", "uri": "file:///nightly.db",
                       "sizeBytes": len(self.stored), "checksum": checksum(self.stored), "etcdVersion": "3.6.16",
                       "clusterID": "00000000000000c1", "memberID": "00000000000000a1", "revision": 4, "compactRevision": -1,
                       "hashKV": 7, "keys": 1, **more}, file)

    def start(self, **more):
        environment = {"SNAPSHOT_DEST_KIND": "pvc", "PVC_MOUNT_PATH": self.folder, "PVC_SUBPATH": "nightly.db",
                       "VERIFY_SCRATCH_DIR": self.scratch, "ETCDUTL_PATH": os.path.join(self.folder, "etcdutl"),
                       "ETCD_PATH": os.path.join(self.folder, "etcd"), "PATH": "/usr/bin:/bin", "TERMINATION_LOG_PATH": self.log,
                       "PID": self.pid, **more}
        process = subprocess.Popen([MANAGER, "verify-agent"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment)
        watchdog = threading.Timer(LIMIT_SECONDS, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return process

    def fails(self, process, code, reason, words):
        """And leaves nothing in the scratch folder."""
        _, err = process.communicate()
        with open(self.log, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((process.returncode, report["reason"]), (code, reason), err)
        self.assertIn(words, report["message"])
        self.assertEqual(err.splitlines()[-1], f"verify-agent failed: {reason}: {report['message']}")
        self.assertEqual(os.listdir(self.scratch), [])

    def test_an_etcd_that_does_not_start_says_why(self):
        self.program("etcd", "#!/bin/sh\necho 'panic: no such page' >&2\nexit 2\n")
        self.fails(self.start(), 1, "EtcdFailed", "ended with 2: panic: no such page")

    def test_an_image_without_etcd(self):
        # It also looks at etcd's usual place: if this machine has an etcd there, this check shows nothing.
        if shutil.which("etcd", path="/usr/local/bin:/usr/bin:/bin") is None:
            self.fails(self.start(), 3, "RestoreToolMissing", "no etcd that could be run")

    def test_it_is_heard_on_this_machine_only_and_by_certificate(self):
        self.program("etcd", '#!/bin/sh\necho "$@" >&2\nexit 1\n')
        process = self.start()
        _, err = process.communicate()
        words = err.splitlines()[-1]
        for flag in ("--client-cert-auth", "--listen-peer-urls=http://127.0.0.1:", "--listen-client-urls=https://127.0.0.1:"):
            self.assertIn(flag, words)

    def test_asked_to_end_it_ends_its_etcd(self):
        ready = os.path.join(self.folder, "ready")
        os.mkfifo(ready)
        self.program("etcd", f'#!/bin/sh\necho $$ >"$PID"\necho >{ready}\nexec tail -f /dev/null\n')
        process = self.start()
        with open(ready, encoding="utf-8") as file:
            file.read()  # It has begun.
        process.send_signal(signal.SIGTERM)
        self.fails(process, 1, "EtcdFailed", "waiting for etcd")
        with open(self.pid, encoding="utf-8") as file:
            self.assertFalse(os.path.exists(f"/proc/{file.read().strip()}"))

    def test_nothing_to_compare_with(self):
        os.remove(os.path.join(self.folder, "nightly.db.json"))
        self.fails(self.start(), 3, "SnapshotNotComparable", "no manifest")

    def test_what_status_says_must_be_what_the_manifest_says(self):
        self.fails(self.start(VERIFY_HASH_KV="8"), 3, "SnapshotForeign", "another revision, hash")
        self.fails(self.start(VERIFY_UID="uid-2"), 3, "SnapshotForeign", "uid-2")

    def test_damage_and_absence(self):
        self.fails(self.start(PVC_SUBPATH="other.db"), 3, "SourceNotFound", "other.db")
        with open(os.path.join(self.folder, "nightly.db"), "r+b") as file:
            file.write(b"x")
        self.fails(self.start(), 3, "SnapshotBroken", "nightly.db")

    def test_a_task_that_cannot_be(self):
        for name, text in (("VERIFY_SCRATCH_DIR", "scratch"), ("VERIFY_KEYS", "many"), ("VERIFY_DIGEST", "sha256:x"),
                           ("VERIFY_ONLY_CHECK", "yes"), ("RESTORE_ETCD_VERSION", "x")):
            self.fails(self.start(**{name: text}), 3, "SourceInvalid", name)


unittest.main()
