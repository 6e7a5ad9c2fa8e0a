//! How messages are deleted.

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::queue::{Queue, Step};
use crate::receipt::Receipt;
use crate::request::Reply;

impl Shard {
    /// One commit for all messages of a request; each has its own answer.
    pub(super) fn remove(
        &mut self,
        name: &str,
        receipts: &[Receipt],
        reply: Reply<Vec<Result<()>>>,
        now_ms: i64,
    ) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        let mut step = self.step(now_ms);
        let mut removed = Vec::with_capacity(receipts.len());
        for receipt in receipts {
            removed.push(self.remove_one(&mut queue, &mut step, *receipt));
        }
        self.commit(&mut queue, step, vec![AfterCommit::reply(reply, Ok(removed))]);
        // The next message of its group can be received.
        self.serve(&mut queue, now_ms);
        self.put_back(queue, now_ms);
    }

    /// The receipt of the last receive deletes a message. In a FIFO queue only while it is hidden; in others also
    /// afterwards, until it is received again: then an old receipt deletes nothing, and is not refused.
    fn remove_one(&self, queue: &mut Queue, step: &mut Step, receipt: Receipt) -> Result<()> {
        let Receipt { sequence, receive, .. } = receipt;
        if !is_of(queue, receipt)? {
            return Ok(());
        }
        let old = if queue.is_fifo() { Err(Error::ReceiptExpired) } else { Ok(()) };
        if let Some(flight) = queue.flights.get(sequence) {
            if flight.state.receives != receive {
                return old;
            }
            queue.remove_flight(step, sequence);
            queue.remove_message(step, sequence);
            return Ok(());
        }
        let ready = queue.find_ready(sequence, &*self.shared.store, self.shard)?;
        match ready {
            None => Ok(()),
            Some(state) if queue.is_fifo() || state.receives != receive => old,
            Some(_) => {
                queue.remove_ready(step, sequence);
                queue.remove_message(step, sequence);
                Ok(())
            }
        }
    }
}

/// Whether a receipt is of a message that the queue may still have.
pub(super) fn is_of(queue: &Queue, receipt: Receipt) -> Result<bool> {
    if receipt.queue != queue.record.id {
        return Err(Error::WrongQueue);
    }
    Ok(receipt.rows == queue.record.messages)
}
