//! When things must be looked at: what is near is in memory, what is far is in the store alone.
//!
//! A million executions that wait for next week cost neither memory nor time.

use std::collections::BTreeSet;
use std::ops::Range;

use everstep_store::{Shard, Space, Store, each_row};

use crate::{Error, Id, Result, keys};

/// Rows that are read from the store at a time.
const ROWS_AT_A_TIME: usize = 10_000;

pub struct Timers<I> {
    near: BTreeSet<(i64, I)>,
    /// The first moment whose timers are in the store alone.
    far_from_ms: i64,
    horizon_ms: i64,
}

impl<I: Id> Timers<I> {
    /// None yet: [`Timers::look_ahead`] reads those that are near.
    #[must_use]
    pub fn new(horizon_ms: i64) -> Self {
        Self { near: BTreeSet::new(), far_from_ms: i64::MIN, horizon_ms }
    }

    /// Whether the timers of a moment are in the store alone.
    #[must_use]
    pub fn is_far(&self, due_ms: i64) -> bool {
        due_ms >= self.far_from_ms
    }

    pub fn arm(&mut self, due_ms: i64, id: I) {
        self.near.insert((due_ms, id));
    }

    pub fn disarm(&mut self, due_ms: i64, id: I) {
        self.near.remove(&(due_ms, id));
    }

    #[must_use]
    pub fn is_armed(&self, due_ms: i64, id: I) -> bool {
        self.near.contains(&(due_ms, id))
    }

    /// Takes the first timer that is due.
    pub fn pop_due(&mut self, now_ms: i64) -> Option<(i64, I)> {
        let due = self.near.first().copied().filter(|(due_ms, _)| *due_ms <= now_ms)?;
        self.near.remove(&due);
        Some(due)
    }

    /// When the first timer is due, or more must be read.
    #[must_use]
    pub fn next_ms(&self) -> i64 {
        let look_ahead = self.far_from_ms.saturating_sub(self.horizon_ms / 2);
        self.near.first().map_or(look_ahead, |(due_ms, _)| look_ahead.min(*due_ms))
    }

    #[must_use]
    pub fn must_look_ahead(&self, now_ms: i64) -> bool {
        now_ms.saturating_add(self.horizon_ms / 2) >= self.far_from_ms
    }

    /// Reads timers that have come near, and all that were missed, from an order of a shard. Returns the
    /// moments that are near from now on: the store may not show the rows of commits that are on their way,
    /// so what is in memory must be armed by the caller.
    pub fn look_ahead(
        &mut self,
        now_ms: i64,
        store: &dyn Store,
        place: (Shard, Space),
        order: u8,
    ) -> Result<Range<i64>> {
        let come_near = self.far_from_ms..now_ms.saturating_add(self.horizon_ms);
        let (from, to) = (keys::from(order, come_near.start), keys::from(order, come_near.end));
        each_row(store, place, (&from, &to), ROWS_AT_A_TIME, |(key, _)| {
            let timer = keys::parse_at(&key);
            self.near.insert(timer.ok_or_else(|| Error::damaged("a timer cannot be read"))?);
            Ok::<_, Error>(())
        })?;
        self.far_from_ms = come_near.end;
        Ok(come_near)
    }
}

#[cfg(test)]
mod tests {
    use everstep_store::{Batch, MemoryStore};

    use super::*;
    use crate::tests::Number;

    const PLACE: (Shard, Space) = (Shard(0), Space::Wakes);
    const ORDER: u8 = 1;

    fn store(timers: &[(i64, u8)]) -> MemoryStore {
        let store = MemoryStore::new(1);
        let mut batch = Batch::new(Shard(0));
        for (due_ms, id) in timers {
            batch.put(Space::Wakes, keys::at(ORDER, *due_ms, Number::of(*id)), Vec::new());
        }
        store.commit(batch, Box::new(|done| done.expect("it is written")));
        store
    }

    #[test]
    fn what_is_near_is_read_and_what_was_missed() {
        let store = store(&[(-7, 1), (100, 2), (199, 3), (200, 4), (5000, 5)]);
        let mut timers = Timers::new(100);
        assert!(timers.must_look_ahead(100));
        let near = timers.look_ahead(100, &store, PLACE, ORDER).expect("readable");
        assert_eq!(near, i64::MIN..200);
        assert!(timers.is_far(200) && !timers.is_far(199) && !timers.must_look_ahead(100));
        assert_eq!(timers.next_ms(), -7);
        let due = |timers: &mut Timers<Number>, now_ms| timers.pop_due(now_ms).map(|(at, _)| at);
        assert_eq!((due(&mut timers, 100), due(&mut timers, 100)), (Some(-7), Some(100)));
        assert_eq!((due(&mut timers, 100), timers.next_ms()), (None, 150));
        assert!(timers.must_look_ahead(150));
        assert_eq!(timers.look_ahead(150, &store, PLACE, ORDER), Ok(200..250));
        assert!(timers.is_armed(200, Number::of(4)) && !timers.is_armed(5000, Number::of(5)));
    }

    #[test]
    fn a_timer_that_cannot_be_read_is_an_error() {
        let store = store(&[]);
        let mut batch = Batch::new(Shard(0));
        batch.put(Space::Wakes, [keys::from(ORDER, 5).as_slice(), b"odd"].concat(), Vec::new());
        store.commit(batch, Box::new(|done| done.expect("it is written")));
        let read = Timers::<Number>::new(100).look_ahead(0, &store, PLACE, ORDER);
        assert_eq!(read, Err(Error::damaged("a timer cannot be read")));
    }
}
