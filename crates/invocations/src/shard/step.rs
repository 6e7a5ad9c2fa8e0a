//! How what happened becomes rows, and what follows when they are durable.

use std::sync::Arc;

use everstep_store::{Batch, Space};

use super::Shard;
use super::slot::{Before, Response, Slot};
use crate::after_commit::AfterCommit;
use crate::error::Result;
use crate::function::Outcome;
use crate::invocation::{Input, Invocation, State, decide};
use crate::layout::{self, Order, Part};
use crate::message::Message;

impl Shard {
    /// The engine that ran it is gone.
    pub(super) fn interrupt(&mut self, slot: &mut Slot, now_ms: i64) {
        let unit = self.unit();
        if let Ok(events) = decide(&slot.invocation, &Input::Interrupt, now_ms, unit) {
            let before = slot.change(&events);
            let mut batch = Batch::new(self.shard);
            if slot.invocation.attempts.open().is_none() {
                respond(slot, &Outcome::Interrupted, &mut batch);
            }
            // It did nothing itself: that is not a step which speaks for it.
            self.write_rows(slot, &before, batch, Vec::new(), now_ms);
        }
    }

    /// Writes what has changed of an invocation, and what else the batch has; `after` follows, and what
    /// the change itself leads to.
    pub(super) fn write(
        &mut self,
        slot: &mut Slot,
        before: &Before,
        mut batch: Batch,
        after: Vec<AfterCommit>,
        now_ms: i64,
    ) {
        self.quarantine.forget(slot.invocation.id, &mut batch);
        self.write_rows(slot, before, batch, after, now_ms);
    }

    fn write_rows(
        &mut self,
        slot: &mut Slot,
        before: &Before,
        mut batch: Batch,
        mut after: Vec<AfterCommit>,
        now_ms: i64,
    ) {
        self.add(slot, before, (&mut batch, &mut after), now_ms);
        slot.ticket = self.commit(batch, after);
    }

    /// Adds what has changed of an invocation to a commit, and what that leads to.
    pub(super) fn add(
        &mut self,
        slot: &mut Slot,
        before: &Before,
        (batch, after): (&mut Batch, &mut Vec<AfterCommit>),
        now_ms: i64,
    ) {
        self.rows(slot, before, batch, now_ms);
        let over = !before.over && slot.invocation.state.is_over();
        if (over || before.running && !slot.is_running()) && self.shared.observer.wants_changes() {
            after.push(AfterCommit::Observe(Box::new(slot.invocation.clone())));
        }
        let response = self.last_response(slot, before);
        self.watching -= conclude(slot, before, &response, after);
    }

    /// The answer for watchers: the last attempt's, since this start or before.
    fn last_response(&self, slot: &Slot, before: &Before) -> Result<Option<Arc<[u8]>>> {
        let wanted = !before.over && slot.invocation.state.is_over() && !slot.watchers.is_empty();
        if wanted { slot.response(&self.shared, self.shard) } else { Ok(None) }
    }

    pub(super) fn rows(
        &mut self,
        slot: &mut Slot,
        before: &Before,
        batch: &mut Batch,
        now_ms: i64,
    ) {
        let id = slot.invocation.id;
        self.arm(&mut slot.invocation, batch);
        let Invocation { undelivered, dead, ended_ms, .. } = &slot.invocation;
        let delivery = |index| layout::delivery(slot.invocation.recipient(index), id, index);
        for index in undelivered.iter().filter(|index| !before.undelivered.contains(index)) {
            batch.put(Space::InvocationOrders, delivery(*index), Vec::new());
        }
        for index in before.undelivered.iter().filter(|index| !undelivered.contains(index)) {
            batch.remove(Space::InvocationOrders, delivery(*index));
        }
        let ended_ms = ended_ms.unwrap_or(now_ms);
        let mut put = |order, at_ms| {
            batch.put(Space::InvocationOrders, layout::at(order, at_ms, id), Vec::new());
        };
        match (before, *dead) {
            (Before { dead: false, .. }, true) => put(Order::Dead, ended_ms),
            (Before { over: false, .. }, false) if slot.invocation.state.is_over() => {
                put(Order::Closed, ended_ms);
            }
            (Before { dead: true, .. }, false) => {
                put(Order::Closed, now_ms);
                batch.remove(Space::InvocationOrders, layout::at(Order::Dead, ended_ms, id));
            }
            _ => {}
        }
        let record = slot.invocation.encoded();
        batch.put(Space::Invocations, layout::part(id, Part::Record), record);
    }

    /// Ensures that an invocation is looked at in time, also after a restart.
    fn arm(&mut self, invocation: &mut Invocation, batch: &mut Batch) {
        let Invocation { id, state, wake_ms: known, .. } = *invocation;
        let wanted = match state {
            State::Waiting { due_ms } => Some(due_ms),
            State::Accepted | State::Running => known.or(Some(invocation.accepted_ms)),
            _ => None,
        };
        if wanted != known {
            let mut change = |at_ms, value| {
                let key = layout::at(Order::Due, at_ms, id);
                let space = Space::InvocationOrders;
                batch.writes.push(everstep_store::Write { space, key, value });
            };
            known.into_iter().for_each(|at_ms| change(at_ms, None));
            wanted.into_iter().for_each(|at_ms| change(at_ms, Some(Vec::new())));
        }
        invocation.wake_ms = wanted;
        if let State::Waiting { due_ms } = state
            && !self.timers.is_far(due_ms)
        {
            self.timers.arm(due_ms, id);
        }
    }

    /// Hands a batch over; `after` follows when it is durable. Returns its ticket.
    pub(super) fn commit(&mut self, batch: Batch, after: Vec<AfterCommit>) -> u64 {
        self.ledger.commit(batch, after)
    }

    /// What depends on commits that have been made already, the last of them `ticket`.
    pub(super) fn follow(&mut self, ticket: u64, after: Vec<AfterCommit>) {
        self.ledger.follow(ticket, after);
    }
}

/// Keeps what an attempt has said.
pub(super) fn respond(slot: &mut Slot, outcome: &Outcome, batch: &mut Batch) {
    if let Some(response) = outcome.response() {
        let key = layout::part(slot.invocation.id, Part::Response);
        slot.response = Response::Known(Some(response.clone().into()));
        batch.put(Space::Invocations, key, response);
    }
}

/// What follows from an end: deliveries, and answers to watchers with their number.
fn conclude(
    slot: &mut Slot,
    before: &Before,
    response: &Result<Option<Arc<[u8]>>>,
    after: &mut Vec<AfterCommit>,
) -> usize {
    if before.over || !slot.invocation.state.is_over() {
        return 0;
    }
    let id = slot.invocation.id;
    let deliver = |index: &u32| AfterCommit::Post(Message::Deliver { id, index: *index });
    after.extend(slot.invocation.undelivered.iter().map(deliver));
    let watchers = std::mem::take(&mut slot.watchers);
    let count = watchers.len();
    for watcher in watchers {
        let finished = response.clone().map(|response| slot.finished(response));
        after.push(AfterCommit::reply(watcher, finished));
    }
    count
}
