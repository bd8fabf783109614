#!/usr/bin/env python3
"""The examples of docs/dev/how-to-add.md fit the tree and compile: examples_test.py BUILD_FOLDER.

Each ```diff block is applied to copies of the files that it names ("+++ FILE", hunks separated by "@@"), which then stand before
the tree's own files. Every .cc file in it, and those of USERS, is compiled as the build folder compiles it, without an object."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv.pop(1))
PAGE = ROOT / "docs/dev/how-to-add.md"
LINES_MAX = 15  # Added or removed, in one example.
USERS = {"api/v1alpha2/member_template.h": ["api/v1alpha2/codecs.cc"]}  # Sources that use a changed header.


def examples():
    """{heading: text of its diff}."""
    return dict(re.findall(r"^## (.*?)\n(?:(?!^## ).)*?^```diff\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S))


def hunks(diff):
    """[(file, old text, new text)]"""
    for part in re.split(r"^\+\+\+ ", diff, flags=re.M)[1:]:
        file, rest = part.split("\n", 1)
        for hunk in rest.split("@@\n"):
            lines = hunk.splitlines()
            yield (file, "".join(line[1:] + "\n" for line in lines if line[0] != "+"),
                   "".join(line[1:] + "\n" for line in lines if line[0] != "-"))


def compiles(source, overlay):
    """None, or what the compiler says."""
    commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    entry = next(c for c in commands if c["file"] == str(ROOT / source))
    words = [w for w in shlex.split(entry["command"]) if not w.endswith("ccache")]
    words = words[:words.index("-MD")] if "-MD" in words else words[:words.index("-o")]
    there = overlay / source
    command = words + [f"-I{overlay}/src", f"-I{overlay}", "-fsyntax-only", "-w", str(there if there.exists() else ROOT / source)]
    # The overlay's headers come first.
    command = command[:1] + [f"-I{overlay}/src", f"-I{overlay}"] + command[1:]
    done = subprocess.run(command, cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return None if done.returncode == 0 else done.stdout


class Examples(unittest.TestCase):
    def test_there_is_one_for_each(self):
        self.assertEqual(list(examples()), ["A field of members", "A rule of the planner", "A fault of the simulated world"])

    def test_each_is_short_fits_and_compiles(self):
        for heading, diff in examples().items():
            with self.subTest(heading), tempfile.TemporaryDirectory() as folder:
                self.assertLessEqual(sum(line[:1] in "+-" and line[:3] != "+++" for line in diff.splitlines()), LINES_MAX)
                overlay, sources = pathlib.Path(folder), set()
                for file, old, new in hunks(diff):
                    copy = overlay / file
                    text = (copy if copy.exists() else ROOT / file).read_text(encoding="utf-8")
                    self.assertEqual(text.count(old), 1, f"{file} has not once:\n{old}")
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_text(text.replace(old, new), encoding="utf-8")
                    sources |= {file} if file.endswith(".cc") else set(USERS.get(file, ()))
                for source in sorted(sources):
                    self.assertIsNone(compiles(source, overlay), source)


if __name__ == "__main__":
    unittest.main()
