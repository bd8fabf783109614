#!/usr/bin/python3
"""The commands of docs/user, for tests that run them unchanged, with the names of their own objects.

    runbook.py HEADING [NAME=OWN...]     prints the manifests of that section, as kubectl accepts them
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(heading, language="sh"):
    """The blocks of the sections with this heading, without those of their subsections."""
    pages = (page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs/user").glob("*.md")))
    sections = [s for page in pages for s in re.findall(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", page, re.M | re.S)]
    if not sections:
        raise LookupError(f"docs/user has no section {heading}")
    return [block for section in sections for block in re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)]


def named(text, names):
    """Replaces each name by the test's own."""
    for name, own in (names or {}).items():
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", own, text)
    return text


def commands(heading, number=0, names=None):
    """One of its shell blocks."""
    return named(blocks(heading)[number], names)


def run(script, folder, namespace=None, seconds=150):
    """(status, output) of commands in that folder, up to the first that fails. Their background processes end with them."""
    surroundings = dict(os.environ)
    if namespace:
        surroundings["KUBECONFIG"] = config = f"{folder}/kubeconfig"
        shutil.copy(os.environ["KUBECONFIG"], config)
        subprocess.run(["kubectl", "config", "set-context", "--current", f"--namespace={namespace}"], env=surroundings, check=True,
                       capture_output=True)
    if "ETCDCTL" in os.environ:
        surroundings["PATH"] = f"{os.path.dirname(os.environ['ETCDCTL'])}:{surroundings['PATH']}"
    # A pipe would stay open while a background process has it.
    at_end = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -eu\n"
    try:
        done = subprocess.run(["bash", "-c", at_end + script], cwd=folder, env=surroundings, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        return 124, f"no end in {seconds} s: {(late.stdout or b'').decode()}"
    return done.returncode, done.stdout.strip() + ("\n" + done.stderr.strip() if done.stderr.strip() else "")


if __name__ == "__main__":
    print(named("---\n".join(blocks(sys.argv[1], "yaml")), dict(word.split("=", 1) for word in sys.argv[2:])))
