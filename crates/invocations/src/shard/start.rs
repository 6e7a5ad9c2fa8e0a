//! How an attempt begins: when there is a slot, a worker that is ready takes it, and its start is durable.

use everstep_store::Batch;

use super::Shard;
use super::slot::Slot;
use crate::after_commit::AfterCommit;
use crate::concurrency::Permit;
use crate::context;
use crate::error::{Error, Result};
use crate::function::{Attempt, Receipt};
use crate::id::{AttemptId, InvocationId};
use crate::invocation::{Event, Input, Refusal, decide};

impl Shard {
    /// Lets an invocation run that is due, if there is a slot. `batch` and `after` are what is to be
    /// written and done with it, whatever comes of that.
    pub(super) fn ready(
        &mut self,
        mut slot: Box<Slot>,
        batch: Batch,
        after: Vec<AfterCommit>,
        now_ms: i64,
    ) {
        let function = self.shared.functions.function(&slot.invocation.function);
        let input = match function {
            None => Some(Input::Postpone),
            Some(function) if function.concurrency == 0 => Some(Input::Forbid),
            Some(function) => {
                let Slot { invocation, .. } = &*slot;
                let (name, limit) = (&invocation.function, function.concurrency);
                let since_ms = invocation.wake_ms.unwrap_or(invocation.accepted_ms);
                match self.shared.concurrency.request(name, limit, (invocation.id, since_ms)) {
                    Some(permit) => return self.start(slot, permit, batch, after, now_ms),
                    None => None,
                }
            }
        };
        let events = input.map(|input| decide(&slot.invocation, &input, now_ms, 0.0));
        let events = events.and_then(std::result::Result::ok).unwrap_or_default();
        if !events.is_empty() || !batch.is_empty() {
            let before = slot.change(&events);
            self.write(&mut slot, &before, batch, after, now_ms);
        }
        self.put_back(slot);
    }

    /// It is the turn of an invocation that waited for a slot.
    pub(super) fn has_slot(&mut self, id: InvocationId, permit: Permit, now_ms: i64) {
        if let Some(slot) = self.take_or_strand(id, now_ms) {
            self.start(slot, permit, Batch::new(self.shard), Vec::new(), now_ms);
        }
    }

    /// Asks for a worker. Nothing is written of that: the attempt is started when a worker claims it.
    fn start(
        &mut self,
        mut slot: Box<Slot>,
        permit: Permit,
        batch: Batch,
        mut after: Vec<AfterCommit>,
        now_ms: i64,
    ) {
        let attempt = slot.invocation.current_attempt();
        let mut events = Vec::new();
        match self.may_start(&slot, attempt, now_ms) {
            Some(Event::AttemptStarted { .. }) => match self.attempt(&mut slot, attempt) {
                Ok(attempt) => {
                    slot.dispatched = Some(attempt.id);
                    after.push(AfterCommit::Start(Box::new(attempt), permit));
                }
                // Its event cannot be read. It stays in the store as it was.
                Err(error) => return self.shared.observer.stuck(slot.invocation.id, &error),
            },
            end => events.extend(end),
        }
        if events.is_empty() && batch.is_empty() {
            self.follow(slot.ticket, after);
        } else {
            let before = slot.change(&events);
            self.write(&mut slot, &before, batch, after, now_ms);
        }
        self.put_back(slot);
    }

    /// What the start of an attempt would be: its start, or the end of an event that is too old. None if it
    /// has been started or cancelled, or put off, since it got in line.
    fn may_start(&mut self, slot: &Slot, attempt: AttemptId, now_ms: i64) -> Option<Event> {
        if slot.dispatched.is_some() {
            return None;
        }
        match decide(&slot.invocation, &Input::Start { attempt }, now_ms, 0.0) {
            Ok(events) => events.into_iter().next(),
            Err(Refusal::Early { due_ms }) => {
                self.look_again(slot, due_ms);
                None
            }
            Err(_) => None,
        }
    }

    fn look_again(&mut self, slot: &Slot, due_ms: i64) {
        if !self.timers.is_far(due_ms) {
            self.timers.arm(due_ms, slot.invocation.id);
        }
    }

    /// A worker is ready to take an attempt: it is started, and the worker gets it when that is durable.
    pub(super) fn claim(
        &mut self,
        id: InvocationId,
        attempt: AttemptId,
        receipt: Receipt,
        now_ms: i64,
    ) {
        let mut slot = match self.take(id, now_ms) {
            Ok(Some(slot)) => slot,
            Ok(None) => return receipt(Err(Error::StaleResult)),
            Err(error) => return receipt(Err(error)),
        };
        let wanted = slot.dispatched == Some(attempt);
        let decided = decide(&slot.invocation, &Input::Start { attempt }, now_ms, 0.0);
        match decided {
            Ok(events) if wanted => {
                let before = slot.change(&events);
                let answer = if slot.is_running() {
                    Ok(())
                } else {
                    slot.dispatched = None;
                    Err(Error::StaleResult)
                };
                let after = vec![AfterCommit::reply(receipt, answer)];
                self.write(&mut slot, &before, Batch::new(self.shard), after, now_ms);
            }
            refused => {
                if wanted {
                    slot.dispatched = None;
                }
                if let Err(Refusal::Early { due_ms }) = refused {
                    // The clock was set back.
                    self.look_again(&slot, due_ms);
                }
                receipt(Err(Error::StaleResult));
            }
        }
        self.put_back(slot);
    }

    fn attempt(&self, slot: &mut Slot, id: AttemptId) -> Result<Attempt> {
        let payload = slot.payload(&self.shared, self.shard)?;
        let invocation = &slot.invocation;
        Ok(Attempt {
            id,
            invocation: invocation.id,
            n: invocation.attempts.current(),
            function: invocation.function.clone(),
            version: invocation.version.clone(),
            payload: context::event(invocation, &payload),
            client_context: context::client_context(invocation),
            session: invocation.session,
            key: invocation.key.clone(),
        })
    }
}
