//! How long a message that was received stays hidden.

use super::Shard;
use super::remove::is_of;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::queue::flights::Flight;
use crate::queue::{Queue, Step};
use crate::receipt::Receipt;
use crate::request::Reply;

/// A message is hidden at most for so long after it was received.
const HIDDEN_MS_MAX: i64 = 12 * 60 * 60 * 1000;

impl Shard {
    /// One commit for all messages of a request; each has its own answer.
    pub(super) fn hide(
        &mut self,
        name: &str,
        receipts: &[(Receipt, i64)],
        reply: Reply<Vec<Result<()>>>,
        now_ms: i64,
    ) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        let mut step = self.step(now_ms);
        let (mut hidden, mut after) = (Vec::with_capacity(receipts.len()), Vec::new());
        for (receipt, hide_ms) in receipts {
            hidden.push(self.hide_one(&mut queue, &mut step, *receipt, *hide_ms, &mut after));
        }
        after.push(AfterCommit::reply(reply, Ok(hidden)));
        self.commit(&mut queue, step, after);
        self.serve(&mut queue, now_ms);
        self.put_back(queue, now_ms);
    }

    fn hide_one(
        &mut self,
        queue: &mut Queue,
        step: &mut Step,
        receipt: Receipt,
        hide_ms: i64,
        after: &mut Vec<AfterCommit>,
    ) -> Result<()> {
        let Receipt { sequence, receive, .. } = receipt;
        if !is_of(queue, receipt)? {
            return Err(Error::NotInFlight);
        }
        let Some(flight) = queue.flights.get(sequence).copied() else {
            return self.hide_again(queue, step, receipt, hide_ms);
        };
        if flight.state.receives != receive {
            return Err(Error::NotInFlight);
        }
        let received_ms = flight.state.last_received_ms.unwrap_or(step.now_ms);
        let deadline_ms = step.now_ms.saturating_add(hide_ms);
        if deadline_ms.saturating_sub(received_ms) > HIDDEN_MS_MAX {
            return Err(Error::HiddenTooLong);
        }
        if hide_ms <= 0 {
            self.land(queue, step, sequence, after);
        } else {
            queue.remove_flight(step, sequence);
            queue.add_flight(step, sequence, Flight { deadline_ms, ..flight });
        }
        Ok(())
    }

    /// A message that is visible again, and was not received since, is hidden once more. Not in a FIFO queue: others of
    /// its group may have been received meanwhile.
    fn hide_again(
        &self,
        queue: &mut Queue,
        step: &mut Step,
        receipt: Receipt,
        hide_ms: i64,
    ) -> Result<()> {
        let Receipt { sequence, receive, .. } = receipt;
        let ready = queue.find_ready(sequence, &*self.shared.store, self.shard)?;
        match ready {
            Some(_) if queue.is_fifo() => Err(Error::ReceiptExpired),
            Some(state) if state.receives == receive => {
                if hide_ms > 0 {
                    let deadline_ms = step.now_ms.saturating_add(hide_ms);
                    queue.remove_ready(step, sequence);
                    queue.add_flight(step, sequence, Flight { state, deadline_ms });
                }
                Ok(())
            }
            _ => Err(Error::NotInFlight),
        }
    }
}
