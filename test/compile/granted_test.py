"""granted_test.py COMPILER: a call with a row in the tables of permissions compiles; a call without one does not, and the
compiler's message says what to do."""
import pathlib
import subprocess
import sys
import unittest

COMPILER = sys.argv.pop()
ROOT = pathlib.Path(__file__).parents[2]
LIMIT_SECONDS = 900  # Some seconds; more on a machine that compiles beside it.

BEGIN = """\
#include "operator/cluster/rbac.h"
#include "operator/member/rbac.h"
#include "operator/passes/finalizer.h"
#include "runtime/leader.h"
using namespace etcdop;
using namespace etcdop::kube;
using namespace etcdop::api::v1alpha2;
using Leader = Granted<runtime::kLeaderPermissions>;
void calls(cluster::Api cluster, member::Api member, Leader leader, Stores& stores) {
"""
GOOD = """\
member.get<Pod>({"n", "a"});
cluster.list<Pod>("n", "");
leader.watch<Lease>("n", {}, {});
cluster.create<EtcdMember>("n", {});
member.merge_patch<Pod>({"n", "a"}, {});
cluster.merge_patch<EtcdCluster, Part::Status>({"n", "a"}, {});
cluster.json_patch<EtcdMember>({"n", "a"}, {});
cluster.remove<EtcdMember>({"n", "a"}, "u");
member.remove<PersistentVolumeClaim>({"n", "a"}, "u");
member.merge_patch<PersistentVolumeClaim>({"n", "a"}, {});
member.to_mirror<PersistentVolumeClaim>();
release_finalizer(cluster, stores, {"n", "a"}, "u");
"""
BAD = """\
cluster.create<Pod>("n", {});
leader.list<Lease>("n", "");
member.create<Service>("n", {});
member.create<EtcdMember>("n", {});
cluster.remove<Service>({"n", "a"}, "u");
cluster.merge_patch<EtcdCluster>({"n", "a"}, {});
member.merge_patch<Pod, Part::Status>({"n", "a"}, {});
cluster.json_patch<Pod>({"n", "a"}, {});
member.remove<EtcdMember>({"n", "a"}, "u");
leader.to_mirror<Pod>();
release_finalizer(leader, stores, {"n", "a"}, "u");
"""


def compiled(calls):
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-w", f"-I{ROOT}/src", f"-I{ROOT}", "-x", "c++", "-"]
    return subprocess.run(command, input=BEGIN + calls + "}\n", text=True, timeout=LIMIT_SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


class Granted(unittest.TestCase):
    def test_what_has_its_row_compiles(self):
        result = compiled(GOOD)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_what_has_none_does_not(self):
        result = compiled(BAD)
        self.assertNotEqual(result.returncode, 0)
        errors = [line for line in result.stdout.split("\n") if "error: " in line]
        self.assertEqual([e for e in errors if "not granted: " not in e], [], "and that is all that is wrong")
        for number, call in enumerate(BAD.splitlines(), 1 + BEGIN.count("\n")):
            self.assertIn(f"<stdin>:{number}:", result.stdout, f"{call} compiled")


if __name__ == "__main__":
    unittest.main()
