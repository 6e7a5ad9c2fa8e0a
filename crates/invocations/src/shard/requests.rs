//! What becomes of results and of what users ask for.

use everstep_retry::Class;
use everstep_store::Batch;

use super::Shard;
use super::slot::Slot;
use super::step::respond;
use crate::after_commit::AfterCommit;
use crate::error::Error;
use crate::function::{Failure, Outcome, Receipt};
use crate::id::{AttemptId, InvocationId};
use crate::invocation::{Input, State, decide};
use crate::message::{Finished, Reply};

impl Shard {
    /// The first result of an attempt counts; its receipt is called when it is durable.
    pub(super) fn ended(
        &mut self,
        id: InvocationId,
        attempt: AttemptId,
        outcome: Outcome,
        receipt: Receipt,
        now_ms: i64,
    ) {
        let outcome = bounded(outcome, self.shared.settings.payload_bytes_max);
        let mut slot = match self.take(id, now_ms) {
            Ok(Some(slot)) => slot,
            Ok(None) => return receipt(Err(Error::StaleResult)),
            Err(error) => return receipt(Err(error)),
        };
        let unit = self.unit();
        let input = Input::End { attempt, outcome: &outcome };
        let dispatched = slot.dispatched == Some(attempt);
        if dispatched {
            slot.dispatched = None;
        }
        match decide(&slot.invocation, &input, now_ms, unit) {
            Ok(_) if self.leaves_unstarted(&slot, &outcome) => receipt(Ok(())),
            Ok(events) if dispatched => {
                let before = slot.change(&events);
                let mut batch = Batch::new(self.shard);
                if slot.invocation.attempts.open().is_none() {
                    respond(&mut slot, &outcome, &mut batch);
                }
                let after = vec![AfterCommit::Answer(receipt)];
                self.write(&mut slot, &before, batch, after, now_ms);
                if slot.invocation.state == State::Accepted {
                    // It was interrupted, and is to be repeated.
                    return self.ready(slot, Batch::new(self.shard), Vec::new(), now_ms);
                }
            }
            _ => {
                self.shared.observer.stale_result(id, attempt);
                self.follow(
                    slot.ticket,
                    vec![AfterCommit::reply(receipt, Err(Error::StaleResult))],
                );
            }
        }
        self.put_back(slot);
    }

    /// Nothing new is begun, and no worker took it: it stays as it is, and is begun by the next engine.
    fn leaves_unstarted(&self, slot: &Slot, outcome: &Outcome) -> bool {
        let unseen = matches!(outcome, Outcome::Throttled | Outcome::Interrupted);
        unseen && !slot.is_running() && self.shared.concurrency.is_closed()
    }

    pub(super) fn cancel(&mut self, id: InvocationId, reply: Reply<()>, now_ms: i64) {
        let mut slot = match self.take(id, now_ms).and_then(|slot| slot.ok_or(Error::NotFound)) {
            Ok(slot) => slot,
            Err(error) => return reply(Err(error)),
        };
        let running = slot.dispatched.take();
        match decide(&slot.invocation, &Input::Cancel, now_ms, 0.0) {
            Ok(events) => {
                let before = slot.change(&events);
                let mut after = vec![AfterCommit::reply(reply, Ok(()))];
                after.extend(running.map(AfterCommit::Kill));
                self.write(&mut slot, &before, Batch::new(self.shard), after, now_ms);
            }
            Err(_) => {
                self.follow(slot.ticket, vec![AfterCommit::reply(reply, Err(Error::WrongState))]);
            }
        }
        self.put_back(slot);
    }

    pub(super) fn watch(&mut self, id: InvocationId, reply: Reply<Finished>, now_ms: i64) {
        if self.watching >= self.shared.settings.watchers_max {
            return reply(Err(Error::Busy));
        }
        match self.take(id, now_ms).and_then(|slot| slot.ok_or(Error::NotFound)) {
            Ok(slot) => self.attach(slot, reply),
            Err(error) => reply(Err(error)),
        }
    }
}

/// What a store can take: an answer that is too large is a failure.
fn bounded(outcome: Outcome, bytes_max: usize) -> Outcome {
    match outcome {
        Outcome::Succeeded { output, worker_pid, .. } if output.len() > bytes_max => {
            let message =
                format!("the response has {} bytes, and may have {bytes_max}", output.len());
            let name = "Function.ResponseSizeTooLarge";
            let failure = Failure::new(name, Class::DataLimitExceeded, &message);
            Outcome::Failed { failure, payload: None, worker_pid }
        }
        Outcome::Failed { failure, payload, worker_pid } => {
            let payload = payload.filter(|payload| payload.len() <= bytes_max);
            Outcome::Failed { failure: failure.clipped(), payload, worker_pid }
        }
        other => other,
    }
}
