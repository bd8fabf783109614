"""Servers on 127.0.0.1 for tests of processes: an etcd that answers one snapshot, and an object store. Both follow the protocols
that clients rely on: gRPC's flow control, headers of signatures, ETags."""
import base64
import hashlib
import http.server
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import threading
import urllib.parse

CLUSTER, MEMBER, REVISION = 0xC1, 0xA1, 7
DATABASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/agent/databases.json")


def database(version, auth=False):
    """A snapshot from a real etcd."""
    with open(DATABASES, encoding="utf-8") as file:
        one = next(one for one in json.load(file) if (one["version"], one["auth"]) == (version, auth))
    out = bytearray(one["size"])
    for place, run in one["runs"]:
        run = base64.b64decode(run)
        out[place:place + len(run)] = run
    return bytes(out)


def with_sum(pages):
    return pages + hashlib.sha256(pages).digest()


def checksum(stored):
    return "sha256:" + hashlib.sha256(stored).hexdigest()


# The answers of the etcd below, as defined in src/etcd/key_digest.h.
KEY_BYTES = struct.pack(">Q3sQ5sqqq", 3, b"key", 5, b"value", 2, 7, 3)
DIGEST = "sha256:" + hashlib.sha256(KEY_BYTES).hexdigest()


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def message(*fields):
    """Encodes protobuf fields: (number, int or bytes) each."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


HEADER = (1, message((1, CLUSTER), (2, MEMBER), (3, REVISION), (4, 2)))
# With which question the agent goes on when it gives up the one of this number: HashKV comes again, after AuthStatus it takes the
# snapshot, and its search for a member begins again.
AFTER_GIVEN_UP = {2: 2, 3: 4}


class Etcd:
    """Answers the agent's questions in their order: Status, MemberList, HashKV, AuthStatus, Snapshot, Range twice. `pieces`: the
    snapshot's, without its checksum. `silent_at`: from this question on it does not answer. `wrong_sum`: the snapshot was
    damaged."""

    def __init__(self, pieces=(), silent_at=99, wrong_sum=False):
        self.pieces, self.silent_at, self.wrong_sum = pieces, silent_at, wrong_sum
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.changed = threading.Condition()
        self.next = 0  # The first question of the next connection: a client that gave up one connects again.
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                stream, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        self.stream, self.windows, self.initial = stream, {0: 65535}, 65535
        try:
            self.read(24)  # The preface.
            self.send(4, 0, 0)
            count = None
            while True:
                size, kind, flags, number = *struct.unpack(">I", b"\0" + self.read(3)), *struct.unpack(">BBI", self.read(6))
                payload = self.read(size)
                with self.changed:
                    if kind == 4 and not flags & 1:
                        for at in range(0, size, 6):
                            name, value = struct.unpack(">HI", payload[at:at + 6])
                            self.initial = value if name == 4 else self.initial
                        self.send(4, 1, 0)
                    elif kind == 8:
                        self.windows[number] = self.windows.get(number, self.initial) + struct.unpack(">I", payload)[0]
                        self.changed.notify_all()
                    elif kind == 6 and not flags & 1:
                        self.send(6, 1, 0, payload)
                    elif kind == 3:
                        count = self.next = AFTER_GIVEN_UP.get(count - 1, 0)
                if kind == 1:
                    count, self.next = self.next if count is None else count, 0
                    threading.Thread(target=self.answer, args=(number, count), daemon=True).start()
                    count += 1
        except OSError:
            stream.close()

    def read(self, size):
        out = b""
        while len(out) < size:
            piece = self.stream.recv(size - len(out))
            if not piece:
                raise OSError("closed")
            out += piece
        return out

    def send(self, kind, flags, number, payload=b""):
        self.stream.sendall(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, number) + payload)

    def answer(self, number, count):
        if count >= self.silent_at:
            return
        try:
            with self.changed:
                self.send(1, 4, number, b"\x88\x0f\x10\x10application/grpc")
            for part in self.messages(count):
                self.data(number, b"\0" + struct.pack(">I", len(part)) + part)
            with self.changed:
                self.send(1, 5, number, b"\0\x0bgrpc-status\x010")
        except OSError:
            return

    def data(self, number, payload):
        while payload:
            with self.changed:
                self.windows.setdefault(number, self.initial)
                self.changed.wait_for(lambda: min(self.windows[0], self.windows[number]) > 0)
                piece = payload[:min(16384, self.windows[0], self.windows[number])]
                self.windows[0] -= len(piece)
                self.windows[number] -= len(piece)
                self.send(0, 0, number, piece)
            payload = payload[len(piece):]

    def messages(self, count):
        if count == 0:
            yield message(HEADER, (2, b"3.6.16"), (3, 4096), (4, MEMBER), (5, 100), (6, 2), (7, 100))
        elif count == 1:
            yield message(HEADER, (2, message((1, MEMBER), (2, b"db-0"))))
        elif count == 2:
            yield message(HEADER, (2, 11), (3, 3))
        elif count == 3:
            yield message(HEADER, (3, 1))
        elif count == 5:
            yield message(HEADER, (4, 1))  # Range: the count.
        elif count == 6:
            yield message(HEADER, (2, message((1, b"key"), (2, 2), (3, 7), (4, 3), (5, b"value"))), (4, 1))
        else:
            total = hashlib.sha256()
            for piece in self.pieces:
                total.update(piece)
                yield message((3, piece))
            yield message((3, b"0" * 32 if self.wrong_sum else total.digest()))


def authority(folder, name):
    """A CA, and a certificate for 127.0.0.1 signed by it: the paths of ca.crt and of a file with certificate and key."""
    def path(suffix):
        return os.path.join(folder, f"{name}.{suffix}")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", path("ca.key"), "-out", path("ca.crt"), "-subj", f"/CN={name}", "-days", "2")
    openssl("req", "-x509", *key, "-keyout", path("key"), "-out", path("crt"), "-subj", "/CN=127.0.0.1", "-days", "2",
            "-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-addext", "subjectAltName=IP:127.0.0.1",
            "-addext", "basicConstraints=critical,CA:FALSE")
    with open(path("pem"), "w", encoding="utf-8") as out:
        for part in ("crt", "key"):
            with open(path(part), encoding="utf-8") as file:
                out.write(file.read())
    return path("ca.crt"), path("pem")


def speak_tls(server, certificate):
    """Does handshakes on the connection's own thread: a client that hangs up during one ends nothing else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None  # Clients may hang up.


class Lender:
    """STS, or a node's credentials service. `answer`: a function of the request's number that returns a status and a body."""

    def __init__(self, answer):
        self.requests = requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                requests.append((self.command, self.path, dict(self.headers), dict(urllib.parse.parse_qsl(body))))
                status, text = answer(len(requests))
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Bucket:
    """One store's objects by path, each (bytes, metadata). `refuses`: a function of method and path that returns a status, headers
    and a body for a refusal, or None."""

    def __init__(self, refuses=lambda method, path: None, certificate=None):
        self.objects, self.uploads, self.requests, self.refuses = {}, {}, [], refuses
        self.keys = set()  # Keys of the signatures and session tokens that arrived.
        bucket = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do(self):
                bucket.serve(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        if certificate:
            speak_tls(self.server, certificate)
            self.url = self.url.replace("http", "https")
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, to):
        url = urllib.parse.urlparse(to.path)
        path, query = urllib.parse.unquote(url.path), dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        body = to.rfile.read(int(to.headers.get("content-length", 0)))
        self.requests.append(f"{to.command} {path}")
        signed = re.search(r"Credential=([^/]*)/.*SignedHeaders=([^,]*)", to.headers.get("authorization", ""))
        token = to.headers.get("x-amz-security-token") if signed and "x-amz-security-token" in signed[2] else None
        self.keys.add((signed and signed[1], token))
        metadata = {name.lower(): value for name, value in to.headers.items() if name.lower().startswith("x-amz-meta-")}
        status, headers, answer = self.refuses(to.command, path) or self.answer(
            to.command, path, query, body, metadata, to.headers.get("if-none-match"))
        if status == 200 and to.headers.get("if-match", headers.get("etag")) != headers.get("etag"):
            status, headers, answer = 412, {}, self.xml("Error", Code="PreconditionFailed")
        if status == 200 and "range" in to.headers:
            first, last = map(int, to.headers["range"].removeprefix("bytes=").split("-"))
            status, headers["content-range"] = 206, f"bytes {first}-{min(last, len(answer) - 1)}/{len(answer)}"
            answer = answer[first:last + 1]
            del headers["content-length"]
        to.send_response(status)
        if "content-length" not in headers:
            headers["content-length"] = str(len(answer))
        for name, value in headers.items():
            to.send_header(name, value)
        to.end_headers()
        if to.command != "HEAD":
            to.wfile.write(answer)

    def answer(self, method, path, query, body, metadata, condition):
        tag = {"etag": '"' + hashlib.md5(body).hexdigest() + '"'}
        if method == "POST" and "uploads" in query:
            name = f"upload-{len(self.requests)}"
            self.uploads[name] = ({}, metadata)
            return 200, {}, self.xml("InitiateMultipartUploadResult", UploadId=name)
        if "uploadId" in query and query["uploadId"] not in self.uploads:
            return 404, {}, self.xml("Error", Code="NoSuchUpload")
        if method == "PUT" and "uploadId" in query:
            self.uploads[query["uploadId"]][0][int(query["partNumber"])] = body
            return 200, tag, b""
        if method == "DELETE" and "uploadId" in query:
            del self.uploads[query["uploadId"]]
            return 204, {}, b""
        if method == "DELETE":
            self.objects.pop(path, None)
            return 204, {}, b""
        if method in ("PUT", "POST") and condition and path in self.objects:
            return 412, {}, self.xml("Error", Code="PreconditionFailed")
        if method == "POST":
            parts, metadata = self.uploads.pop(query["uploadId"])
            self.objects[path] = b"".join(parts[number] for number in sorted(parts)), {**metadata, "etag": '"parts"'}
            return 200, {}, self.xml("CompleteMultipartUploadResult", ETag='"parts"')
        if method == "PUT":
            self.objects[path] = body, metadata
            return 200, tag, b""
        if path not in self.objects:
            return 404, {}, b"" if method == "HEAD" else self.xml("Error", Code="NoSuchKey")
        stored, metadata = self.objects[path]
        headers = {"etag": '"' + hashlib.md5(stored).hexdigest() + '"', **metadata}
        return 200, {**headers, "content-length": str(len(stored))}, stored

    @staticmethod
    def xml(root, **children):
        inside = "".join(f"<{name}>{value}</{name}>" for name, value in children.items())
        return f"<{root}>{inside}</{root}>".encode()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
