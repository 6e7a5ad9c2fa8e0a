//! An invocation in memory.

use std::sync::Arc;

use everstep_store::{Shard, Space};

use crate::error::{Error, Result};
use crate::id::AttemptId;
use crate::invocation::{Event, Invocation, State};
use crate::layout::{self, Part};
use crate::message::{Finished, Reply};
use crate::shared::Shared;

pub(super) struct Slot {
    pub(super) invocation: Invocation,
    /// The event, if it is in memory; otherwise the store has it.
    pub(super) payload: Option<Arc<[u8]>>,
    pub(super) response: Response,
    pub(super) watchers: Vec<Reply<Finished>>,
    /// The last commit that concerns it.
    pub(super) ticket: u64,
    /// The attempt that waits for a worker, or has one.
    pub(super) dispatched: Option<AttemptId>,
    /// Removed, though the store may still show it.
    pub(super) gone: bool,
}

/// What the last attempt that ended has said.
#[derive(Clone)]
pub(super) enum Response {
    /// The store has it.
    Stored,
    /// The store may show another one: what is on its way, or that of an earlier invocation with the same key.
    Known(Option<Arc<[u8]>>),
}

/// What an invocation was before it was changed.
pub(super) struct Before {
    pub(super) running: bool,
    pub(super) over: bool,
    pub(super) dead: bool,
    pub(super) undelivered: Vec<u32>,
}

impl everstep_shards::Slot for Slot {
    fn ticket(&self) -> u64 {
        self.ticket
    }
}

impl Slot {
    pub(super) fn new(invocation: Invocation) -> Self {
        let (payload, response, watchers) = (None, Response::Stored, Vec::new());
        let (ticket, dispatched, gone) = (0, None, false);
        Self { invocation, payload, response, watchers, ticket, dispatched, gone }
    }

    pub(super) fn change(&mut self, events: &[Event]) -> Before {
        let Invocation { state, dead, undelivered, .. } = &self.invocation;
        let before = Before {
            running: *state == State::Running,
            over: state.is_over(),
            dead: *dead,
            undelivered: undelivered.clone(),
        };
        for event in events {
            self.invocation.apply(event);
        }
        before
    }

    pub(super) fn is_running(&self) -> bool {
        self.invocation.state == State::Running
    }

    /// Whether it must stay in memory: a worker has it, or will.
    pub(super) fn is_busy(&self) -> bool {
        self.is_running() || self.dispatched.is_some()
    }

    pub(super) fn payload(&mut self, shared: &Shared, shard: Shard) -> Result<Arc<[u8]>> {
        if let Some(payload) = &self.payload {
            return Ok(payload.clone());
        }
        let key = layout::part(self.invocation.id, Part::Payload);
        let row = shared.store.get(shard, Space::Invocations, &key)?;
        let row = row.ok_or_else(|| Error::damaged("an invocation has lost its event"))?;
        let payload: Arc<[u8]> = row.into();
        self.payload = Some(payload.clone());
        Ok(payload)
    }

    pub(super) fn response(&self, shared: &Shared, shard: Shard) -> Result<Option<Arc<[u8]>>> {
        if let Response::Known(response) = &self.response {
            return Ok(response.clone());
        }
        if self.invocation.attempts.started() == 0 {
            return Ok(None);
        }
        let key = layout::part(self.invocation.id, Part::Response);
        Ok(shared.store.get(shard, Space::Invocations, &key)?.map(Into::into))
    }

    pub(super) fn finished(&self, response: Option<Arc<[u8]>>) -> Finished {
        let Invocation { id, state, .. } = self.invocation;
        let failure = self.invocation.attempts.latest().and_then(|latest| latest.failure.as_ref());
        let log = failure.map(|failure| failure.log.clone()).unwrap_or_default();
        Finished { id, state, response: response.map(|response| response.to_vec()), log }
    }
}
