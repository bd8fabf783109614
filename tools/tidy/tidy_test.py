#!/usr/bin/python3
"""For each rule of tidy.py: a tree with the fault is refused, and the same tree without it is accepted."""

import pathlib
import subprocess
import tempfile
import unittest

import tidy

GOOD = {
    "cmake/etcdop.cmake": 'foreach(layer "base=0" "sys=1" "http=2" "cluster=5" "main=7" "sim=8")\n',
    "src/base/CMakeLists.txt": "etcdop_library(base SOURCES base.h base.cc TESTS base_test.cc)\n",
    "src/base/base.h": "#pragma once\n",
    "src/base/base.cc": '#include "base/base.h"\n// co_await, rand(), "system_clock": only words here\n',
    "src/base/base_test.cc": '#include "base/base.h"\n#include "sim/sim.h"\n',
    "src/sys/CMakeLists.txt": "etcdop_library(sys SOURCES sys.h sys.cc)\n",
    "src/sys/sys.h": "#pragma once\n",
    "src/sys/sys.cc": '#include "sys/sys.h"\n#include <boost/asio/x.hpp>\nauto t = system_clock::now();\n',
    "src/operator/cluster/CMakeLists.txt": "etcdop_library(cluster SOURCES plan.cc)\n",
    "src/operator/cluster/plan.cc": '#include "sys/sys.h"\nconst char* text = "co_await rand()";\n',
    "sim/CMakeLists.txt": "etcdop_library(sim SOURCES sim.h)\n",
    "sim/sim.h": '#pragma once\n#include "operator/cluster/plan.h"\n',
    "docs/dev/architecture.md": (
        "| Layer | Folder |\n|---|---|\n| 0 | `src/base` |\n| 1 | `src/sys` |\n| 2 | `src/http` |\n"
        "| 5 | `src/operator/cluster` |\n| 7 | `src/main` |\n| 8 | `sim` |\n"),
}


def violations(**changed):
    """tidy's output for the good tree with some files changed."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["git", "init", "-q", folder], check=True)
        for name, text in (GOOD | changed).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        tree = tidy.Tree(folder)
        return [line for rule in tidy.RULES for line in rule(tree)]


class Tidy(unittest.TestCase):
    """One test a rule."""

    def refused(self, name, text, *words):
        """The good tree with this file is refused with one violation that contains these words."""
        found = violations(**{name: text})
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_a_good_tree_has_no_violation(self):
        self.assertEqual(violations(), [])

    def test_a_line_of_101_columns_is_refused_and_one_of_100_is_not(self):
        self.refused("src/base/base.h", "#pragma once\n//" + "é" * 99 + "\n", "base.h:2", "101 columns")
        self.assertEqual(violations(**{"src/base/base.h": "#pragma once\n//" + "é" * 98 + "\n"}), [])

    def test_a_line_of_121_columns_of_markdown_is_refused_and_one_of_120_is_not(self):
        for name in ("README.md", "docs/user/page.md", "charts/etcd-operator/README.md"):
            self.refused(name, "# Page\n\n" + "é" * 121 + "\n", f"{name}:3: 121 columns")
            self.refused(name, "```\nx\n```\n| " + "é" * 119 + "\n", f"{name}:4: 121 columns")
            self.assertEqual(violations(**{name: "# Page\n\n" + "é" * 120 + f"\n\n```\n{'x' * 121}\n```\n"}), [])
        for name in tidy.GENERATED[:2]:
            self.assertEqual(violations(**{name: "x" * 121 + "\n"}), [])

    # Files that have prose: two lines above it, and the mark in front of each of its lines.
    PROSE = {"README.md": ("# Title\n\n", ""), "charts/x/values.yaml": ("a: 1\n\n", "# "), "test/x.sh": ("ls\n\n", "# "),
             "test/x.py": ("a = 1\n\n", "# "), "test/x.go": ("package x\n\n", "// "), "dev": ("\n\n", "#  "),
             "src/base/base_test.cc": ('#include "base/base.h"\nint a;\n', "/// ")}

    def prose(self, text, line=None, said=""):
        """The prose is refused with these words at this line of it, in each file that has prose; or accepted, without a line."""
        files = {name: above + "".join(f"{mark}{part}\n" for part in text.split("\n"))
                 for name, (above, mark) in self.PROSE.items()}
        with self.subTest(text):
            expected = [f"{name}:{line + 2}: {said}" for name in sorted(files)] if line else []
            self.assertEqual(violations(**files), expected)

    def test_a_word_that_is_not_house_english_is_refused_with_what_to_write_instead(self):
        for word, at in (("The reference", 0), ("anew", 1), ("whom", 2), ("is away", 3), ("are away", 3), ("was away", 3),
                         ("were away", 3), ("be away", 3)):
            self.prose(f"It says {word}.", 1, f'"{word}"; write instead: {tidy.WORDS[at][1]}')
        self.prose("It says:\nthe\nreference.", 2, '"the reference"; write instead: the Go operator')
        self.refused("README.md", "## Made anew\n", 'README.md:1: "anew"')
        self.refused("test/x.py", 'def f():\n    """A line.\n\n    Made anew."""\n', 'test/x.py:4: "anew"')

    def test_a_sentence_that_begins_as_none_should_is_refused(self):
        for word, instead in tidy.BEGINNINGS.items():
            text = f"{word} it is"
            if word == "Whom":  # is refused as a word, too
                self.assertEqual(len(violations(**{"README.md": text})), 2)
                continue
            said = f'a sentence begins with "{word}"; write instead: {instead}'
            for prose, line in ((text, 1), (f"A line.\nThen: {text}.", 2), (f"(Why? So.) {text}. Why? So.", 1),
                                (f'Why?\n"{text}" is\nso', 2), (f"A\n\n- item\n- {text}\n  so", 4), (f"A\n1. {text}", 2)):
                self.prose(prose, line, said)
        for text in ("| a | **Those** of b |\n", "> Those of b\n", "a\n```\n```\nThose of b\n"):
            self.refused("README.md", text, 'a sentence begins with "Those"')
        for text, line in (("int a;  // Those of b.\nint b;  // as well\n", 1), ("int a;  // A.\n        // Those of b.\n", 2),
                           ("int a;  // A line\nint b;  // Those of b\n", 2), ("int a = 1'000;  // Those of b's\n", 1)):
            self.refused("src/base/base_test.cc", text, f'base_test.cc:{line}: a sentence begins with "Those"')
        self.refused("test/x.py", 'def f():\n    """Those of b."""\n', 'test/x.py:2: a sentence begins with "Those"')

    def test_code_names_and_questions_need_not_be_house_english(self):
        for text in ("What is it? It is good.", "why: What is `x.y` for, at\n3.5?", '"What now?"', "as for those. They",
                     "Offer\nOf course", "`Of what`, whose `anew` is away-ish",
                     "the reference to it", "see docs/made-anew.md", "a `name\nanew` b"):
            self.prose(text)
        self.assertEqual(violations(**{
            "README.md": "# What it does\n\n```\nOf it, anew\n```\n\n[x](whom.md) [y](a-whom)\n\n| What | How |\n",
            "src/base/base_test.cc": 'auto a = "// Of anew", b = R"x(\n// Of it\n)x";\n',
            "test/x.go": 'var a = `\n// Of it\n` + "// whom"\n', "test/x.sh": "echo '# Of it' \"# whom\" x# whom\n",
            "test/x.yaml": 'a: "# Of it"\nb: x# Of whom\n', "test/x.py": 'a = "# Of it"\nb = ["""Of\nwhom"""]\n'}), [])

    def test_files_that_a_program_writes_have_no_house_english(self):
        files = {name if "." in name else name + "a.yaml": "#pragma once\nOf it.\n\n# Made anew.\n// Of it.\n"
                 for name in tidy.GENERATED}
        found = violations(**files)
        self.assertEqual(len(files), 5)
        self.assertFalse([line for line in found if "write instead" in line], found)

    def test_the_real_world_is_refused_outside_sys_and_main(self):
        for word in ("std::chrono::system_clock::now()", "getenv(name)", "rand()", "std::random_device d",
                     "std::this_thread::sleep_for(x)", "time(nullptr)", "std::time(0)", "::sleep(1)"):
            with self.subTest(word):
                self.refused("src/operator/cluster/plan.cc", f"int a;\nauto b = {word};\n", "plan.cc:2")

    def test_the_sim_has_no_real_world_either(self):
        self.refused("sim/sim.h", "#pragma once\nint a = rand();\n", "sim.h:2: rand")

    def test_a_coroutine_keyword_is_refused_everywhere(self):
        self.refused("src/sys/sys.cc", '#include "sys/sys.h"\nvoid f() { co_await g(); }\n', "co_await")

    def test_a_standard_distribution_is_refused(self):
        self.refused("src/base/base.cc", '#include "base/base.h"\nstd::uniform_int_distribution<> d;\n',
                     "uniform_int_distribution")

    def test_an_unordered_container_is_refused_where_decisions_are_made(self):
        self.refused("src/operator/cluster/plan.cc", "std::unordered_map<int, int> m;\n", "unordered_map")
        self.assertEqual(violations(**{"src/sys/sys.cc": '#include "sys/sys.h"\nunordered_map<int, int> m;\n'}), [])

    def test_the_api_without_a_table_of_permissions_is_refused_in_a_controller(self):
        self.refused("src/operator/cluster/plan.cc", "void act(kube::Api& api);\n", "kube::Api", "kube::Granted")
        self.refused("src/operator/cluster/plan.cc", "auto pod = kube::get<Pod>(x, key);\n", "kube::get")
        self.assertEqual(violations(**{"src/operator/cluster/plan.cc": "void act(kube::Granted<kTable> api);\n"}), [])

    def test_two_types_of_one_name_are_refused(self):
        space = "namespace a::b {\nstruct S {\n};\n}  // namespace a::b\n"
        other = '#include "sys/sys.h"\n'
        with_first = {"src/base/base.h": "#pragma once\n" + space}
        self.assertEqual(violations(**with_first, **{"src/sys/sys.cc": other + space}),
                         ["src/sys/sys.cc:3: a::b::S is defined in src/base/base.h:3, too; rename one of them"])
        for good in (space.replace("a::b", "a::c"), space.replace("S {", "S;//"), space.replace("S {", "T : U<int> {"),
                     space.replace("struct", "namespace {\nclass").replace("};", "};\n}  // namespace")):
            with self.subTest(good):
                self.assertEqual(violations(**with_first, **{"src/sys/sys.cc": other + good}), [])

    def test_an_include_of_a_higher_layer_is_refused(self):
        self.refused("src/base/base.cc", '#include "base/base.h"\n#include "sys/sys.h"\n',
                     "base may not include src/sys/sys.h")

    def test_an_include_of_the_sim_is_refused_but_in_a_test(self):
        self.refused("src/sys/sys.cc", '#include "sys/sys.h"\n#include "sim/sim.h"\n', "sim/sim.h")

    def test_a_folder_without_a_layer_is_refused(self):
        found = violations(**{"src/new/a.cc": "", "src/new/CMakeLists.txt": "library(new a.cc)"})
        self.assertEqual(len(found), 1, found)
        self.assertIn("folder new has no layer", found[0])

    def test_a_source_that_no_cmake_list_names_is_refused(self):
        self.refused("src/sys/forgotten.cc", "", "src/sys/forgotten.cc", "no CMakeLists.txt")
        # A list elsewhere, a comment or a longer name do not count.
        self.refused("src/sys/ys.cc", "", "src/sys/ys.cc")
        self.refused("src/base/CMakeLists.txt", "# base_test.cc\nx(base.h base.cc)\n", "base_test.cc")

    def test_a_header_that_nobody_includes_is_refused(self):
        self.refused("src/sys/dead.h", "#pragma once\n", "dead.h", "nothing includes it")

    def test_a_heavy_library_in_one_file_too_many_is_refused(self):
        self.refused("src/base/base.cc", '#include "base/base.h"\n#include <boost/asio/x.hpp>\n', "boost/asio")

    def test_a_header_without_pragma_once_is_refused(self):
        self.refused("src/base/base.h", "int a();\n", "#pragma once")

    def test_a_source_whose_own_header_is_not_first_is_refused(self):
        self.refused("src/base/base.cc", '#include <vector>\n#include "base/base.h"\n', "base.cc:1", "first")

    def test_a_layer_table_in_the_docs_that_differs_is_refused(self):
        wrong = GOOD["docs/dev/architecture.md"].replace("| 2 |", "| 3 |")
        self.refused("docs/dev/architecture.md", wrong, "http is in layer 3 here, 2 in cmake")
        short = GOOD["docs/dev/architecture.md"].replace("| 7 | `src/main` |\n", "")
        self.refused("docs/dev/architecture.md", short, "main is in layer none here")

    def test_a_condition_reason_without_a_section_is_refused(self):
        files = {"api/v1alpha2/names.h": '#pragma once\n// Reasons\nconst char *kLost = "Lost", *kLater = "Later";\n',
                 "api/CMakeLists.txt": "x(v1alpha2/names.h)\n",
                 "src/operator/cluster/plan.cc": '#include "api/v1alpha2/names.h"\nauto x = kLost;\n'}
        files["cmake/etcdop.cmake"] = GOOD["cmake/etcdop.cmake"].replace('"sys=1"', '"sys=1" "api=1"')
        shown = GOOD["docs/dev/architecture.md"].replace("| 1 | `src/sys` |", "| 1 | `src/sys` |\n| 1 | `api` |")
        files["docs/dev/architecture.md"] = shown
        found = violations(**files)
        self.assertEqual(len(found), 1, found)
        self.assertIn('no section "### Lost"', found[0])
        page = {"docs/user/operations.md": "# Operations\n\n### Lost\nIt is lost.\n"}
        self.assertEqual(violations(**files, **page), [])
        files["api/v1alpha2/etcdthing.h"] = ('#pragma once\n// Reasons.\nconst char* kThing = "Thing";\n'
                                             '// Reasons of Events.\nconst char* kMade = "Made";\n')
        files["api/CMakeLists.txt"] = "x(v1alpha2/names.h v1alpha2/etcdthing.h)\n"
        files["src/operator/cluster/plan.cc"] += '#include "api/v1alpha2/etcdthing.h"\nauto y = kThing, z = kMade;\n'
        found = violations(**files, **page)
        self.assertEqual(len(found), 1, found)
        self.assertIn('no section "### Thing"', found[0])

    def test_a_metric_that_is_not_explained_or_not_there_is_refused(self):
        files = {"src/sys/sys.cc": '#include "sys/sys.h"\nauto n = "etcd_operator_n"; // "etcd_operator_word"\n'}
        page = {"docs/user/operations.md": "| `etcd_operator_n` | what |\n"}
        self.assertEqual(violations(**files, **page), [])
        self.assertIn("no row for the metric etcd_operator_n", violations(**files)[0])
        self.assertEqual(violations(**page), ["docs/user/operations.md:1: there is no metric etcd_operator_n"])

    def test_a_test_that_the_page_of_weaknesses_names_must_be_there(self):
        files = {"sim/scenarios/a.txt": "TEST(A, W1_x)\n", "test/e2e/cases.py": 'case("nodes: y")\n'}
        self.assertEqual(violations(**files, **{"docs/dev/safety.md": "| W1 | `W1_x` | `nodes: y` |\n| I1 | `f` |\n"}), [])
        for row in ("P2", "T2"):
            self.assertEqual(violations(**files, **{"docs/dev/safety.md": f"| {row} | `gone` |\n"}),
                             ["docs/dev/safety.md:1: no test is named gone"])

    def test_a_runbook_that_no_test_runs_is_refused(self):
        page = {"docs/user/backup.md": "## Look\n\n```sh\nls\n```\n\n### Plain\n\nWords.\n\n## Go\n\n```sh\ngo\n```\n"}
        self.assertEqual(violations(**page, **{"test/a.yaml": "- runbook: Look\n", "test/b.py": 'run("Go")\n'}), [])
        self.assertEqual(violations(**page, **{"test/a.yaml": "- runbook: Look\n", "test/b.py": "# Go\n"}),
                         ['docs/user/backup.md:13: no test runs the commands of "Go"'])

    def test_a_riddle_in_a_message_is_refused(self):
        text = '// "nobody"\nauto a = "no member leads";\nauto b = "nobody leads";\nauto c = "restored anew";\n'
        found = violations(**{"src/a/a.cc": text, "src/a/a_test.cc": text.split("\n", 1)[1]})
        self.assertEqual([line for line in found if "in a string" in line],
                         ['src/a/a.cc:3: "nobody" in a string; write instead: the actor\'s name, or "no member"',
                          'src/a/a.cc:4: "anew" in a string; write instead: again; an object is recreated'])

    def test_a_link_to_a_missing_section_is_refused(self):
        pages = {"docs/a.md": "# One\n\n[x](b.md#two-s) [y](#one)\n", "docs/b.md": "## Two's\n"}
        self.assertEqual(violations(**pages), ["docs/a.md:3: docs/b.md has no section #two-s"])
        self.assertEqual(violations(**pages | {"docs/b.md": "## Two s\n"}), [])

    def test_a_header_is_unproven_until_a_source_includes_it_first(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            (pathlib.Path(folder) / "src").mkdir()
            (pathlib.Path(folder) / "src/a.h").write_text("#pragma once\n")
            (pathlib.Path(folder) / "src/b.h").write_text("#pragma once\n")
            (pathlib.Path(folder) / "src/a.cc").write_text('#include "a.h"\n#include "b.h"\n')
            self.assertEqual(tidy.unproven_headers(tidy.Tree(folder)), ["src/b.h"])


if __name__ == "__main__":
    unittest.main()
