"""The operator runs before cert-manager is installed: a cluster that needs it waits, and is created once cert-manager runs. The
operator is the instance NAMESPACE of a stand-in (test/integration/standin), which reports whether the operator was restarted."""
import json
import time
import urllib.request

from certificates import CERTIFICATES, cert_manager_crds, cert_manager_down, cert_manager_up, issuer
from world import Cluster, Failed, condition, get, until

NAMESPACE = "late"
WAITS_SECONDS = 5
NOTICED_SECONDS = 90  # It looks for missing kinds at least every half minute.
MADE_SECONDS = 120
BY = {"name": "authority"}
TLS = {"client": {"certManager": {"serverIssuerRef": BY, "operatorClientIssuerRef": BY}},
       "peer": {"certManager": {"issuerRef": BY}}}
WANTED = ["db-operator-client", "db-peer", "db-server"]


class Late:
    def __init__(self, control, version):
        self.control = control
        self.cluster = Cluster("db", NAMESPACE, version, spec={"tls": TLS})
        self.life = self.operator()

    def operator(self):
        """Its process, and how often it has ended by itself."""
        with urllib.request.urlopen(f"http://{self.control}/instances/{NAMESPACE}", timeout=10) as answer:
            said = json.load(answer)
        return said["pid"], said["crashes"]

    def says(self, kind):
        found = condition(self.cluster.object(), kind)
        return f"{found.get('status')}/{found.get('reason')}"

    def waits(self):
        """Nothing is created, and the status says why."""
        told = "False/CertManagerNotInstalled"
        until(30, f"Available is {told}", lambda: self.says("Available") == told)
        time.sleep(WAITS_SECONDS)
        made = [f"{kind} {thing['metadata']['name']}" for kind in ("pods", "services", "secrets", "persistentvolumeclaims")
                for thing in get(kind, NAMESPACE)]
        if made or self.says("Available") != told:
            raise Failed(f"without cert-manager: Available is {self.says('Available')}, there are {made}")

    def asked(self):
        """The Certificates that the operator asks for exist."""
        names = {c["metadata"]["name"] for c in get(CERTIFICATES, NAMESPACE)}
        return names.issuperset(WANTED)

    def same_operator(self):
        if self.operator() != self.life:
            raise Failed(f"the operator was (pid, crashes) {self.life} and is {self.operator()}")


def timed(what, seconds, test):
    start = time.monotonic()
    until(seconds, what, test)
    print(f"  {what} after {time.monotonic() - start:.1f} s", flush=True)


def arrives_late(control, version):
    """Installs the CRDs, then the controllers; uninstalls and reinstalls all of it while the cluster serves."""
    late = Late(control, version)
    late.cluster.create_namespace()
    late.cluster.create()
    late.waits()
    cert_manager_crds()
    timed("Certificates are asked for", NOTICED_SECONDS, late.asked)
    timed("it is said that nobody issues them", NOTICED_SECONDS, lambda: late.says("TLSReady") == "False/CertificateMissing")
    cert_manager_up()
    issuer(NAMESPACE)
    timed("three members are ready", MADE_SECONDS, lambda: late.cluster.is_settled(3))
    timed("they show the certificates", NOTICED_SECONDS, lambda: late.says("TLSReady") == "True/CertificatesInUse")
    late.same_operator()
    cert_manager_down()
    time.sleep(WAITS_SECONDS)
    if (says := late.says("Available")) != "True/QuorumHealthy":
        raise Failed(f"without cert-manager a cluster that serves says {says}")
    cert_manager_up()
    issuer(NAMESPACE)
    timed("Certificates are asked for again", NOTICED_SECONDS, late.asked)
    late.same_operator()
    cert_manager_down()
