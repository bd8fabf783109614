#!/usr/bin/python3
"""mutate.py: do the tests notice when what decides is changed? One change at a time; the first test that fails ends it.

Sources are copied to out/mutate/src; the copy is built once, and nothing in it is ever changed: a mutant is compiled beside it
and linked in front of the library that has the original. The results are kept in out/mutate/results.jsonl, so that a run
that was stopped continues. --report writes docs/dev/mutants.md and out/mutate/report.md from it.
"""

import argparse
import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import mutants

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "out/mutate"
COPIED = ("CMakeLists.txt", "cmake/", "src/", "sim/", "api/", "test/", "tools/CMakeLists.txt")
FILES = tuple(f"src/operator/{name}.cc" for name in (
    "cluster/plan", "cluster/membership", "cluster/mode", "cluster/census", "cluster/conditions", "cluster/objects",
    "cluster/spec", "cluster/version_change", "member/plan", "member/conditions", "member/objects", "pods/etcd_pod",
    "passes/finalizer", "pods/member_endpoint", "passes/refusals", "passes/status_patch", "cluster/reconciler", "cluster/ask",
    "members/etcd_observer", "cluster/act", "cluster/children", "cluster/alarms", "cluster/unreachable", "cluster/security",
    "cluster/issuing", "cluster/served_certificates", "credentials/tls", "credentials/certificates", "credentials/passwords",
    "credentials/secrets", "credentials/sessions", "member/reconciler", "defrag/plan", "defrag/health", "defrag/rule",
    "defrag/reconciler", "cluster/restore_in_place", "cluster/intents", "cluster/member_report", "cluster/restoring",
    "member/restoring", "restore/plan", "restore/conditions", "restore/objects", "restore/reconciler", "snapshot/plan",
    "snapshot/verify_plan", "snapshot/conditions", "snapshot/objects", "snapshot/verify_job", "snapshot/reconciler",
    "snapshot_schedule/plan", "snapshot_schedule/conditions", "snapshot_schedule/timetable", "snapshot_schedule/objects",
    "snapshot_schedule/reconciler", "agents/agent_job", "agents/agent_jobs", "agents/agent_pod", "agents/verify_pod",
    "agents/snapshot_env"))
# Rooms that all controllers use.
ROOMS = "src/operator/(passes|pods|credentials|members|agents)/"
# The steps of a controller; NoStep is what each becomes.
STEPS = re.compile(r"using Step =\s*OneStepOf<([^>]*)>")


@dataclasses.dataclass(frozen=True)
class Killer:
    """A program that fails when it notices; it judges mutants of the files named. The cheapest come first."""

    name: str
    target: str
    arguments: tuple
    files: str
    until: str = None  # It need not go on after a line that begins so.

    def judges(self, file):
        return re.match(self.files, file) is not None


FAST = "--gtest_fail_fast"
KILLERS = (
    Killer("passes", "src/operator/passes/passes_test", (FAST,), "src/operator/passes/"),
    Killer("pods", "src/operator/pods/pods_test", (FAST,), "src/operator/pods/"),
    Killer("api", "api/api_test", (FAST,), "api/"),
    Killer("credentials", "src/operator/credentials/credentials_test", (FAST,), "src/operator/(credentials|passes)/"),
    Killer("agents", "src/operator/agents/agents_test", (FAST,), "src/operator/agents/"),
    Killer("etcd", "src/etcd/etcd_test", (FAST,), "src/etcd/"),
    Killer("http", "src/http/http_test", (FAST,), "src/http/"),
    Killer("kube", "src/kube/kube_test", (FAST,), "src/kube/"),
    Killer("sys", "src/sys/sys_test", (FAST,), "src/sys/"),
    Killer("runtime", "src/runtime/runtime_test", (FAST,), "src/runtime/"),
    Killer("cluster", "src/operator/cluster/cluster_test", (FAST, "--gtest_filter=-*.EverySmall*"),
           "src/operator/(cluster|passes|pods|credentials|members|agents)/"),
    Killer("member", "src/operator/member/member_test", (FAST,), "src/operator/(member|members|passes|pods|credentials|agents)/"),
    Killer("defrag", "src/operator/defrag/defrag_test", (FAST,), "src/operator/(defrag|members|passes)/"),
    Killer("snapshot", "src/operator/snapshot/snapshot_test", (FAST,), "src/operator/(snapshot|passes|pods|credentials|agents)/"),
    Killer("snapshot_schedule", "src/operator/snapshot_schedule/snapshot_schedule_test", (FAST,),
           "src/operator/(snapshot_schedule|agents|passes)/"),
    Killer("agent", "src/agent/agent_test", (FAST,), "src/agent/"),
    Killer("operator", "src/operator/operator_test", (FAST,),
           "src/operator/(operator|pass_boundary|passes/side_by_side)|src/kube/reflector"),
    Killer("restore", "src/operator/restore/restore_test", (FAST,), "src/operator/(restore|passes|pods|credentials|agents)/"),
    Killer("small worlds", "src/operator/cluster/cluster_test", (FAST, "--gtest_filter=*.EverySmall*"),
           "src/operator/cluster/(plan|census|spec|membership|mode|rule|intents)"),
    Killer("simulation", "simulate", ("--seeds", "21..60"), "src/(operator|runtime)/", until="seed "),
)
TESTS = ("src/", "sim/", "test/support/")  # Where the tests' sources are: if they change, a survivor is tried again.


def run(command, folder=OUT, seconds=None, until=None):
    """(exit status or None for one that did not end in time, output) of a shell command, with a bound on its memory.
    It is ended, as failed, with the first line of its output that begins with `until`."""
    job = subprocess.Popen(["bash", "-c", f"ulimit -v 8000000; {command}"], cwd=folder, text=True, errors="replace",
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    late = threading.Event()

    def end():
        late.set()
        os.killpg(job.pid, 9)  # A session of its own, begun above.
    bound = threading.Timer(seconds, end) if seconds else None
    try:
        if bound:
            bound.start()
        output = ""
        for line in job.stdout:
            output += line
            if until and line.startswith(until):
                os.killpg(job.pid, 9)
                job.wait()
                return 1, output
        status = job.wait()
        return (None, "") if late.is_set() else (status, output)
    except BaseException:
        os.killpg(job.pid, 9)
        raise
    finally:
        if bound:
            bound.cancel()


def must(command, folder=OUT):
    status, output = run(command, folder)
    if status != 0:
        sys.exit(f"mutate: {command}: failed\n{output[-4000:]}")
    return output


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout


def tracked():
    """The tree's files that are built, also those not yet added."""
    return [f for f in git("ls-files", "-co", "--exclude-standard").split("\n") if f.startswith(COPIED) and (ROOT / f).is_file()]


def commit():
    """The commit of the tree, and whether something was not committed."""
    return git("describe", "--always", "--dirty", "--exclude=*").strip()


def digest(text):
    return hashlib.sha1(text.encode()).hexdigest()[:12]


def part(mutant, text):
    return digest(mutants.part_at(text, mutant.start) + mutant.what)


class Tree:
    """The sources as they are now: all mutants, and what a result depends on."""

    def __init__(self, root=ROOT, files=FILES):
        self.root, self.digests = root, {}
        self.read = lambda name: (root / name).read_text()
        self.text = {name: self.read(name) for name in files}
        here = pathlib.Path(__file__).parent
        self.listed = mutants.listed((here / "mutants.txt").read_text(), self.read) if root == ROOT else []
        self.mutants = list(self.listed)
        self.text |= {m.file: self.read(m.file) for m in self.listed}
        for name in files:
            text = self.text[name]
            steps = ()
            if name.endswith("/plan.cc"):
                steps = re.split(r",\s*", self.steps_beside(name))
            self.mutants += mutants.generated(name, text, steps)

    def steps_beside(self, plan):
        """The steps that a plan.cc may give: its folder has them in step.h or plan.h."""
        for header in (plan.replace("plan.cc", "step.h"), plan.replace("plan.cc", "plan.h")):
            if (self.root / header).is_file() and (found := STEPS.search(self.read(header))):
                return found[1]
        sys.exit(f"mutate: no steps beside {plan}")

    def tests(self, file):
        """The tests that judge mutants of a file, as one digest: those of its folder, and the simulation."""
        folder = file.rsplit("/", 1)[0] if not re.search(ROOMS, file) else "src/operator"
        if folder not in self.digests:
            texts = [self.read(f) for f in sorted(tracked()) if f.startswith((folder, "sim/")) and "_test." in f]
            self.digests[folder] = digest("\n".join(texts) + repr([k for k in KILLERS if k.judges(file)]))
        return self.digests[folder]


class Results:
    """The results, one JSON line a mutant; if a mutant has several lines, the last one counts."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if path.exists():
            for line in path.read_text().split("\n"):
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # The line that was being written when the run was stopped.
                self.rows[row["id"]] = row

    def of(self, mutant, text, tests, is_there=lambda test: True):
        """The mutant's result if it still holds, or None. A survivor's holds for the same change of the same file, with
        the same tests. A killed mutant's holds while its function is unchanged and the test that killed it exists."""
        row = self.rows.get(mutant.id)
        if not row or row["part"] != part(mutant, text):
            return None
        if row["verdict"] == "killed":
            return row if is_there(row["by"]) else None
        return row if row["file"] == digest(mutant.apply(text)) and row["tests"] == tests else None

    def add(self, row):
        self.rows[row["id"]] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as out:
            out.write(json.dumps(row) + "\n")


class Bench:
    """The build in which mutants are tried."""

    def __init__(self):
        self.src, self.build, self.here = OUT / "src", OUT / "build", OUT / "mutant"
        for folder in (self.src, self.build, self.here):
            folder.mkdir(parents=True, exist_ok=True)
        self.copy()
        # "-O0" lets the small worlds be compiled with -O1; compiler() is for the mutants, of which few get that far.
        must(f"cmake -G Ninja -S {self.src} -B {self.build} -DCMAKE_CXX_COMPILER=clang++-19"
             " -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
             " '-DCMAKE_CXX_FLAGS=-O0 -g0 -D_GLIBCXX_ASSERTIONS'")
        targets = sorted({k.target for k in KILLERS})
        print("mutate: building the original", flush=True)
        must(f"ninja -C {self.build} -j 2 --quiet " + " ".join(targets))
        self.link = {t: must(f"ninja -C {self.build} -t commands {t}").strip().split("\n")[-1] for t in targets}
        compiled = json.loads((self.build / "compile_commands.json").read_text())
        self.compile = {c["file"].removeprefix(f"{self.src}/"): c["command"] for c in compiled}
        self.headers = {}
        self.seconds = {}
        for killer in KILLERS:
            start = time.monotonic()
            status, output = run(f"exec {self.build}/{killer.target} " + " ".join(map(repr, killer.arguments)), self.here)
            if status != 0:
                sys.exit(f"mutate: {killer.name}: fails without any mutant\n{output[-4000:]}")
            self.seconds[killer.name] = time.monotonic() - start

    def copy(self):
        wanted = set(tracked())
        for name in wanted:
            text, copy = (ROOT / name).read_bytes(), self.src / name
            if not copy.exists() or copy.read_bytes() != text:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(text)
        for old in self.src.rglob("*"):
            if old.is_file() and str(old.relative_to(self.src)) not in wanted:
                old.unlink()

    def compiler(self, file):
        """The command that compiles a file, without its output and input, with its headers compiled before."""
        if file not in self.headers:
            words = self.compile[file].removeprefix("/usr/bin/ccache ").removeprefix("ccache ")
            words = re.sub(r" -o \S+ -c \S+$", " -w", words.replace(" -Werror", "").replace(" -O1", ""))
            header = self.here / (file.replace("/", "_") + ".h")
            header.write_text("\n".join(re.findall(r"^#include .*", (self.src / file).read_text(), re.M)) + "\n")
            must(f"{words} -x c++-header {header} -o {header}.pch", self.build)
            self.headers[file] = f"{words} -include-pch {header}.pch"
        return self.headers[file]

    def judge(self, mutant, text):
        """(verdict, killer) of one mutant: killed by a test, survived, or invalid as it does not compile."""
        if mutant.file.endswith(".h"):
            return self.judge_header(mutant, text)
        source, made = self.here / "mutant.cc", self.here / "mutant.o"
        source.write_text(mutant.apply(text))
        command = f"{self.compiler(mutant.file)} -c {source} -o {made}"
        status, output = run(command, self.build, 120)
        if status != 0:
            return "invalid", output[:200]
        program = {}
        for killer in KILLERS:
            if not killer.judges(mutant.file):
                continue
            if killer.target not in program:
                program[killer.target] = path = self.here / pathlib.Path(killer.target).name
                # The first definition wins: the archive's is not even looked at.
                must(self.link[killer.target].replace(f" -o {killer.target} ", f" -o {path} {made} -Wl,-z,muldefs "), self.build)
            if by := self.killed_by(killer, program[killer.target]):
                return "killed", by
        return "survived", ""

    def killed_by(self, killer, program):
        """The test, or the limit, that the program's mutant failed; None: it passed."""
        arguments = " ".join(map(repr, killer.arguments))
        bound = 20 + 10 * self.seconds[killer.name]
        status, output = run(f"exec {program} {arguments}", self.here, bound, killer.until)
        if status is None:
            return f"{killer.name}: no end in {bound:.0f} s"
        return who(killer, output) if status != 0 else None

    def judge_header(self, mutant, text):
        """The same of a header: whatever includes it is built again, and once more when it is over."""
        header = self.src / mutant.file
        header.write_text(mutant.apply(text))
        try:
            for killer in KILLERS:
                if not killer.judges(mutant.file):
                    continue
                status, output = run(f"ninja -C {self.build} -j 2 --quiet {killer.target}")
                if status != 0:
                    return "invalid", output[:200]
                if by := self.killed_by(killer, self.build / killer.target):
                    return "killed", by
            return "survived", ""
        finally:
            header.write_text(text)
            self.headers.clear()  # They were compiled before this write.
            must(f"ninja -C {self.build} -j 2 --quiet " + " ".join(sorted({k.target for k in KILLERS})))


def who(killer, output):
    """The test, or the seed and its invariant, that failed, or what was running when the program broke."""
    if seed := re.search(r"^seed \d+: [^:\n]*", output, re.M):
        return f"{killer.name}, {seed[0]}"
    failed = re.search(r"\[  FAILED  \] (\w+\.\w+)", output) or re.search(r"\[ RUN +\] (\w+\.\w+)(?!.*\[ RUN)", output, re.S)
    return failed[1] if failed else killer.name


def explained(text):
    """id -> why it does no harm, from lines `ID: WHY`; a line that begins with blanks goes on."""
    out, name = {}, ""
    for line in text.split("\n"):
        if line.startswith("#") or not line.strip():
            continue
        if line[0] == " ":
            out[name] += " " + line.strip()
        else:
            name, _, why = line.partition(": ")
            out[name] = why.strip()
    return out


def known_tests(tree):
    """Whether a test that killed once is still there."""
    text = "\n".join(tree.read(f) for f in tracked() if f.startswith(TESTS) and f.endswith("_test.cc"))
    return lambda by: "." not in by or "," in by or re.search(rf"\b{re.escape(by.split('.')[-1])}\b", text) is not None


def table(rows):
    cells = "\n".join(f"| `{m.id}` | " + m.what.replace("|", "\\|") + f" | {told} |" for m, told in rows)
    return f"| Mutant | What was changed | What came of it |\n|---|---|---|\n{cells}\n"


def report(tree, results, why, at):
    """(the whole list, the page for docs/dev/mutants.md, how many of them need a look)."""
    there = known_tests(tree)
    count, by_hand, unexplained = collections.Counter(), collections.Counter(), 0
    per_folder, rows, seconds = collections.defaultdict(collections.Counter), {True: [], False: []}, 0.0
    survivors = []
    for mutant in tree.mutants:
        row = results.of(mutant, tree.text[mutant.file], tree.tests(mutant.file), there)
        verdict = row["verdict"] if row else "not run"
        count[verdict] += 1
        per_folder[mutant.file.rsplit("/", 1)[0]][verdict] += 1
        by_hand[verdict] += mutant in tree.listed
        seconds += row["seconds"] if row else 0
        told = f"killed by {row['by']}" if verdict == "killed" else "**not run**"
        if verdict == "survived":
            told = "survived: " + why.get(mutant.id, "**unexplained**")
            unexplained += mutant.id not in why
            count["explained"] += mutant.id in why
            survivors.append((mutant, told))
        elif verdict == "invalid" and mutant in tree.listed:
            told = "**does not compile**: it must be written anew"
            unexplained += 1
            survivors.append((mutant, told))
        if verdict != "invalid" or mutant in tree.listed:
            rows[mutant in tree.listed].append((mutant, told))
    judged = count["killed"] + count["survived"]
    names = ("killed", "survived", "invalid", "not run")
    folders = "\n".join(f"| `{f}` | " + " | ".join(str(c[n]) for n in names) + " |" for f, c in sorted(per_folder.items()))
    head = f"""# Mutants

Do the tests notice when a decision is changed? `./dev mutate --report` writes this page, and the result of every mutant
into `out/mutate/report.md`; do not edit it. `tools/mutate/mutants.txt` has the hand-made mutants,
`tools/mutate/explained.txt` says why a survivor does no harm.

Made at commit {at}. Of {len(tree.mutants)} mutants ({len(tree.listed)} by hand, the others generated)
{judged + count['invalid']} were tried; {count['invalid']} do not compile and do not count.
**{count['killed']} of {judged} were killed, {100 * count['killed'] / max(judged, 1):.1f} %**;
{count['survived']} survived, {count['explained']} of them with an explanation. {seconds / max(judged, 1):.1f} s a mutant.

Of those by hand, which put known defects back: {by_hand['killed']} killed, {by_hand['survived']} survived,
{by_hand['invalid']} do not compile, {by_hand['not run']} not run.
"""
    page = f"""{head}
| Folder | Killed | Survived | Do not compile | Not run |
|---|---|---|---|---|
{folders}

## Survivors

""" + ("\n".join(f"- `{m.id}`: {m.what.strip()}. {told[0].upper() + told[1:]}" for m, told in survivors) or "None known.") + "\n"
    return f"""{head}
## Made by hand: known defects put back

{table(rows[True])}
## Generated

An id is file, function and a hash of the line; the line's number does not matter.

{table(rows[False])}""", page, unexplained


def main():
    words = argparse.ArgumentParser(prog="./dev mutate", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--only", metavar="REGEX", help="only mutants whose id, file or change matches")
    words.add_argument("--by-hand", action="store_true", help="only the hand-made ones")
    words.add_argument("--since", metavar="COMMIT", help="only mutants of files that changed since that commit")
    words.add_argument("--every", type=int, default=1, metavar="N", help="only one in N of the generated ones")
    words.add_argument("--limit-minutes", type=float, metavar="M", help="stop after so long; the next run goes on")
    words.add_argument("--again", action="store_true", help="forget what came out before")
    words.add_argument("--list", action="store_true", help="say what would be changed, and stop")
    words.add_argument("--report", action="store_true",
                       help="write docs/dev/mutants.md and out/mutate/report.md; fails if a survivor has no explanation")
    asked = words.parse_args()
    try:
        tree = Tree()
    except mutants.Stale as stale:
        sys.exit(f"mutate: {stale}")
    if asked.again:
        (OUT / "results.jsonl").unlink(missing_ok=True)
    results = Results(OUT / "results.jsonl")
    if asked.report:
        why = explained((pathlib.Path(__file__).parent / "explained.txt").read_text())
        whole, page, unexplained = report(tree, results, why, commit())
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / "report.md").write_text(whole)
        (ROOT / "docs/dev/mutants.md").write_text(page)
        print(re.search(r"^Made at.*?not run\.$", page, re.M | re.S)[0].replace("**", ""))
        sys.exit(f"mutate: {unexplained} survive unexplained, or were made by hand and do not compile" if unexplained else 0)
    there = known_tests(tree)
    # By hand first, the others in an order that mixes the files: a run that is stopped early has seen a bit of each.
    mixed = sorted((m for m in tree.mutants if m not in tree.listed), key=lambda m: digest(m.id))
    changed = set(git("diff", "--name-only", asked.since).split()) if asked.since else None
    todo = [m for m in tree.listed + ([] if asked.by_hand else mixed[:: asked.every])
            if (not asked.only or re.search(asked.only, f"{m.id} {m.file} {m.what}"))
            and (changed is None or m.file in changed)]
    if asked.list:
        for m in todo:
            print(m.id, m.what)
        return
    done = {m.id for m in todo
            if results.of(m, tree.text[m.file], tree.tests(m.file), there)}
    print(f"mutate: {len(todo)} mutants, {len(done)} of them known", flush=True)
    if len(done) == len(todo):
        return
    end = time.monotonic() + 60 * asked.limit_minutes if asked.limit_minutes else None
    bench, at = Bench(), commit()
    for mutant in todo:
        if mutant.id in done:
            continue
        if end and time.monotonic() > end:
            print("mutate: time is up; run it again to go on")
            return
        start = time.monotonic()
        verdict, by = bench.judge(mutant, tree.text[mutant.file])
        spent = time.monotonic() - start
        text = tree.text[mutant.file]
        results.add({"id": mutant.id, "verdict": verdict, "by": by, "seconds": round(spent, 1), "at": at,
                     "part": part(mutant, text), "file": digest(mutant.apply(text)), "tests": tree.tests(mutant.file)})
        print(f"{verdict:9} {spent:5.1f} s  {mutant.id}  {mutant.what}  {by if verdict == 'killed' else ''}", flush=True)


if __name__ == "__main__":
    main()
