//! Reads an execution from the store: some steps at a time, so that a long history takes neither memory nor the turn
//! of others.

use std::sync::Arc;

use everstep_history::{Event, journal};
use everstep_interpreter::{Execution, undelivered};
use everstep_store::{Scan, Shard, Space, Store, after_prefix};

use super::slot::Slot;
use super::wake::Wake;
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::layout;
use crate::revision::Prepared;
use crate::shared::Shared;
use crate::summary::{Standing, Summary};

/// Steps of a journal that are read at a time, and bytes of them.
pub(crate) const STEPS_AT_A_TIME: usize = 1000;
const BYTES_AT_A_TIME: usize = 1 << 20;

/// An execution of which some steps have been read.
pub(crate) struct Loader {
    store: Arc<dyn Store>,
    shard: Shard,
    prepared: Arc<Prepared>,
    summary: Summary,
    execution: Execution,
    steps: Steps,
    /// Events that ask for something which the execution still waits for.
    asking: Vec<Event>,
}

impl Loader {
    /// Nothing if there is no such execution.
    pub(super) fn open(shared: &Shared, shard: Shard, id: ExecutionId) -> Result<Option<Self>> {
        let store = shared.store.clone();
        let Some(row) = store.get(shard, Space::Executions, &layout::execution(id))? else {
            return Ok(None);
        };
        let summary = Summary::decode(&row)?;
        let prepared = shared.revisions.find(summary.revision)?;
        let identity = prepared.identity(&summary.arn);
        let execution = Execution::new(prepared.program.clone(), identity);
        let steps = Steps::of(&summary).at_a_time(shared.settings.steps_at_a_time);
        let asking = Vec::new();
        Ok(Some(Self { store, shard, prepared, summary, execution, steps, asking }))
    }

    pub(crate) fn id(&self) -> ExecutionId {
        self.summary.id()
    }

    /// Reads some steps; whether that were all.
    pub(super) fn read_some(&mut self) -> Result<bool> {
        for event in self.steps.next(&*self.store, self.shard)?.into_iter().flatten() {
            self.execution.apply(&event);
            self.asking.extend(event.scheduled().is_some().then_some(event));
        }
        let execution = &self.execution;
        self.asking
            .retain(|event| event.scheduled().is_some_and(|attempt| execution.awaits(attempt)));
        Ok(self.steps.is_over)
    }

    pub(crate) fn read_all(mut self: Box<Self>) -> Result<Box<Slot>> {
        while !self.read_some()? {}
        self.finish()
    }

    /// The execution, when all steps have been read.
    pub(super) fn finish(self: Box<Self>) -> Result<Box<Slot>> {
        let Self { store, shard, prepared, summary, execution, steps, asking } = *self;
        if Standing::of(execution.status()) != summary.standing {
            // Its last steps are gone already: it is being removed, and its name is still taken.
            return Err(Error::AlreadyExists(Box::new(summary)));
        }
        let wake = Wake::read(&*store, shard, summary.id(), &execution)?;
        Ok(Box::new(Slot {
            id: summary.id(),
            undelivered: undelivered(&execution, &asking),
            is_unfinished: execution.is_ready(),
            is_continuing: false,
            next_turn_ms: i64::MIN,
            execution,
            prepared,
            summary,
            sequence: steps.next,
            wake,
            armed: None,
            ticket: 0,
            watchers: Vec::new(),
            used: 0,
            bytes: 0,
        }))
    }
}

/// The steps of an execution, in order.
pub(crate) struct Steps {
    started_ms: i64,
    id: ExecutionId,
    next: u32,
    at_a_time: usize,
    is_over: bool,
}

impl Steps {
    pub(crate) fn of(summary: &Summary) -> Self {
        let (started_ms, id) = (summary.started_ms, summary.id());
        Self { started_ms, id, next: 0, at_a_time: STEPS_AT_A_TIME, is_over: false }
    }

    /// Those from a number on.
    pub(crate) fn from(self, next: u32) -> Self {
        Self { next, ..self }
    }

    fn at_a_time(self, at_a_time: usize) -> Self {
        Self { at_a_time, ..self }
    }

    /// Whether there are no more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The number of the next step.
    pub(crate) fn number(&self) -> u32 {
        self.next
    }

    /// The events of the next steps, step by step.
    pub(crate) fn next(&mut self, store: &dyn Store, shard: Shard) -> Result<Vec<Vec<Event>>> {
        let from = self.key(self.next);
        let to = after_prefix(&layout::steps(self.started_ms, self.id));
        let scan = Scan::between(&from, &to, self.at_a_time).up_to_bytes(BYTES_AT_A_TIME);
        let (mut steps, mut bytes) = (Vec::new(), 0);
        for (key, record) in store.scan(shard, Space::Journal, scan)? {
            if key != self.key(self.next) {
                return Err(Error::damaged("a step of an execution is missing"));
            }
            steps.push(journal::decode(&record).map_err(|error| {
                Error::damaged(&format!("a step of an execution cannot be read: {error}"))
            })?);
            self.next += 1;
            bytes += record.len();
        }
        self.is_over = steps.len() < self.at_a_time && bytes < BYTES_AT_A_TIME;
        Ok(steps)
    }

    fn key(&self, sequence: u32) -> Vec<u8> {
        layout::step(self.started_ms, self.id, sequence)
    }
}
