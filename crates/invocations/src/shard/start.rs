//! How an attempt begins: when there is a slot, and its start is durable.

use everstep_store::Batch;

use super::Shard;
use super::slot::Slot;
use crate::after_commit::AfterCommit;
use crate::concurrency::Permit;
use crate::context;
use crate::error::Result;
use crate::function::Attempt;
use crate::id::{AttemptId, InvocationId};
use crate::invocation::{Input, Invocation, Refusal, decide};

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
                match self.shared.concurrency.request(name, limit, invocation.id) {
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

    fn start(
        &mut self,
        mut slot: Box<Slot>,
        permit: Permit,
        batch: Batch,
        mut after: Vec<AfterCommit>,
        now_ms: i64,
    ) {
        let Invocation { id, accepted_ms, attempts, throttled, .. } = &slot.invocation;
        let attempt = AttemptId::next(*id, *accepted_ms, attempts.started(), *throttled);
        let input = Input::Start { attempt };
        let events = decide(&slot.invocation, &input, now_ms, 0.0).unwrap_or_else(|refusal| {
            // It has run, or been cancelled, or put off, since it got in line.
            if let Refusal::Early { due_ms } = refusal
                && !self.timers.is_far(due_ms)
            {
                self.timers.arm(due_ms, slot.invocation.id);
            }
            Vec::new()
        });
        if !events.is_empty() || !batch.is_empty() {
            let before = slot.change(&events);
            if slot.is_running() {
                match self.attempt(&mut slot, attempt) {
                    Ok(attempt) => after.push(AfterCommit::Start(Box::new(attempt), permit)),
                    Err(error) => {
                        // Its event cannot be read. It stays in the store as it was.
                        return self.shared.observer.stuck(slot.invocation.id, &error);
                    }
                }
            }
            self.write(&mut slot, &before, batch, after, now_ms);
        }
        self.put_back(slot);
    }

    fn attempt(&self, slot: &mut Slot, id: AttemptId) -> Result<Attempt> {
        let payload = slot.payload(&self.shared, self.shard)?;
        let invocation = &slot.invocation;
        Ok(Attempt {
            id,
            invocation: invocation.id,
            n: invocation.attempts.started(),
            function: invocation.function.clone(),
            version: invocation.version.clone(),
            payload: context::event(invocation, &payload),
            client_context: context::client_context(invocation),
            session: invocation.session,
        })
    }
}
