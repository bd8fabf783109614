#!/usr/bin/python3
"""zones.py [--check]: writes src/schedule/zone_table.cc, the time zones of this machine's IANA database from 2026 on.

A row for each set of zones whose clocks agree from then on: offsets, the rule of their yearly changes, and, where the coming years
are known one by one (Morocco's follow the moon), these changes. Docs: docs/dev/adr/0018-zones-as-a-table.md.
--check writes nothing. It fails if the table differs from the one that this database gives. If the machine has another version of
the database, it prints the changes of a new table and does not fail: the table is not wrong because the database is newer.
"""

import collections
import datetime
import io
import pathlib
import re
import struct
import sys
import zoneinfo

DATABASE = pathlib.Path("/usr/share/zoneinfo")
TABLE = pathlib.Path(__file__).parent.parent / "src/schedule/zone_table.cc"
START = int(datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).timestamp())
STEP = 7 * 86400  # No clock changes for a shorter time.
NO_ZONES = {"Factory", "localtime", "posixrules"}
OFFSET = r"([+-]?)(\d+)(?::(\d+))?"
CHANGE = r",M(\d+)\.(\d)\.(\d)(?:/" + OFFSET + ")?"
RULE = re.compile(rf"(?:[A-Za-z]+|<[^>]+>){OFFSET}(?:(?:[A-Za-z]+|<[^>]+>)(?:{OFFSET})?{CHANGE}{CHANGE})?")


def version():
    return re.match(r"# version (\S+)", (DATABASE / "tzdata.zi").read_text(encoding="ascii"))[1]


def read(data):
    """The changes [(time, seconds east)] of a TZif file, and its rule for the years after them."""
    def header(at):
        return struct.unpack(">6l", data[at + 20:at + 44])

    utc, std, leap, times, types, chars = header(0)
    at = 44 + times * 5 + types * 6 + chars + leap * 8 + std + utc
    utc, std, leap, times, types, chars = header(at)
    at += 44
    when = struct.unpack(f">{times}q", data[at:at + 8 * times])
    kinds = data[at + 8 * times:at + 9 * times]
    at += 9 * times
    east = [struct.unpack(">l", data[at + 6 * i:at + 6 * i + 4])[0] for i in range(types)]
    rule = data[at + 6 * types + chars + 12 * leap + std + utc:].decode("ascii").strip()
    return [(t, east[k]) for t, k in zip(when, kinds)], rule


def by_rule(rule):
    """A ZoneInfo that knows only the rule."""
    head = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 1)
    empty = head + struct.pack(">lBB", 0, 0, 0) + b"\0"
    return zoneinfo.ZoneInfo.from_file(io.BytesIO(empty + empty + b"\n" + rule.encode("ascii") + b"\n"))


def east_at(zone, time):
    return int(datetime.datetime.fromtimestamp(time, zone).utcoffset().total_seconds())


def changes_beside(changes, rule):
    """The changes from START up to the last that the rule does not give, as (minute, minutes east)."""
    zone = by_rule(rule)
    before = [east for time, east in changes if time <= START]
    now = before[-1] if before else east_at(zone, START)
    kept, told = [(START, now)], 0 if now == east_at(zone, START) else 1
    for time, east in changes:
        if time <= START or east == kept[-1][1]:
            continue
        # A year without a change that the rule gives (Cuba, 2026) also shows between two changes.
        if any(east_at(zone, at) != kept[-1][1] for at in (*range(max(kept[-1][0], START), time, STEP), time - 1)):
            told = len(kept)
        kept.append((time, east))
        if east_at(zone, time) != east:
            told = len(kept)
    kept = kept[:told + 1] if told else []
    if any(time % 60 or east % 60 for time, east in kept):
        sys.exit("zones.py: a change is not at a whole minute")
    return tuple((time // 60, east // 60) for time, east in kept)


def minutes(sign, hours, rest, default=0):
    if hours is None:
        return default
    return (-1 if sign == "-" else 1) * (int(hours) * 60 + int(rest or 0))


def to_row(rule):
    """(minutes east, minutes east in summer, change to summer, change back): a change is (month, week, weekday, minutes)."""
    match = RULE.fullmatch(rule)
    if not match:
        sys.exit(f"zones.py: cannot read the rule {rule}: src/schedule/time_zone.h knows no such changes")
    group = match.groups()
    standard = -minutes(*group[0:3])
    if group[6] is None:
        return standard, standard, (0, 0, 0, 0), (0, 0, 0, 0)
    summer = -minutes(*group[3:6]) if group[4] is not None else standard + 60
    to, back = ((*map(int, part[:3]), minutes(*part[3:6], default=120)) for part in (group[6:12], group[12:18]))
    return standard, summer, to, back


def zones():
    for path in sorted(DATABASE.rglob("*")):
        name = str(path.relative_to(DATABASE))
        if name.split("/")[0] in ("posix", "right") or name in NO_ZONES or not path.is_file():
            continue
        data = path.read_bytes()
        if data[:4] == b"TZif":
            yield name, *read(data)


def braces(row):
    return "{" + ", ".join(map(str, row)) + "}"


def filled(words, width, indent):
    """Lines of C++ that give the words, with blanks between them, as one string."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line + " ")
            line = word
        else:
            line += (" " if line else "") + word
    return ("\n" + indent).join(f'"{text}"' for text in lines + [line])


def table():
    sets = collections.defaultdict(list)
    for name, changes, rule in zones():
        sets[rule, changes_beside(changes, rule)].append(name)
    lists = {changes: f"kChanges{number}" for number, changes in
             enumerate(dict.fromkeys(changes for _, changes in sets if changes), 1)}
    out = [f"""// Written by tools/zones.py from version {version()} of the IANA database; not by hand.
// clang-format off
#include "schedule/zone_table.h"

namespace etcdop::schedule {{
namespace {{
"""]
    for changes, name in lists.items():
        cells = [braces(change) + "," for change in changes]
        lines = "\n".join("    " + " ".join(cells[i:i + 5]) for i in range(0, len(cells), 5))
        out.append(f"constexpr ZoneChange {name}[] = {{\n{lines}\n}};\n")
    out.append("constexpr ZoneRow kRows[] = {")
    for (rule, changes), names in sets.items():
        standard, summer, to, back = to_row(rule)
        out.append(f"    // {rule}\n    {{{filled(names, 90, '     ')},\n"
                   f"     {standard}, {summer}, {braces(to)}, {braces(back)}, {lists.get(changes, '{}')}}},")
    out.append(f"""}};

}}  // namespace

std::span<const ZoneRow> zone_rows() {{ return kRows; }}

std::string_view zone_version() {{ return "{version()}"; }}

}}  // namespace etcdop::schedule
""")
    return "\n".join(out)


def check(wanted):
    have = TABLE.read_text(encoding="ascii")
    if have == wanted:
        print(f"zones: the table is that of version {version()}")
        return 0
    if f'"{version()}"' in have:
        print("zones: src/schedule/zone_table.cc is not what tools/zones.py writes")
        return 1
    news = sorted(set(wanted.splitlines()) - set(have.splitlines()))
    print(f"zones: this machine has version {version()} of the database; tools/zones.py would write:", *news, sep="\n  ")
    return 0


def main():
    wanted = table()
    if sys.argv[1:] == ["--check"]:
        return check(wanted)
    TABLE.write_text(wanted, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
