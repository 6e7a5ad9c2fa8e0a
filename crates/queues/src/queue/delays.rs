//! Messages that cannot be received before their time: rows, read when that comes.

use crate::ahead::Ahead;
use crate::message::State;

/// A place among what is delayed: by the time, then by the sequence number.
pub(crate) type Delay = (i64, u64);

pub(crate) struct Delays {
    /// Rows before were read, and are delayed no longer.
    pub(crate) read_to: Delay,
    /// Nothing is due before; none if there is nothing.
    next_ms: Option<i64>,
    /// The latest that is due, of a FIFO queue: what is sent later is not due before it.
    pub(crate) last_ms: i64,
    pub(crate) ahead: Ahead<Delay, State>,
}

impl Delays {
    /// Rows are yet to be read, if there are any.
    pub(crate) fn new(any: bool, last_ms: i64) -> Self {
        let next_ms = any.then_some(i64::MIN);
        Self { read_to: (i64::MIN, 0), next_ms, last_ms, ahead: Ahead::default() }
    }

    pub(crate) fn add(&mut self, delay: Delay, commit: u64, state: State) {
        self.ahead.put(delay, commit, Some(state));
        // The clock may have been set back since rows were read.
        self.read_to = self.read_to.min(delay);
        self.next_ms = Some(self.next_ms.map_or(delay.0, |next_ms| next_ms.min(delay.0)));
        self.last_ms = self.last_ms.max(delay.0);
    }

    pub(crate) fn remove(&mut self, delay: Delay, commit: u64) {
        self.ahead.put(delay, commit, None);
    }

    pub(crate) fn next_ms(&self) -> Option<i64> {
        self.next_ms
    }

    /// All that is due at this moment was read; `next` is the first that the store has after it.
    pub(crate) fn has_read_to(&mut self, now_ms: i64, next: Option<i64>) {
        self.read_to = self.read_to.max((now_ms.saturating_add(1), 0));
        let ahead = self.ahead.first().map(|(due_ms, _)| due_ms);
        self.next_ms = next.into_iter().chain(ahead).min();
    }
}
