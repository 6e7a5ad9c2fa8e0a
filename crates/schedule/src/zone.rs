//! Time zones: by their IANA names, from the database that is part of the program.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};

use crate::Invalid;

/// A time zone: `Europe/Berlin`, `UTC`.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// The instants at which the clock of a zone shows a time.
pub(crate) enum Shown {
    Once(Timestamp),
    /// It is set back: the first time and the second.
    Twice(Timestamp),
    /// It is set forward: when it goes on.
    Never(Timestamp),
}

impl Zone {
    #[must_use]
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }

    /// # Errors
    ///
    /// If there is no zone of that name.
    pub fn named(name: &str) -> Result<Self, Invalid> {
        let database = TimeZoneDatabase::bundled();
        let Ok(zone) = database.get(name) else {
            let unknown = Invalid::new(format!("unknown time zone `{name}`"));
            return Err(unknown.hint("write an IANA name such as Europe/Berlin, or UTC"));
        };
        Ok(Self { name: zone.iana_name().unwrap_or(name).to_owned(), zone })
    }

    /// All names.
    #[must_use]
    pub fn names() -> Vec<String> {
        TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect()
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `2026-03-29T03:00:00+02:00`, or `…Z` for UTC.
    #[must_use]
    pub fn shown(&self, at_ms: i64) -> String {
        let Ok(instant) = Timestamp::from_millisecond(at_ms) else { return at_ms.to_string() };
        if self.zone == TimeZone::UTC {
            return instant.to_string();
        }
        instant.display_with_offset(self.zone.to_offset(instant)).to_string()
    }

    /// What the clock shows.
    pub(crate) fn clock(&self, instant: Timestamp) -> DateTime {
        self.zone.to_datetime(instant)
    }

    /// When the clock shows a time.
    pub(crate) fn when(&self, clock: DateTime) -> Option<Shown> {
        let ambiguous = self.zone.to_ambiguous_timestamp(clock);
        Some(match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { offset } => {
                Shown::Once(offset.to_timestamp(clock).ok()?)
            }
            AmbiguousOffset::Fold { before, .. } => Shown::Twice(before.to_timestamp(clock).ok()?),
            AmbiguousOffset::Gap { before, .. } => {
                // With the offset that was in force, it is an instant after the change.
                let after = before.to_timestamp(clock).ok()?;
                let change = self.zone.preceding(after.checked_add(INSTANT).ok()?).next()?;
                Shown::Never(change.timestamp())
            }
        })
    }

    /// The next change of the clock after an instant.
    pub(crate) fn next_change(&self, instant: Timestamp) -> Option<Timestamp> {
        self.zone.following(instant).next().map(|change| change.timestamp())
    }

    /// When a clock that is not changed meanwhile shows a time.
    pub(crate) fn unchanged(&self, since: Timestamp, clock: DateTime) -> Option<Timestamp> {
        self.zone.to_offset(since).to_timestamp(clock).ok()
    }
}

/// The smallest difference between instants.
const INSTANT: SignedDuration = SignedDuration::from_nanos(1);

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
