"""replay_test.py REPLAY: the output and exit code of `./dev replay FILE`."""
import json
import subprocess
import sys
import tempfile
import unittest

REPLAY = sys.argv.pop()
LINE = {"kind": "EtcdCluster", "object": "prod/db", "times": 1, "until": "2026-11-21T03:56:18Z", "pair": {
    "observation": {"now": "2026-11-21T03:56:18Z", "cluster": {
        "metadata": {"name": "db", "namespace": "prod", "uid": "u-1"}, "spec": {"version": "3.6.16", "replicas": 3}}},
    "plan": {"status": {}, "step": {"promote": {"name": "db-1", "id": "00000000000000a1"}}}}}


def replay(*lines):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        done = subprocess.run([REPLAY, file.name], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout.replace(file.name, "FILE")


class Replay(unittest.TestCase):
    def test_another_plan_is_told_and_fails(self):
        code, said = replay(json.dumps(LINE))
        self.assertEqual(code, 1, said)
        self.assertIn("FILE:1: 2026-11-21T03:56:18Z EtcdCluster prod/db: create-seed db-", said)
        self.assertIn("    plan.step.promote: was ", said)
        self.assertIn("1 pairs, 1 differ, 0 lines unreadable", said)

    def test_a_line_that_cannot_be_read_is_told_by_its_number_and_the_rest_is_read(self):
        code, said = replay(json.dumps(LINE), "", "{broken", json.dumps(LINE))
        self.assertEqual(code, 1, said)
        self.assertIn("FILE:3: it is not a JSON object\n", said)
        self.assertIn("FILE:4: 2026", said)
        self.assertIn("2 pairs, 2 differ, 1 lines unreadable", said)

    def test_a_file_that_is_not_there_or_has_nothing_is_no_success(self):
        self.assertEqual(replay()[0], 1)
        self.assertEqual(subprocess.run([REPLAY, "/does/not/exist"], capture_output=True, check=False).returncode, 1)
        self.assertEqual(subprocess.run([REPLAY], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
