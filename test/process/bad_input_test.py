"""bad_input_test.py MANAGER: the operator's process started with invalid input: the exact messages, no crash, nothing written. Its
only server is our own, on 127.0.0.1 at a free port."""
import base64
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

MANAGER = sys.argv.pop()
LIMIT_SECONDS = 240  # For anything that hangs.


class Server:
    """Accepts TLS connections, counts them, and answers 401 to each request."""

    def __init__(self, context):
        self.context, self.connections, self.requests = context, 0, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                stream, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            try:
                stream.settimeout(LIMIT_SECONDS)
                with self.context.wrap_socket(stream, server_side=True) as tls:
                    request = tls.recv(65536).decode()
                    if not request:  # The manager ended before its request.
                        continue
                    self.requests.append(request)
                    tls.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}")
            except OSError:
                stream.close()


class BadInput(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def certificate(self, name, days, ca=None):
        """NAME.key and NAME.crt for 127.0.0.1; without `ca`, a CA."""
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-out", f"{name}.csr", "-subj", f"/CN={name}")
        with open(self.path("extensions"), "w", encoding="utf-8") as file:
            file.write("subjectAltName=IP:127.0.0.1\n" if ca else "basicConstraints=critical,CA:TRUE\n")
        signer = ["-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", "-CAcreateserial"] if ca else ["-signkey", f"{name}.key"]
        openssl("x509", "-req", "-in", f"{name}.csr", *signer, "-extfile", "extensions", "-days", str(days), "-out", f"{name}.crt")

    def server(self, verify_clients=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("server.crt"), self.path("server.key"))
        if verify_clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.crt"))
        server = Server(context)
        self.addCleanup(server.socket.close)
        return server

    def kubeconfig(self, server, user):
        path = self.path("kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                       "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.port}",
                                                               "certificate-authority": self.path("ca.crt")}}],
                       "users": [{"name": "u", "user": user}]}, file)
        return path

    def run_to_end(self, *words):
        return subprocess.run([MANAGER, *words], capture_output=True, text=True, timeout=LIMIT_SECONDS, env={})

    def complaints(self, config, count):
        """Starts the manager, waits for so many warnings, and stops it; returns the warnings' errors without the request."""
        command = [MANAGER, "--kubeconfig", config, "--metrics-bind-address=0", "--health-probe-bind-address=0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={})
        watchdog = threading.Timer(LIMIT_SECONDS, process.kill)
        watchdog.start()
        errors = []
        for line in process.stdout:
            entry = json.loads(line)
            if entry["level"] == "warn":
                errors.append(re.sub("^GET [^ ]*: ", "", entry["error"]))
            if len(errors) == count:
                break
        self.assertIsNone(process.poll(), "it goes on trying")
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        self.assertEqual(process.wait(), 0)
        watchdog.cancel()
        process.stdout.close()
        return errors

    def test_unknown_flag(self):
        done = self.run_to_end("--no-such-flag")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr,
                         "manager: The following argument was not expected: --no-such-flag; see manager --help\n")

    def test_malformed_kubeconfig(self):
        path = self.path("kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            file.write("clusters: [{\n")
        done = self.run_to_end("--kubeconfig", path)
        entry = json.loads(done.stdout + done.stderr)
        self.assertEqual((done.returncode, entry["level"], entry["msg"], entry["error"]),
                         (1, "error", "cannot tell where the API server is",
                          f"{path}: line 2, column 1: end of map flow not found"))

    def test_nothing_to_start_from(self):
        done = self.run_to_end()
        self.assertEqual(done.returncode, 1)
        self.assertIn("--kubeconfig", json.loads(done.stdout + done.stderr)["error"])

    def test_the_servers_certificate_has_expired(self):
        self.certificate("ca", 10)
        self.certificate("server", -1, ca="ca")
        server = self.server()
        errors = self.complaints(self.kubeconfig(server, {"token": "t"}), 5)
        self.assertEqual(set(errors), {"TLS handshake with 127.0.0.1: certificate has expired"})
        self.assertEqual(server.requests, [], "nothing is told to who cannot prove who it is")
        self.assertLess(server.connections, 20)

    def test_our_certificate_has_expired(self):
        self.certificate("ca", 10)
        self.certificate("server", 10, ca="ca")
        self.certificate("client", -1, ca="ca")
        server = self.server(verify_clients=True)
        user = {"client-certificate": self.path("client.crt"), "client-key": self.path("client.key")}
        errors = self.complaints(self.kubeconfig(server, user), 5)
        self.assertEqual(set(errors), {"TLS: the other side refuses us: certificate expired"})
        self.assertLess(server.connections, 20)

    def test_the_server_does_not_know_us(self):
        self.certificate("ca", 10)
        self.certificate("server", 10, ca="ca")
        server = self.server()
        errors = self.complaints(self.kubeconfig(server, {"token": "t"}), 5)
        self.assertEqual(set(errors), {"HTTP 401: {}"})
        self.assertEqual({request.split()[0] for request in server.requests}, {"GET"})

    def exec_plugin(self, body):
        """A user entry with a plugin beside the kubeconfig."""
        with open(self.path("login.sh"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod(self.path("login.sh"), 0o700)
        return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login.sh", "args": ["prod"],
                         "interactiveMode": "Never", "installHint": "see example.com"}}

    def test_an_exec_plugin_speaks_for_us(self):
        self.certificate("ca", 10)
        self.certificate("server", 10, ca="ca")
        server = self.server()
        user = self.exec_plugin("""echo x >>"$0.runs"\necho '{"kind": "ExecCredential", """
                                """"apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "of-'$1'"}}'\n""")
        self.assertEqual(set(self.complaints(self.kubeconfig(server, user), 5)), {"HTTP 401: {}"})
        for request in server.requests:
            self.assertIn("\r\nAuthorization: Bearer of-prod\r\n", request)
        with open(self.path("login.sh.runs"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "x\n", "one run for all")

    def test_an_exec_plugin_that_fails(self):
        self.certificate("ca", 10)
        server = Server(None)
        self.addCleanup(server.socket.close)
        user = self.exec_plugin("echo 'your session has ended,' >&2; echo 'log in' >&2; exit 3\n")
        config = self.kubeconfig(server, user)
        self.assertEqual(set(self.complaints(config, 5)),
                         {f"{config}: users[u].user.exec.command: '{self.folder}/./login.sh' ended with exit code 3: "
                          "your session has ended, log in"})
        os.remove(self.path("login.sh"))
        self.assertEqual(set(self.complaints(config, 5)),
                         {f"{config}: users[u].user.exec.command: run '{self.folder}/./login.sh': "
                          "No such file or directory; see example.com"})
        self.assertEqual(server.connections, 0, "nobody is asked without knowing as whom")

    def test_an_exec_plugin_that_hangs_does_not_hold_up_the_end(self):
        self.certificate("ca", 10)
        server = Server(None)
        self.addCleanup(server.socket.close)
        user = self.exec_plugin("echo $$ >\"$0.pid\"; exec sleep 600\n")
        self.complaints(self.kubeconfig(server, user), 1)
        with open(self.path("login.sh.pid"), encoding="utf-8") as file:
            plugin = int(file.read())
        end = time.monotonic() + 60  # Whoever adopts it removes it from the list of processes.
        while os.path.exists(f"/proc/{plugin}") and time.monotonic() < end:
            time.sleep(0.05)
        self.assertRaises(ProcessLookupError, os.kill, plugin, 0)

    def served(self, config, *flags):
        """Starts the manager and waits until it serves probes and metrics; returns the port of each."""
        command = [MANAGER, "--kubeconfig", config, "--metrics-bind-address=127.0.0.1:0",
                   "--health-probe-bind-address=127.0.0.1:0", "--flight-recorder-bind-address=0", *flags]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        ports = {}
        for line in process.stdout:
            entry = json.loads(line)
            if entry["msg"] == "serving":
                ports[entry["what"]] = entry["port"]
            if len(ports) == 2:
                return ports
        return self.fail("it ended")

    def answer(self, url, token=None):
        """Status and body."""
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_SECONDS, context=ssl._create_unverified_context()) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def test_without_the_api_server_it_is_alive_not_ready_and_gives_nobody_secure_metrics(self):
        self.certificate("ca", 10)
        self.certificate("server", 10, ca="ca")
        config = self.kubeconfig(self.server(), {"token": "t"})
        ports = self.served(config, "--metrics-secure")
        probes, metrics = f"http://127.0.0.1:{ports['probes']}", f"https://127.0.0.1:{ports['metrics']}/metrics"
        self.assertEqual(self.answer(probes + "/healthz"), (200, "ok\n"))
        kinds = "EtcdCluster, EtcdMember, Pod, PersistentVolumeClaim, Service, PodDisruptionBudget"
        self.assertEqual(self.answer(probes + "/readyz"), (503, f"the caches are not filled yet: {kinds}\n"))
        self.assertEqual(self.answer(metrics)[0], 401)
        self.assertEqual(self.answer(metrics, "t"), (503, "the API server does not say whether you may get /metrics\n"))
        ports = self.served(config)
        self.assertEqual(self.answer(f"http://127.0.0.1:{ports['metrics']}/metrics")[0], 200)

    def take_for_metrics(self, name):
        """Puts that certificate into the folder "metrics"; returns its text."""
        os.makedirs(self.path("metrics"), exist_ok=True)
        for kind in ("key", "crt"):
            shutil.copy(self.path(f"{name}.{kind}"), self.path(f"metrics/tls.{kind}"))
        with open(self.path(f"{name}.crt"), encoding="utf-8") as file:
            return file.read()

    def test_metrics_show_the_certificate_that_the_folder_has(self):
        self.certificate("ca", 10)
        for name in ("server", "first", "second"):
            self.certificate(name, 10, ca="ca")
        config, flags = self.kubeconfig(self.server(), {"token": "t"}), ("--metrics-secure", "--metrics-cert-path",
                                                                         self.path("metrics"))
        first = self.take_for_metrics("first")
        address = ("127.0.0.1", self.served(config, *flags)["metrics"])
        self.assertEqual(ssl.get_server_certificate(address), first)
        second = self.take_for_metrics("second")
        self.assertEqual(ssl.get_server_certificate(address), second)
        os.remove(self.path("metrics/tls.key"))
        self.assertEqual(ssl.get_server_certificate(address), second, "it was taken once")
        done = self.run_to_end("--kubeconfig", config, *flags)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout + done.stderr)["error"],
                         f"{self.path('metrics/tls.key')}: No such file or directory")

    def told(self, config):
        """All output of the manager at the lowest log level, until its second complaint or its end."""
        command = [MANAGER, "--kubeconfig", config, "--log-level=debug", "--metrics-bind-address=0",
                   "--health-probe-bind-address=0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={}) as process:
            watchdog = threading.Timer(LIMIT_SECONDS, process.kill)
            watchdog.start()
            out, complaints = "", 0
            for line in process.stdout:
                out, complaints = out + line, complaints + (json.loads(line)["level"] in ("warn", "error"))
                if complaints == 2:
                    process.send_signal(signal.SIGTERM)
            watchdog.cancel()
        self.assertNotEqual(complaints, 0, out)
        return out

    def test_T2_no_secret_is_told(self):
        """I15: whatever is wrong with the credentials, no secret part of them is printed."""
        self.certificate("ca", 10)
        self.certificate("server", 10, ca="ca")
        server, secret = self.server(), "canary-7f3a-0123456789"
        coded = base64.b64encode(secret.encode()).decode()
        users = [{"token": secret}, {"token": secret + "\r\nX: y"}, {"token": [secret]}, {"token": {"a": secret}},
                 {"username": "u", "password": secret}, {"username": "u", "password": [secret]},
                 {"client-certificate-data": coded, "client-key-data": coded},
                 {"client-certificate": self.path("ca.crt"), "client-key-data": secret},
                 {"client-certificate": self.path("ca.crt"), "client-key-data": coded}]
        statuses = [f'{{"token": "{secret}"}}', f'{{"token": ["{secret}"]}}', f'{{"token": "{secret}", }}',
                    f'{{"clientCertificateData": "{secret}", "clientKeyData": "{secret}"}}']
        plugins = [lambda status=status: self.exec_plugin(
            f"""echo '{{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {status}}}'\n""")
            for status in statuses]
        for user in [lambda user=user: user for user in users] + plugins:
            entry = user()
            with self.subTest(user=entry):
                out = self.told(self.kubeconfig(server, entry))
                self.assertNotIn(secret, out)
                self.assertNotIn(coded[:12], out)
        self.assertTrue(any(secret in request for request in server.requests), "it was used")


if __name__ == "__main__":
    unittest.main()
