#!/usr/bin/python3
"""tidy.py [ROOT]: the tree's own rules, which no compiler knows.

One line per violation, `FILE:LINE: what and what to do`.
Each rule is a generator over a Tree; tidy_test.py has a tree for each that must be refused.
"""

import io
import os
import pathlib
import re
import subprocess
import sys
import tokenize

CODE_FOLDERS = ("src", "sim", "api", "test", "tools")
COLUMNS = {".h": 100, ".cc": 100, ".py": 132, ".cmake": 132, ".sh": 132}
MARKDOWN_COLUMNS = 120
GENERATED = ("docs/user/api.md", "docs/dev/mutants.md", "src/etcd/flag_table.h", "src/schedule/zone_table.cc",
             "charts/etcd-operator/files/")

# Words that no Markdown and no comment uses -> what to write instead (CONTRIBUTING.md, "How we write").
WORDS = (
    (r"the reference(?! to\b)", "the Go operator"),
    (r"anew", "again; an object is recreated"),
    (r"whom", "the actor's name: the operator, a user, another controller"),
    (r"(?:is|are|was|were|be) away", "unreachable"),
)
# No sentence begins so -> what to write instead. A question may begin with What.
BEGINNINGS = {
    "Of": "the noun: \"The name of ...\", \"For a Secret, ...\"",
    "Who": "the actor's name: \"A client that ...\"",
    "Whom": "the actor's name: \"The member that the operator asks\"",
    "Whose": "the noun: \"The member with that id\"",
    "Those": "the noun: \"The members that ...\"",
    "Nobody": "\"No member ...\", \"No client ...\"",
    "What": "the noun: \"The report of ...\", \"The fields that ...\"",
}

REAL_WORLD = re.compile(  # only src/sys and src/main know these
    r"\b(system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday|getenv|setenv|environ"
    r"|random_device|default_random_engine|getrandom|arc4random\w*|s?rand|rand_r|drand48|RAND_bytes"
    r"|this_thread|usleep|nanosleep)\b"
    r"|(?<!\w)(?:std)?::(?:time|sleep|random)\s*\(|(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0|&)"
)
COROUTINE = re.compile(r"\bco_(await|return|yield)\b")
DISTRIBUTION = re.compile(r"\bstd::\w+_distribution\b")
UNORDERED = re.compile(r"\bunordered_(multi)?(map|set)\b")
UNGRANTED = re.compile(r"\bkube::(Api\b|(get|list|create|apply|merge_patch|json_patch|remove|Reflector|ListWatch)\s*[<(])")
NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) \{")
TYPE = re.compile(r"(?:struct|class|union|enum|enum class) (\w+)(?: final)?(?: : [^;]*)? \{")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# third party -> how many files may include it, as its headers cost seconds each
HEAVY = {"boost/asio": 1, "boost/beast": 2, "spdlog/": 1, "CLI/": 1}
LAYER = re.compile(r'"([\w-]+)=(\d+)"')
FORBIDDEN = [(re.compile(r"(?<![\w-])" + word.replace(" ", r"\s+") + r"(?![\w-])", re.I), instead) for word, instead in WORDS]
BEGINNING = re.compile(rf"(?:^|[.!?:][\"')*_]*\s)\s*[\"'(\[*_]*({'|'.join(BEGINNINGS)})(?=[*_]*\s|')")
END = re.compile(r"[.!?](?=[\"')*_\]]*(?:\s|$))")
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")  # of a list
CODE_SPAN = re.compile(r"`[^`]*`")
STRING = r'"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
COMMENTS = {  # suffix -> strings, or a comment as a group
    ".cc": re.compile(rf'(//[^\n]*)|/\*.*?\*/|R"(\w*)\(.*?\)\2"|{STRING}', re.S),
    ".go": re.compile(rf"(//[^\n]*)|/\*.*?\*/|`[^`]*`|{STRING}", re.S),
    ".sh": re.compile(rf"(?<!\S)(#[^\n]*)|{STRING}"),
}
COMMENTS |= {".h": COMMENTS[".cc"], ".yaml": COMMENTS[".sh"]}
TOP_FOLDERS = {"test": "testing"}  # folders whose layer has another name


def without_comments(text, strings=False):
    """The text with comments (and strings, unless `strings`) blanked, line by line where it was."""
    token = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''

    def blank(match):
        if strings and not match[0].startswith("/"):
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return re.sub(token, blank, text, flags=re.S)


def python_comments(text):
    """(line, column, text) of each line of a comment or a docstring; the column of a docstring is -1."""
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number, column = token.start
        if token.type == tokenize.COMMENT:
            yield number, column, token.string
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            for line in token.string.strip("\"'").split("\n"):
                yield number, -1, line.strip()
                number += 1
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def comments(suffix, text):
    """(line, column, text) of each line that has a comment."""
    if suffix == ".py":
        yield from python_comments(text)
        return
    for match in COMMENTS[suffix].finditer(text):
        if match[1]:
            yield text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start()) - 1, match[1]


def comment_paragraphs(suffix, text):
    """Paragraphs and list items of the comments: each is [(line, text)]."""
    lines, paragraph, at = text.split("\n"), [], None
    for number, column, comment in comments(suffix, text):
        comment = re.sub(r"^(?://+!?<?|#+!?)\s?", "", comment)
        alone = column < 0 or not lines[number - 1][:column].strip()
        if paragraph and not (alone and at == (number - 1, column) and comment.strip() and not ITEM.match(comment)):
            yield paragraph
            paragraph = []
        if comment.strip():
            paragraph.append((number, comment if paragraph else ITEM.sub("", comment, count=1)))
        at = number, column
    if paragraph:
        yield paragraph


def markdown_paragraphs(text):
    """Paragraphs, list items, headings and table cells of Markdown: each is [(line, text)]. Code in fences is none."""
    paragraph, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        line = "" if fenced or fence else re.sub(r"^\s*>\s?", "", line)
        item = ITEM.match(line)
        ends = not line.strip() or line.lstrip().startswith(("|", "#"))
        if paragraph and (item or ends):
            yield paragraph
            paragraph = []
        if line.lstrip().startswith("|"):
            yield from ([(number, cell)] for cell in CODE_SPAN.sub("`", line).split("|") if cell.strip())
        elif ends:
            yield [(number, line)]
        else:
            paragraph.append((number, line[item.end():] if item else line))
    if paragraph:
        yield paragraph


class Tree:
    """The tracked files below a root and what the rules ask of them."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
            check=True, capture_output=True, text=True)
        self.files = sorted(f for f in listed.stdout.split("\n") if f and (self.root / f).is_file())
        self.text = {}
        for name in self.files:
            folder = name.split("/")[0]
            if folder in CODE_FOLDERS + ("cmake", "dev") or name.endswith((".md", ".txt", ".yaml")):
                self.text[name] = (self.root / name).read_text(errors="replace")
        self.cpp = [f for f in self.files if f in self.text and f.endswith((".h", ".cc"))]
        self.code = {f: without_comments(self.text[f]) for f in self.cpp}
        table = self.text.get("cmake/etcdop.cmake", "")
        self.layers = {name: int(layer) for name, layer in LAYER.findall(table)}

    def folder(self, name):
        """The name in the layer table of the folder that a file is in."""
        parts = name.split("/")[:-1]
        if parts[:2] == ["src", "operator"] and len(parts) > 2:
            return parts[2]
        if parts and parts[0] == "src":
            return parts[1] if len(parts) > 1 else "src"
        return TOP_FOLDERS.get(parts[0], parts[0]) if parts else ""

    def includes(self, name):
        """(line, quoted, path) of each #include of a file."""
        text = without_comments(self.text[name], strings=True)
        for number, line in enumerate(text.split("\n"), 1):
            if match := INCLUDE.match(line):
                yield number, match[1] == '"', match[2]

    def resolve(self, name, include):
        """The file of ours that an include means, or None."""
        for candidate in (f"src/{include}", include, f"{name.rpartition('/')[0]}/{include}"):
            if candidate in self.text:
                return candidate
        return None


def matches(tree, names, pattern):
    for name in names:
        for number, line in enumerate(tree.code[name].split("\n"), 1):
            if match := pattern.search(line):
                yield name, number, match[0].strip(" (")


def columns(tree):
    """C++ fits 100 columns, scripts fit 132."""
    for name, text in tree.text.items():
        limit = COLUMNS.get(pathlib.PurePath(name).suffix)
        if limit is None:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > limit and "://" not in line:
                yield f"{name}:{number}: {len(line)} columns; the limit is {limit}"


def markdown_columns(tree):
    """Markdown fits 120 columns, but for code in fences."""
    for name, text in tree.text.items():
        fenced = False
        if not name.endswith(".md") or name.startswith(GENERATED):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            fence = line.lstrip().startswith("```")
            fenced ^= fence
            if len(line) > MARKDOWN_COLUMNS and not fenced and not fence:
                yield f"{name}:{number}: {len(line)} columns; the limit is {MARKDOWN_COLUMNS}"


def house_english(tree):
    """Markdown and comments have no word of WORDS, and no sentence in them begins as in BEGINNINGS."""
    for name, text in tree.text.items():
        suffix = ".sh" if name == "dev" else pathlib.PurePath(name).suffix
        if name.startswith(GENERATED) or suffix not in (".md", ".py", *COMMENTS):
            continue
        for paragraph in markdown_paragraphs(text) if suffix == ".md" else comment_paragraphs(suffix, text):
            prose = "\n".join(line.strip() for _, line in paragraph)
            prose = CODE_SPAN.sub(lambda code: "`" + "\n" * code[0].count("\n"), prose)
            prose = re.sub(r"\]\([^)\n]*\)", "]", prose)  # where a link leads
            found = [(match, instead) for word, instead in FORBIDDEN for match in word.finditer(prose)]
            for match in BEGINNING.finditer(prose):
                end = END.search(prose, match.end())
                if match[1] != "What" or not end or end[0] != "?":
                    found.append((match, BEGINNINGS[match[1]]))
            for match, instead in found:
                group = match.lastindex or 0  # BEGINNING has one
                number, _ = paragraph[prose.count("\n", 0, match.start(group))]
                where, said = "a sentence begins with " if group else "", " ".join(match[group].split())
                yield f'{name}:{number}: {where}"{said}"; write instead: {instead}'


def messages_in_house_english(tree):
    """Conditions, Events, errors and log lines name the actor, too: strings of src/ have no word of WORDS, and no "nobody"."""
    words = [*FORBIDDEN, (re.compile(r"\b(nobody|somebody|whoever)\b"), "the actor's name, or \"no member\"")]
    for name in (f for f in tree.cpp if f.startswith("src/") and not f.endswith("_test.cc")):
        for number, line in enumerate(tree.text[name].split("\n"), 1):
            for literal in [] if line.lstrip().startswith("//") else re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                for word, instead in words:
                    if found := word.search(literal):
                        yield f'{name}:{number}: "{found[0]}" in a string; write instead: {instead}'


def real_world(tree):
    """Clock, randomness, environment and sleep are passed in."""
    names = [f for f in tree.cpp
             if f.startswith(("src/", "sim/")) and not f.startswith(("src/sys/", "src/main/"))]
    for name, number, word in matches(tree, names, REAL_WORLD):
        yield (f"{name}:{number}: {word}: only src/sys and src/main know the real world; "
               "take it by constructor")


def coroutines(tree):
    """Fibers, not coroutines (docs/dev/adr)."""
    for name, number, word in matches(tree, tree.cpp, COROUTINE):
        yield f"{name}:{number}: {word}: code runs on fibers; g++ 12 miscompiles coroutines"


def distributions(tree):
    """A seed gives the same history with every standard library."""
    names = [f for f in tree.cpp if f.startswith(("src/", "sim/"))]
    for name, number, word in matches(tree, names, DISTRIBUTION):
        yield f"{name}:{number}: {word}: differs between libraries; use the Random interface"


def unordered(tree):
    """Decisions do not depend on a hash's order."""
    names = [f for f in tree.cpp if f.startswith("src/operator/")]
    for name, number, word in matches(tree, names, UNORDERED):
        yield f"{name}:{number}: {word}: its order is not defined; use std::map or a sorted vector"


def granted(tree):
    """Controllers and leader election call the API under a table of permissions (src/kube/granted.h)."""
    names = [f for f in tree.cpp if f.startswith(("src/operator/", "src/runtime/"))
             and not f.endswith("_test.cc") and not f.startswith("src/operator/operator.")]
    for name, number, word in matches(tree, names, UNGRANTED):
        yield f"{name}:{number}: {word}: take a kube::Granted, so that what has no row does not compile"


def types_twice(tree):
    """Two types of one name make one destructor, and a linker takes either: no compiler sees both."""
    first = {}
    for name in tree.cpp:
        spaces = []
        lines = zip(tree.code[name].split("\n"), tree.text[name].split("\n"))
        for number, (line, with_comment) in enumerate(lines, 1):
            if space := NAMESPACE.match(line):
                spaces.append(space[1])
            elif spaces and with_comment.startswith("}  // namespace"):
                spaces.pop()
            elif (found := TYPE.match(line)) and "" not in spaces:
                full = "::".join(spaces + [found[1]])
                here = f"{name}:{number}"
                if (other := first.setdefault(full, here)) != here:
                    yield f"{here}: {full} is defined in {other}, too; rename one of them"


def upward_includes(tree):
    """A file includes its own folder and lower layers; tests may use sim/ as well."""
    for name in tree.cpp:
        here = tree.folder(name)
        if not name.startswith(("src/", "sim/", "api/")):
            continue
        if here not in tree.layers:
            yield f"{name}:1: folder {here} has no layer in cmake/etcdop.cmake"
            continue
        for number, quoted, include in tree.includes(name):
            target = tree.resolve(name, include) if quoted else None
            if target is None:
                continue
            there = tree.folder(target)
            if there == here or name.startswith("sim/") and there not in ("main", "testing"):
                continue
            if name.endswith("_test.cc") and there in ("sim", "testing"):
                continue
            if tree.layers.get(there, 99) >= tree.layers[here]:
                yield (f"{name}:{number}: {here} may not include {target}: "
                       "it is not in a lower layer")


def named_by_cmake(tree):
    """No source is left out of the build; no header is included by nobody."""
    lists = {}
    for f, text in tree.text.items():
        if f.endswith("CMakeLists.txt") or f.endswith(".cmake"):
            folder = f.rpartition("/")[0]
            lists[folder] = lists.get(folder, "") + re.sub(r"#.*", "", text)
    included = {tree.resolve(f, i) for f in tree.cpp for _, _, i in tree.includes(f)}
    for name in tree.cpp:
        parts = name.split("/")
        named = False
        for depth in range(len(parts)):
            text = lists.get("/".join(parts[:depth]), "")
            path = re.escape("/".join(parts[depth:]))
            named = named or re.search(rf"(?<![\w./-]){path}(?![\w./-])", text) is not None
        if not named and name.endswith(".cc"):
            yield f"{name}:1: no CMakeLists.txt names it"
        if not named and name.endswith(".h") and name not in included:
            yield f"{name}:1: no CMakeLists.txt names it and nothing includes it"


def heavy_headers(tree):
    """Libraries that cost seconds a file stay behind a header of ours."""
    for library, most in HEAVY.items():
        users = sorted({f for f in tree.cpp for _, _, i in tree.includes(f)
                        if i.startswith(library)})
        if len(users) > most:
            yield (f"{users[-1]}:1: {library} is included by {len(users)} files, "
                   f"the limit is {most}: {' '.join(users)}")


def headers_once(tree):
    """#pragma once, and a source includes its own header first: it is known to stand alone."""
    for name in tree.cpp:
        if name.endswith(".h"):
            if "#pragma once" not in tree.text[name]:
                yield f"{name}:1: #pragma once is missing"
            continue
        own = name[:-3] + ".h"
        first = next(((n, tree.resolve(name, i)) for n, _, i in tree.includes(name)), (1, None))
        if own in tree.text and first[1] != own:
            yield (f"{name}:{first[0]}: its first include must be {own}, "
                   "so that this is known to stand alone")


def layer_table(tree):
    """docs/dev/architecture.md shows the layers that the build enforces."""
    name = "docs/dev/architecture.md"
    if name not in tree.text:
        return
    shown = {}
    for number, line in enumerate(tree.text[name].split("\n"), 1):
        if row := re.match(r"\|\s*(\d+)\s*\|([^|]*)\|", line):
            for folder in re.findall(r"`([\w/-]+)`", row[2]):
                shown[folder.split("/")[-1]] = int(row[1]), number
    shown_layers = {TOP_FOLDERS.get(folder, folder): layer for folder, (layer, _) in shown.items()}
    for folder in sorted(tree.layers.keys() | shown_layers.keys()):
        if tree.layers.get(folder) != shown_layers.get(folder):
            where = shown.get(folder, (0, 1))[1]
            yield (f"{name}:{where}: {folder} is in layer {shown_layers.get(folder, 'none')} here, "
                   f"{tree.layers.get(folder, 'none')} in cmake/etcdop.cmake")


def reasons_explained(tree):
    """docs/user/operations.md has a section for each condition reason that the operator sets."""
    page = "docs/user/operations.md"
    files = [f for f in tree.cpp if f.startswith("src/operator/") and not f.endswith("_test.cc")]
    operator = "".join(tree.code[f] for f in files)
    for name in sorted(f for f in tree.text if re.fullmatch(r"api/v1alpha2/\w+\.h", f)):
        _, _, reasons = tree.text[name].partition("// Reasons")
        reasons, _, _ = reasons.partition("// Reasons of Events")
        for constant, reason in re.findall(r'(k\w+) = "(\w+)"', reasons):
            if re.search(rf"\b{constant}\b", operator) and f"\n### {reason}\n" not in tree.text.get(page, ""):
                yield f"{page}:1: has no section \"### {reason}\", a reason that the operator sets ({name})"


def metrics_explained(tree):
    """docs/user/operations.md has a row for each metric of ours, and no other."""
    page = "docs/user/operations.md"
    rows = {}
    for number, line in enumerate(tree.text.get(page, "").split("\n"), 1):
        if row := re.match(r"\| `(etcd_operator_\w+)` \|", line):
            rows[row[1]] = number
    files = [f for f in tree.cpp if f.startswith("src/") and not f.endswith("_test.cc")]
    ours = {name for f in files for name in re.findall(r'"(etcd_operator_\w+)"', without_comments(tree.text[f], strings=True))}
    for name in sorted(ours - rows.keys()):
        yield f"{page}:1: has no row for the metric {name}"
    for name in sorted(rows.keys() - ours):
        yield f"{page}:{rows[name]}: there is no metric {name}"


def tests_are_there(tree):
    """Each test that docs/dev/safety.md names for a weakness (a row that begins with W or P) or a threat (T) is in the tests."""
    page = "docs/dev/safety.md"
    tests = "".join(tree.text[f] for f in tree.text if f.startswith(("sim/scenarios/", "test/")) or f.endswith("_test.cc"))
    for number, line in enumerate(tree.text.get(page, "").split("\n"), 1):
        if re.match(r"\| [WPT]\d", line):
            for name in re.findall("`([^`]+)`", line):
                if name not in tests:
                    yield f"{page}:{number}: no test is named {name}"


RUNBOOKS = [f"docs/user/{page}.md" for page in ("backup", "store", "restore", "restore-in-place", "recover", "agents")]
# Sections of these pages whose commands no test runs, and why.
BY_NO_TEST = {"A cluster that has lost its quorum": "they are for a node that is lost for good"}


def runbooks_run(tree):
    """Tests run the shell blocks of these pages (test/recipes/runbook.py): each section that has one is named there."""
    tests = "".join(text for name, text in tree.text.items() if name.startswith("test/") and name.endswith((".py", ".yaml")))
    for page in RUNBOOKS:
        heading = ""
        for number, line in enumerate(tree.text.get(page, "").split("\n"), 1):
            if line.startswith("##"):
                heading = line.lstrip("# ")
            if line == "```sh" and heading not in BY_NO_TEST and not re.search(rf'("|runbook: ){re.escape(heading)}("|\n)', tests):
                yield f"{page}:{number}: no test runs the commands of \"{heading}\""


def anchors_are_there(tree):
    """A link to a section of one of our pages: the page has a heading with these words."""
    anchors = {}
    for name in (f for f in tree.text if f.endswith(".md")):
        prose = re.sub(r"^```.*?^```", "", tree.text[name], flags=re.M | re.S)
        titles = re.findall(r"^#+ (.*)$", prose, re.M)
        anchors[name] = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    for name in anchors:
        for number, line in enumerate(tree.text[name].split("\n"), 1):
            for path, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", line):
                page = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                if page in anchors and anchor not in anchors[page]:
                    yield f"{name}:{number}: {page} has no section #{anchor}"


RULES = (columns, markdown_columns, house_english, messages_in_house_english, real_world, coroutines, distributions, unordered,
         granted, types_twice, upward_includes, named_by_cmake, heavy_headers, headers_once, layer_table, reasons_explained,
         metrics_explained, tests_are_there, runbooks_run, anchors_are_there)


def unproven_headers(tree):
    """Headers that no source includes first; tools/lint.sh compiles each alone."""
    proven = set()
    for name in tree.cpp:
        if name.endswith(".cc"):
            first = next((tree.resolve(name, i) for _, _, i in tree.includes(name)), None)
            proven.add(first)
    return [f for f in tree.cpp if f.endswith(".h") and f not in proven]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    tree = Tree(str(root))
    found = [violation for rule in RULES for violation in rule(tree)]
    good = f"tidy: {len(tree.text)} files, {len(RULES)} rules: nothing to say"
    print("\n".join(found) if found else good)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
