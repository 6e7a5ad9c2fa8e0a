//! Deliveries that are under way or wait to be retried: one outbox for every engine, with one backoff.
//!
//! A delivery is a row from the commit that asks for it until its receipt is durable. Of each destination so many are
//! known here; all others are rows alone until there is room, and are read in pages. So a destination that is down for
//! long costs its own deliveries time and no memory, and no other destination anything.
//!
//! What is delivered, where the rows are and how they are read is the engine's: it asks what is due and what to read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// How many failures or destinations may follow from each other before the next is not notified: a destination that
/// fails itself would otherwise never come to an end.
pub const DEPTH_MAX: u32 = 16;

/// Pauses between attempts double from the first of these to the last.
const RETRY_MS_MIN: i64 = 1000;
const RETRY_MS_MAX: i64 = 5 * 60 * 1000;

/// `K` names a delivery, `D` its destination.
#[derive(Debug)]
pub struct Outbox<K, D> {
    /// Of each destination.
    known_max: usize,
    known: HashMap<K, Known<D>>,
    retries: BTreeSet<(i64, K)>,
    /// Ordered, so that the same happens each time in a simulation.
    destinations: BTreeMap<D, Destination>,
}

#[derive(Debug)]
struct Known<D> {
    destination: D,
    /// How often it has failed since the start.
    failures: u32,
}

#[derive(Debug, Default)]
struct Destination {
    known: usize,
    /// Where to continue reading, if there may be rows that are not known here.
    unread: Option<Cursor>,
    /// There was no room for a delivery since reading began at the start.
    missed: bool,
}

/// A place among the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor {
    Start,
    /// After this key.
    After(Vec<u8>),
}

impl<K: Copy + Ord + Hash, D: Clone + Ord> Outbox<K, D> {
    #[must_use]
    pub fn new(known_max: usize) -> Self {
        let (known, retries, destinations) = Default::default();
        Self { known_max, known, retries, destinations }
    }

    /// Whether a delivery is under way or waits to be retried.
    #[must_use]
    pub fn knows(&self, key: K) -> bool {
        self.known.contains_key(&key)
    }

    /// Takes a delivery whose row is durable; whether it is to be made now. If there is no room it is read later.
    pub fn admit(&mut self, key: K, destination: &D) -> bool {
        if self.knows(key) {
            return true;
        }
        let entry = self.destinations.entry(destination.clone()).or_default();
        if entry.known >= self.known_max {
            entry.unread.get_or_insert(Cursor::Start);
            entry.missed = true;
            return false;
        }
        entry.known += 1;
        self.known.insert(key, Known { destination: destination.clone(), failures: 0 });
        true
    }

    /// Whether another delivery to a destination would be made at once.
    #[must_use]
    pub fn has_room(&self, destination: &D) -> bool {
        let entry = self.destinations.get(destination);
        entry.is_none_or(|entry| entry.known < self.known_max && entry.unread.is_none())
    }

    /// There are rows for a destination.
    pub fn has_rows(&mut self, destination: D) {
        self.destinations.entry(destination).or_default().unread.get_or_insert(Cursor::Start);
    }

    /// A delivery has arrived, or is not wanted any more.
    pub fn remove(&mut self, key: K) {
        let Some(Known { destination, .. }) = self.known.remove(&key) else { return };
        if let Some(entry) = self.destinations.get_mut(&destination) {
            entry.known -= 1;
        }
        self.tidy(&destination);
    }

    /// A delivery has not arrived, and is retried after a pause.
    pub fn retry(&mut self, key: K, now_ms: i64) {
        let Some(known) = self.known.get_mut(&key) else { return };
        let pause_ms = (RETRY_MS_MIN << known.failures.min(16)).min(RETRY_MS_MAX);
        known.failures += 1;
        self.retries.insert((now_ms.saturating_add(pause_ms), key));
    }

    /// Takes a delivery that is to be retried now.
    pub fn pop_due(&mut self, now_ms: i64) -> Option<K> {
        let (due_ms, key) =
            self.retries.first().copied().filter(|(due_ms, _)| *due_ms <= now_ms)?;
        self.retries.remove(&(due_ms, key));
        Some(key)
    }

    /// A destination with rows to be read and room for them: where to continue, and for how many.
    #[must_use]
    pub fn next_to_read(&self) -> Option<(D, Cursor, usize)> {
        self.destinations.iter().find_map(|(destination, entry)| {
            let cursor = entry.unread.clone().filter(|_| entry.known <= self.known_max / 2)?;
            Some((destination.clone(), cursor, (self.known_max - entry.known).max(1)))
        })
    }

    /// Rows of a destination have been read from `from` up to the key `last`, or to their end. What found no room since
    /// reading began may be behind the cursor, and is found in the next round. To read once more without such a reason
    /// would never end: rows stay until their receipt is durable.
    pub fn has_read(&mut self, destination: &D, from: &Cursor, last: Option<Vec<u8>>) {
        let entry = self.destinations.entry(destination.clone()).or_default();
        entry.missed &= *from != Cursor::Start;
        entry.unread = match last {
            Some(last) => Some(Cursor::After(last)),
            None => entry.missed.then_some(Cursor::Start),
        };
        self.tidy(destination);
    }

    /// When there is something to do: to retry, or to read.
    #[must_use]
    pub fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let unread = self.next_to_read().map(|_| now_ms);
        self.retries.first().map(|(due_ms, _)| *due_ms).into_iter().chain(unread).min()
    }

    fn tidy(&mut self, destination: &D) {
        let idle = |entry: &Destination| entry.known == 0 && entry.unread.is_none();
        if self.destinations.get(destination).is_some_and(idle) {
            self.destinations.remove(destination);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_destination_leaves_room_for_another() {
        let mut outbox = Outbox::new(4);
        let admitted = (0..10).filter(|number| outbox.admit(*number, &"down")).count();
        assert_eq!(admitted, 4);
        assert!(outbox.admit(0, &"down"), "it is known already");
        assert!(outbox.admit(10, &"up"));
        assert!(!outbox.has_room(&"down") && outbox.has_room(&"up") && outbox.has_room(&"new"));
        assert_eq!(outbox.next_to_read(), None, "there is no room for the rest");
        outbox.remove(0);
        outbox.remove(1);
        assert_eq!(outbox.next_to_read(), Some(("down", Cursor::Start, 2)));
    }

    #[test]
    fn rows_that_found_no_room_are_read_in_the_next_round() {
        let mut outbox = Outbox::new(4);
        outbox.has_rows("f");
        outbox.has_read(&"f", &Cursor::Start, Some(vec![1]));
        for number in 0..5 {
            outbox.admit(number, &"f");
        }
        (0..4).for_each(|number| outbox.remove(number));
        let (_, cursor, _) = outbox.next_to_read().expect("there is more");
        outbox.has_read(&"f", &cursor, None);
        assert_eq!(outbox.next_to_read(), Some(("f", Cursor::Start, 4)));
        outbox.has_read(&"f", &Cursor::Start, None);
        assert_eq!(outbox.next_to_read(), None);
        assert!(outbox.destinations.is_empty());
    }

    #[test]
    fn reading_ends_while_all_that_was_read_is_under_way() {
        let mut outbox = Outbox::new(4);
        outbox.has_rows("f");
        assert!(outbox.admit(0, &"f"));
        outbox.has_read(&"f", &Cursor::Start, Some(vec![1]));
        assert!(outbox.admit(1, &"f"));
        outbox.has_read(&"f", &Cursor::After(vec![1]), None);
        assert_eq!(outbox.next_to_read(), None);
    }

    #[test]
    fn pauses_double_up_to_five_minutes() {
        let mut outbox = Outbox::new(4);
        assert!(outbox.admit(0, &"f"));
        let mut pauses = Vec::new();
        for _ in 0..11 {
            outbox.retry(0, 0);
            pauses.extend(outbox.next_ms(0));
            assert_eq!(outbox.pop_due(0), None, "not yet");
            assert_eq!(outbox.pop_due(i64::MAX), Some(0));
        }
        assert_eq!(pauses[..3], [1000, 2000, 4000]);
        assert_eq!(pauses[8..], [256_000, 300_000, 300_000]);
    }

    #[test]
    fn what_is_removed_is_not_retried() {
        let mut outbox = Outbox::new(4);
        assert!(outbox.admit(0, &"f"));
        outbox.remove(0);
        outbox.retry(0, 0);
        assert_eq!(outbox.next_ms(0), None);
    }
}
