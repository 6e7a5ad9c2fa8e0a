//! Expressions with fields. croner reads the fields and searches the calendar; which instants of a zone are meant is
//! decided here.

use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::civil::DateTime;

use crate::Invalid;
use crate::zone::{Shown, Zone};

/// Who writes so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// Azure: seconds first, Sunday is 0, both days must match.
    Ncrontab,
    /// AWS: no seconds, the year last, Sunday is 1, one of the days is `?`.
    Aws,
}

#[derive(Debug, Clone)]
pub(crate) struct Cron {
    cron: croner::Cron,
    zone: Zone,
    /// It names no hours, so it follows the time that passes.
    every_hour: bool,
}

/// The years in which anything is looked for: those of AWS.
const YEARS: &str = "1970-2199";

/// A field: its name, what it may be, and what the message says about that.
struct Field {
    name: &'static str,
    range: &'static str,
    /// Characters besides digits, `*`, `,`, `-` and `/`.
    extra: &'static str,
    names: &'static [&'static str],
}

const MONTHS: &[&str] =
    &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const fn field(name: &'static str, range: &'static str) -> Field {
    Field { name, range, extra: "", names: &[] }
}

const SECOND: Field = field("second", "0 to 59");
const MINUTE: Field = field("minute", "0 to 59");
const HOUR: Field = field("hour", "0 to 23");
const DAY: Field =
    Field { name: "day of the month", range: "1 to 31, L, LW or 15W", extra: "?LW", names: &[] };
const MONTH: Field =
    Field { name: "month", range: "1 to 12 or JAN to DEC", extra: "", names: MONTHS };
const WEEKDAY: Field = Field {
    name: "day of the week",
    range: "0 (Sunday) to 6, SUN to SAT, 5L or 5#3",
    extra: "?L#",
    names: WEEKDAYS,
};
const AWS_WEEKDAY: Field = Field { range: "1 (Sunday) to 7, SUN to SAT, 6L or 6#3", ..WEEKDAY };
const YEAR: Field = field("year", "1970 to 2199");

impl Syntax {
    /// The fields, in croner's order, and the texts that are in them.
    fn fields(self, text: &str) -> Result<Vec<(Field, String)>, Invalid> {
        let given: Vec<String> = text.split_whitespace().map(str::to_uppercase).collect();
        let all = [SECOND, MINUTE, HOUR, DAY, MONTH];
        let (before, after, weekday) = match (self, given.len()) {
            (Self::Ncrontab, 6) => (None, Some(YEARS), WEEKDAY),
            (Self::Ncrontab, 5) => (Some("0"), Some(YEARS), WEEKDAY),
            (Self::Aws, 6) => (Some("0"), None, AWS_WEEKDAY),
            (_, count) => return Err(self.wrong_count(text, count)),
        };
        let own = |text: &str| text.to_owned();
        let texts = before.map(own).into_iter().chain(given).chain(after.map(own));
        let mut fields: Vec<_> = all.into_iter().chain([weekday, YEAR]).zip(texts).collect();
        if let Some((_, year)) = fields.last_mut() {
            *year = year.replace('*', YEARS);
        }
        Ok(fields)
    }

    fn wrong_count(self, text: &str, count: usize) -> Invalid {
        let written = text.trim();
        let fields = if count == 1 { "field" } else { "fields" };
        let message = format!("invalid schedule `{written}`: it has {count} {fields}");
        Invalid::new(message).hint(match self {
            Self::Ncrontab => {
                "write `{second} {minute} {hour} {day} {month} {day of week}`, such as `0 30 2 * * *`, \
                 or cron(…) or rate(…) as AWS does"
            }
            Self::Aws => {
                "write cron({minute} {hour} {day} {month} {day of week} {year}), such as cron(30 2 * * ? *)"
            }
        })
    }

    fn parser(self) -> CronParser {
        CronParser::builder()
            .seconds(Seconds::Required)
            .year(Year::Required)
            .dom_and_dow(true)
            .alternative_weekdays(self == Self::Aws)
            // `0/15`: both have that.
            .sloppy_ranges(true)
            .build()
    }
}

impl Cron {
    pub(crate) fn parse(text: &str, syntax: Syntax, zone: Zone) -> Result<Self, Invalid> {
        let fields = syntax.fields(text)?;
        fields.iter().enumerate().try_for_each(|(at, field)| check(syntax, at, field))?;
        let texts: Vec<&str> = fields.iter().map(|(_, text)| text.as_str()).collect();
        if syntax == Syntax::Aws && (texts[3] == "?") == (texts[5] == "?") {
            let message =
                "one of day of the month and day of the week must be `?`, and the other not";
            return Err(
                Invalid::new(message).hint("write cron(30 2 * * ? *), or cron(30 2 ? * MON *)")
            );
        }
        let cron = syntax.parser().parse(&texts.join(" "));
        let cron = cron.map_err(|error| Invalid::new(format!("invalid schedule: {error}")))?;
        let every_hour = cron.pattern.hours.values().len() == 24;
        let parsed = Self { cron, zone, every_hour };
        if parsed.search(START, true).is_none() {
            let message = format!("the schedule `{}` is never due", text.trim());
            return Err(Invalid::new(message).hint("no day has this date"));
        }
        Ok(parsed)
    }

    pub(crate) fn zone(&self) -> &Zone {
        &self.zone
    }

    pub(crate) fn names_both_days(&self) -> bool {
        !self.cron.pattern.is_dom_wildcard() && !self.cron.pattern.is_dow_wildcard()
    }

    pub(crate) fn next_after(&self, at_ms: i64) -> Option<i64> {
        // Nothing is due at a fraction of a second, so what is after the second's begin is after the moment.
        let after = Timestamp::from_second(at_ms.div_euclid(1000)).ok()?;
        let next = if self.every_hour { self.next_elapsed(after) } else { self.next_shown(after) };
        next.map(Timestamp::as_millisecond)
    }

    /// What a clock on the wall shows, each time once.
    fn next_shown(&self, after: Timestamp) -> Option<Timestamp> {
        let mut clock = self.zone.clock(after);
        loop {
            clock = self.search(clock, false)?;
            let instant = match self.zone.when(clock)? {
                Shown::Once(instant) | Shown::Twice(instant) | Shown::Never(instant) => instant,
            };
            // When the hour is repeated, the clock shows times that were due the first time.
            if instant > after {
                return Some(instant);
            }
        }
    }

    /// As time passes: what the clock shows, whenever it does.
    fn next_elapsed(&self, after: Timestamp) -> Option<Timestamp> {
        let (mut since, mut inclusive) = (after, false);
        loop {
            let clock = self.search(self.zone.clock(since), inclusive)?;
            let instant = self.zone.unchanged(since, clock)?;
            match self.zone.next_change(since) {
                Some(change) if instant >= change => (since, inclusive) = (change, true),
                _ => return Some(instant),
            }
        }
    }

    fn search(&self, from: DateTime, inclusive: bool) -> Option<DateTime> {
        self.cron.find_next_occurrence(&from, inclusive).ok()
    }
}

const START: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Checks one field by itself, so that the message can name it.
fn check(syntax: Syntax, at: usize, (field, text): &(Field, String)) -> Result<(), Invalid> {
    let invalid = || {
        let message = format!("invalid {} `{text}`", field.name);
        Invalid::new(message).hint(format!("write {}", field.range))
    };
    let mut bare = text.clone();
    for name in field.names {
        bare = bare.replace(name, "0");
    }
    let known = |c: char| c.is_ascii_digit() || "*,-/".contains(c) || field.extra.contains(c);
    let parts = || text.split([',', '-', '/', '#']);
    let is_year = |part: &str| part.parse().is_ok_and(|year| (1970..=2199).contains(&year));
    let years = text.split(',').filter_map(|part| part.split('/').next());
    let wrong_year =
        field.name == YEAR.name && !years.flat_map(|range| range.split('-')).all(is_year);
    if wrong_year
        || !bare.chars().all(known)
        || parts().any(str::is_empty)
        || text.matches('?').count() > 1
    {
        return Err(invalid());
    }
    let mut alone = ["*"; 7];
    alone[at] = text;
    syntax.parser().parse(&alone.join(" ")).map(|_| ()).map_err(|_| invalid())
}
