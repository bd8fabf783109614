#!/usr/bin/env python3
"""Measures the snapshot agent: how fast it brings a database into an S3 store, and how much memory it takes. Compares it with
`etcdctl snapshot save` into a file followed by boto3's upload of that file, as `aws s3 cp` does it. They take turns. One etcd, one
versitygw, all on this machine. Prints a Markdown table. See bench.sh."""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "e2e"))
import stores  # noqa: E402
from bench_clusters import Table, note  # noqa: E402
from world import run, until  # noqa: E402

RSS_AIM = 32  # MB, the hard bar
RATIO_AIM = 0.85  # relative to the slower of the two
BUCKET = "backups"
TAKEN = "taking a snapshot", "the snapshot is complete; reading all keys again for their digest"  # Lines of the agent's log.
UPLOAD = """
import sys, boto3
from botocore.config import Config
url, key_id, secret, path, bucket, key = sys.argv[1:]
boto3.client("s3", endpoint_url=url, aws_access_key_id=key_id, aws_secret_access_key=secret, region_name="us-east-1",
             config=Config(s3={"addressing_style": "path"})).upload_file(path, bucket, key)
"""


def free_urls(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    urls = [f"http://127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return urls


class Etcd:
    def __init__(self, folder):
        self.client, peer = free_urls(2)
        self.process = subprocess.Popen(
            [os.environ["ETCD"], "--name", "m", "--data-dir", f"{folder}/etcd", "--listen-client-urls", self.client,
             "--advertise-client-urls", self.client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", f"m={peer}", "--quota-backend-bytes", str(8 << 30), "--log-level", "error"])
        until(30, "etcd answers", lambda: run(*self.etcdctl_words("endpoint", "health")))

    def etcdctl_words(self, *words):
        return [os.environ["ETCDCTL"], f"--endpoints={self.client}", *words]

    def stop(self):
        self.process.kill()
        self.process.wait()


def measured(command, environment=None):
    """Returns seconds, the largest memory in MB, and the output. The memory is the kernel's value for this program alone, a moment
    before the end: wait4's value starts with the memory of this one."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=said, stderr=said)
        peak = 0
        while child.poll() is None:
            with open(f"/proc/{child.pid}/status", encoding="ascii") as f:
                peak = max([peak] + [int(line.split()[1]) for line in f if line.startswith("VmHWM:")])
            time.sleep(0.02)
        seconds = time.monotonic() - start
        said.seek(0)
        text = said.read().decode(errors="replace")
        if child.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {child.returncode}: {text[-2000:]}")
    return seconds, peak * 1024 / 1e6, text


def seconds_between(said, begin, end):
    """Between two lines of the agent's log, by their timestamps."""
    at = {line["msg"]: datetime.datetime.fromisoformat(line["ts"]) for line in map(json.loads, re.findall(r"^{.*}$", said, re.M))}
    return (at[end] - at[begin]).total_seconds()


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.table = options, folder, Table()
        self.etcd, self.store = Etcd(folder), stores.Gateway().start()
        self.bucket = self.store.bucket(BUCKET)

    def stop(self):
        self.etcd.stop()
        self.store.end()

    def save(self, n):
        return measured(self.etcd.etcdctl_words("snapshot", "save", f"{self.folder}/saved-{n}.db"))

    def upload(self, n):
        return measured([sys.executable, "-c", UPLOAD, self.store.url(), stores.KEY_ID, stores.SECRET,
                         f"{self.folder}/saved-{n}.db", BUCKET, f"client-{n}.db"], {"PYTHONPATH": self.options.boto3})

    def agent(self, n):
        return measured([self.options.manager, "snapshot-agent"], {
            "ETCD_ENDPOINTS": self.etcd.client, "SNAPSHOT_NAME": f"agent-{n}", "SNAPSHOT_UID": f"uid-{n}", "S3_ALLOW_LOCAL": "true",
            "SNAPSHOT_DEST_KIND": "s3", "S3_ENDPOINT": self.store.url(), "S3_BUCKET": BUCKET, "S3_REGION": "us-east-1",
            "S3_FORCE_PATH_STYLE": "true", "AWS_ACCESS_KEY_ID": stores.KEY_ID, "AWS_SECRET_ACCESS_KEY": stores.SECRET,
            "TERMINATION_LOG_PATH": f"{self.folder}/report"})

    def run(self):
        least = self.options.mebibytes << 20
        note(f"filling etcd with {self.options.mebibytes} MiB")
        stores.fill(self.etcd, -(-least // (stores.TXN_KEYS * stores.VALUE_BYTES)))
        took = {"save": [], "upload": [], "agent": [], "taken": []}
        peak, size = 0.0, 0
        for n in range(self.options.runs):
            for what in ("save", "upload", "agent"):
                seconds, rss, said = getattr(self, what)(n)
                took[what].append(seconds)
                note(f"run {n + 1}: {what} {seconds:.1f} s, {rss:.1f} MB at its peak")
                if what == "agent":
                    peak = max(peak, rss)
                    took["taken"].append(seconds_between(said, *TAKEN))
            size = os.path.getsize(f"{self.bucket}/agent-{n}.db")
            if size < least:
                raise RuntimeError(f"{size} bytes were stored, {least} at least were wanted")
            for path in (f"{self.folder}/saved-{n}.db", f"{self.bucket}/client-{n}.db", f"{self.bucket}/agent-{n}.db"):
                os.remove(path)
        size /= 1e6
        speed = {what: size / statistics.median(seconds) for what, seconds in took.items()}
        slower = min(speed["save"], speed["upload"])
        self.table.add("the stored snapshot", size, "MB")
        self.table.add("agent: largest memory of any run", peak, "MB", RSS_AIM)
        self.table.add("etcdctl snapshot save, median", speed["save"], "MB/s")
        self.table.add("boto3 upload of that file, median", speed["upload"], "MB/s")
        self.table.add("agent, from etcd into the store, median", speed["agent"], "MB/s")
        self.table.add("of this until all bytes are taken, median", speed["taken"], "MB/s")
        self.table.add("the slower of the two, as a multiple of that", slower / speed["taken"], "", round(1 / RATIO_AIM, 2))
        self.table.add("the slower of the two, as a multiple of the agent", slower / speed["agent"], "", round(1 / RATIO_AIM, 2))
        self.table.show()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--manager", required=True)
    parser.add_argument("--boto3", required=True, help="the folder that it is installed in")
    parser.add_argument("--mebibytes", type=int, default=1024, help="what keys and values take at least, and so the snapshot")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="bench-")
    bench = Bench(options, folder)
    try:
        bench.run()
    finally:
        bench.stop()
        shutil.rmtree(folder)
    return 1 if bench.table.over else 0


if __name__ == "__main__":
    sys.exit(main())
