#!/usr/bin/env python3
"""Writes testdata/schedules/ticks.txt: when schedules are due, found by trying every time of every day.

It shares nothing with crates/schedule: Python's calendar and time zones, and fields that are read here.

    python3 tools/ticks.py > testdata/schedules/ticks.txt
"""

import calendar
import datetime
import zoneinfo

UTC = datetime.timezone.utc
SECOND = datetime.timedelta(seconds=1)
DAY = datetime.timedelta(days=1)
TICKS = 4
MONTHS = {name: number for number, name in enumerate("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(), 1)}
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()

CASES = """
0 */5 * * * * | UTC | 2026-01-01T00:00:00Z
0 30 9 * * 1-5 | UTC | 2026-01-02T10:00:00Z
*/15 * * * * * | UTC | 2026-01-01T00:00:07Z
30 2 * * * | UTC | 2026-02-27T12:00:00Z
0 0 */2 * * * | UTC | 2026-06-30T21:00:00Z
0 0 0 1 * * | UTC | 2026-01-15T00:00:00Z
0 0 0 29 2 * | UTC | 2026-01-01T00:00:00Z
0 0 12 * * SUN | UTC | 2026-01-01T00:00:00Z
0 0 12 * * 0 | UTC | 2026-01-01T00:00:00Z
0 0 12 * * 7 | UTC | 2026-01-01T00:00:00Z
0 0 9-17 * * MON-FRI | UTC | 2026-01-02T15:30:00Z
0 5,35 8,20 * JAN,JUL * | UTC | 2026-01-31T20:00:00Z
0 0 0 13 * FRI | UTC | 2026-01-01T00:00:00Z
0 0 6 L * * | UTC | 2026-01-01T00:00:00Z
0 0 6 LW * * | UTC | 2026-01-01T00:00:00Z
0 0 6 15W * * | UTC | 2026-01-01T00:00:00Z
0 0 18 * * 5L | UTC | 2026-01-01T00:00:00Z
0 0 18 * * 2#2 | UTC | 2026-01-01T00:00:00Z
0 10/20 * * * * | UTC | 2026-01-01T23:45:00Z
0 30 2 * * * | Europe/Berlin | 2026-03-27T12:00:00Z
0 30 2 * * * | Europe/Berlin | 2026-10-23T12:00:00Z
0 */20 * * * * | Europe/Berlin | 2026-03-29T00:30:00Z
0 */20 * * * * | Europe/Berlin | 2026-10-25T00:10:00Z
0 */20 2 * * * | Europe/Berlin | 2026-03-28T20:00:00Z
0 */20 2 * * * | Europe/Berlin | 2026-10-24T20:00:00Z
0 0 9 * * * | America/New_York | 2026-03-07T00:00:00Z
0 15 2 * * * | Australia/Lord_Howe | 2026-10-02T00:00:00Z
0 45 1 * * * | Australia/Lord_Howe | 2026-04-03T00:00:00Z
cron(0 10 * * ? *) | UTC | 2026-01-01T00:00:00Z
cron(15 12 * * ? *) | UTC | 2026-12-30T13:00:00Z
cron(0 18 ? * MON-FRI *) | UTC | 2026-01-02T18:00:00Z
cron(0 8 1 * ? *) | UTC | 2026-01-01T08:00:00Z
cron(0/15 * * * ? *) | UTC | 2026-01-01T00:07:00Z
cron(0/10 * ? * MON-FRI *) | UTC | 2026-01-02T23:45:00Z
cron(0 0 ? * 6L 2026-2027) | UTC | 2027-09-01T00:00:00Z
cron(0 9 ? * 2#1 *) | UTC | 2026-01-01T00:00:00Z
cron(30 2 * * ? *) | America/New_York | 2026-11-01T00:00:00Z
rate(5 minutes) | UTC | 2026-01-01T00:01:00Z
rate(1 hour) | UTC | 2026-01-01T00:00:00Z
rate(7 days) | UTC | 2026-01-01T00:00:00Z
"""


class Fields:
    def __init__(self, text):
        self.aws = text.startswith("cron(")
        fields = (text[5:-1] if self.aws else text).upper().split()
        if self.aws or len(fields) == 5:
            fields.insert(0, "0")
        second, minute, hour, self.day, month, self.weekday, year = (fields + ["*"])[:7]
        self.seconds, self.minutes, self.hours = numbers(second, 0, 59), numbers(minute, 0, 59), numbers(hour, 0, 23)
        self.months, self.years = numbers(month, 1, 12, MONTHS), numbers(year, 1970, 2199)

    def has_day(self, day):
        return (
            day.year in self.years
            and day.month in self.months
            and any(self.is_day(part, day) for part in self.day.split(","))
            and any(self.is_weekday(part, day) for part in self.weekday.split(","))
        )

    def is_day(self, part, day):
        last = calendar.monthrange(day.year, day.month)[1]
        working = [n for n in range(1, last + 1) if calendar.weekday(day.year, day.month, n) < 5]
        if part == "L":
            return day.day == last
        if part == "LW":
            return day.day == working[-1]
        if part.endswith("W"):
            wanted = int(part[:-1])
            return wanted <= last and day.day == min(working, key=lambda n: abs(n - wanted))
        return day.day in numbers(part, 1, 31)

    def is_weekday(self, part, day):
        first = int(self.aws)
        names = {name: number for number, name in enumerate(WEEKDAYS, first)}
        number = (day.weekday() + 1) % 7 + first
        if part.endswith("L"):
            return number == value(part[:-1], names) and day.day + 7 > calendar.monthrange(day.year, day.month)[1]
        if "#" in part:
            weekday, nth = part.split("#")
            return number == value(weekday, names) and (day.day - 1) // 7 + 1 == int(nth)
        meant = numbers(part, first, first + 6, names)
        return number in meant or (not self.aws and number == 0 and 7 in meant)

    def instants(self, day, zone):
        """The instants of a day. Without hours, each time that the clock shows; otherwise each time once."""
        elapsed = len(self.hours) == 24
        for hour in self.hours:
            for minute in self.minutes:
                for second in self.seconds:
                    clock = datetime.datetime(day.year, day.month, day.day, hour, minute, second)
                    first, again = (clock.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
                    if shown(first, zone) != clock:
                        if not elapsed:
                            yield after_gap(again, clock, zone)
                    else:
                        yield first
                        if elapsed:
                            yield again


def shown(instant, zone):
    return instant.astimezone(zone).replace(tzinfo=None)


def after_gap(instant, clock, zone):
    while shown(instant, zone) < clock:
        instant += SECOND
    return instant


def value(text, names):
    return names[text] if text in names else int(text)


def numbers(field, least, most, names={}):
    found = set()
    for part in field.split(","):
        part, _, step = part.partition("/")
        if part in ("*", "?"):
            first, last = least, most
        elif "-" in part:
            first, last = (value(end, names) for end in part.split("-"))
        else:
            first = value(part, names)
            last = most if step else first
        found |= set(range(first, last + 1, int(step or 1)))
    return found


def ticks(text, zone, start):
    if text.startswith("rate("):
        number, unit = text[5:-1].split()
        every = int(number) * {"minute": 60, "hour": 3600, "day": 86400}[unit.rstrip("s")]
        before = int(start.timestamp()) // every
        return [datetime.datetime.fromtimestamp((before + n) * every, UTC) for n in range(1, TICKS + 1)]
    fields, found, day = Fields(text), set(), start.astimezone(zone).date() - DAY
    # A day more, because a day of the zone may begin before the last instant that was found.
    while len(found) < TICKS or day <= max(found).astimezone(zone).date():
        if fields.has_day(day):
            found |= {instant for instant in fields.instants(day, zone) if instant > start}
        day += DAY
    return sorted(found)[:TICKS]


def main():
    print("# Written by tools/ticks.py: schedule | zone | start | the first moments after it at which it is due.")
    for case in CASES.strip().splitlines():
        text, zone, start = (part.strip() for part in case.split("|"))
        found = ticks(text, zoneinfo.ZoneInfo(zone), datetime.datetime.fromisoformat(start.replace("Z", "+00:00")))
        print(f"{case} | {' '.join(tick.strftime('%Y-%m-%dT%H:%M:%SZ') for tick in found)}")


if __name__ == "__main__":
    main()
