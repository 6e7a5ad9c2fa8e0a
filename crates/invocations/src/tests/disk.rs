//! A disk that is slow and forgets, as far as a store may: what was handed over becomes durable later, and a
//! crash keeps only the first few batches of it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use everstep_store::{Batch, Done, Error, Result, Row, Scan, Shard, Space, Store};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

type Rows = BTreeMap<(Shard, Space, Vec<u8>), Vec<u8>>;

pub(super) struct Disk {
    shards: u16,
    state: Mutex<State>,
}

struct State {
    chance: Pcg64Mcg,
    durable: Rows,
    latest: Rows,
    queue: VecDeque<(Batch, Result<()>, Done)>,
}

impl Disk {
    pub(super) fn new(shards: u16, seed: u64) -> Self {
        let state = State {
            chance: Pcg64Mcg::seed_from_u64(seed),
            durable: Rows::new(),
            latest: Rows::new(),
            queue: VecDeque::new(),
        };
        Self { shards, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    /// Makes the oldest batch durable, and says so.
    pub(super) fn settle(&self) {
        let mut state = self.state();
        let Some((batch, outcome, done)) = state.queue.pop_front() else { return };
        if outcome.is_ok() {
            change(&mut state.durable, batch);
        }
        drop(state);
        done(outcome);
    }

    /// Of what waits the first few batches are durable, and nobody was told.
    pub(super) fn crash(&self) {
        let mut state = self.state();
        let queue = std::mem::take(&mut state.queue);
        let kept = usize::try_from(state.chance.next_u64() % (queue.len() as u64 + 1)).unwrap_or(0);
        for (batch, outcome, _) in queue.iter().take(kept) {
            if outcome.is_ok() {
                change(&mut state.durable, batch.clone());
            }
        }
        state.latest = state.durable.clone();
        drop(state);
        drop(queue);
    }

    /// A row that would survive a crash.
    pub(super) fn durable(&self, shard: Shard, space: Space, key: &[u8]) -> Option<Vec<u8>> {
        self.state().durable.get(&(shard, space, key.to_vec())).cloned()
    }
}

impl Store for Disk {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn commit(&self, batch: Batch, done: Done) {
        let mut state = self.state();
        let as_expected = |e: &everstep_store::Expectation| {
            state.latest.get(&(batch.shard, e.space, e.key.clone())) == e.value.as_ref()
        };
        let outcome = match batch.expectations.iter().find(|e| !as_expected(e)) {
            Some(found) => Err(Error::Unexpected { space: found.space }),
            None => Ok(()),
        };
        if outcome.is_ok() {
            change(&mut state.latest, batch.clone());
        }
        state.queue.push_back((batch, outcome, done));
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut state = self.state();
        Ok(state.rows().get(&(shard, space, key.to_vec())).cloned())
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>> {
        let mut state = self.state();
        let from = Bound::Included((shard, space, scan.from.to_vec()));
        let inside = state
            .rows()
            .range((from, Bound::Unbounded))
            .take_while(|((of, within, _), _)| (*of, *within) == (shard, space))
            .take_while(|((.., key), _)| scan.to.is_empty() || key.as_slice() < scan.to)
            .map(|((.., key), value)| (key.clone(), value.clone()));
        let mut rows: Vec<Row> = inside.collect();
        if scan.reverse {
            rows.reverse();
        }
        rows.truncate(scan.limit);
        Ok(rows)
    }
}

impl State {
    /// A read sees what is durable, and may see what is on its way.
    fn rows(&mut self) -> &Rows {
        if self.chance.next_u64() & 1 == 0 { &self.durable } else { &self.latest }
    }
}

fn change(rows: &mut Rows, batch: Batch) {
    for everstep_store::Write { space, key, value } in batch.writes {
        match value {
            Some(value) => rows.insert((batch.shard, space, key), value),
            None => rows.remove(&(batch.shard, space, key)),
        };
    }
}
