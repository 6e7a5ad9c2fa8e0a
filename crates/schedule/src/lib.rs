//! Schedules: when a timer is due.
//!
//! A [`Schedule`] takes a moment and returns the next one, [`Schedule::next_after`]. It reads no clock. It is written as
//! Azure does (NCRONTAB: `{second} {minute} {hour} {day} {month} {day of week}`, or the last five of them), as AWS does
//! (`cron(…)`, `rate(…)`), or is an interval.
//!
//! A schedule with hours follows the clock on the wall of its [`Zone`]: what falls into the hour that is left out in
//! spring is due once, when that hour is over; what falls into the hour that is repeated in autumn is due once, the first
//! time. A schedule without hours (`*`) follows the time that passes, so every five minutes is every five minutes on
//! these days too. So does an interval, which counts from 1970-01-01T00:00:00Z.
//!
//! The rules of time zones are part of the program, so all machines agree about them.

mod cron;
mod rate;
mod zone;

use std::fmt;

use cron::Cron;

pub use cron::Syntax;
pub use zone::Zone;

#[derive(Debug, Clone)]
pub struct Schedule {
    /// As it is shown.
    written: String,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    Cron(Box<Cron>),
    Every { ms: i64 },
}

/// Why a text is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub message: String,
    pub hint: Option<String>,
}

/// The shortest interval.
pub const EVERY_MS_MIN: u64 = 1000;

impl Schedule {
    /// `0 30 2 * * *`, `30 2 * * *`, `cron(30 2 * * ? *)` or `rate(5 minutes)`. An interval does not depend on a zone.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is never due.
    pub fn parse(text: &str, zone: Zone) -> Result<Self, Invalid> {
        let written = text.trim();
        let inside = |name: &str| written.strip_prefix(name)?.trim_end().strip_suffix(')');
        if let Some(rate) = inside("rate(") {
            let ms = rate::parse(rate)?;
            return Ok(Self { written: written.to_owned(), rule: Rule::Every { ms } });
        }
        let cron = match inside("cron(") {
            Some(fields) => Cron::parse(fields, Syntax::Aws, zone)?,
            None => Cron::parse(written, Syntax::Ncrontab, zone)?,
        };
        Ok(Self { written: written.to_owned(), rule: Rule::Cron(Box::new(cron)) })
    }

    /// Every so many milliseconds.
    ///
    /// # Errors
    ///
    /// If it is shorter than a second.
    pub fn every(ms: u64) -> Result<Self, Invalid> {
        let most = i64::MAX / 4;
        match i64::try_from(ms).ok().filter(|ms| *ms < most) {
            Some(interval) if ms >= EVERY_MS_MIN => {
                let written = format!("every {}", rate::words(ms));
                Ok(Self { written, rule: Rule::Every { ms: interval } })
            }
            Some(_) => Err(Invalid::new("an interval must be at least one second")),
            None => Err(Invalid::new("the interval is too long")),
        }
    }

    /// The first moment after this one at which the timer is due, in milliseconds since 1970; none if it never is again.
    #[must_use]
    pub fn next_after(&self, at_ms: i64) -> Option<i64> {
        match &self.rule {
            Rule::Cron(cron) => cron.next_after(at_ms),
            Rule::Every { ms } => at_ms.div_euclid(*ms).checked_add(1)?.checked_mul(*ms),
        }
    }

    /// The zone that it depends on, if it does.
    #[must_use]
    pub fn zone(&self) -> Option<&Zone> {
        match &self.rule {
            Rule::Cron(cron) => Some(cron.zone()),
            Rule::Every { .. } => None,
        }
    }

    /// Whether it is written as AWS does.
    #[must_use]
    pub fn is_aws(&self) -> bool {
        self.written.starts_with("cron(") || self.written.starts_with("rate(")
    }

    /// Whether it names days of the month and days of the week: both must match, where `crontab` takes either.
    #[must_use]
    pub fn names_both_days(&self) -> bool {
        matches!(&self.rule, Rule::Cron(cron) if cron.names_both_days())
    }
}

/// As written.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Whether they are due at the same moments, as far as one can see.
impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written && self.zone() == other.zone()
    }
}

impl Invalid {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Invalid {}
