"""zone_vectors.py: the clocks of all time zones from 2026 to 2104, as Python reads them. From the tree's root:

    python3 test/process/zone_vectors.py >test/process/zone_vectors.json

The result is committed, for the IANA database version from which src/schedule/zone_table.cc was made, so that tests do not depend
on a machine's version. PYTHONTZPATH is the folder of another database.
"""
import collections
import datetime
import json
import pathlib
import zoneinfo

NO_ZONES = {"Factory", "localtime"}
START, END = (int(datetime.datetime(year, 1, 1, tzinfo=datetime.timezone.utc).timestamp()) for year in (2026, 2105))


def version():
    return pathlib.Path(zoneinfo.TZPATH[0], "tzdata.zi").read_text(encoding="ascii").split("\n", 1)[0].split()[-1]


def clocks(zone):
    """(time, seconds east) at the start and at each change, found by checking each day and then refining."""
    def east(time):
        return int(datetime.datetime.fromtimestamp(time, zone).utcoffset().total_seconds())

    found = [(START, east(START))]
    for day in range(START, END, 86400):
        low, high = day, day + 86400
        if east(high) == found[-1][1]:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if east(middle) == found[-1][1] else (low, middle)
        found.append((high, east(high)))
    return tuple(found)


def main():
    names = collections.defaultdict(list)
    for name in sorted(zoneinfo.available_timezones() - NO_ZONES):
        names[clocks(zoneinfo.ZoneInfo(name))].append(name)
    lines = (json.dumps({"names": names[shown], "clocks": shown}, separators=(",", ":")) for shown in names)
    print(f'{{"version":"{version()}","end":{END},\n"zones":[\n' + ",\n".join(lines) + "]}")


if __name__ == "__main__":
    main()
