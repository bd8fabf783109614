#!/usr/bin/env python3
"""Tests the behaviour of cert-manager on which other cases rely. See certmanager.sh. Needs a cluster without cert-manager.

    certmanager_cases.py [--renewals N] [--duration 5m] [--renew-before 4m50s] [--control ADDRESS --version X.Y.Z]

The last line is "N passed, N failed". With --control (the address of a stand-in that plays Pods), the first case installs
cert-manager after the operator (certmanager_late.py).
"""
import argparse
import sys
import time

from certificates import (
    CERTIFICATES, X509, apply, cert_manager_crds, cert_manager_down, cert_manager_stop, cert_manager_up, check_pair, issuer,
    moment, secret)
from certmanager_late import arrives_late
from world import Cluster, Failed, condition, get, kubectl, until

NAMESPACE = "certmanager"
PEER = ["*.db.certmanager.svc", "*.db.certmanager.svc.cluster.local"]
SERVER = PEER + ["db.certmanager.svc", "db.certmanager.svc.cluster.local", "db-client.certmanager.svc",
                 "db-client.certmanager.svc.cluster.local", "localhost"]
BOTH = ["server auth", "client auth", "digital signature", "key encipherment"]
BOTH_SAID = ["Digital Signature", "Key Encipherment", "TLS Web Client Authentication", "TLS Web Server Authentication"]
CLIENT = ["client auth", "digital signature", "key encipherment"]
CLIENT_SAID = [u for u in BOTH_SAID if "Server" not in u]


def certificate(name, **spec):
    """Asks for a certificate as the operator does; its Secret is called NAME-tls."""
    apply(NAMESPACE, "Certificate", name, {
        "secretName": f"{name}-tls", "commonName": name, "privateKey": {"algorithm": "RSA", "size": 2048},
        "issuerRef": {"name": "authority", "kind": "Issuer", "group": "cert-manager.io"}, **spec})


def issued(name, not_serial=None, seconds=20):
    """The Secret's data and its certificate, once its serial differs from `not_serial`."""
    def found():
        data = secret(NAMESPACE, f"{name}-tls")
        if "tls.crt" not in data:
            return None
        cert = X509(data["tls.crt"])
        return (data, cert) if cert.serial != not_serial else None
    data, cert = until(seconds, f"{name} is issued", found, every=0.1)
    check_pair(data)
    return data, cert


def renewal_time(name, cert):
    """When this certificate will be renewed, once the status says so."""
    def said():
        status = get(CERTIFICATES, NAMESPACE, name).get("status", {})
        return status["renewalTime"] if "renewalTime" in status and moment(status["notBefore"]) == cert.not_before else None
    return moment(until(10, f"{name} says when it is renewed", said))


def crds_first():
    """With the CRDs alone, Certificates are accepted and not issued; once the controllers run, they are issued."""
    cert_manager_crds()
    certificate("db-server", dnsNames=SERVER, ipAddresses=["127.0.0.1"], usages=BOTH, duration="1h", renewBefore="20m")
    certificate("db-operator-client", usages=CLIENT)
    certificate("db-peer", dnsNames=PEER, usages=BOTH)
    time.sleep(2)
    if secrets := get("secrets", NAMESPACE):
        raise Failed(f"Secrets without controllers: {[s['metadata']['name'] for s in secrets]}")
    start = time.monotonic()
    cert_manager_up()
    print(f"  controllers work after {time.monotonic() - start:.1f} s")
    start = time.monotonic()
    issuer(NAMESPACE)
    print(f"  a CA's Issuer is ready after {time.monotonic() - start:.1f} s")


def leaves():
    """The Secrets contain what the operator asks for."""
    wanted = {"db-server": ([f"DNS:{n}" for n in SERVER] + ["IP Address:127.0.0.1"], BOTH_SAID, 3600),
              "db-operator-client": ([], CLIENT_SAID, 90 * 86400),
              "db-peer": ([f"DNS:{n}" for n in PEER], BOTH_SAID, 90 * 86400)}
    for name, (sans, usages, seconds) in wanted.items():
        data, cert = issued(name)
        has = (cert.subject, cert.sans, cert.usages, (cert.not_after - cert.not_before).total_seconds(), sorted(data))
        want = (f"CN = {name}", sorted(sans), usages, seconds, ["ca.crt", "tls.crt", "tls.key"])
        if has != want:
            raise Failed(f"{name}: {has}, wanted {want}")
        if data["ca.crt"] != secret(NAMESPACE, "authority")["tls.crt"]:
            raise Failed(f"{name}: its ca.crt is not the CA")
    if get("secrets", NAMESPACE, "db-server-tls")["type"] != "kubernetes.io/tls":
        raise Failed("the Secret's type is another")


def names_change():
    """Changed dnsNames: issued again at once, with a new key."""
    data, old = issued("db-server")
    certificate("db-server", dnsNames=SERVER + ["more.example"], ipAddresses=["127.0.0.1"], usages=BOTH, duration="1h",
                renewBefore="20m")
    start = time.monotonic()
    later, new = issued("db-server", not_serial=old.serial)
    print(f"  issued again after {time.monotonic() - start:.1f} s")
    if "DNS:more.example" not in new.sans:
        raise Failed(f"names: {new.sans}")
    if later["tls.key"] == data["tls.key"]:
        raise Failed("the key is still the old one")
    kubectl("delete", "secret", "db-server-tls", "-n", NAMESPACE)
    start = time.monotonic()
    issued("db-server", not_serial=new.serial)
    print(f"  and {time.monotonic() - start:.1f} s after its Secret was deleted")


def renewed(options):
    """A short certificate is renewed again and again at the time that its status says, and is always valid."""
    certificate("short", dnsNames=["short.example"], duration=options.duration, renewBefore=options.renew_before)
    data, cert = issued("short")
    lifetime = (cert.not_after - cert.not_before).total_seconds()
    lateness = []
    for _ in range(options.renewals):
        at, key, serial = renewal_time("short", cert), data["tls.key"], cert.serial
        data, cert = issued("short", not_serial=serial, seconds=lifetime)
        lateness.append((cert.not_before - at).total_seconds())
        if data["tls.key"] == key:
            raise Failed("the key is still the old one")
        if (ready := condition(get(CERTIFICATES, NAMESPACE, "short"), "Ready")).get("status") != "True":
            raise Failed(f"not ready: {ready}")
    print(f"  {options.duration}, renewBefore {options.renew_before}: {options.renewals} renewals, each with a new key, "
          f"{max(lateness):.0f} s late at most")
    if max(lateness) > 5:
        raise Failed(f"late by {lateness} s")


def stopped():
    """Without controllers nothing is renewed; when they come back, overdue renewals happen at once."""
    certificate("late", dnsNames=["late.example"], duration="5m", renewBefore="4m52s")
    _, cert = issued("late")
    due = renewal_time("late", cert)
    cert_manager_stop()
    time.sleep(max(0, due.timestamp() - time.time()) + 3)
    if X509(secret(NAMESPACE, "late-tls")["tls.crt"]).serial != cert.serial:
        raise Failed("renewed by nobody")
    cert_manager_up()
    start = time.monotonic()
    issued("late", not_serial=cert.serial)
    print(f"  renewed {time.monotonic() - start:.1f} s after the controllers came back")


def gone():
    """Without cert-manager the API lacks its group, and the Secrets still exist. It can be installed again."""
    cert_manager_down()
    until(30, "the API's group is gone", lambda: "cert-manager.io" not in kubectl("api-versions"))
    check_pair(secret(NAMESPACE, "db-server-tls"))
    cert_manager_up()
    issuer(NAMESPACE)
    cert_manager_down()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--renewals", type=int, default=3)
    parser.add_argument("--duration", default="5m")
    parser.add_argument("--renew-before", default="4m50s")
    parser.add_argument("--control")
    parser.add_argument("--version", default="3.6.16")
    options = parser.parse_args()
    passed = failed = 0
    Cluster("db", NAMESPACE, options.version).create_namespace()
    cases = [("the CRDs first", crds_first), ("leaves as the operator asks for them", leaves), ("other names", names_change),
             ("renewals", lambda: renewed(options)), ("controllers stopped", stopped), ("gone, and there again", gone)]
    if options.control:
        cases.insert(0, ("cert-manager comes after the operator", lambda: arrives_late(options.control, options.version)))
    for name, body in cases:
        start = time.monotonic()
        print(f"--- {name}", flush=True)
        try:
            body()
            passed += 1
            print(f"ok  {name} ({time.monotonic() - start:.0f} s)", flush=True)
        except Failed as e:
            failed += 1
            print(f"FAIL {name}: {e}", flush=True)
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
