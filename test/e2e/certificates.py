"""Controls cert-manager in a cluster under test, and reads TLS Secrets. Needs CLUSTER_STATE (the folder of the cluster or of
tools/cluster/apionly.sh's world), the requirements of world.py, and the output of `tools/cluster/build.sh cert-manager`.

Behaviour of cert-manager 1.21.2, as measured by certmanager_cases.py and by hand:
- Issues within 1 s of the request; also after a change of dnsNames, or after its Secret was deleted. Renews in the very second
  of status.renewalTime, with a new key each time (rotationPolicy is Always by default since 1.18).
- Durations: the CRD takes any text; the controllers issue from 2 s on. At 1 s and less: "already expired", next try an hour later.
  A webhook, which these clusters lack, would require a duration of at least 1h, and a renewBefore of at least 5m and below the
  duration. So behind a webhook a five-minute certificate is refused, but 1h with renewBefore 59m is renewed each minute.
- Renews when `renewBefore` is left, by default a third of the lifetime: 5m alone renews after 3m20s; with renewBefore 4m six
  times in 360 s; with 4m50s every ten seconds. A renewBefore that is not less than the lifetime is ignored.
- An invalid duration ("five minutes") stops all Certificates of the whole cluster until it is gone: they cannot be listed.
- A CA that is renewed or changed gets a new key, too, but leaves are not issued again for that: until its own renewal, a leaf's
  Secret keeps the certificate of the old CA, and the old ca.crt. issuer()'s CA lives 90 days, far longer than any test.
"""
import base64
import json
import os
import tempfile
from datetime import datetime, timezone

from world import Failed, condition, get, kubectl, run, until

CERT_MANAGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "cluster", "certmanager.sh")
CERTIFICATES = "certificates.cert-manager.io"


def cert_manager_crds():
    """Installs its CRDs; no controller acts on them yet."""
    run(CERT_MANAGER, "crds", os.environ["CLUSTER_STATE"], timeout=120)


def cert_manager_up():
    """Installs its CRDs and starts its controllers."""
    run(CERT_MANAGER, "up", os.environ["CLUSTER_STATE"], timeout=180)


def cert_manager_stop():
    """Stops its controllers: nothing is issued or renewed. Everything else stays."""
    run(CERT_MANAGER, "stop", os.environ["CLUSTER_STATE"])


def cert_manager_down():
    """Uninstalls it: Certificates and Issuers go with their CRDs; the Secrets stay."""
    run(CERT_MANAGER, "down", os.environ["CLUSTER_STATE"], timeout=600)


def apply(namespace, kind, name, spec):
    kubectl("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}))


def issuer(namespace):
    """The name of an Issuer in the namespace with its own CA, which is in the Secret of the same name. The controllers must run."""
    name = "authority"
    apply(namespace, "Issuer", "selfsigned", {"selfSigned": {}})
    apply(namespace, "Certificate", name, {
        "isCA": True, "commonName": name, "secretName": name, "privateKey": {"algorithm": "ECDSA", "size": 256},
        "issuerRef": {"name": "selfsigned"}})
    apply(namespace, "Issuer", name, {"ca": {"secretName": name}})
    until(30, f"the Issuer {namespace}/{name} is ready",
          lambda: condition(get("issuers.cert-manager.io", namespace, name), "Ready").get("status") == "True")
    return name


def secret(namespace, name):
    """The Secret's data as text; {} if absent."""
    return {k: base64.b64decode(v).decode() for k, v in get("secrets", namespace, name).get("data", {}).items()}


class X509:
    """A parsed certificate: serial, subject, sans, usages (as openssl prints them), not_before, not_after."""

    def __init__(self, pem):
        lines = [line.strip() for line in run(
            "openssl", "x509", "-noout", "-serial", "-subject", "-startdate", "-enddate", "-dateopt", "iso_8601",
            "-ext", "subjectAltName,keyUsage,extendedKeyUsage,basicConstraints", stdin=pem).splitlines()]
        said = dict(line.split("=", 1) for line in lines if "=" in line)
        extensions = {k.split(":")[0]: v.split(", ") for k, v in zip(lines, lines[1:]) if k.startswith("X509v3")}
        self.serial, self.subject = said["serial"], said["subject"]
        self.not_before, self.not_after = moment(said["notBefore"]), moment(said["notAfter"])
        self.sans = sorted(extensions.get("X509v3 Subject Alternative Name", []))
        self.usages = sorted(extensions.get("X509v3 Key Usage", []) + extensions.get("X509v3 Extended Key Usage", []))


def moment(text):
    return datetime.strptime(text.replace("T", " "), "%Y-%m-%d %H:%M:%SZ").replace(tzinfo=timezone.utc)


def check_pair(data):
    """Checks that the Secret's key belongs to its certificate, and that its ca.crt signed the certificate."""
    key = run("openssl", "pkey", "-pubout", stdin=data["tls.key"])
    if key != run("openssl", "x509", "-noout", "-pubkey", stdin=data["tls.crt"]):
        raise Failed("tls.key is not the key of tls.crt")
    with tempfile.NamedTemporaryFile("w") as ca:
        ca.write(data["ca.crt"])
        ca.flush()
        run("openssl", "verify", "-CAfile", ca.name, stdin=data["tls.crt"])
