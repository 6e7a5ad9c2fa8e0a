//! An execution that is in memory.

use std::sync::Arc;

use everstep_history::{Event, journal};
use everstep_interpreter::{Execution, Status};
use everstep_store::{Scan, Shard, Space, Store, after_prefix};

use super::wake::Wake;
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::layout;
use crate::message::{Ended, Reply, Start};
use crate::revision::Prepared;
use crate::shared::Shared;
use crate::summary::{Standing, Summary};

pub(super) struct Slot {
    pub(super) id: ExecutionId,
    pub(super) execution: Execution,
    pub(super) prepared: Arc<Prepared>,
    pub(super) summary: Summary,
    /// The number of the next step.
    pub(super) sequence: u32,
    /// What the store says of when to wake it.
    pub(super) wake: Wake,
    /// Its entry among the shard's timers.
    pub(super) armed: Option<i64>,
    /// The last commit that concerns it.
    pub(super) ticket: u64,
    pub(super) watchers: Vec<Reply<Ended>>,
    /// When it was last needed, by the shard's count.
    pub(super) used: u64,
}

/// Rows of a journal that are read at a time.
const STEPS_AT_A_TIME: usize = 1000;

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
            },
            prepared,
            sequence: 0,
            wake: Wake::Never,
            armed: None,
            ticket: 0,
            watchers: Vec::new(),
            used: 0,
        }
    }

    /// The execution as the store has it, with all its events.
    pub(super) fn load(
        shared: &Shared,
        shard: Shard,
        id: ExecutionId,
    ) -> Result<Option<(Self, Vec<Event>)>> {
        let Some(row) = shared.store.get(shard, Space::Executions, &layout::execution(id))? else {
            return Ok(None);
        };
        let summary = Summary::decode(&row)?;
        let prepared = shared.revisions.find(summary.revision)?;
        let identity = prepared.identity(&summary.arn);
        let mut execution = Execution::new(prepared.program.clone(), identity);
        let (events, sequence) = events(&*shared.store, shard, &summary)?;
        for event in &events {
            execution.apply(event);
        }
        if Standing::of(execution.status()) != summary.standing {
            // Its last steps are gone already: it is being removed, and its name is still taken.
            return Err(Error::AlreadyExists(Box::new(summary)));
        }
        let wake = Wake::read(shared, shard, id, &execution)?;
        let (armed, ticket, used, watchers) = (None, 0, 0, Vec::new());
        let slot = Self {
            id,
            execution,
            prepared,
            summary,
            sequence,
            wake,
            armed,
            ticket,
            watchers,
            used,
        };
        Ok(Some((slot, events)))
    }

    pub(super) fn is_running(&self) -> bool {
        *self.execution.status() == Status::Running
    }

    /// Whether anything of it is stored.
    pub(super) fn is_durable(&self) -> bool {
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
        self.execution.open_attempts() == 0
            && self.execution.next_due_ms().is_none_or(|due| due > now_ms + SOON_MS)
    }
}

/// All events of an execution, and how many steps they were.
pub(crate) fn events(
    store: &dyn Store,
    shard: Shard,
    summary: &Summary,
) -> Result<(Vec<Event>, u32)> {
    let step = |sequence| layout::step(summary.started_ms, summary.id(), sequence);
    let to = after_prefix(&layout::steps(summary.started_ms, summary.id()));
    let mut from = step(0);
    let mut events = Vec::new();
    let mut next = 0;
    loop {
        let scan = Scan::between(&from, &to, STEPS_AT_A_TIME);
        let rows = store.scan(shard, Space::Journal, scan)?;
        for (key, record) in &rows {
            if *key != step(next) {
                return Err(Error::damaged("a step of an execution is missing"));
            }
            events.append(&mut journal::decode(record).map_err(|error| {
                Error::damaged(&format!("a step of an execution cannot be read: {error}"))
            })?);
            next += 1;
        }
        if rows.len() < STEPS_AT_A_TIME {
            return Ok((events, next));
        }
        from = step(next);
    }
}
