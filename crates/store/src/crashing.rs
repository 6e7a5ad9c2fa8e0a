//! A store for tests that is slow, fails and crashes, as far as the trait allows.
//!
//! It keeps two sets of rows: those that would survive a crash, and those that would be there if everything
//! that was handed over had become durable. A read sees either of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::random::Random;
use crate::rows::{self, Rows};
use crate::{Batch, Done, Error, Result, Row, Scan, Shard, Space, Store};

/// Batches wait until [`CrashingStore::settle`] makes them durable. What a crash keeps of those that wait,
/// and what a read sees, is drawn from a seed.
pub struct CrashingStore {
    shards: u16,
    behaviour: Behaviour,
    corrupt: Option<Corruption>,
    state: Mutex<State>,
}

type Corruption = Box<dyn Fn(Batch) -> Batch + Send + Sync>;

/// How a [`CrashingStore`] behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// Of a hundred reads, how many see what is not durable yet.
    pub reads_ahead_percent: usize,
    /// A batch is durable before `commit` returns.
    pub durable_at_once: bool,
    /// A defect: batches are acknowledged before they are durable.
    pub acknowledges_early: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self { reads_ahead_percent: 50, durable_at_once: false, acknowledges_early: false }
    }
}

struct State {
    random: Random,
    durable: Rows,
    latest: Rows,
    waiting: VecDeque<Waiting>,
    /// How many batches have been handed over, and how many of them are durable.
    handed: u64,
    durable_to: u64,
    unseen: Vec<(u64, Batch)>,
    unexpected: Vec<Space>,
    failed: bool,
}

struct Waiting {
    batch: Batch,
    outcome: Result<()>,
    /// None if it was acknowledged early.
    done: Option<Done>,
}

impl CrashingStore {
    #[must_use]
    pub fn new(shards: u16, seed: u64, behaviour: Behaviour) -> Self {
        let state = State {
            random: Random::new(seed),
            durable: Rows::new(),
            latest: Rows::new(),
            waiting: VecDeque::new(),
            handed: 0,
            durable_to: 0,
            unseen: Vec::new(),
            unexpected: Vec::new(),
            failed: false,
        };
        Self { shards, behaviour, corrupt: None, state: Mutex::new(state) }
    }

    /// A defect: batches are changed before they are written.
    #[must_use]
    pub fn corrupting(self, corrupt: impl Fn(Batch) -> Batch + Send + Sync + 'static) -> Self {
        Self { corrupt: Some(Box::new(corrupt)), ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many batches are not durable yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// The number of the last batch that would survive a crash.
    #[must_use]
    pub fn durable_to(&self) -> u64 {
        self.state().durable_to
    }

    /// The batches that were handed over since the last call, with their numbers.
    #[must_use]
    pub fn take_unseen(&self) -> Vec<(u64, Batch)> {
        std::mem::take(&mut self.state().unseen)
    }

    /// Spaces in which a batch did not find what it expected.
    #[must_use]
    pub fn unexpected(&self) -> Vec<Space> {
        self.state().unexpected.clone()
    }

    /// Everything that would survive a crash now.
    #[must_use]
    pub fn durable(&self) -> Rows {
        self.state().durable.clone()
    }

    /// A row that would survive a crash now.
    #[must_use]
    pub fn durable_row(&self, shard: Shard, space: Space, key: &[u8]) -> Option<Vec<u8>> {
        self.state().durable.get(&(shard, space, key.to_vec())).cloned()
    }

    /// Makes the oldest batches durable and acknowledges them, one after the other.
    pub fn settle(&self, count: usize) {
        for _ in 0..count {
            let Some((done, outcome)) = self.state().settle_one() else { return };
            if let Some(done) = done {
                done(outcome);
            }
        }
    }

    /// Fails until the next crash: nothing that waits is acknowledged, though some of it is durable.
    pub fn fail(&self) {
        let mut state = self.state();
        state.failed = true;
        let mut refused = state.keep_some();
        refused.extend(std::mem::take(&mut state.waiting).into_iter().map(|waiting| waiting.done));
        drop(state);
        for done in refused.into_iter().flatten() {
            done(Err(failure()));
        }
    }

    /// The machine stops and starts again: of what was not acknowledged, the first few batches are kept.
    pub fn crash(&self) {
        let mut state = self.state();
        let kept = state.keep_some();
        let lost = std::mem::take(&mut state.waiting);
        state.latest = state.durable.clone();
        state.handed = state.durable_to;
        state.unseen.clear();
        state.failed = false;
        drop(state);
        // Callbacks may have the store; they are dropped when it is free.
        drop((kept, lost));
    }

    /// A defect: all rows of a space are lost.
    pub fn lose(&self, lost: Space) {
        let mut state = self.state();
        state.durable.retain(|(_, space, _), _| *space != lost);
        state.latest.retain(|(_, space, _), _| *space != lost);
    }

    fn read<T>(&self, read: impl FnOnce(&Rows) -> T) -> T {
        let mut state = self.state();
        let ahead = state.random.below(100) < self.behaviour.reads_ahead_percent;
        read(if ahead { &state.latest } else { &state.durable })
    }
}

impl State {
    fn settle_one(&mut self) -> Option<(Option<Done>, Result<()>)> {
        let Waiting { batch, outcome, done } = self.waiting.pop_front()?;
        if outcome.is_ok() {
            rows::change(&mut self.durable, batch);
        }
        self.durable_to += 1;
        Some((done, outcome))
    }

    /// Some of what waits becomes durable, and is not acknowledged.
    fn keep_some(&mut self) -> Vec<Option<Done>> {
        let count = self.random.below(self.waiting.len() + 1);
        (0..count).filter_map(|_| self.settle_one()).map(|(done, _)| done).collect()
    }
}

impl Store for CrashingStore {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn commit(&self, batch: Batch, done: Done) {
        let batch = match &self.corrupt {
            Some(corrupt) => corrupt(batch),
            None => batch,
        };
        let mut state = self.state();
        if state.failed {
            drop(state);
            return done(Err(failure()));
        }
        let outcome = rows::judge(&state.latest, &batch);
        match outcome {
            Ok(()) => rows::change(&mut state.latest, batch.clone()),
            Err(Error::Unexpected { space }) => state.unexpected.push(space),
            Err(_) => {}
        }
        state.handed += 1;
        let number = state.handed;
        state.unseen.push((number, batch.clone()));
        let (now, later) = match self.behaviour.acknowledges_early {
            true => (Some(done), None),
            false => (None, Some(done)),
        };
        state.waiting.push_back(Waiting { batch, outcome: outcome.clone(), done: later });
        drop(state);
        if let Some(done) = now {
            done(outcome);
        }
        if self.behaviour.durable_at_once {
            self.settle(1);
        }
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.read(|rows| rows.get(&(shard, space, key.to_vec())).cloned()))
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>> {
        Ok(self.read(|rows| rows::scan(rows, shard, space, scan)))
    }
}

fn failure() -> Error {
    Error::Failed(Arc::from("the disk of this test has failed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Subject;

    const AT_ONCE: Behaviour =
        Behaviour { reads_ahead_percent: 50, durable_at_once: true, acknowledges_early: false };

    struct Crashing(Arc<CrashingStore>);

    impl Default for Crashing {
        fn default() -> Self {
            Self(Arc::new(CrashingStore::new(4, 1, AT_ONCE)))
        }
    }

    impl Subject for Crashing {
        fn open(&mut self) -> Arc<dyn Store> {
            self.0.crash();
            self.0.clone()
        }

        fn lasts(&self) -> bool {
            true
        }
    }

    crate::suite!(Crashing::default());

    fn put(store: &CrashingStore, key: u8) -> std::sync::mpsc::Receiver<Result<()>> {
        let mut batch = Batch::new(Shard(0));
        batch.put(Space::Journal, vec![key], Vec::new());
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |outcome| {
            let _ = sender.send(outcome);
        });
        store.commit(batch, done);
        receiver
    }

    #[test]
    fn a_crash_keeps_the_first_batches_of_those_that_wait() {
        for seed in 0..50 {
            let store = CrashingStore::new(1, seed, Behaviour::default());
            let told: Vec<_> = (0..5).map(|key| put(&store, key)).collect();
            store.settle(2);
            assert_eq!(store.durable_to(), 2);
            store.crash();
            let kept: Vec<u8> = store.durable().into_keys().map(|(.., key)| key[0]).collect();
            assert!(kept.len() >= 2 && kept == [0, 1, 2, 3, 4][..kept.len()], "{kept:?}");
            let acknowledged = told.iter().filter(|told| told.try_recv() == Ok(Ok(()))).count();
            assert_eq!(acknowledged, 2);
        }
    }

    #[test]
    fn a_store_that_fails_acknowledges_nothing_until_it_crashes() {
        let store = CrashingStore::new(1, 1, Behaviour::default());
        let waiting = put(&store, 0);
        store.fail();
        let refused = Ok(Err(failure()));
        assert_eq!((waiting.recv(), put(&store, 1).recv()), (refused.clone(), refused));
        store.crash();
        let taken = put(&store, 2);
        store.settle(usize::MAX);
        assert_eq!(taken.recv(), Ok(Ok(())));
    }
}
