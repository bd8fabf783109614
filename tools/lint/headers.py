#!/usr/bin/python3
"""headers.py BUILD_FOLDER: compiles each header that no source includes first alone, as the build would compile it."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools/tidy"))
import tidy  # noqa: E402


def main(build):
    out = pathlib.Path(build).resolve() / "headers"
    out.mkdir(exist_ok=True)
    commands = json.loads((out.parent / "compile_commands.json").read_text())
    words = shlex.split(commands[0]["command"])
    flags = [w for w in words if w.startswith(("-std", "-O", "-f", "-D", "-W"))]

    def alone(header):
        source = out / (header.replace("/", "_") + ".cc")
        source.write_text(f'#include "{ROOT / header}"\n')
        run = subprocess.run(
            ["ccache", "clang++-19", *flags, f"-I{ROOT}/src", f"-I{ROOT}", f"-I{out.parent}/src", "-c", str(source),
             "-o", f"{source}.o"], capture_output=True, text=True, check=False)
        return run.stderr if run.returncode else ""

    headers = tidy.unproven_headers(tidy.Tree(str(ROOT)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(alone, headers) if text]
    print("\n".join(said + [f"headers: {len(headers)} compiled alone, {len(said)} do not stand alone"]))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
