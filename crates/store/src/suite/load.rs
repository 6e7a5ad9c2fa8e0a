//! Numbered batches whose rows tell afterwards which of them survived.

use std::collections::VecDeque;
use std::sync::mpsc;

use super::{all, get, send};
use crate::{Batch, Result, Shard, Space, Store};

/// Rows that are written over and over.
const CURRENT: u64 = 50;
/// For how many turns of all shards a wake stays.
const WAKES: u64 = 3;

/// Keeps a number of batches on their way. Batch `n` can be told from any other, wherever its rows
/// are: one row of its own, one that is written over, one that a later batch removes.
pub struct Load<'s> {
    store: &'s dyn Store,
    in_flight: usize,
    value_bytes: usize,
    next: u64,
    waiting: VecDeque<mpsc::Receiver<Result<()>>>,
}

impl<'s> Load<'s> {
    /// Continues with batch `next`.
    #[must_use]
    pub fn new(store: &'s dyn Store, next: u64, in_flight: usize, value_bytes: usize) -> Self {
        Self { store, in_flight, value_bytes, next, waiting: VecDeque::new() }
    }

    /// Hands batches over until as many as agreed are on their way, waits for the first of them, and
    /// says how many batches have been acknowledged, counted from the very first one.
    ///
    /// # Errors
    ///
    /// What the store says.
    pub fn step(&mut self) -> Result<u64> {
        while self.waiting.len() < self.in_flight {
            let batch = batch(self.store.shards(), self.next, self.value_bytes);
            self.waiting.push_back(send(self.store, batch));
            self.next += 1;
        }
        let first = self.waiting.pop_front().expect("at least one is in flight");
        first.recv().expect("a batch was dropped without being done")?;
        Ok(self.next - self.waiting.len() as u64)
    }

    /// Waits for all that are on their way, and says how many batches there have been.
    ///
    /// # Errors
    ///
    /// What the store says.
    pub fn finish(mut self) -> Result<u64> {
        for outcome in self.waiting.drain(..) {
            outcome.recv().expect("a batch was dropped without being done")?;
        }
        Ok(self.next)
    }
}

fn batch(shards: u16, number: u64, value_bytes: usize) -> Batch {
    let mut batch = Batch::new(shard(shards, number));
    let key = |number: u64| number.to_be_bytes().to_vec();
    batch.insert(Space::Journal, key(number), value(number, value_bytes));
    batch.put(Space::Executions, key(number % CURRENT), key(number));
    batch.put(Space::Wakes, key(number), Vec::new());
    if let Some(old) = number.checked_sub(u64::from(shards) * WAKES) {
        batch.remove(Space::Wakes, key(old));
    }
    batch
}

fn shard(shards: u16, number: u64) -> Shard {
    Shard(u16::try_from(number % u64::from(shards)).expect("less than the number of shards"))
}

fn value(number: u64, bytes: usize) -> Vec<u8> {
    number.to_be_bytes().into_iter().cycle().take(bytes.max(8)).collect()
}

/// Checks that the store holds the batches up to some number, wholly, and nothing else, and that it
/// holds the first `acknowledged`; says how many there are.
pub fn check_load(store: &dyn Store, acknowledged: u64) -> u64 {
    let shards = store.shards();
    let count =
        (0..shards).map(|shard| all(store, Shard(shard), Space::Journal).len() as u64).sum();
    assert!(count >= acknowledged, "{acknowledged} batches were acknowledged, {count} are there");
    for at in 0..shards {
        let own = |number: &u64| shard(shards, *number) == Shard(at);
        let journal = all(store, Shard(at), Space::Journal);
        let numbers: Vec<u64> = (0..count).filter(own).collect();
        assert!(journal.iter().map(|(key, _)| number(key)).eq(numbers), "batches are missing");
        for (key, found) in journal {
            assert!(found == value(number(&key), found.len()), "the value of {key:?} is wrong");
        }
        let wakes = all(store, Shard(at), Space::Wakes);
        let first = count.saturating_sub(u64::from(shards) * WAKES);
        let expected = (first..count).filter(own);
        assert!(
            wakes.iter().map(|(key, _)| number(key)).eq(expected),
            "wakes are wrong: {wakes:?}"
        );
    }
    check_current(store, count);
    count
}

fn check_current(store: &dyn Store, count: u64) {
    let period = CURRENT * u64::from(store.shards());
    for written in count.saturating_sub(period)..count {
        let at = shard(store.shards(), written);
        let later = (written + 1..count).any(|later| {
            later % CURRENT == written % CURRENT && shard(store.shards(), later) == at
        });
        let key = (written % CURRENT).to_be_bytes();
        let found = get(store, at, Space::Executions, &key).map(|value| number(&value));
        assert!(later || found == Some(written), "row {key:?} is of {found:?}, not of {written}");
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().expect("eight bytes"))
}
