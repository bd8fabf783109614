#!/usr/bin/env python3
"""databases.py >databases.json: databases of real etcds as snapshots, by version and what is in them. Needs the etcds that
./dev deps installs. Zeros are left out: each snapshot is its size and runs of other bytes, [place, base64]."""
import base64
import glob
import json
import os
import re
import subprocess
import tempfile
import time

CLIENT, PEER = "http://127.0.0.1:23790", "http://127.0.0.1:23791"
GAP = 24  # So many zeros end a run.


def snapshot(programs, folder, auth):
    """A snapshot of a member with three keys; with `auth`, also with root's password, set after the keys."""
    def ctl(*words):
        return subprocess.run([programs + "/etcdctl", "--endpoints", CLIENT, *words], check=True, capture_output=True)

    data, file = os.path.join(folder, "data"), os.path.join(folder, "file.db")
    member = subprocess.Popen([programs + "/etcd", "--name=m", "--data-dir=" + data, "--listen-client-urls=" + CLIENT,
                               "--advertise-client-urls=" + CLIENT, "--listen-peer-urls=" + PEER,
                               "--initial-advertise-peer-urls=" + PEER, "--initial-cluster=m=" + PEER],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(5)  # It takes a while until it knows its cluster's version.
        for i in range(3):
            ctl("put", f"k{i}", f"v{i}")
        if auth:
            ctl("user", "add", "root:password")
            ctl("user", "grant-role", "root", "root")
            ctl("auth", "enable")
        ctl(*(["--user=root:password"] if auth else []), "snapshot", "save", file)
    finally:
        member.terminate()
        member.wait()
    with open(file, "rb") as stored:
        return stored.read()


def runs(stored):
    pattern = re.compile(rb"[^\0](?:\0{0,%d}[^\0])*" % GAP, re.DOTALL)
    return [[run.start(), base64.b64encode(run.group()).decode()] for run in pattern.finditer(stored)]


out = []
for programs in sorted(glob.glob(os.path.expanduser("~/.cache/etcd-operator/etcd-*"))):
    for auth in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            stored = snapshot(programs, folder, auth)
            out.append({"version": programs.split("-")[-2], "auth": auth, "size": len(stored), "runs": runs(stored)})
print("[" + ",\n".join(map(json.dumps, out)) + "]")
