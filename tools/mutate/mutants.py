"""The mutants: hand-made ones (mutants.txt) and generated ones, each with an id that survives unrelated edits."""

import dataclasses
import hashlib
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tidy"))
from tidy import without_comments  # noqa: E402

SWAPPED = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&"}
OPERATOR = re.compile(r"(?<=\s)(==|!=|<=|>=|<|>|&&|\|\|)(?=\s)")  # clang-format: only binary ones have space on both sides
NOT = re.compile(r"!(?=[\w(*])")
LITERAL = re.compile(r"\b(true|false)\b")
NUMBER = re.compile(r"(?<![\w.])(\d+)(?=(?:s|ms|U)?\b)")
TERNARY = re.compile(r"(?<=\s)\?(?=\s)")
CONDITION = re.compile(r"\bif \(")
STATEMENT = re.compile(r"^ +(?!return\b|using\b|case\b|else\b|do\b|co_)"
                       r"(?:\(void\)|\+\+|\*)?[\w:]+(?:(?:\.|->|\[)[^\n;{]*?)?(?: [|+]?= |\(|;)", re.M)
STATUS = re.compile(r'"(True|False)"')
STRING = re.compile(r'"(?:\\.|[^"\\\n])+"')
LOGGING = re.compile(r"with_?\.log\.")  # logging is not behaviour
FUNCTION = re.compile(r"^(?:[\w:]+::| {0,2}(?!return |else |using |throw )[\w:<>,&*]+(?: [\w:<>,&*]+)* [\w:&*]*?)"
                      r"(\w+|operator\(\))\([^;]*(?:[{},(]|;.*\})$")


class Stale(Exception):
    """The hand-made list does not fit the sources any more."""


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change of one file; `start` to `end` of its text becomes `new`."""

    id: str
    file: str
    what: str
    start: int
    end: int
    new: str

    def apply(self, text):
        return text[: self.start] + self.new + text[self.end:]


def closing(code, at):
    """Position of the bracket that closes the one at `at`; code is without comments and strings."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError(f"a bracket at {at} is not closed")


def conditions(code):
    """(start, end) of each `if` condition, without a declaration before it."""
    for match in CONDITION.finditer(code):
        start, end = match.end(), closing(code, match.end() - 1)
        depth = 0
        for i in range(start, end):
            depth += (code[i] in "([{") - (code[i] in ")]}")
            if code[i] == ";" and depth == 0:
                start = i + 2
        if not re.match(r"(const )?auto[&*]* \w+ =", code[start:end]):
            yield start, end


def statements(code):
    """(start, end) of each statement on its own line that assigns or calls."""
    for match in STATEMENT.finditer(code):
        start = match.end() - len(match[0].lstrip())
        if not code[:start].rstrip().endswith((";", "{", "}", ")")) or LOGGING.match(code, start):
            continue
        i = start
        while i < len(code) and code[i] != ";":
            if code[i] in ")]}":
                break  # The rest of an expression.
            i = closing(code, i) + 1 if code[i] in "([{" else i + 1
        if i < len(code) and code[i] == ";":
            yield start, i + 1


def changes(file, text, steps):
    """(operator, start, end, new) of each generated change of a file."""
    code = without_comments(text)
    quoted = without_comments(text, strings=True)
    for m in OPERATOR.finditer(code):
        yield f"{m[1]} to {SWAPPED[m[1]]}", m.start(), m.end(), SWAPPED[m[1]]
    for m in NOT.finditer(code):
        yield "! dropped", m.start(), m.end(), ""
    for m in LITERAL.finditer(code):
        other = {"true": "false", "false": "true"}[m[1]]
        yield f"{m[1]} to {other}", m.start(), m.end(), other
    for m in NUMBER.finditer(code):
        yield f"{m[1]} to {int(m[1]) + 1}", m.start(1), m.end(1), str(int(m[1]) + 1)
    for m in TERNARY.finditer(code):
        yield "? never", m.start(), m.end(), "&& false ?"
    for start, end in conditions(code):
        yield "if never", start, end, f"false && ({text[start:end]})"
    for start, end in statements(code):
        yield "statement dropped", start, end, ";"
    for m in STATUS.finditer(quoted):
        other = {"True": "False", "False": "True"}[m[1]]
        yield f"{m[1]} to {other}", m.start(), m.end(), f'"{other}"'
    if steps:
        for m in re.finditer(rf"(?<![<\w])({'|'.join(steps)})\{{", code):
            yield "no step", m.start(), closing(code, m.end() - 1) + 1, "NoStep{}"
    if file.endswith("/objects.cc"):
        for m in STRING.finditer(quoted):
            if "#include" not in quoted[quoted.rfind("\n", 0, m.start()) + 1: m.start()]:
                yield "other text", m.start(), m.end(), m[0][:-1] + '~"'


def function_at(code, at):
    """The name of the function that contains `at`."""
    name = ""
    for line in code[: code.find("\n", at)].split("\n"):
        if match := FUNCTION.match(line):
            name = match[1]
    return name


def part_at(text, at):
    """The text of the function that contains `at`, up to the next function."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(without_comments(text).split("\n")) if FUNCTION.match(line)]
    here = text.count("\n", 0, at)
    first = max([i for i in starts if i <= here], default=0)
    return "\n".join(lines[first: min([i for i in starts if i > here], default=len(lines))]).rstrip()


DO_IO = ("/reconciler.cc", "cluster/ask.cc", "members/etcd_observer.cc", "cluster/act.cc", "cluster/children.cc")


def generated(file, text, steps=()):
    """The generated mutants of a file. An id tells file, function, operator and a hash of the line, not its position."""
    code = without_comments(text)
    seen = {}
    for operator, start, end, new in sorted(changes(file, text, steps), key=lambda c: (c[1], c[0])):
        if file.endswith(DO_IO) and operator != "if never":
            continue  # For I/O only preconditions are mutated: larger tests see the rest.
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", start)
        line = " ".join(text[first:last].split())
        function = function_at(code, start)
        key = (function, operator, line)
        seen[key] = seen.get(key, -1) + 1
        mark = hashlib.sha1(repr((key, seen[key])).encode()).hexdigest()[:6]
        where = file.removeprefix("src/operator/").removesuffix(".cc")
        changed = " ".join(text[start:end].split())
        what = f"{operator}: `{line}`" if changed == line or len(changed) > 40 else f"{operator}, `{changed}` in `{line}`"
        yield Mutant(f"{where}:{function}:{mark}", file, what, start, end, new)


def listed(list_text, read):
    """The hand-made mutants. Each must fit its file exactly once, except for white space, and ids must be unique; else Stale."""
    out, ids = [], set()
    for block in re.split(r"\n(?=@ )", "\n" + list_text)[1:]:
        head, *lines = block.strip("\n").split("\n")
        match = re.fullmatch(r"@ (\S+) (\S+)", head)
        if not match:
            raise Stale(f"mutants.txt: not `@ FILE ID`: {head}")
        file, name = match[1], match[2]
        if name in ids:
            raise Stale(f"mutants.txt: {name} is there twice")
        ids.add(name)
        what = " ".join(line[2:] for line in lines if line.startswith("# "))
        old = "\n".join(line[1:] for line in lines if line.startswith("-"))
        new = "\n".join(line[1:] for line in lines if line.startswith("+"))
        # The formatter decides where lines end.
        found = list(re.finditer(r"\s+".join(map(re.escape, old.split())), read(file))) if old.strip() else []
        if not what or len(found) != 1:
            raise Stale(f"mutants.txt: {name}: its old text stands {len(found)} times in {file}, not once")
        out.append(Mutant(name, file, what, found[0].start(), found[0].end(), new))
    return out
