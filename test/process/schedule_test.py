"""schedule_test.py PROGRAM: compares the answers of src/schedule (by schedule_answers) with other implementations: the time zones
as Python reads them (zone_vectors.py), robfig/cron's runs (cron_vectors.go) and a minute-by-minute search for cron, and the
definitions of retention applied one by one."""
import bisect
import calendar
import datetime
import json
import pathlib
import random
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()
TABLE = pathlib.Path(__file__).parents[2] / "src/schedule/zone_table.cc"
VECTORS = json.loads(pathlib.Path(__file__).with_name("cron_vectors.json").read_text(encoding="ascii"))
DATABASE = json.loads(pathlib.Path(__file__).with_name("zone_vectors.json").read_text(encoding="ascii"))
UTC = datetime.timezone.utc
SEED = 20261123
# Clocks that change by whole and half hours, in both halves of the year, at midnight, below standard time, by a list, never.
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana", "America/Santiago",
         "Europe/Dublin", "Africa/Casablanca", "Asia/Gaza", "Asia/Kathmandu", "Pacific/Chatham", "America/Nuuk", "Asia/Tokyo"]
TABLE_VERSION = re.search(r'zone_version\(\) { return "(\w+)"', TABLE.read_text(encoding="ascii"))[1]
NAMES = {"month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
         "weekday": ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]}
FIELDS = [("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 6)]


def ask(questions):
    lines = "".join("\t".join(map(str, question)) + "\n" for question in questions)
    out = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, check=True, timeout=250).stdout.splitlines()
    return [line.split("\t") if line else [] for line in out]


def at(*date):
    return int(datetime.datetime(*date, tzinfo=UTC).timestamp())


class Zone:
    def __init__(self, clocks):
        self.times, self.east = zip(*clocks)

    def east_at(self, time):
        return self.east[bisect.bisect_right(self.times, time) - 1]

    def changes(self, start, end):
        return [time for time in self.times[1:] if start <= time < end]


ALL_ZONES = {name: Zone(row["clocks"]) for row in DATABASE["zones"] for name in row["names"]}


def clock(zone, time):
    return datetime.datetime.fromtimestamp(time + zone.east_at(time), UTC)


def draw_item(dice, name, low, high):
    """(text, its values, whether it is a star)"""
    def value():
        n = dice.randint(low, high)
        return n, dice.choice([str(n), f"{n:02}"] + [s(NAMES[name][n - low]) for s in (str.upper, str.title) if name in NAMES])

    kind = dice.choice(["star", "one", "one", "range", "open"])
    (a, first), (b, last) = value(), value()
    step = dice.choice([1, 2, 5, 7, 20])
    if kind == "star":
        text, values = dice.choice("*?"), range(low, high + 1)
    elif kind == "one":
        return first, {a}, False
    elif kind == "open":
        return f"{first}/{step}", set(range(a, high + 1, step)), False
    else:
        if a > b:
            (a, first), (b, last) = (b, last), (a, first)
        text, values = f"{first}-{last}", range(a, b + 1)
    if dice.random() < 0.5:
        return f"{text}/{step}", set(values[::step]), kind == "star" and step == 1
    return text, set(values), kind == "star"


def draw_cron(dice):
    """(text, [(values, star) of each field])"""
    texts, fields = [], []
    for name, low, high in FIELDS:
        if dice.random() < 0.4:
            items = [("*", set(range(low, high + 1)), True)]
        else:
            items = [draw_item(dice, name, low, high) for _ in range(dice.choice([1, 1, 2, 3]))]
        texts.append(",".join(item[0] for item in items))
        fields.append((set().union(*(item[1] for item in items)), any(item[2] for item in items)))
    return dice.choice([" ", "  "]).join(texts), fields


def runs_by_search(fields, zone, after, upto):
    """Each minute in (after, upto] at which the clocks match all fields."""
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = fields
    found = []
    for time in range(after // 60 * 60 + 60, upto + 1, 60):
        shown = time + zone.east_at(time)
        if shown // 60 % 60 not in minutes or shown // 3600 % 24 not in hours:
            continue
        now = clock(zone, time)
        if now.month not in months:
            continue
        by_day, by_weekday = now.day in days, (now.weekday() + 1) % 7 in weekdays
        if (by_day and by_weekday) if any_day or any_weekday else (by_day or by_weekday):
            found.append(time)
    return found


def expired_by_definition(stored, limits, zone, now):
    """Each definition by itself, over sets; stored: [(name, time, proof)]."""
    last, seconds, days, weeks, months = limits
    if all(limit is None for limit in limits):
        return []
    known = sorted((s for s in stored if s[2] > 0 and s[1] <= now), key=lambda s: (s[1], s[0]))
    date = {s: clock(zone, s[1]).date() for s in known}
    kept = set(known[-1:]) | set([s for s in known if s[2] == 2][-1:])
    kept |= set(known[len(known) - last:] if last and last < len(known) else known if last else [])
    if seconds is not None:
        kept |= {s for s in known if s[1] >= now - seconds}
    for count, period in ((days, lambda d: d), (weeks, lambda d: d.isocalendar()[:2]), (months, lambda d: (d.year, d.month))):
        for one in sorted({period(date[s]) for s in known})[-count:] if count else []:
            kept.add([s for s in known if period(date[s]) == one][-1])
    return [s[0] for s in known if s not in kept]


class Schedule(unittest.TestCase):
    def setUp(self):
        self.dice = random.Random(SEED)

    def test_the_vectors_are_of_the_version_of_the_table(self):
        self.assertEqual(DATABASE["version"], TABLE_VERSION, "after tools/zones.py: zone_vectors.py")
        self.assertGreater(len(ALL_ZONES), 590)

    def test_clocks_show_what_they_show_to_python(self):
        """All zones: at random moments, and directly before and after each change of some years."""
        questions = []
        for name, zone in ALL_ZONES.items():
            times = [self.dice.randrange(at(2026, 1, 1), DATABASE["end"]) for _ in range(30)]
            times += [t + d for t in zone.changes(at(2026, 1, 1), at(2029, 1, 1)) for d in (-1, 0)]
            questions += [("offset", name, time) for time in times]
        for (_, name, time), answer in zip(questions, ask(questions), strict=True):
            if answer[0] != str(ALL_ZONES[name].east_at(time)):
                self.fail(f"{name} {time}: {answer}, not {ALL_ZONES[name].east_at(time)}")

    def test_changes_are_where_they_are_to_python(self):
        """From one `until` to the next: each is a change, and none is missing, for 79 years."""
        for row in DATABASE["zones"]:
            name, times = row["names"][0], [time for time, _ in row["clocks"]]
            untils = [int(answer[1]) for answer in ask(("offset", name, time) for time in times)]
            wrong = [(time, until) for time, until in zip(times[1:], untils) if time != until]
            self.assertEqual(wrong[:3], [], name)
            self.assertGreaterEqual(untils[-1], DATABASE["end"], name)

    def test_runs_are_those_of_robfig_cron(self):
        vectors = VECTORS
        self.assertGreater(len(vectors["right"]), 500)
        answers = ask(("runs", v["zone"], v["after"], at(2060, 1, 1), 6, v["cron"]) for v in vectors["right"])
        for vector, answer in zip(vectors["right"], answers, strict=True):
            self.assertEqual([int(time) for time in answer], vector["runs"], vector)
        for text, answer in zip(vectors["wrong"], ask(("runs", "UTC", 0, 1, 1, text) for text in vectors["wrong"]), strict=True):
            self.assertRegex(answer[0], "^error: ", text)

    def windows(self, zone):
        """Windows of two weeks, half of them around a change."""
        turns = zone.changes(at(2026, 1, 1), at(2034, 1, 1)) or [at(2028, 2, 29)]
        for _ in range(12):
            middle = self.dice.choice(turns) if self.dice.random() < 0.5 else self.dice.randrange(at(2026, 2, 1), at(2034, 1, 1))
            after = middle - self.dice.randrange(10 * 86400)
            yield after, after + 14 * 86400

    def test_runs_are_those_that_a_search_finds(self):
        questions, wanted = [], []
        for name in ZONES:
            zone = ALL_ZONES[name]
            for after, upto in self.windows(zone):
                text, fields = draw_cron(self.dice)
                found = runs_by_search(fields, zone, after, upto)
                most = self.dice.choice([3, 1000, 100000])
                questions.append(("runs", name, after, upto, most, text))
                wanted.append(found[:most])
                questions.append(("newest", name, after, upto, text))
                wanted.append(found[-1:])
        found = 0
        for question, answer, runs in zip(questions, ask(questions), wanted, strict=True):
            if answer and "it would never run" in answer[0]:
                answer = []
            if [int(time) for time in answer] != runs:
                self.fail(f"{question}: {answer[:5]}, not {runs[:5]}, {len(answer)} and {len(runs)}")
            found += len(runs) > 0
        self.assertGreater(found, len(questions) / 4, "too few of these expressions run at all")

    def test_a_rare_day_is_found(self):
        rows = [("0 0 29 2 *", at(2028, 3, 1), (2032, 2, 29)), ("0 0 29 2 *", at(2096, 3, 1), (2104, 2, 29)),
                ("@yearly", at(2026, 1, 1), (2027, 1, 1)), ("59 23 31 12 ?", at(2026, 1, 1), (2026, 12, 31, 23, 59))]
        for text, start, day in rows:
            self.assertEqual(ask([("runs", "UTC", start, start * 2, 1, text)]), [[str(at(*day))]], text)
        leap = [y for y in range(2027, 2127) if calendar.isleap(y)]
        answer = ask([("runs", "UTC", at(2026, 3, 1), at(2126, 3, 1), 100, "30 12 29 FEB *")])[0]
        self.assertEqual(answer, [str(at(y, 2, 29, 12, 30)) for y in leap])

    def test_expired_is_what_the_definitions_say(self):
        questions, wanted = [], []
        for _ in range(1500):
            name = self.dice.choice(ZONES)
            now = self.dice.randrange(at(2027, 6, 1), at(2031, 1, 1))  # The vectors do not cover the past.
            span = self.dice.choice([3600, 86400, 10 * 86400, 400 * 86400])
            grain = self.dice.choice([1, 600, 43200])
            stored = [(f"s{i}", now + span // 8 - self.dice.randrange(span) // grain * grain, self.dice.choice([0, 1, 1, 2]))
                      for i in range(self.dice.randrange(25))]
            limits = [self.dice.choice([None, None, low, self.dice.randrange(low, 12)]) for low in (1, 0, 1, 1, 1)]
            if limits[1] is not None:
                limits[1] *= span // 16 // grain * grain
            flat = [cell for snapshot in stored for cell in snapshot]
            questions.append(("expired", name, now, *(-1 if limit is None else limit for limit in limits), *flat))
            wanted.append(expired_by_definition(stored, limits, ALL_ZONES[name], now))
        for question, answer, names in zip(questions, ask(questions), wanted, strict=True):
            self.assertEqual(answer, names, question)
        self.assertGreater(sum(map(len, wanted)), len(wanted), "too little expires")


if __name__ == "__main__":
    unittest.main()
