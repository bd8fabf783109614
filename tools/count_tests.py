#!/usr/bin/python3
"""count_tests.py CTEST_JUNIT_XML GTEST_XML_FOLDER: prints "N passed, N failed" for a run of ctest.

A GoogleTest program counts by its tests, any other program as one test. A program that failed without a failed test (it crashed, or
a sanitizer reported at its end) counts as one failure. So does a skipped test: what cannot run here has failed.
"""

import pathlib
import sys
import xml.etree.ElementTree as ET


def count_gtest(path):
    """(passed, failed) of one GoogleTest report."""
    suite = ET.parse(path).getroot()
    passed = failed = 0
    for case in suite.iter("testcase"):
        if case.get("status") != "run":
            continue  # disabled
        if case.get("result") != "completed" or case.find("failure") is not None:
            failed += 1
            print(f"failed: {path.stem}: {case.get('classname')}.{case.get('name')}")
        else:
            passed += 1
    return passed, failed


def count(junit, reports):
    """(passed, failed) over all that ctest ran."""
    passed = failed = 0
    for case in ET.parse(junit).getroot().iter("testcase"):
        ok = case.get("status") == "run" and case.find("failure") is None
        report = reports / f"{case.get('name')}.xml"
        p, f = count_gtest(report) if report.exists() else (int(ok), 0)
        if not ok and f == 0:
            f = 1
            print(f"failed: {case.get('name')}")
        passed, failed = passed + p, failed + f
    return passed, failed


if __name__ == "__main__":
    PASSED, FAILED = count(sys.argv[1], pathlib.Path(sys.argv[2]))
    print(f"{PASSED} passed, {FAILED} failed")
    sys.exit(FAILED > 0)
