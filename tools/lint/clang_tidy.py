#!/usr/bin/python3
"""clang_tidy.py CACHE_FOLDER BUILD_FOLDER...: runs clang-tidy over each source, with the options of the first of these builds that
compiled it, unless nothing of it changed since it last passed. A source that none of them compiled is a complaint.

A pass is stored under a hash of the command, of .clang-tidy and of every file that the compiler read (from ninja's records). So a
fresh clone on the same machine has nothing to do. Prints how many files it checked.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def dependencies(build):
    """Object file -> the files that its compiler read."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True)
    found, target = {}, None
    for line in listed.stdout.split("\n"):
        if line.startswith("    "):
            found[target].append(line.strip())
        elif ": #deps" in line:
            target = line.split(": #deps")[0]
            found[target] = []
    return found


class Keys:
    """Hashes of everything that a check's result depends on."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.files = {}
        tool = subprocess.run(["clang-tidy-19", "--version"], check=True, capture_output=True).stdout
        self.common = tool + (ROOT / ".clang-tidy").read_bytes()

    def content(self, path):
        if path not in self.files:
            self.files[path] = hashlib.sha256((self.build / path).read_bytes()).digest()
        return self.files[path]

    def of(self, command, read):
        here = str(ROOT)
        total = hashlib.sha256(self.common + command.replace(here, "").encode())
        for path in read:
            total.update(path.replace(here, "").encode() + self.content(path))
        return total.hexdigest()


def check(build, source):
    """clang-tidy's complaints about one source; empty if it has none."""
    run = subprocess.run(["clang-tidy-19", "--quiet", "-p", build, source], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr if run.returncode else ""


def main(cache, *builds):
    passed = pathlib.Path(cache)
    passed.mkdir(parents=True, exist_ok=True)
    todo, seen, missing = {}, set(), set()
    for build in builds:
        build = str(pathlib.Path(build).resolve())
        deps, keys = dependencies(build), Keys(build)
        for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
            source, command = entry["file"], entry["command"]
            target = command.split(" -o ")[1].split()[0]
            if source in seen or "/out/" in source:  # generated sources are not ours to change
                continue
            if target not in deps:
                missing.add(source)
                continue
            seen.add(source)
            stamp = passed / keys.of(command, deps[target])
            if not stamp.exists():
                todo[source] = (build, stamp)
    missing -= seen
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (_, stamp), said in zip(todo.values(), pool.map(lambda source: check(todo[source][0], source), todo)):
            if said:
                failed += 1
                print(said)
            else:
                stamp.touch()
    for source in sorted(missing):
        print(f"{source} was compiled in none of {' '.join(builds)}")
    print(f"clang-tidy: {len(todo)} of {len(seen)} files looked at, {failed} with complaints")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
