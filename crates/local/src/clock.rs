//! The clock of a run: that of the machine, or a virtual one that skips waits.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub enum Clock {
    Real {
        start_ms: i64,
        started: Instant,
    },
    /// Stands still, except for skips and the time that commands take.
    Skipping {
        now_ms: i64,
    },
}

impl Clock {
    pub fn real() -> Self {
        Self::Real { start_ms: wall_ms(), started: Instant::now() }
    }

    pub fn skipping(start_ms: Option<i64>) -> Self {
        Self::Skipping { now_ms: start_ms.unwrap_or_else(wall_ms) }
    }

    pub fn now_ms(&self) -> i64 {
        match self {
            Self::Real { start_ms, started } => start_ms.saturating_add(ms(started.elapsed())),
            Self::Skipping { now_ms } => *now_ms,
        }
    }

    /// Skips to a time, if nothing else can happen before. False if the clock cannot skip.
    pub fn skip_to(&mut self, due_ms: i64) -> bool {
        match self {
            Self::Real { .. } => false,
            Self::Skipping { now_ms } => {
                *now_ms = due_ms.max(*now_ms);
                true
            }
        }
    }

    /// Real time has passed, while a command ran.
    pub fn passed(&mut self, time: Duration) {
        if let Self::Skipping { now_ms } = self {
            *now_ms = now_ms.saturating_add(ms(time));
        }
    }
}

fn wall_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, ms)
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
