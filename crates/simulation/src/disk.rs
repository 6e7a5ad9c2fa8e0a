//! A disk that is slow, fails and forgets, as far as a store may.
//!
//! It keeps two sets of rows: those that would survive a crash, and those that would be there if all that
//! was handed over had become durable. A read sees either, as the trait allows.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_store::{
    Batch, Done, Error, Expectation, Result, Row, Scan, Shard, Space, Store, Write,
};

use crate::Fault;
use crate::dice::Dice;
use crate::fault;

pub(crate) type Rows = BTreeMap<(Shard, Space, Vec<u8>), Vec<u8>>;

pub(crate) struct Disk {
    shards: u16,
    fault: Option<Fault>,
    state: Mutex<State>,
}

struct State {
    dice: Dice,
    habits: Habits,
    durable: Rows,
    latest: Rows,
    queue: VecDeque<Waiting>,
    /// How many batches have been handed over, and how many of them are durable.
    handed: u64,
    durable_to: u64,
    /// Batches that the world has not looked at.
    unseen: Vec<(u64, Batch)>,
    failed: bool,
    unexpected: Vec<Space>,
}

/// How the disk behaves in a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// Of a hundred reads, how many see what is not durable yet.
    pub(crate) ahead: usize,
    /// A batch is durable before `commit` returns.
    pub(crate) at_once: bool,
}

struct Waiting {
    batch: Batch,
    outcome: Result<()>,
    done: Option<Done>,
}

impl Disk {
    pub(crate) fn new(shards: u16, seed: u64, habits: Habits, fault: Option<Fault>) -> Self {
        let state = State {
            dice: Dice::new(seed),
            habits,
            durable: Rows::new(),
            latest: Rows::new(),
            queue: VecDeque::new(),
            handed: 0,
            durable_to: 0,
            unseen: Vec::new(),
            failed: false,
            unexpected: Vec::new(),
        };
        Self { shards, fault, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    /// The number of the last batch that would survive a crash.
    pub(crate) fn durable_to(&self) -> u64 {
        self.state().durable_to
    }

    /// What has been handed over since this was last asked, each with its number.
    pub(crate) fn take_unseen(&self) -> Vec<(u64, Batch)> {
        std::mem::take(&mut self.state().unseen)
    }

    /// Spaces in which a batch did not find what it expected.
    pub(crate) fn unexpected(&self) -> Vec<Space> {
        self.state().unexpected.clone()
    }

    /// Makes the oldest batches durable and says so, one after the other.
    pub(crate) fn settle(&self, count: usize) {
        for _ in 0..count {
            let Some((done, outcome)) = self.state().settle_one() else { return };
            if let Some(done) = done {
                done(outcome);
            }
        }
    }

    /// Fails for good: nothing that waits is acknowledged, though some of it is durable.
    pub(crate) fn fail(&self) {
        let mut state = self.state();
        state.failed = true;
        let mut refused = state.survive_some();
        refused.extend(std::mem::take(&mut state.queue).into_iter().map(|waiting| waiting.done));
        drop(state);
        for done in refused.into_iter().flatten() {
            done(Err(failure()));
        }
    }

    /// The machine stops: of what was not acknowledged, the first few batches are kept.
    pub(crate) fn crash(&self) {
        let mut state = self.state();
        let kept = state.survive_some();
        let lost = std::mem::take(&mut state.queue);
        if self.fault == Some(Fault::LosesStarts) {
            state.durable.retain(|(_, space, _), _| *space != Space::Executions);
        }
        state.latest = state.durable.clone();
        state.handed = state.durable_to;
        state.unseen.clear();
        state.failed = false;
        drop(state);
        drop((kept, lost));
    }

    /// Everything that would survive a crash now.
    pub(crate) fn durable(&self) -> Rows {
        self.state().durable.clone()
    }
}

impl State {
    fn settle_one(&mut self) -> Option<(Option<Done>, Result<()>)> {
        let Waiting { batch, outcome, done } = self.queue.pop_front()?;
        if outcome.is_ok() {
            change(&mut self.durable, batch);
        }
        self.durable_to += 1;
        Some((done, outcome))
    }

    /// Some of what waits becomes durable, and nobody is told.
    fn survive_some(&mut self) -> Vec<Option<Done>> {
        let count = self.dice.below(self.queue.len() + 1);
        (0..count).filter_map(|_| self.settle_one()).map(|(done, _)| done).collect()
    }

    fn rows(&mut self) -> &Rows {
        let chance = self.habits.ahead;
        if self.dice.percent(chance) { &self.latest } else { &self.durable }
    }
}

impl Store for Disk {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn commit(&self, batch: Batch, done: Done) {
        let batch = fault::on_disk(self.fault, batch);
        let mut state = self.state();
        if state.failed {
            drop(state);
            return done(Err(failure()));
        }
        let outcome = judge(&state.latest, &batch);
        if let Err(Error::Unexpected { space }) = outcome {
            state.unexpected.push(space);
        } else {
            change(&mut state.latest, batch.clone());
        }
        state.handed += 1;
        let number = state.handed;
        state.unseen.push((number, batch.clone()));
        let early = self.fault == Some(Fault::AcknowledgesEarly);
        let (now, later) = if early { (Some(done), None) } else { (None, Some(done)) };
        state.queue.push_back(Waiting { batch, outcome: outcome.clone(), done: later });
        let at_once = state.habits.at_once;
        drop(state);
        if let Some(done) = now {
            done(outcome);
        }
        if at_once {
            self.settle(1);
        }
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.state().rows().get(&(shard, space, key.to_vec())).cloned())
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
        Ok(if scan.reverse {
            let mut all: Vec<Row> = inside.collect();
            all.reverse();
            all.truncate(scan.limit);
            all
        } else {
            inside.take(scan.limit).collect()
        })
    }
}

fn failure() -> Error {
    Error::Failed(Arc::from("the simulated disk has failed"))
}

fn judge(rows: &Rows, batch: &Batch) -> Result<()> {
    for Expectation { space, key, value } in &batch.expectations {
        if rows.get(&(batch.shard, *space, key.clone())) != value.as_ref() {
            return Err(Error::Unexpected { space: *space });
        }
    }
    Ok(())
}

fn change(rows: &mut Rows, batch: Batch) {
    for Write { space, key, value } in batch.writes {
        match value {
            Some(value) => rows.insert((batch.shard, space, key), value),
            None => rows.remove(&(batch.shard, space, key)),
        };
    }
}
