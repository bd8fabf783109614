#!/usr/bin/python3
"""Which mutants mutants.py generates and refuses, what a run need not do again, and what the report says."""

import pathlib
import re
import tempfile
import unittest

import mutants
import mutate

CODE = '''// a == b && true in a comment
bool Census::check(int a) {
  if (a < 3 && !done()) return false;
  if (const auto found = find(a); found) out.push_back(found);
  if (const auto* found = find(a)) return true;
  log("a != b");
  with_.log.info("told");
  return a ? Step(Promote{name, {1}}) : Step(NoStep{});
}
'''


def made(code=CODE, file="src/operator/x/plan.cc", steps=("Promote",)):
    return list(mutants.generated(file, code, steps))


def texts(code=CODE, **also):
    return [m.apply(code) for m in made(code, **also)]


class Generated(unittest.TestCase):
    """One change each, at the right place."""

    def test_each_operator_of_the_code_is_changed_and_none_of_a_comment_or_a_text(self):
        for old, new in (("a < 3", "a <= 3"), (" && !done", " || !done"), ("!done()", "done()"), ("return false", "return true"),
                         ("a < 3", "a < 4"), ("a ? Step", "a && false ? Step"), ("Promote{name, {1}}", "NoStep{}"),
                         ("if (a < 3 && !done())", "if (false && (a < 3 && !done()))"), ("; found)", "; false && (found))"),
                         ("out.push_back(found);", None), ("return true", "return false"), ('log("a != b");', ";")):
            if new:
                self.assertIn(CODE.replace(old, new), texts(), f"{old} to {new}")
        self.assertEqual(len(texts()), len(set(texts())), "no change twice")
        for text in texts():
            self.assertTrue(text.startswith("// a == b && true in a comment\n"))
            self.assertIn('with_.log.info("told");', text)

    def test_what_an_if_declares_for_its_body_is_left_alone(self):
        self.assertFalse([t for t in texts() if "false && (const" in t])

    def test_a_statement_is_not_taken_out_of_the_middle_of_an_expression(self):
        code = "int f() {\n  const int a =\n      g(1);\n  h(a,\n    b);\n  return a;\n}\n"
        dropped = [t for t in texts(code) if ";\n  return" in t and "h(" not in t]
        self.assertEqual(dropped, [code.replace("h(a,\n    b);", ";")])
        self.assertFalse([t for t in texts(code) if "g" not in t])

    def test_texts_are_changed_only_where_objects_are_made(self):
        code = '#include "x.h"\nauto f() { return g("None"); }\n'
        self.assertEqual(texts(code), [])
        self.assertEqual(texts(code, file="src/operator/x/objects.cc"), [code.replace('"None"', '"None~"')])

    def test_of_a_reconciler_only_preconditions_are_changed(self):
        found = {m.what.split("`")[0].rstrip(" ,:") for m in made(file="src/operator/x/reconciler.cc")}
        self.assertEqual(found, {"if never"})

    def test_an_id_survives_edits_elsewhere_and_differs_between_equal_lines(self):
        code = CODE.replace("bool Census", "int other(int b) {\n  return b == 7;\n}\nbool Census")
        self.assertLess({m.id for m in made()}, {m.id for m in made(code)})
        twice = "int f() {\n  ++a;\n  ++a;\n}\n"
        self.assertEqual(len({m.id for m in made(twice)}), 2)

    def test_an_id_names_the_function(self):
        self.assertTrue(all(m.id.startswith("x/plan:check:") for m in made()))


class Listed(unittest.TestCase):
    """A hand-made mutant fits exactly once, or the list is stale."""

    FILES = {"a.cc": "one\n  two\ntwo, too\n"}

    def listed(self, text):
        return mutants.listed(text, self.FILES.__getitem__)

    def test_old_lines_become_new_ones(self):
        found, gone = self.listed("words\n\n@ a.cc first\n# what\n# it does\n-one\n-  two\n+three\n\n"
                                  "@ a.cc second\n# drops\n-one\n")
        self.assertEqual(found.apply(self.FILES["a.cc"]), "three\ntwo, too\n")
        self.assertEqual((found.id, found.what), ("first", "what it does"))
        self.assertEqual(gone.apply(self.FILES["a.cc"]), "\n  two\ntwo, too\n")

    def test_where_lines_end_does_not_matter(self):
        joined, = self.listed("@ a.cc it\n# what\n-one two\n-two,\n+x\n")
        self.assertEqual(joined.apply(self.FILES["a.cc"]), "x too\n")

    def test_what_fits_nowhere_or_twice_is_stale(self):
        for old in ("four", "two"):
            with self.assertRaisesRegex(mutants.Stale, "mutants.txt: it: "):
                self.listed(f"@ a.cc it\n# what\n-{old}\n+x\n")
        with self.assertRaisesRegex(mutants.Stale, "twice"):
            self.listed("@ a.cc it\n# w\n-one\n\n@ a.cc it\n# w\n-one\n")

    def test_the_list_of_this_tree_fits(self):
        tree = mutate.Tree()
        self.assertGreater(len(tree.listed), 100)
        names = " ".join(m.id + " " + m.what for m in tree.listed)
        for known in ("P1", "P2", "P3", "P4", "P5", "P7", "P8", "P10", "W1", "W3", "W4", "W20", "I4", "I5", "I6", "I13"):
            self.assertRegex(names, rf"\b{known}\b")
        self.assertEqual(len({m.id for m in tree.mutants}), len(tree.mutants), "ids are used once")

    def test_no_explanation_is_of_a_mutant_that_is_not_there(self):
        why = mutate.explained((pathlib.Path(mutate.__file__).parent / "explained.txt").read_text())
        self.assertEqual(set(why) - {m.id for m in mutate.Tree().mutants}, set())


class Remembered(unittest.TestCase):
    """A run continues where it was stopped, and repeats results that are no longer valid."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "results.jsonl"
        self.mutant = made()[0]
        self.now = {"mutant": self.mutant, "text": CODE, "tests": "t1", "is_there": lambda test: test == "A.B"}

    def remember(self, verdict, **also):
        mutate.Results(self.path).add({"id": self.mutant.id, "verdict": verdict, "by": "A.B", "tests": "t1", "seconds": 1,
                                       "file": mutate.digest(self.mutant.apply(CODE)),
                                       "part": mutate.part(self.mutant, CODE)} | also)

    def known(self, **changed):
        return mutate.Results(self.path).of(**(self.now | changed)) is not None

    def test_what_came_out_is_known_in_the_next_run(self):
        self.assertFalse(self.known())
        self.remember("killed")
        self.assertTrue(self.known())
        self.path.write_text(self.path.read_text() + '{"id": "half a li')
        self.assertTrue(self.known())

    def test_a_kill_holds_while_its_function_is_the_same_and_its_killer_there(self):
        self.remember("killed")
        self.assertTrue(self.known(tests="t2", text=CODE + "int other() {\n}\n"))
        self.assertFalse(self.known(text=CODE.replace("return true", "return 1")))
        self.assertFalse(self.known(is_there=lambda test: False))

    def test_a_survivor_is_tried_again_whenever_its_file_or_the_tests_change(self):
        self.remember("survived")
        self.assertTrue(self.known())
        self.assertFalse(self.known(tests="t2"))
        self.assertFalse(self.known(text=CODE + "int other() {\n}\n"))


class Killed(unittest.TestCase):
    """Which test noticed."""

    def test_the_first_failure_is_named_else_what_ran_when_the_program_broke(self):
        killer = mutate.KILLERS[0]
        self.assertEqual(mutate.who(killer, "[ RUN      ] A.B\n[       OK ] A.B\n[ RUN      ] A.C\nx.cc:1: Failure\n"), "A.C")
        self.assertEqual(mutate.who(killer, "[ RUN      ] A.B\n[  FAILED  ] A.B (0 ms)\n[ RUN      ] A.C\n"), "A.B")
        self.assertEqual(mutate.who(killer, "Segmentation fault"), killer.name)
        self.assertEqual(mutate.who(killer, "x\nseed 7: I5: a volume is gone\n"), f"{killer.name}, seed 7: I5")

    def test_a_command_that_does_not_end_is_ended(self):
        self.assertEqual(mutate.run("sleep 100", folder="/", seconds=0.1), (None, ""))
        self.assertEqual(mutate.run("echo so; exit 3", folder="/"), (3, "so\n"))
        self.assertEqual(mutate.run("echo one; echo seed 1; sleep 100", folder="/", seconds=50, until="seed "),
                         (1, "one\nseed 1\n"))


class Report(unittest.TestCase):
    """The page reports what was run, and shows a survivor without an explanation."""

    class Tree:
        mutants = made()
        listed = mutants[:1]
        text = {"src/operator/x/plan.cc": CODE}
        tests = staticmethod(lambda file: "t")
        read = None

    def report(self, verdicts, why):
        class Known:
            of = staticmethod(lambda mutant, *_: verdicts.get(mutant.id))
        there, mutate.known_tests = mutate.known_tests, lambda tree: None
        self.addCleanup(setattr, mutate, "known_tests", there)
        return mutate.report(self.Tree, Known, why, "c0ffee")

    def test_killed_survived_and_not_run(self):
        a, b, c = self.Tree.mutants[:3]
        verdicts = {a.id: {"verdict": "killed", "by": "A.B", "seconds": 2}, b.id: {"verdict": "survived", "by": "", "seconds": 2},
                    c.id: {"verdict": "invalid", "by": "", "seconds": 2}}
        text, page, unexplained = self.report(verdicts, {})
        self.assertEqual(unexplained, 1)
        self.assertIn(f"- `{b.id}`: {b.what.strip()}. Survived: **unexplained**", page)
        self.assertIn("| `src/operator/x` | 1 | 1 | 1 | ", page)
        self.assertNotIn(f"`{a.id}`", page, "the page has survivors only")
        self.assertIn("Made at commit c0ffee.", text)
        self.assertIn("**1 of 2 were killed, 50.0 %**", text)
        self.assertIn("killed by A.B", text)
        self.assertIn("survived: **unexplained**", text)
        self.assertNotIn(f"`{c.id}`", text, "what does not compile is no mutant")
        self.assertEqual(text.count("**not run**"), len(self.Tree.mutants) - 3)
        self.assertTrue(all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in text.split("\n") if row.startswith("| `x/")), text)
        text, page, unexplained = self.report(verdicts | {a.id: verdicts[c.id]}, {b.id: "the same"})
        self.assertEqual(unexplained, 1)
        self.assertIn(f"- `{a.id}`: {a.what.strip()}. **does not compile**", page, "it was made by hand")
        text, _, unexplained = self.report(verdicts, {b.id: "the same"})
        self.assertEqual(unexplained, 0)
        self.assertIn("survived: the same", text)

    def test_each_mutant_has_a_program_that_judges_it(self):
        for file in {m.file for m in mutate.Tree().listed} | set(mutate.FILES):
            self.assertTrue(any(k.judges(file) for k in mutate.KILLERS), file)

    def test_explanations_go_over_several_lines(self):
        self.assertEqual(mutate.explained("# no\na/b:c:1: one\n  two\nd: three\n"), {"a/b:c:1": "one two", "d": "three"})


if __name__ == "__main__":
    unittest.main()
