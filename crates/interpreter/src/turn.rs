//! How much is decided at a time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use everstep_expr::Stopwatch;
use everstep_history::Event;

/// When a decision gives way to others. It does so between two pieces of work, never within one: whatever is left is
/// ready, and [`crate::Input::Continue`] takes it up.
#[derive(Clone)]
pub struct Turn {
    pub events_max: usize,
    /// Bytes of the payloads in those events.
    pub bytes_max: usize,
    pub time: Option<Time>,
}

/// Where expressions may take long: how long they have taken, and how long a turn is.
#[derive(Clone)]
pub struct Time {
    pub stopwatch: Stopwatch,
    pub ms_max: u64,
    /// Somebody waits for the execution: its turn is over now.
    pub interrupted: Arc<AtomicBool>,
}

impl Time {
    pub(crate) fn is_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || (self.stopwatch)() >= self.ms_max
    }
}

/// What was decided in one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    pub events: Vec<Event>,
    /// There is more to decide at once.
    pub is_unfinished: bool,
}

impl Turn {
    /// All that can be decided.
    pub const WHOLE: Self = Self { events_max: usize::MAX, bytes_max: usize::MAX, time: None };
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms_max = self.time.as_ref().map(|time| time.ms_max);
        write!(f, "Turn({} events, {} bytes, {ms_max:?} ms)", self.events_max, self.bytes_max)
    }
}
