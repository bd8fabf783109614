#!/usr/bin/python3
"""Writes src/etcd/flag_table.h: which minor versions of etcd accept which flag.

    etcd_flags.py VERSION=ETCD...    e.g. 3.6.16=/path/to/etcd; one program of each minor, minors without a gap

Names come from what `etcd --help` of all of them lists; each program is then asked for each name: 3.7 does not take
all that it lists. EtcdPrograms in test/contract asks again, all programs that are built, and fails where the table is wrong.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).resolve().parents[1] / "src/etcd/flag_table.h"
UNKNOWN = "flag provided but not defined"


def said(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=20, check=False)
    return done.stdout + done.stderr


def listed(program):
    return re.findall(r"^ +--([a-z0-9-]+)", said(program, "--help"), re.M)


def takes(program, flag):
    return UNKNOWN not in said(program, f"--{flag}=x", "--version")


def row(flag, minors):
    """minors: those that accept it, sorted."""
    if minors != list(range(minors[0], minors[-1] + 1)):
        sys.exit(f"--{flag} came, went and came again: {minors}; the table cannot tell that")
    return f'    KnownFlag{{"{flag}", {minors[0]}, {minors[-1]}}},\n'


def main():
    programs = dict(word.split("=", 1) for word in sys.argv[1:])
    by_minor = {int(version.split(".")[1]): program for version, program in programs.items()}
    if not by_minor or len(by_minor) != len(programs):
        print(__doc__, file=sys.stderr)
        return 2
    flags = sorted({flag for program in by_minor.values() for flag in listed(program)} - {"version", "help"})
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        known = {flag: [] for flag in flags}
        for minor, program in sorted(by_minor.items()):
            for flag, yes in zip(flags, pool.map(lambda f, p=program: takes(p, f), flags)):
                if yes:
                    known[flag].append(minor)
    TABLE.write_text(f"""// Made by tools/etcd_flags.py from etcd {", ".join(sorted(programs))}: do not edit.
#pragma once
#include <array>

namespace etcdop::etcd {{

/// A flag that etcd 3.`first` to 3.`last` take.
struct KnownFlag {{
  const char* name;
  int first, last;
}};

/// Sorted by name.
// clang-format off
inline constexpr std::array kKnownFlags = {{
{"".join(row(flag, minors) for flag, minors in known.items())}}};
// clang-format on

}}  // namespace etcdop::etcd
""", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
