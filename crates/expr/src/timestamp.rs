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
