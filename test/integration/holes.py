#!/usr/bin/python3
"""W13 and P5: clusters whose etcd is a black hole delay no other cluster, on the kube-apiserver of KUBECONFIG.

    holes.py STANDIN MANAGER LOGS     100 clusters with hollow members (standin/hollow) and a healthy one beside them. Its
                                      spec is edited; each edit must be in its status within five seconds

The last line is "N passed, N failed"; exit 1 if any failed. Stalling TLS is not applicable: nothing here dials etcd by TLS yet.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from bench_clusters import Bench  # noqa: E402

CLUSTERS = 100
EDITS = 5
LIMIT = 5  # seconds, also for a build without optimisation on a busy machine; ./dev bench holes requires one
CASES = {"answers": "P5_AHundredClustersBesideAHealthyOne", "silent": "W13_EtcdsTakeConnectionsAndSayNothing",
         "drops": "W13_EtcdsDropSYNs", "refuses": "W13_EtcdsAreNotThere"}


def main():
    standin, manager, logs = sys.argv[1:]
    os.makedirs(logs, exist_ok=True)
    options = argparse.Namespace(kubeconfig=os.environ["KUBECONFIG"], manager=manager, standin=standin, logs=logs, grow=120)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        try:
            bench.copy(CLUSTERS, lambda i: "holes")
            bench.copy(CLUSTERS + 1, lambda i: "healthy" if i == CLUSTERS else "holes")
            bench.manager()
            time.sleep(3)
            for how, name in CASES.items():
                took = max(bench.beside(how, EDITS))
                good = took <= LIMIT
                passed, failed = passed + good, failed + (not good)
                print(f"{'ok' if good else 'FAILED'} {name}: the slowest of {EDITS} edits took {took:.2f} s", flush=True)
        finally:
            bench.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
