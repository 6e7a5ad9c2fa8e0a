//! What the checkers judge by: all that is known of a run from outside the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use everstep_executions::{
    Ended, Error, ExecutionId, ListId, Prepared, Reader, Settings, Shard, Shared as Runtime,
    Started,
};
use everstep_history::{Attempt, Event, Payload};

use crate::disk::Disk;
use crate::drivers::{Drivers, Parent};
use crate::functions::Functions;
use crate::ledger::{Ledger, Life};
use crate::tasks::Witness;

pub(crate) struct Evidence {
    /// The engine's clock, and the latest it ever was.
    pub(crate) now_ms: i64,
    pub(crate) latest_ms: i64,
    /// What the clock has shown since the engine started: a decision that was made outside a shard is written later.
    pub(crate) readings: BTreeSet<i64>,
    /// Counts the engines of the run.
    pub(crate) generation: u32,
    pub(crate) settings: Settings,
    pub(crate) shard_count: u16,
    pub(crate) disk: Arc<Disk>,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) shards: Vec<Shard>,
    /// When each shard wants its next turn.
    pub(crate) next_ms: Vec<Option<i64>>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) ledger: Ledger,
    pub(crate) witness: Witness,
    /// The last heartbeat of attempts that must send them.
    pub(crate) signs: BTreeMap<(ExecutionId, Attempt), i64>,
    /// Failures that left the engine, by their execution, its start and its step.
    pub(crate) notified: BTreeMap<(ExecutionId, i64, u32), Notified>,
    /// What replies have said.
    pub(crate) facts: Vec<(ExecutionId, Fact)>,
    /// Requests that an engine has taken and not answered.
    pub(crate) outstanding: BTreeMap<u64, Request>,
    pub(crate) functions: Functions,
    pub(crate) drivers: Drivers,
    pub(crate) deaths: Deaths,
}

pub(crate) struct Machine {
    pub(crate) arn: String,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) express: bool,
    pub(crate) plain: bool,
    pub(crate) long: bool,
    /// Records of invocations are sent to it.
    pub(crate) sink: bool,
    /// Clients do not start its executions: Map Runs and tasks do.
    pub(crate) child: bool,
}

/// A failure that left the engine to be notified.
#[derive(Default)]
pub(crate) struct Notified {
    /// The engines that it left.
    pub(crate) by: Vec<u32>,
    /// The engine that was told so last.
    pub(crate) answered: Option<u32>,
    /// The key of the invocation that it became.
    pub(crate) invocation: Option<String>,
}

/// An execution as clients know it.
pub(crate) struct Subject {
    pub(crate) arn: String,
    pub(crate) id: ExecutionId,
    pub(crate) machine: usize,
    pub(crate) input: Payload,
    pub(crate) started: bool,
    pub(crate) delete_sent: bool,
    /// Starts and deletes that have not been answered.
    pub(crate) unsettled: usize,
    pub(crate) parent: Parent,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) number: u64,
    pub(crate) subject: usize,
    pub(crate) ask: Ask,
    /// The engine's clock when it arrived.
    pub(crate) arrived_ms: i64,
}

#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Start { input: Payload, watched: bool },
    Report { attempt: Attempt, say: Say },
    Heartbeat { attempt: Attempt },
    Stop,
    Redrive,
    Watch,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Say {
    Started,
    Submitted,
    /// A result with its number, and the error if it is a failure.
    Result(u64, Option<&'static str>),
}

#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Started(Started),
    Counted,
    At(i64),
    Ended(Ended),
    Deleted,
}

pub(crate) type Reply = Result<Answer, Error>;

/// What a reply has said.
#[derive(Debug, Clone)]
pub(crate) enum Fact {
    Started(i64),
    Counted(Attempt, Say),
    Stopped(i64),
    Redriven(i64),
    Deleted,
    Ended(Ended),
}

/// What is known of executions that were being worked on when an engine died.
#[derive(Default)]
pub(crate) struct Deaths {
    /// The batch that each death was recorded with.
    pub(crate) recorded: BTreeMap<ExecutionId, Vec<u64>>,
    /// The last durable batch when an execution was released.
    pub(crate) released: BTreeMap<ExecutionId, u64>,
    /// Those that this engine was asked to release.
    pub(crate) asked: BTreeSet<ExecutionId>,
}

impl Deaths {
    /// How often in a row an execution has ended the engine, as far as batches up to `batch` say.
    pub(crate) fn in_a_row(&self, life: &Life, batch: u64) -> usize {
        // The start of an execution that has ended the engine is stored before it does anything.
        let steps = life.steps.iter().skip(1).filter(|step| step.batch <= batch);
        let begun = life.steps.first().map_or(0, |step| step.batch);
        let stepped = steps.map(|step| step.batch).max().unwrap_or(begun);
        let released = self.released.get(&life.id).copied().unwrap_or(0);
        let recorded = self.recorded.get(&life.id).into_iter().flatten();
        recorded.filter(|death| **death > stepped && **death > released).count()
    }
}

impl Evidence {
    /// Whether an execution is quarantined, as the engine says.
    pub(crate) fn is_quarantined(&self, id: ExecutionId) -> bool {
        let held = self.reader().quarantined(usize::MAX).unwrap_or_default();
        held.iter().any(|(summary, _)| summary.id() == id)
    }

    pub(crate) fn subject(&self, id: ExecutionId) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.id == id)
    }

    pub(crate) fn is_express(&self, id: ExecutionId) -> bool {
        self.subject(id).is_some_and(|subject| self.machines[subject.machine].express)
    }

    pub(crate) fn durable_to(&self) -> u64 {
        self.disk.durable_to()
    }

    pub(crate) fn reader(&self) -> Reader {
        self.runtime.reader()
    }

    pub(crate) fn list(&self, id: ExecutionId) -> Option<ListId> {
        self.subject(id).map(|subject| ListId::of(&self.machines[subject.machine].arn))
    }

    /// Whether an execution may have been removed because of its age.
    pub(crate) fn may_be_expired(&self, life: &Life) -> bool {
        match (self.settings.retention_ms, life.stopped_ms()) {
            (Some(kept), Some(stopped)) => stopped <= self.latest_ms - kept,
            _ => false,
        }
    }

    /// The event by which an attempt was scheduled, and the batch it is in.
    pub(crate) fn scheduled(&self, id: ExecutionId, wanted: Attempt) -> Option<(&Event, u64, u32)> {
        let mut steps = self.ledger.of(id).rev().flat_map(|life| life.steps.iter().rev());
        steps.find_map(|step| {
            let event = step.events.iter().find(|event| match event {
                Event::TaskScheduled { attempt, .. }
                | Event::MapRunStarted { attempt, .. }
                | Event::MapRunRedriven { attempt, .. } => *attempt == wanted,
                _ => false,
            })?;
            Some((event, step.batch, step.generation))
        })
    }
}
