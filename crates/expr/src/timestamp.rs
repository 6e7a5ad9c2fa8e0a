//! Timestamps as the States Language allows them: RFC 3339 with an uppercase `T`, and an
//! uppercase `Z` where there is no numeric offset.
//!
//! Leap seconds are refused: no clock a workflow could wait for shows one.

use std::fmt;

/// A moment. Ordered in time, whatever offset it was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

/// Why a text is not a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotATimestamp {
    reason: &'static str,
}

impl fmt::Display for NotATimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, expected the form 2016-03-14T01:59:00Z", self.reason)
    }
}

impl std::error::Error for NotATimestamp {}

impl Timestamp {
    /// Milliseconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    pub fn to_millis(self) -> i64 {
        self.seconds * 1000 + i64::from(self.nanoseconds / 1_000_000)
    }
}

/// In UTC, in the form that [`parse`] reads.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = i32::try_from(self.nanoseconds).unwrap_or_default();
        match jiff::Timestamp::new(self.seconds, nanoseconds) {
            Ok(moment) => moment.fmt(f),
            // The first and last hours of the calendar, pushed over its edge by an offset.
            Err(_) => write!(f, "{} s after 1970-01-01T00:00:00Z", self.seconds),
        }
    }
}

/// A moment as the context object writes it: `2016-03-14T01:59:00.000Z`.
#[must_use]
pub fn format_millis(millis: i64) -> String {
    let moment = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{moment:.3}")
}

pub fn parse(text: &str) -> Result<Timestamp, NotATimestamp> {
    let mut reader = Reader(text.as_bytes());
    let year = reader.number(4)?;
    reader.expect(b'-', "the date is not year-month-day")?;
    let month = reader.number(2)?;
    reader.expect(b'-', "the date is not year-month-day")?;
    let day = reader.number(2)?;
    reader.expect(b'T', "there is no `T` after the date")?;
    let hour = reader.number(2)?;
    reader.expect(b':', "the time is not hour:minute:second")?;
    let minute = reader.number(2)?;
    reader.expect(b':', "the time is not hour:minute:second")?;
    let second = reader.number(2)?;
    let nanoseconds = reader.fraction()?;
    let offset = reader.offset()?;
    within(month, 1, 12, "there is no such month")?;
    within(day, 1, days_in(year, month), "the month has no such day")?;
    within(hour, 0, 23, "there is no such hour")?;
    within(minute, 0, 59, "there is no such minute")?;
    within(second, 0, 59, "there is no such second")?;
    let time = (hour * 60 + minute) * 60 + second;
    Ok(Timestamp {
        seconds: days_since_1970(year, month, day) * 86_400 + time - offset,
        nanoseconds,
    })
}

struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn expect(&mut self, byte: u8, reason: &'static str) -> Result<(), NotATimestamp> {
        match self.next() {
            Some(next) if next == byte => Ok(()),
            _ => Err(NotATimestamp { reason }),
        }
    }

    fn number(&mut self, digits: u32) -> Result<i64, NotATimestamp> {
        let mut number = 0;
        for _ in 0..digits {
            let digit = self.next().filter(u8::is_ascii_digit);
            let digit = digit.ok_or(NotATimestamp { reason: "there are too few digits" })?;
            number = number * 10 + i64::from(digit - b'0');
        }
        Ok(number)
    }

    /// Nanoseconds; what is finer is dropped.
    fn fraction(&mut self) -> Result<u32, NotATimestamp> {
        if self.0.first() != Some(&b'.') {
            return Ok(0);
        }
        self.next();
        let (mut nanoseconds, mut unit, mut digits) = (0, 100_000_000, 0);
        while let Some(digit) = self.0.first().filter(|byte| byte.is_ascii_digit()) {
            nanoseconds += u32::from(digit - b'0') * unit;
            unit /= 10;
            digits += 1;
            self.next();
        }
        match digits {
            0 => Err(NotATimestamp { reason: "there are no digits after the point" }),
            _ => Ok(nanoseconds),
        }
    }

    /// Seconds east of Greenwich; the text must end there.
    fn offset(&mut self) -> Result<i64, NotATimestamp> {
        const REASON: &str = "there is neither `Z` nor an offset such as +02:00 at the end";
        let sign = match self.next() {
            Some(b'Z') => 0,
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(NotATimestamp { reason: REASON }),
        };
        let mut offset = 0;
        if sign != 0 {
            let hours = self.number(2)?;
            self.expect(b':', REASON)?;
            let minutes = self.number(2)?;
            within(hours, 0, 23, "there is no such offset")?;
            within(minutes, 0, 59, "there is no such offset")?;
            offset = sign * (hours * 60 + minutes) * 60;
        }
        match self.0 {
            [] => Ok(offset),
            _ => Err(NotATimestamp { reason: "something follows the timestamp" }),
        }
    }
}

fn within(value: i64, least: i64, most: i64, reason: &'static str) -> Result<(), NotATimestamp> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(NotATimestamp { reason }) }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counted in years that begin in March, so that the leap day is the last of a year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    const MARCH_0000_TO_1970: i64 = 719_468;
    year * 365 + leap_days + day_of_year - MARCH_0000_TO_1970
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_formatted_moment_parses_to_itself() {
        for millis in [0, 1, -1, 951_782_399_999, 951_868_800_000, 1_457_920_740_000] {
            let text = format_millis(millis);
            assert_eq!(parse(&text).map(Timestamp::to_millis), Ok(millis), "{text}");
        }
        assert_eq!(format_millis(1_457_920_740_000), "2016-03-14T01:59:00.000Z");
    }

    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(parse(text).ok().map(Timestamp::to_millis), expected, "{text}");
    }

    #[test]
    fn moments() {
        check("1970-01-01T00:00:00Z", Some(0));
        check("2016-03-14T01:59:00Z", Some(1_457_920_740_000));
        check("2016-03-14T01:59:00.1239Z", Some(1_457_920_740_123));
        check("2016-03-14T03:59:00+02:00", Some(1_457_920_740_000));
        check("2016-03-13T23:29:00-02:30", Some(1_457_920_740_000));
        check("2000-02-29T00:00:00Z", Some(951_782_400_000));
        check("1969-12-31T23:59:59.999Z", Some(-1));
        check("0000-01-01T00:00:00Z", Some(-62_167_219_200_000));
        check("9999-12-31T23:59:59Z", Some(253_402_300_799_000));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "2016-03-14",
            "2016-03-14t01:59:00Z",
            "2016-03-14T01:59:00z",
            "2016-03-14 01:59:00Z",
            "2016-03-14T01:59:00",
            "2016-03-14T01:59Z",
            "2016-03-14T01:59:00.Z",
            "2016-03-14T01:59:60Z",
            "2016-03-14T24:00:00Z",
            "2016-03-14T01:60:00Z",
            "2016-13-14T01:59:00Z",
            "2016-00-14T01:59:00Z",
            "2016-03-32T01:59:00Z",
            "2015-02-29T01:59:00Z",
            "1900-02-29T01:59:00Z",
            "2016-03-14T01:59:00+0200",
            "2016-03-14T01:59:00+24:00",
            "2016-03-14T01:59:00Z ",
            " 2016-03-14T01:59:00Z",
            "05-12-2016T21:29:29Z",
            "+2016-03-14T01:59:00Z",
            "２016-03-14T01:59:00Z",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn order_is_that_of_time() {
        let at = |text| parse(text).unwrap();
        assert_eq!(at("2020-01-01T00:00:00Z"), at("2020-01-01T01:00:00.000+01:00"));
        assert!(at("2020-01-01T00:00:00Z") < at("2020-01-01T00:00:00.000000001Z"));
        assert!(at("2020-01-01T00:00:00+01:00") < at("2020-01-01T00:00:00Z"));
    }

    proptest! {
        #[test]
        fn agrees_with_a_calendar(seconds in -62_167_219_200_i64..253_402_300_799) {
            let moment = jiff::Timestamp::from_second(seconds).unwrap();
            let parsed = parse(&moment.to_string()).unwrap();
            prop_assert_eq!(parsed.to_millis(), seconds * 1000);
        }

        #[test]
        fn any_text_is_fine(text in "[0-9TZ:.+-]{0,40}|.{0,30}") {
            let _ = parse(&text);
        }
    }
}
