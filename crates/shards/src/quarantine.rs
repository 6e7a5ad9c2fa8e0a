//! Who is not worked on any more, because that has ended the engine before.
//!
//! Each time the engine dies while it works on something, or a decision on it panics, that is counted in a row beside it.
//! Whatever completes a step starts anew. After [`FAILURES_MAX`] failures in a row it is quarantined: it stays in the store
//! as it is until somebody stops it or releases it. A panic quarantines at once, but only until the next start.
//!
//! Until then it is a suspect. Of suspects only one at a time may be worked on ([`Quarantine::is_suspect`]): so when the
//! engine dies again, the one that ends it is counted, and not the others that were near it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use everstep_store::{Batch, Shard, Space, Store, after_prefix, each_row};
use minicbor::{Decode, Encode};

use crate::in_flight::Subject;
use crate::keys::shard_of;
use crate::{Error, Id, Result, row};

/// Failures in a row after which something is quarantined for good.
pub const FAILURES_MAX: u32 = 3;

/// What was never stored is not waited for longer than this.
const UNSTORED_KEPT_MS: i64 = 24 * 60 * 60 * 1000;
const ROWS_AT_A_TIME: usize = 1000;
const PREFIX: &[u8] = b"quarantine/";
const DIED: &str = "the engine died while it worked on it";

/// What is known against something.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
struct Failures {
    /// How many, without a step in between.
    #[n(0)]
    count: u32,
    #[n(1)]
    last_ms: i64,
    /// What the last one was.
    #[n(2)]
    why: String,
}

impl Failures {
    fn after(known: Option<&Self>, why: &str, now_ms: i64) -> Self {
        let count = known.map_or(0, |known| known.count).saturating_add(1);
        Self { count, last_ms: now_ms, why: why.to_owned() }
    }

    fn are_too_many(&self) -> bool {
        self.count >= FAILURES_MAX
    }

    fn decode(row: &[u8]) -> Result<Self> {
        row::decode("a row of the quarantine", row)
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 | 1 => f.write_str(&self.why),
            count => write!(f, "{}, the last of {count} failures in a row", self.why),
        }
    }
}

/// Something that is not worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    pub why: Arc<str>,
    pub since_ms: i64,
}

/// All that is quarantined in the shards of an engine, for any thread to read. Clones share it.
#[derive(Debug, Clone)]
pub struct Register<I>(Arc<Mutex<BTreeMap<I, Quarantined>>>);

impl<I> Default for Register<I> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<I: Id> Register<I> {
    #[must_use]
    pub fn len(&self) -> usize {
        self.held().len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    /// At most `limit` of them, those that came first.
    #[must_use]
    pub fn first(&self, limit: usize) -> Vec<(I, Quarantined)> {
        let mut all: Vec<_> = self.held().iter().map(|(id, held)| (*id, held.clone())).collect();
        all.sort_by_key(|(id, held)| (held.since_ms, *id));
        all.truncate(limit);
        all
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<I, Quarantined>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a shard knows of failures.
pub struct Quarantine<I: Id> {
    kind: u8,
    failures: HashMap<I, Failures>,
    /// Not worked on in this life of the engine.
    held: HashMap<I, Quarantined>,
    register: Register<I>,
}

impl<I: Id> Quarantine<I> {
    /// Reads what is known in a shard. Also returns the removal of what is known of things that were never stored: the
    /// engine died before that, and nobody has come back for them.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn open(
        store: &dyn Store,
        shard: Shard,
        kind: u8,
        register: Register<I>,
        now_ms: i64,
        is_stored: impl Fn(I) -> Result<bool>,
    ) -> Result<(Self, Batch)> {
        let mut opened = Self { kind, failures: HashMap::new(), held: HashMap::new(), register };
        let mut batch = Batch::new(shard);
        let from = prefix(kind);
        let (place, to) = ((shard, Space::Catalog), after_prefix(&from));
        each_row(store, place, (&from, &to), ROWS_AT_A_TIME, |(key, row)| {
            let id = key.get(from.len()..).and_then(I::from_bytes);
            let id = id.ok_or_else(|| Error::damaged("a key of the quarantine cannot be read"))?;
            let failures = Failures::decode(&row)?;
            let is_old = failures.last_ms.saturating_add(UNSTORED_KEPT_MS) < now_ms;
            if is_old && !is_stored(id)? {
                batch.remove(Space::Catalog, key);
            } else {
                opened.know(id, failures);
            }
            Ok::<(), Error>(())
        })?;
        Ok((opened, batch))
    }

    fn know(&mut self, id: I, failures: Failures) {
        if failures.are_too_many() {
            self.hold(id, &failures);
        }
        self.failures.insert(id, failures);
    }

    fn hold(&mut self, id: I, failures: &Failures) {
        let held = Quarantined { why: failures.to_string().into(), since_ms: failures.last_ms };
        self.register.held().insert(id, held.clone());
        self.held.insert(id, held);
    }

    /// Whether something is not worked on, and why.
    #[must_use]
    pub fn holds(&self, id: I) -> Option<&Quarantined> {
        if self.held.is_empty() { None } else { self.held.get(&id) }
    }

    /// All that is not worked on.
    pub fn held(&self) -> impl Iterator<Item = (I, &Quarantined)> {
        self.held.iter().map(|(id, held)| (*id, held))
    }

    /// Whether something has failed, and completed no step since.
    #[must_use]
    pub fn is_suspect(&self, id: I) -> bool {
        !self.failures.is_empty() && self.failures.contains_key(&id)
    }

    /// A decision has panicked: it is not worked on in this life of the engine, and perhaps in no other.
    pub fn panicked(&mut self, id: I, why: &str, now_ms: i64, batch: &mut Batch) -> Arc<str> {
        let failures = Failures::after(self.failures.get(&id), why, now_ms);
        batch.put(Space::Catalog, self.key(id), row::encode(&failures));
        self.hold(id, &failures);
        let why = failures.to_string().into();
        self.failures.insert(id, failures);
        why
    }

    /// A step of it is part of the batch, or somebody releases it: nothing is known against it any more. Whether it was
    /// quarantined.
    pub fn forget(&mut self, id: I, batch: &mut Batch) -> bool {
        if self.failures.is_empty() || self.failures.remove(&id).is_none() {
            return false;
        }
        batch.remove(Space::Catalog, self.key(id));
        self.register.held().remove(&id);
        self.held.remove(&id).is_some()
    }

    fn key(&self, id: I) -> Vec<u8> {
        key(Subject { kind: self.kind, id: *id.bytes() })
    }
}

fn prefix(kind: u8) -> Vec<u8> {
    [PREFIX, &[kind]].concat()
}

fn key(subject: Subject) -> Vec<u8> {
    [PREFIX, &[subject.kind], subject.id.as_slice()].concat()
}

/// What is to be written when the engine has died while it worked on these. It must be durable before any of them is worked
/// on again: otherwise the next death would not be counted.
///
/// # Errors
///
/// If the store cannot be read.
pub fn deaths(store: &dyn Store, subjects: &[Subject], now_ms: i64) -> Result<Vec<Batch>> {
    let death = |subject: &Subject| {
        let (shard, key) = (shard_of(&subject.id, store.shards()), key(*subject));
        let row = store.get(shard, Space::Catalog, &key)?;
        let known = row.map(|row| Failures::decode(&row)).transpose()?;
        let failures = Failures::after(known.as_ref(), DIED, now_ms);
        let mut batch = Batch::new(shard);
        batch.put(Space::Catalog, key, row::encode(&failures));
        Ok(batch)
    };
    subjects.iter().map(death).collect()
}

/// Writes [`deaths`], and waits until that is durable.
///
/// # Errors
///
/// If the store cannot be read or written.
pub fn record_deaths(store: &dyn Store, subjects: &[Subject], now_ms: i64) -> Result<()> {
    let (sender, receiver) = mpsc::channel();
    for batch in deaths(store, subjects, now_ms)? {
        let sender = sender.clone();
        let done = move |outcome| drop(sender.send(outcome));
        store.commit(batch, Box::new(done));
    }
    drop(sender);
    for outcome in receiver {
        outcome?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use everstep_store::MemoryStore;

    use super::*;
    use crate::tests::Number;

    const KIND: u8 = 7;
    const NOW_MS: i64 = 1_700_000_000_000;

    fn subject(id: u8) -> Subject {
        Subject { kind: KIND, id: *Number::of(id).bytes() }
    }

    fn commit(store: &MemoryStore, batch: Batch) {
        store.commit(batch, Box::new(|done| done.expect("it is written")));
    }

    fn open(store: &MemoryStore, now_ms: i64) -> Quarantine<Number> {
        let opened =
            Quarantine::open(store, Shard(0), KIND, Register::default(), now_ms, |_| Ok(false));
        let (opened, batch) = opened.expect("readable");
        commit(store, batch);
        opened
    }

    /// What happens to number 1, life after life.
    enum What {
        Dies,
        Panics,
        Steps,
        IsReleased,
    }
    use What::{Dies, IsReleased, Panics, Steps};

    /// Whether it is a suspect, and whether it is quarantined, after all of that and a start.
    fn check(lives: &[What], expected: (bool, bool)) {
        let store = MemoryStore::new(1);
        for what in lives {
            let mut quarantine = open(&store, NOW_MS);
            let mut batch = Batch::new(Shard(0));
            match what {
                Dies => record_deaths(&store, &[subject(1)], NOW_MS).expect("written"),
                Panics => {
                    quarantine.panicked(Number::of(1), "odd", NOW_MS, &mut batch);
                    assert!(quarantine.holds(Number::of(1)).is_some(), "until the next start");
                }
                Steps | IsReleased => {
                    quarantine.forget(Number::of(1), &mut batch);
                    assert!(quarantine.register.is_empty());
                }
            }
            commit(&store, batch);
        }
        let after = open(&store, NOW_MS);
        let found = (after.is_suspect(Number::of(1)), after.holds(Number::of(1)).is_some());
        assert_eq!(found, expected);
        assert_eq!(after.register.len(), usize::from(expected.1));
        assert!(!after.is_suspect(Number::of(2)) && after.holds(Number::of(2)).is_none());
    }

    #[test]
    fn three_failures_in_a_row_are_too_many() {
        check(&[], (false, false));
        check(&[Dies], (true, false));
        check(&[Dies, Dies], (true, false));
        check(&[Dies, Dies, Dies], (true, true));
        check(&[Panics, Dies, Panics], (true, true));
        check(&[Panics, Panics], (true, false));
        check(&[Dies, Dies, Dies, Dies], (true, true));
    }

    #[test]
    fn whatever_completes_a_step_starts_anew() {
        check(&[Dies, Dies, Steps, Dies], (true, false));
        check(&[Dies, Steps], (false, false));
        check(&[Dies, Dies, Dies, IsReleased], (false, false));
        check(&[Dies, Dies, Dies, IsReleased, Dies], (true, false));
    }

    #[test]
    fn what_was_never_stored_is_forgotten_after_a_day() {
        let store = MemoryStore::new(1);
        record_deaths(&store, &[subject(1)], NOW_MS).expect("written");
        assert!(open(&store, NOW_MS + UNSTORED_KEPT_MS).is_suspect(Number::of(1)));
        assert!(!open(&store, NOW_MS + UNSTORED_KEPT_MS + 1).is_suspect(Number::of(1)));
        assert!(!open(&store, NOW_MS).is_suspect(Number::of(1)), "its row is gone");
    }

    #[test]
    fn others_are_not_read() {
        let store = MemoryStore::new(1);
        let other = Subject { kind: KIND + 1, ..subject(1) };
        record_deaths(&store, &[other, subject(2)], NOW_MS).expect("written");
        let opened = open(&store, NOW_MS);
        assert!(!opened.is_suspect(Number::of(1)) && opened.is_suspect(Number::of(2)));
    }

    #[test]
    fn a_register_lists_the_first_ones() {
        let store = MemoryStore::new(1);
        for (id, at_ms) in [(3, 10), (1, 20), (2, 5)] {
            for _ in 0..FAILURES_MAX {
                record_deaths(&store, &[subject(id)], at_ms).expect("written");
            }
        }
        let opened = open(&store, 30);
        let first: Vec<_> = opened.register.first(2).into_iter().map(|(id, _)| id).collect();
        assert_eq!((first, opened.register.len()), (vec![Number::of(2), Number::of(3)], 3));
        let why = opened.holds(Number::of(1)).map(|held| held.why.to_string());
        let expected = "the engine died while it worked on it, the last of 3 failures in a row";
        assert_eq!(why.as_deref(), Some(expected));
    }
}
