//! An execution that is in memory.

use std::sync::Arc;

use everstep_interpreter::{Effect, Execution, Status};

use super::wake::Wake;
use crate::id::ExecutionId;
use crate::message::{Ended, Reply, Start};
use crate::revision::Prepared;
use crate::summary::{Standing, Summary};

pub(crate) struct Slot {
    pub(crate) id: ExecutionId,
    pub(crate) execution: Execution,
    pub(crate) prepared: Arc<Prepared>,
    pub(super) summary: Summary,
    /// The number of the next step.
    pub(super) sequence: u32,
    /// What the store says of when to wake it.
    pub(super) wake: Wake,
    /// Its entry among the shard's timers.
    pub(super) armed: Option<i64>,
    /// The last commit that concerns it.
    pub(super) ticket: u64,
    pub(crate) watchers: Vec<Reply<Ended>>,
    /// When it was last needed, by the shard's count.
    pub(super) used: u64,
    /// What it asked for before a crash and must be asked for again, once nothing is overdue.
    pub(super) undelivered: Vec<Effect>,
    /// Its turn ended before all was decided.
    pub(crate) is_unfinished: bool,
    /// It will have its turn, and when at the earliest.
    pub(super) is_continuing: bool,
    pub(super) next_turn_ms: i64,
    /// Bytes that the shard counts for it.
    pub(super) bytes: usize,
}

impl everstep_shards::Slot for Slot {
    fn ticket(&self) -> u64 {
        self.ticket
    }
}

impl Slot {
    pub(super) fn new(start: &Start, now_ms: i64) -> Self {
        let prepared = start.prepared.clone();
        Self {
            id: start.id,
            execution: Execution::new(prepared.program.clone(), prepared.identity(&start.arn)),
            summary: Summary {
                arn: start.arn.to_string(),
                revision: prepared.id,
                standing: Standing::Running,
                started_ms: now_ms,
                stopped_ms: None,
                redrives: 0,
                redriven_ms: None,
                lists: start.lists.clone(),
                labels: start.labels.clone(),
                shown_events: None,
            },
            prepared,
            sequence: 0,
            wake: Wake::Never,
            armed: None,
            ticket: 0,
            watchers: Vec::new(),
            used: 0,
            undelivered: Vec::new(),
            is_unfinished: false,
            is_continuing: false,
            next_turn_ms: i64::MIN,
            bytes: 0,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        *self.execution.status() == Status::Running
    }

    /// Whether anything of it is stored.
    pub(crate) fn is_durable(&self) -> bool {
        !self.prepared.revision.express
    }

    pub(super) fn ended(&self) -> Ended {
        Ended {
            status: self.execution.status().clone(),
            started_ms: self.summary.started_ms,
            stopped_ms: self.summary.stopped_ms.unwrap_or_default(),
        }
    }

    /// Whether it only waits for a time that is not near: nothing is gained by holding it.
    pub(super) fn is_parked(&self, now_ms: i64) -> bool {
        const SOON_MS: i64 = 1000;
        !self.is_unfinished
            && self.undelivered.is_empty()
            && self.execution.open_attempts() == 0
            && self.execution.next_due_ms().is_none_or(|due| due > now_ms + SOON_MS)
    }
}
