#!/usr/bin/python3
"""`manager snapshot-agent` stores snapshots of real etcds; `manager restore-agent` turns them into members with the etcdutl of the
same and of each newer version; `manager verify-agent` verifies them with their etcds. The store is versitygw.

    restores.py MANAGER VERSION=PROGRAMS...     with VERSITYGW and ETCDUTL, see restores.sh

The last line is "N passed, N failed"; exit 1 if any failed.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback

for part in ("e2e", "recipes"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / part))
import runbook  # noqa: E402
import stores  # noqa: E402
from stores import same  # noqa: E402
from world import Failed, until  # noqa: E402

MANAGER, PROGRAMS = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])
PASSWORD, BUMP, KEYS = "root's of then", 1000000000, 300
LIMIT = 120  # Seconds for an etcd to start, on a machine that compiles beside it.
FOLDER = tempfile.mkdtemp(prefix="restores-")


def minor(version):
    return tuple(map(int, version.split(".")[:2]))


class Member:
    """One etcd on a data directory, for a `with`."""

    def __init__(self, version, data, password=""):
        self.programs, self.data, self.password, self.process = PROGRAMS[version], data, password, None
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            self.client, self.peer = (f"http://127.0.0.1:{s.getsockname()[1]}" for s in (one, other))

    def __enter__(self):
        with open(f"{self.data}.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [f"{self.programs}/etcd", "--name=db-0", f"--data-dir={self.data}", f"--listen-client-urls={self.client}",
                 f"--advertise-client-urls={self.client}", f"--listen-peer-urls={self.peer}",
                 f"--initial-advertise-peer-urls={self.peer}", f"--initial-cluster=db-0={self.peer}",
                 "--initial-cluster-token=token", "--initial-cluster-state=new"], stdout=log, stderr=log)
        until(LIMIT, f"{self.data}: etcd answers", lambda: self.ctl("endpoint", "health", check=False).returncode == 0)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ctl(self, *words, check=True, **more):
        """With deadlines for a machine that compiles beside it: etcdctl's own are 2 s and 5 s."""
        user = [f"--user=root:{self.password}"] if self.password else []
        ended = subprocess.run([f"{self.programs}/etcdctl", f"--endpoints={self.client}", "--dial-timeout=30s",
                                "--command-timeout=60s", *user, *words], check=False, capture_output=True, text=True,
                               timeout=120, **more)
        if check and ended.returncode:
            raise RuntimeError(f"etcdctl {' '.join(words)} ended with status {ended.returncode}: {ended.stderr.strip()}")
        return ended

    def keys(self):
        return json.loads(self.ctl("get", "", "--prefix", "--write-out=json").stdout).get("kvs", [])

    def status(self):
        return json.loads(self.ctl("endpoint", "status", "--write-out=json").stdout)[0]["Status"]

    def fill(self):
        for batch in range(3):
            puts = "".join(f"put key-{batch}-{i} {'v' * 500}\n" for i in range(KEYS // 3))
            self.ctl("txn", input=f"\n{puts}\n\n")
        self.ctl("put", "key-0-0", "again")
        self.ctl("del", "key-0-1")

    def ask_for_passwords(self):
        for words in (("user", "add", f"root:{PASSWORD}"), ("user", "grant-role", "root", "root"), ("auth", "enable")):
            self.ctl(*words)
        self.password = PASSWORD


def agent(name, environment):
    """Exit code and report."""
    log = f"{FOLDER}/termination-log"
    ended = subprocess.run([MANAGER, name], env={**environment, "TERMINATION_LOG_PATH": log}, capture_output=True, text=True,
                           timeout=300, check=False)
    with open(log, encoding="utf-8") as file:
        return ended.returncode, json.load(file), ended.stderr


def in_store(store, key):
    return {"SNAPSHOT_DEST_KIND": "s3", "S3_ENDPOINT": store.url(), "S3_BUCKET": "backups", "S3_KEY": key,
            "S3_FORCE_PATH_STYLE": "true", "S3_ALLOW_LOCAL": "true", "AWS_ACCESS_KEY_ID": stores.KEY_ID,
            "AWS_SECRET_ACCESS_KEY": stores.SECRET}


def store_one(store, version, auth, keys_folder=""):
    """Takes a snapshot of a member of that version, encrypted if a folder with keys is given; returns what the member had."""
    data = f"{FOLDER}/{version}-{auth}{'-sealed' * bool(keys_folder)}"
    with Member(version, data) as member:
        until(LIMIT, "it knows its cluster's version", lambda: json.loads(subprocess.run(
            ["curl", "-s", f"{member.client}/version"], check=True, capture_output=True, text=True).stdout)["etcdcluster"]
            == "%d.%d.0" % minor(version))
        member.fill()
        if auth:
            member.ask_for_passwords()
        keys, status = member.keys(), member.status()
        environment = {"ETCD_ENDPOINTS": member.client, "SNAPSHOT_NAME": os.path.basename(data), "SNAPSHOT_UID": "uid-1",
                       **in_store(store, "prod")}
        if keys_folder:
            environment["SNAPSHOT_KEYS_PATH"] = keys_folder
        if auth:
            environment.update(ETCD_USERNAME="root", ETCD_PASSWORD=PASSWORD)
        code, report, said = agent("snapshot-agent", environment)
        same(f"the snapshot agent's exit code: {report} {said}", code, 0)
        same("the number of keys", report["keys"], len(keys))
        same("the digest", report["digest"], stores.digest_of(keys))
    return {"key": f"prod/{os.path.basename(data)}.db", "keys": keys, "status": status, "version": version, "auth": auth}


def restore(store, stored, version, **more):
    data = tempfile.mkdtemp(dir=FOLDER)
    member = Member(version, data, PASSWORD if stored["auth"] else "")
    code, report, said = agent("restore-agent", {
        "ETCD_DATA_DIR": data, "ETCD_MEMBER_NAME": "db-0", "ETCD_INITIAL_CLUSTER": f"db-0={member.peer}",
        "ETCD_INITIAL_CLUSTER_TOKEN": "token", "ETCD_PEER_URLS": member.peer, "RESTORE_ETCD_VERSION": version,
        "ETCDUTL_PATH": f"{PROGRAMS[version]}/etcdutl", "RESTORE_AUTH": "true", **in_store(store, stored["key"]), **more})
    return member, code, report, said


def becomes_a_member(store, stored, version):
    """Restores it: the same keys, a new cluster ID, a revision that no client has seen, and no readable history before it."""
    member, code, report, said = restore(store, stored, version)
    same(f"the restore agent's exit code: {report} {said}", code, 0)
    same("what is in the data directory", os.listdir(member.data), ["member"])
    same("the report's etcd version", report["etcdVersion"], stored["version"])
    with member:
        same("the keys", member.keys(), stored["keys"])
        header = member.status()["header"]
        same("the revision", header["revision"], stored["status"]["header"]["revision"] + BUMP)
        same("the report's revision", report["revision"], header["revision"])
        if header["cluster_id"] == stored["status"]["header"]["cluster_id"]:
            raise Failed("the cluster id is the old one")
        old = member.ctl("get", "key-0-0", f"--rev={stored['status']['header']['revision']}", check=False)
        if "compacted" not in old.stderr:
            raise Failed(f"an old revision can be read: {old.stdout} {old.stderr}")
        if stored["auth"]:
            member.password = ""
            if member.ctl("get", "key-0-0", check=False).returncode == 0:
                raise Failed("it lets everybody in")
    again = agent("restore-agent", {
        "ETCD_DATA_DIR": member.data, "ETCD_MEMBER_NAME": "db-0", "ETCD_INITIAL_CLUSTER": "db-0=http://127.0.0.1:1",
        "ETCD_INITIAL_CLUSTER_TOKEN": "token", **in_store(store, stored["key"])})
    same("the report of the next run", again[:2], (0, {"already": True}))


def keeps_its_revision(store, stored, version):
    member, code, report, said = restore(store, stored, version, RESTORE_BUMP_REVISION="0")
    same(f"the restore agent's exit code: {report} {said}", code, 0)
    with member:
        same("the keys", member.keys(), stored["keys"])
        same("the revision", member.status()["header"]["revision"], stored["status"]["header"]["revision"])


def is_refused(store, stored, version, reason, without_manifest=False, more=None):
    """And leaves nothing. Without the manifest, the database shows it."""
    path = f"{store.bucket('backups')}/{stored['key']}"
    if without_manifest:
        shutil.copy2(path, f"{path}.foreign")  # With the gateway's extended attributes.
        stored = {**stored, "key": stored["key"] + ".foreign"}
    member, code, report, _ = restore(store, stored, version, **(more or {}))
    same("how it ended", (code, report.get("reason"), os.listdir(member.data)), (3, reason, []))


def verify(store, stored, version, **more):
    scratch = tempfile.mkdtemp(dir=FOLDER)
    ended = agent("verify-agent", {
        "VERIFY_SCRATCH_DIR": scratch, "RESTORE_ETCD_VERSION": version, "ETCDUTL_PATH": f"{PROGRAMS[version]}/etcdutl",
        "ETCD_PATH": f"{PROGRAMS[version]}/etcd", **in_store(store, stored["key"]), **more})
    same("what is left in the scratch folder", os.listdir(scratch), [])
    left = subprocess.run(["pgrep", "-f", scratch], capture_output=True, text=True, check=False).stdout
    same("processes that are left", left, "")
    return ended


def copied(store, stored, suffix, change_database=None, **change_manifest):
    """A copy under another key, with a database and a manifest that match each other."""
    path, key = f"{store.bucket('backups')}/{stored['key']}", stored["key"].replace(".db", f"-{suffix}.db")
    copy = path.replace(".db", f"-{suffix}.db")
    for end in ("", ".json"):
        shutil.copy2(path + end, copy + end)  # With the gateway's extended attributes.
    if change_database:
        with open(copy, "r+b") as file:
            pages = change_database(file.read()[:-32])
            file.seek(0)
            file.write(pages + hashlib.sha256(pages).digest())
    with open(copy, "rb") as file:
        checksum = "sha256:" + hashlib.sha256(file.read()).hexdigest()
    with open(copy + ".json", "r+", encoding="utf-8") as file:
        text = json.dumps({**json.load(file), "checksum": checksum, **change_manifest})
        file.seek(0)
        file.truncate()
        file.write(text)
    return {**stored, "key": key}


def is_proven(store, stored, version):
    """By etcd's own hash, or, if that covers another history, by the digest."""
    code, report, said = verify(store, stored, version)
    same(f"the verify agent's exit code: {report} {said}", code, 0)
    revision = stored["status"]["header"]["revision"]
    same("what it found", [report[name] for name in ("revision", "compactRevision", "keys", "hashCompared")],
         [revision, -1, len(stored["keys"]), True])
    code, report, said = verify(store, copied(store, stored, f"later-{version}", compactRevision=2), version)
    same(f"the verify agent's exit code: {report} {said}", code, 0)
    same("what it compared", (report.get("hashCompared"), report.get("digestCompared")), (None, True))


def differs(store, stored, version):
    """Flips one letter of one value: the database stays consistent and can be restored."""
    def flipped(pages):
        return pages.replace(b"v" * 500, b"v" * 499 + b"w")
    for suffix, words, more in (("flipped", "HashKV", {}), ("flipped-later", "digest", {"compactRevision": 2})):
        code, report, said = verify(store, copied(store, stored, suffix, flipped, **more), version)
        same(f"how it ended: {said}", (code, report["reason"]), (3, "SnapshotDiffers"))
        if words not in report["message"]:
            raise Failed(report["message"])
    for suffix, more in (("fewer", {"keys": 7}), ("future", {"revision": 10**6})):
        code, report, said = verify(store, copied(store, stored, suffix, **more), version)
        same(f"how {suffix} ended: {said}", (code, report["reason"]), (3, "SnapshotDiffers"))


def is_not_comparable(store, stored, version):
    """Without a manifest; a plain check accepts it."""
    path = f"{store.bucket('backups')}/{stored['key']}"
    shutil.copy2(path, f"{path}.bare")
    bare = {**stored, "key": stored["key"] + ".bare"}
    code, report, _ = verify(store, bare, version)
    same("how it ended", (code, report["reason"]), (3, "SnapshotNotComparable"))
    code, report, said = verify(store, bare, version, VERIFY_ONLY_CHECK="true")
    same(f"a check's exit code: {report} {said}", code, 0)
    same("what it found", (report["revision"], report["keys"]), (stored["status"]["header"]["revision"], len(stored["keys"])))


def by_hand(store, stored, version):
    """As docs/user/restore.md describes, with only the files, the programs and, if it is encrypted, its key."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=FOLDER))
    for name in ("bin", "secret"):
        (folder / name).mkdir()
    (folder / "bin/manager").symlink_to(MANAGER)
    (folder / "secret/key").write_text("0f" * 32, encoding="utf-8")
    sealed = stored is None
    if sealed:
        stored = store_one(store, version, True, str(folder / "secret"))
    for end in ("", ".json"):
        shutil.copyfile(f"{store.bucket('backups')}/{stored['key']}{end}", folder / f"nightly.db{end}")
    member = Member(version, f"{folder}/restored", PASSWORD if stored["auth"] else "")
    names = {"127.0.0.1:2379": member.client.removeprefix("http://"), "127.0.0.1:2380": member.peer.removeprefix("http://"),
             "KEY": f"{folder}/secret/key"}

    def follow(heading, number):
        script = f"PATH={folder}/bin:{PROGRAMS[version]}:$PATH\n" + runbook.commands(heading, number, names)
        code, said = runbook.run(script, folder)
        same(f"how \"{heading}\", block {number}, ended: {said}", code, 0)

    if not sealed:
        follow("Reading a snapshot by hand", 0)
    follow("Restoring by hand", 2 if sealed else 0)
    serve = runbook.commands("Restoring by hand", 1, names)
    with open(f"{folder}/etcd.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(["bash", "-c", f"PATH={PROGRAMS[version]}:$PATH\n{serve}"], cwd=folder, stdout=log, stderr=log,
                                   start_new_session=True)
    try:
        until(LIMIT, "etcd answers", lambda: member.ctl("endpoint", "health", check=False).returncode == 0)
        same("the keys", member.keys(), stored["keys"])
        same("the revision", member.status()["header"]["revision"], stored["status"]["header"]["revision"] + BUMP)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def passes_its_old_log(version):
    """A runbook for quiet clusters (docs/user/operations.md, K15). Its load test takes a minute and returns 1 if etcd is slow."""
    with Member(version, f"{FOLDER}/quiet") as member:
        before = member.status()["raftAppliedIndex"]
        names = {"127.0.0.1:2379": member.client.removeprefix("http://")}
        for _ in range(5):  # As the runbook says: a busy machine writes fewer at a time.
            code, said = runbook.run(f"PATH={PROGRAMS[version]}:$PATH\n" +
                                     runbook.commands("A quiet cluster that keeps max-learners", 0, names), FOLDER, seconds=600)
            written = member.status()["raftAppliedIndex"] - before
            if code == 0 and written >= 5000:
                break
        else:
            raise Failed(f"status {code}; {written} entries, not some 9,000: {said}")
        member.ctl("del", "--prefix", "/etcdctl-check-perf/")  # A slow one may leave some.
        same("the keys that are left", member.keys(), [])


def cases(store):
    store.bucket("backups")
    stored = {}
    for version in PROGRAMS:
        for auth in (False, True):
            stored[version, auth] = yield f"stored: {version}{' with passwords' * auth}", store_one, (store, version, auth)
    for (source, auth), one in stored.items():
        for version in PROGRAMS:
            name = f"{source}{' with passwords' * auth} -> {version}"
            if minor(version) >= minor(source):
                yield name, becomes_a_member, (store, one, version)
                yield f"{name}: proven", is_proven, (store, one, version)
            else:
                yield name, is_refused, (store, one, version, "SnapshotNewer")
                yield name + ", no manifest", is_refused, (store, one, version, "SnapshotNewer", True)
        name = f"{source}{' with passwords' * auth}"
        yield f"{name}: another one", differs, (store, one, source)
        yield f"{name}: nothing to compare with", is_not_comparable, (store, one, source)
        yield f"{source}: as it was", keeps_its_revision, (store, one, source)
        if auth:
            for bare in (False, True):
                name = f"{source}: nobody can log in{', no manifest' * bare}"
                yield name, is_refused, (store, one, source, "SnapshotNeedsAuth", bare, {"RESTORE_AUTH": "false"})
    newest = list(PROGRAMS)[-1]
    yield "by hand", by_hand, (store, stored[newest, False], newest)
    yield "a quiet cluster", passes_its_old_log, (newest,)
    yield "by hand, encrypted", by_hand, (store, None, newest)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # With all that is to be done at the end.
    passed = failed = 0
    with contextlib.ExitStack() as at_end:
        store = stores.Gateway()
        at_end.callback(shutil.rmtree, FOLDER, ignore_errors=True)
        at_end.callback(store.end)
        store.start()
        todo, result = cases(store), None
        while True:
            try:
                name, body, words = todo.send(result)
            except StopIteration:
                break
            try:
                result = body(*words)
                passed += 1
                print(f"ok   {name}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(f"FAIL {name}: {error}\n{traceback.format_exc()}", flush=True)
                if body is store_one:  # The others read what it stored.
                    break
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
