"""Clients that write and read all the time, and checks of the answers.

Each key is written once, so the history is checked in full: an acknowledged key exists with its value at the acknowledged revision,
at once for every linearizable read and for good; the revisions of one writer grow; all answers come from one etcd cluster. A key
whose write was not acknowledged may exist or not; no other key exists.
"""
import base64
import http.client
import json
import socket
import threading
import time

from world import Failed, until

PREFIX = "history/"


def coded(text):
    return base64.b64encode(text.encode()).decode()


def decoded(text):
    return base64.b64decode(text).decode()


class Writer:
    """One thread that writes and one that reads, through the client Service, by etcd's JSON gateway."""

    def __init__(self, cluster):
        self.endpoint = cluster.address().removeprefix("http://")
        self.acknowledged, self.values, self.problems = {}, {}, []
        self.cluster_id, self.latest = None, None  # Latest: the last acknowledged key.
        self.newest = 0  # The newest revision in any answer.
        self.silence, self.heard = 0.0, time.monotonic()
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.repeat, args=(each,), daemon=True) for each in (self.write, self.read)]
        for thread in self.threads:
            thread.start()

    def call(self, path, body, timeout=3):
        """The answer, or None if no answer says what happened."""
        connection = self.connection(timeout)
        try:
            connection.request("POST", path, json.dumps(body), self.headers())
            response = connection.getresponse()
            text = response.read()
            return json.loads(text) if response.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError, socket.timeout):
            return None
        finally:
            connection.close()

    def connection(self, timeout):
        return http.client.HTTPConnection(self.endpoint, timeout=timeout)

    def headers(self):
        return {}

    def repeat(self, each):
        while not self.stopping.is_set():
            try:
                each()
            except Exception as e:  # noqa: BLE001: a thread that ends unnoticed would check nothing.
                self.problems.append(f"the client itself failed: {e!r}")
                return
            self.stopping.wait(0.05)

    def is_of_this_cluster(self, answer):
        self.newest = max(self.newest, int(answer["header"]["revision"]))
        found = answer["header"]["cluster_id"]
        self.cluster_id = self.cluster_id or found
        if found != self.cluster_id:
            self.problems.append(f"an answer of cluster {int(found):x}, it was {int(self.cluster_id):x}")

    def write(self):
        key, value = f"{PREFIX}{len(self.values) + 1:08d}", str(time.time_ns())
        self.values[key] = value
        answer = self.call("/v3/kv/put", {"key": coded(key), "value": coded(value)})
        if answer is None:
            return
        self.is_of_this_cluster(answer)
        revision = int(answer["header"]["revision"])
        if self.latest and revision <= self.acknowledged[self.latest]:
            self.problems.append(f"{key} was acknowledged at revision {revision}, {self.latest} before it at "
                                 f"{self.acknowledged[self.latest]}")
        self.acknowledged[key], self.latest = revision, key
        now = time.monotonic()
        self.silence, self.heard = max(self.silence, now - self.heard), now

    def read(self):
        """A read that begins after the last acknowledged put must find its key."""
        key = self.latest
        answer = key and self.call("/v3/kv/range", {"key": coded(key)})
        if not answer:
            return
        self.is_of_this_cluster(answer)
        found = answer.get("kvs", [])
        if len(found) != 1 or decoded(found[0]["value"]) != self.values[key]:
            self.problems.append(f"{key} was acknowledged, and a read after that finds {found}")

    def longest_silence(self):
        """The longest time in seconds between two acknowledged writes, since the last call."""
        now = time.monotonic()
        out, self.silence = max(self.silence, now - self.heard), 0.0
        return out

    def everything(self):
        """All keys at one revision, which a quorum confirms as the newest; None if a call fails."""
        out, revision, begin = {}, 0, PREFIX
        while True:
            answer = self.call("/v3/kv/range", {"key": coded(begin), "range_end": coded(PREFIX[:-1] + "0"),
                                                "revision": revision, "limit": 5000}, timeout=10)
            if answer is None:
                return None
            self.is_of_this_cluster(answer)
            revision = revision or int(answer["header"]["revision"])
            page = {decoded(kv["key"]): kv for kv in answer.get("kvs", [])}
            out.update(page)
            if not answer.get("more"):
                return out
            begin = max(page) + "\0"

    def check(self):
        """Checks the whole history against a linearizable read of everything; returns the number of acknowledged writes."""
        expected = dict(self.acknowledged)
        found = until(90, "all keys are read", self.everything) if expected else {}
        lost = [k for k in expected if k not in found]
        if lost:
            self.problems.append(f"{len(lost)} of {len(expected)} acknowledged writes are lost: {lost[:5]}")
        for key, kv in found.items():
            if decoded(kv["value"]) != self.values.get(key) or kv.get("version") != "1":
                self.problems.append(f"{key} is {kv}, {self.values.get(key)} was written once")
            if key in expected and int(kv["mod_revision"]) != expected[key]:
                self.problems.append(f"{key} is of revision {kv['mod_revision']}, acknowledged was {expected[key]}")
        if self.problems:
            raise Failed(f"{len(self.problems)} faults in the clients' history: {'; '.join(self.problems[:5])}")
        return len(expected)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
