#!/usr/bin/python3
"""clang_tidy.py BUILD_FOLDER CACHE_FOLDER: clang-tidy over all that was compiled there and changed since it last passed.

What passed is remembered under a hash of the command, of .clang-tidy and of every file that the compiler read (from
ninja's records), so that a fresh clone on the same machine has nothing to do. Prints how many files it looked at.
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
    """Hashes of what a check's answer depends on."""

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
    """What clang-tidy has to say of one source; nothing if it has nothing."""
    run = subprocess.run(["clang-tidy-19", "--quiet", "-p", build, source], capture_output=True, text=True, check=False)
    return run.stdout + run.stderr if run.returncode else ""


def main(build, cache):
    build = str(pathlib.Path(build).resolve())
    passed = pathlib.Path(cache)
    passed.mkdir(parents=True, exist_ok=True)
    deps, keys, todo = dependencies(build), Keys(build), {}
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    commands = [c for c in commands if not c["file"].startswith(build)]  # generated sources are not ours to change
    for entry in commands:
        command = entry["command"]
        target = command.split(" -o ")[1].split()[0]
        stamp = passed / keys.of(command, deps[target])
        if not stamp.exists():
            todo[entry["file"]] = stamp
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for stamp, said in zip(todo.values(), pool.map(lambda source: check(build, source), todo)):
            if said:
                failed += 1
                print(said)
            else:
                stamp.touch()
    print(f"clang-tidy: {len(todo)} of {len(commands)} files looked at, {failed} with complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
