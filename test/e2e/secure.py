"""Clusters with TLS on both ports and authentication, on real nodes: their certificates are renewed under load, and members are
replaced.

Three kinds side by side, each in its own namespace: with a user's Secrets, with cert-manager, and with the operator's own CA. Has
the requirements of certificates.py.
"""
import json
import os
import subprocess
import tempfile
import threading
import time

import certificates
from world import GROUP, Cluster, Failed, condition, get, kubectl, run, until

RENEWALS = 6
CERTIFICATE_SECONDS = 300
EACH_SECONDS = 120  # Between renewals: longer than a kubelet takes to update mounted Secrets.
BOUND = 120
PASSWORD = "correct horse"


class Authority:
    """The CA of a user who makes certificates with openssl."""

    def __init__(self, folder):
        self.folder = folder
        self.key, self.pem = f"{folder}/ca.key", f"{folder}/ca.crt"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
            "-subj", "/CN=ours", "-keyout", self.key, "-out", self.pem)

    def leaf(self, name, subject, usages, names):
        """The files of a key and its certificate."""
        key, request, leaf = (f"{self.folder}/{name}.{end}" for end in ("key", "csr", "crt"))
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
            "-keyout", key, "-out", request)
        extensions = f"extendedKeyUsage={usages}\n" + (f"subjectAltName={','.join(names)}\n" if names else "")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(extensions)
            file.flush()
            # openssl counts days; the dates of these certificates are tested elsewhere.
            run("openssl", "x509", "-req", "-in", request, "-CA", self.pem, "-CAkey", self.key, "-CAcreateserial", "-days", "1",
                "-extfile", file.name, "-out", leaf)
        return key, leaf

    def secret(self, namespace, name, usages, names):
        """Creates or replaces the Secret."""
        key, leaf = self.leaf(name, f"/CN={name}", usages, names)
        kubectl("apply", "-f", "-", stdin=run(
            "kubectl", "create", "secret", "generic", name, "-n", namespace, "--type=kubernetes.io/tls",
            f"--from-file=tls.crt={leaf}", f"--from-file=tls.key={key}", f"--from-file=ca.crt={self.pem}",
            "--dry-run=client", "-o", "json"))


class SecureCluster(Cluster):
    """Clients show a certificate and are root. Their names resolve as in the cluster's DNS, in a separate mount namespace."""
    server_secret, client_secret = "db-server-tls", "db-operator-client-tls"

    def __init__(self, kind, version):
        super().__init__("db", f"secure-{kind}", version)
        self.files = tempfile.mkdtemp(prefix=f"secure-{kind}-")
        self.spec["auth"] = {"enabled": True, "rootCredentialsSecretRef": {"name": "root"}}

    def begin(self):
        self.create_namespace()
        kubectl("create", "secret", "generic", "root", "-n", self.namespace, "--type=kubernetes.io/basic-auth",
                "--from-literal=username=root", f"--from-literal=password={PASSWORD}")
        self.prepare()
        self.create()
        self.wait_settled(3, 2 * BOUND)
        until(BOUND, f"{self.namespace} asks for passwords", lambda: self.object()["status"].get("authEnabled"))
        self.refresh()

    def prepare(self):
        """Creates what the spec names, and sets that part of the spec."""

    def renew(self):
        """Called each half minute: a user's work on certificates."""

    def refresh(self):
        """Writes the clients' files from the present Secrets."""
        client, server = (certificates.secret(self.namespace, s) for s in (self.client_secret, self.server_secret))
        pods = {p["metadata"]["name"]: p["status"].get("podIP") for p in self.pods()}
        service = get("services", self.namespace, f"{self.name}-client")["spec"]["clusterIP"]
        hosts = [f"{service} {self.name}-client.{self.namespace}.svc", "127.0.0.1 localhost"]
        hosts += [f"{ip} {name}.{self.name}.{self.namespace}.svc" for name, ip in pods.items() if ip]
        for file, text in (("tls.crt", client["tls.crt"]), ("tls.key", client["tls.key"]), ("ca.crt", server["ca.crt"]),
                           ("hosts", "\n".join(hosts) + "\n")):
            with open(f"{self.files}/{file}.new", "w", encoding="ascii") as out:
                out.write(text)
        for file in ("tls.crt", "tls.key", "ca.crt"):
            os.replace(f"{self.files}/{file}.new", f"{self.files}/{file}")
        with open(f"{self.files}/hosts", "w", encoding="ascii") as out:  # Bind-mounted: it must stay the same file.
            out.write("\n".join(hosts) + "\n")

    def address(self):
        return f"https://{self.name}-client.{self.namespace}.svc:2379"

    def etcdctl_words(self, *words, endpoint=None):
        files = self.files
        return ["unshare", "--mount", "sh", "-c", f'mount --bind {files}/hosts /etc/hosts && exec "$@"', "sh",
                os.environ["ETCDCTL"], f"--endpoints={endpoint or self.address()}", f"--cacert={files}/ca.crt",
                f"--cert={files}/tls.crt", f"--key={files}/tls.key", f"--user=root:{PASSWORD}", *words]

    def etcdctl(self, *words, timeout=60, endpoint=None):
        return run(*self.etcdctl_words(f"--dial-timeout={min(30, max(5, timeout))}s", f"--command-timeout={timeout}s", *words,
                                       endpoint=endpoint), timeout=timeout + 10)

    def shown(self, pod, port):
        """The serial number of the certificate that a member shows on a port."""
        name, files = pod["metadata"]["name"], self.files
        out = subprocess.run(["openssl", "s_client", "-connect", f"{pod['status']['podIP']}:{port}", "-cert", f"{files}/tls.crt",
                              "-key", f"{files}/tls.key", "-servername", f"{name}.{self.name}.{self.namespace}.svc"],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False).stdout
        begin = out.find("-----BEGIN CERTIFICATE")
        if begin < 0:
            raise Failed(f"{name} shows no certificate on port {port}")
        return certificates.X509(out[begin:out.find("-----END CERTIFICATE-----") + 26]).serial


class OwnSecrets(SecureCluster):
    server_secret, client_secret, peer_secret = "our-server", "our-operator", "our-peers"

    def __init__(self, version):
        super().__init__("own", version)
        self.spec["tls"] = {"client": {"serverSecretRef": {"name": self.server_secret},
                                       "operatorClientSecretRef": {"name": self.client_secret}},
                            "peer": {"secretRef": {"name": self.peer_secret}}}
        self.renewed = time.monotonic()

    def prepare(self):
        self.authority = Authority(self.files)
        self.make()

    def make(self):
        service = f"{self.name}.{self.namespace}.svc"
        names = [f"DNS:*.{service}", f"DNS:*.{service}.cluster.local", f"DNS:{service}"]
        self.authority.secret(self.namespace, self.server_secret, "serverAuth,clientAuth",
                              names + [f"DNS:{self.name}-client.{self.namespace}.svc", "DNS:localhost", "IP:127.0.0.1"])
        self.authority.secret(self.namespace, self.client_secret, "clientAuth", [])
        self.authority.secret(self.namespace, self.peer_secret, "serverAuth,clientAuth", names)

    def renew(self):
        if time.monotonic() - self.renewed > EACH_SECONDS:
            self.make()
            self.renewed = time.monotonic()


class ByCertManager(SecureCluster):
    def __init__(self, version):
        super().__init__("cert-manager", version)
        by = {"name": "authority"}
        self.spec["tls"] = {"client": {"certManager": {"serverIssuerRef": by, "operatorClientIssuerRef": by}},
                            "peer": {"certManager": {"issuerRef": by}}}

    def prepare(self):
        certificates.issuer(self.namespace)

    def begin(self):
        super().begin()
        for name in ("db-server", "db-operator-client", "db-peer"):
            self.make_short(name)

    def make_short(self, name):
        """The operator keeps fields that it does not set. A new duration applies from the next issue on, which is requested as
        `cmctl renew` does."""
        words = [certificates.CERTIFICATES, name, "-n", self.namespace, "--type=merge", "-p"]
        kubectl("patch", *words, json.dumps({"spec": {
            "duration": f"{CERTIFICATE_SECONDS}s", "renewBefore": f"{CERTIFICATE_SECONDS - EACH_SECONDS}s"}}))
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        told = get("certificates.cert-manager.io", self.namespace, name)["status"]["conditions"]
        issuing = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "", "lastTransitionTime": now}
        kubectl("patch", "--subresource=status", *words, json.dumps({"status": {"conditions": told + [issuing]}}))


class ByOperator(SecureCluster):
    def __init__(self, version):
        super().__init__("operator", version)
        made = {"operatorManaged": {"certificateDurationSeconds": CERTIFICATE_SECONDS}}
        self.spec["tls"] = {"client": made, "peer": made}


class Load:
    """Puts of new keys, each over its own connection, and one lasting watch. A failed put is a fault."""

    def __init__(self, cluster, prefix="load/"):
        self.cluster, self.prefix, self.faults, self.put, self.stopping = cluster, prefix, [], 0, threading.Event()
        self.seen = open(f"{cluster.files}/watched", "w+", encoding="ascii")
        self.watch = subprocess.Popen(cluster.etcdctl_words("watch", "--prefix", prefix), stdout=self.seen, stderr=subprocess.PIPE)
        time.sleep(2)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.stopping.wait(0.5):
            key = f"{self.prefix}{self.put + 1:06d}"
            try:
                self.cluster.etcdctl("put", key, "x", timeout=5)
                self.put += 1
            except (Failed, subprocess.TimeoutExpired) as e:
                self.faults.append(f"{time.strftime('%H:%M:%S')} {key}: {str(e)[-300:]}")
                self.put += 1

    def stop(self):
        """Called also without end()."""
        self.stopping.set()
        self.thread.join()
        self.watch.terminate()
        self.watch.wait()

    def end(self):
        self.stopping.set()
        self.thread.join()
        time.sleep(2)
        lasted = self.watch.poll() is None
        self.stop()
        self.seen.seek(0)
        watched = [line.strip() for line in self.seen if line.startswith(self.prefix)]
        wanted = [f"{self.prefix}{n + 1:06d}" for n in range(self.put)]
        if self.faults:
            raise Failed(f"{len(self.faults)} of {self.put} puts failed: {self.faults[:3]}")
        if not lasted or watched != wanted:
            raise Failed(f"the watch {'lasted' if lasted else 'ended'}; it saw {len(watched)} of {len(wanted)} keys")
        return self.put


def starts(cluster):
    """The running Pods, and how often their containers were restarted."""
    return {p["metadata"]["uid"]: sum(c["restartCount"] for c in p["status"].get("containerStatuses", [])) for p in cluster.pods()}


def renewed_under_load(cluster, renewals):
    """Runs until each member has shown this many new certificates on each port; nothing restarts, and no call fails."""
    before, load, seen = starts(cluster), Load(cluster), {}
    deadline, renewed = time.monotonic() + (renewals + 2) * CERTIFICATE_SECONDS, 0.0
    while time.monotonic() < deadline and (not seen or min(len(s) for s in seen.values()) <= renewals):
        if time.monotonic() - renewed > 10:
            cluster.renew()
            renewed = time.monotonic()
        cluster.refresh()
        for pod in cluster.pods():
            for port in (2379, 2380):
                seen.setdefault((pod["metadata"]["name"], port), set()).add(cluster.shown(pod, port))
        time.sleep(5)
    put = load.end()
    if starts(cluster) != before:
        raise Failed(f"Pods were {before}, and are {starts(cluster)}")
    least = min(len(s) for s in seen.values()) - 1
    if least < renewals:
        raise Failed(f"a member has shown only {least} new certificates")
    until(BOUND, f"{cluster.namespace} says that all use them",
          lambda: condition(cluster.object(), "TLSReady").get("status") == "True")
    print(f"  {cluster.namespace}: {least} renewals shown by every member on both ports, {put} puts and one watch without a fault",
          flush=True)


def members_in_turn(cluster):
    for name in [m["metadata"]["name"] for m in cluster.members()]:
        start = time.monotonic()
        kubectl("delete", f"etcdmembers.{GROUP}", name, "-n", cluster.namespace, "--wait=false")
        until(BOUND, f"{name} is gone", lambda n=name: n not in [m["metadata"]["name"] for m in cluster.members()])
        cluster.wait_settled(3, BOUND)
        cluster.refresh()
        cluster.check_exact(3)
        print(f"  {cluster.namespace}: {name} deleted, three members after {time.monotonic() - start:.1f} s", flush=True)


def whole_story(cluster, renewals):
    start = time.monotonic()
    cluster.begin()
    cluster.check_exact(3)
    print(f"  {cluster.namespace}: available, with passwords, after {time.monotonic() - start:.1f} s", flush=True)
    members_in_turn(cluster)
    if renewals:
        renewed_under_load(cluster, renewals)
    cluster.delete()


def secure(version, renewals):
    """All three at once: most of the time they wait for certificates to age."""
    certificates.cert_manager_up()
    faults = []

    def body(cluster):
        try:
            whole_story(cluster, renewals)
        except Exception as e:  # noqa: BLE001: the others go on.
            faults.append(f"{cluster.namespace}: {e!r}"[-1500:])
    threads = [threading.Thread(target=body, args=(kind(version),)) for kind in (OwnSecrets, ByCertManager, ByOperator)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise Failed("; ".join(faults))
