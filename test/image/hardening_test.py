#!/usr/bin/env python3
"""hardening_test.py PROGRAM: what the compiler and the linker were asked for is in the program that ships (T14). tools/image.sh
packs no other. Not there, and why: CET (-fcf-protection). The linker marks a program only if all its objects are marked, and none
of libc.a of Debian 12 is."""
import subprocess
import sys
import unittest


def told(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class T14Hardening(unittest.TestCase):
    program = ""

    def segments(self):
        """Type and flags of each program header."""
        rows = [line.split() for line in told("readelf", "-lW", self.program).splitlines()]
        return [(row[0], "".join(row[6:-1])) for row in rows if len(row) >= 8 and row[1].startswith("0x")]

    def test_T14_it_is_loaded_at_an_address_that_nobody_knows(self):
        self.assertIn("Type:                              DYN", told("readelf", "-hW", self.program))
        self.assertIn("PIE", told("readelf", "-dW", self.program))

    def test_T14_it_needs_no_file_of_the_machine(self):
        self.assertNotIn("INTERP", dict(self.segments()))
        self.assertNotIn("NEEDED", told("readelf", "-dW", self.program))

    def test_T14_no_memory_is_both_written_and_run(self):
        segments = self.segments()
        self.assertEqual([kind for kind, flags in segments if "W" in flags and "E" in flags], [])
        self.assertIn(("GNU_STACK", "RW"), segments)

    def test_T14_its_table_of_addresses_is_read_only(self):
        self.assertIn("GNU_RELRO", dict(self.segments()))
        self.assertIn("BIND_NOW", told("readelf", "-dW", self.program))

    def test_T14_a_function_notices_that_its_stack_was_written_over(self):
        """-fstack-protector-strong: functions read the canary of their thread."""
        code = told("objdump", "-d", "--no-show-raw-insn", self.program)
        reads = code.count("%fs:0x28")
        self.assertGreater(reads, 1000, "functions with a canary, two reads each")

    def test_T14_its_symbols_do_not_ship(self):
        self.assertNotIn(".symtab", told("readelf", "-SW", self.program))


if __name__ == "__main__":
    T14Hardening.program = sys.argv.pop(1)
    unittest.main()
