"""coverage.py NAME FILE: which branches an llvm-cov export reports as taken, and which not. Fails below 95 %."""
import json
import sys

LEAST = 95.0


def main():
    name, path = sys.argv[1:]
    taken = {}  # (file, line, column) -> how often true, how often false; a template has several
    for source in json.load(open(path, encoding="utf-8"))["data"][0]["files"]:
        for line, column, _, _, true, false, *_ in source["branches"]:
            both = taken.setdefault((source["filename"], line, column), [0, 0])
            both[0] += true
            both[1] += false
    for (file, line, column), both in sorted(taken.items()):
        for times, word in zip(both, ("true", "false")):
            if times == 0:
                print(f"  never {word}: {file[file.index('src/'):]}:{line}:{column}")
    count = 2 * len(taken)
    covered = sum(times > 0 for both in taken.values() for times in both)
    percent = 100 * covered / count if count else 0.0
    print(f"{name}: {covered} of {count} branches taken, {percent:.1f} % (at least {LEAST:.0f} %)")
    return 0 if percent >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
