//! How messages are handed out.

use std::sync::Arc;

use everstep_shards::Outside;

use super::Shard;
use super::move_out::{Leaving, Reason};
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::message::{Message, State};
use crate::queue::flights::Flight;
use crate::queue::waiters::Waiter;
use crate::queue::{Queue, Step};
use crate::receipt::Receipt;
use crate::request::{Receive, Received, Reply};

/// Messages that are looked at for one receive before others have their turn: those that have expired, or were
/// received too often, are not handed out.
const LOOKED_AT: usize = 256;

/// What a receive has led to.
struct Taken {
    received: Vec<Received>,
    after: Vec<AfterCommit>,
    /// Messages that were looked at.
    looked_at: usize,
}

impl Shard {
    pub(super) fn receive(
        &mut self,
        name: &str,
        receive: Receive,
        reply: Reply<Vec<Received>>,
        now_ms: i64,
    ) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        if let Some(repeated) = self.repeated(&mut queue, &receive, now_ms) {
            self.answer(reply, repeated);
            return self.put_back(queue, now_ms);
        }
        if let Some(error) = self.refusal(&queue) {
            self.put_back(queue, now_ms);
            return self.answer(reply, Err(error));
        }
        let wait_ms = receive.wait_ms.unwrap_or(queue.record.attributes.wait_ms);
        let wait_ms = if self.is_closing { 0 } else { wait_ms };
        let until_ms = now_ms.saturating_add(wait_ms);
        queue.waiters.push(Waiter { receive, reply, until_ms });
        self.serve(&mut queue, now_ms);
        self.put_back(queue, now_ms);
    }

    fn refusal(&self, queue: &Queue) -> Option<Error> {
        let settings = &self.shared.settings;
        // A FIFO queue answers that there is no message.
        let too_many = !queue.is_fifo() && queue.flights.len() >= settings.in_flight_max;
        if too_many {
            return Some(Error::OverLimit);
        }
        (queue.waiters.len() >= settings.waiters_max).then_some(Error::Busy)
    }

    /// Hands messages to those that wait, in their order, and answers those that need not wait any longer.
    pub(super) fn serve(&mut self, queue: &mut Queue, now_ms: i64) {
        loop {
            let (store, shard) = (self.shared.store.clone(), self.shard);
            if let Err(error) = queue.read_ready(&*store, shard) {
                // An engine that cannot read what is ready cannot hand anything out.
                self.fail(error);
                break;
            }
            let full = queue.flights.len() >= self.shared.settings.in_flight_max;
            if full || queue.line.next(None).is_none() {
                break;
            }
            let Some(waiter) = queue.waiters.pop() else { break };
            let mut step = self.step(now_ms);
            let Taken { received, mut after, looked_at } =
                self.take_messages(queue, &mut step, &waiter.receive);
            let received_none = received.is_empty();
            if received_none {
                queue.waiters.put_back(waiter);
            } else {
                remember(queue, &waiter.receive, &received, now_ms);
                after.push(AfterCommit::reply(waiter.reply, Ok(received)));
            }
            self.commit(queue, step, after);
            if received_none && looked_at == LOOKED_AT {
                // The rest is looked at in the next turn.
                queue.again = true;
                break;
            }
        }
        for waiter in queue.waiters.expire(now_ms) {
            (waiter.reply)(Ok(Vec::new()));
        }
    }

    fn take_messages(&mut self, queue: &mut Queue, step: &mut Step, receive: &Receive) -> Taken {
        let visibility_ms = receive.visibility_ms.unwrap_or(queue.record.attributes.visibility_ms);
        let deadline_ms = step.now_ms.saturating_add(visibility_ms);
        let mut taken = Taken { received: Vec::new(), after: Vec::new(), looked_at: 0 };
        let mut group = None;
        while taken.received.len() < receive.max && taken.looked_at < LOOKED_AT {
            let Some((sequence, state)) = queue.line.next(group) else { break };
            taken.looked_at += 1;
            let Some(message) = self.readable(queue, sequence) else { continue };
            queue.remove_ready(step, sequence);
            if self.is_expired(queue, &state, step.now_ms) {
                queue.remove_message(step, sequence);
            } else if is_spent(queue, &state) {
                let reason = Reason::Received;
                let leaving = Leaving { sequence, message, state: &state, reason };
                self.move_out(queue, step, leaving, &mut taken.after);
            } else {
                let flight = Flight { state: state.received(step.now_ms), deadline_ms };
                taken.received.push(hand_out(queue, step, (sequence, message), flight));
                group = state.group;
            }
        }
        taken
    }

    /// A message, unless it cannot be read: then it is not handed out, and stays a row.
    pub(super) fn readable(&self, queue: &mut Queue, sequence: u64) -> Option<Arc<Message>> {
        match queue.message(sequence, &*self.shared.store, self.shard) {
            Ok(message) => Some(message),
            Err(error) => {
                self.shared.observer.stuck(&queue.record.name, &error);
                queue.line.remove(sequence);
                None
            }
        }
    }

    /// The same messages once more, if a caller repeats a receive and none of them has changed since.
    fn repeated(
        &mut self,
        queue: &mut Queue,
        receive: &Receive,
        now_ms: i64,
    ) -> Option<Result<Vec<Received>>> {
        let id = receive.attempt.as_deref().filter(|_| queue.is_fifo())?;
        let messages = queue.attempts.get(id, now_ms)?.clone();
        let same = |(sequence, receives): &(u64, u32)| {
            queue.flights.get(*sequence).is_some_and(|flight| flight.state.receives == *receives)
        };
        if messages.is_empty() || !messages.iter().all(same) {
            return None;
        }
        let visibility_ms = receive.visibility_ms.unwrap_or(queue.record.attributes.visibility_ms);
        let deadline_ms = now_ms.saturating_add(visibility_ms);
        let read: Option<Vec<_>> = messages
            .iter()
            .map(|(sequence, _)| Some((*sequence, self.readable(queue, *sequence)?)))
            .collect();
        let mut step = self.step(now_ms);
        let mut received = Vec::with_capacity(messages.len());
        for message in read? {
            let Some(flight) = queue.remove_flight(&mut step, message.0) else { continue };
            let flight = Flight { deadline_ms, ..flight };
            received.push(hand_out(queue, &mut step, message, flight));
        }
        self.commit(queue, step, Vec::new());
        Some(Ok(received))
    }

    pub(super) fn stop_waiting(&mut self, now_ms: i64) {
        self.is_closing = true;
        let names: Vec<_> = self.queues.keys().cloned().collect();
        for name in names {
            let Ok(mut queue) = self.take(&name) else { continue };
            for waiter in queue.waiters.take_all() {
                (waiter.reply)(Ok(Vec::new()));
            }
            self.put_back(queue, now_ms);
        }
    }

    pub(super) fn is_expired(&self, queue: &Queue, state: &State, now_ms: i64) -> bool {
        let now_ms = self.shared.settings.shards.retention_limit.now_ms(now_ms);
        queue.is_expired(state, now_ms)
    }

    pub(super) fn fail(&self, error: Error) {
        if let Error::Failed(error) = error {
            self.shared.fail(error);
        }
    }
}

/// Whether a message was received as often as it may be.
pub(super) fn is_spent(queue: &Queue, state: &State) -> bool {
    let redrive = queue.record.attributes.redrive.as_ref();
    redrive.is_some_and(|redrive| state.receives_here >= redrive.receives_max)
}

/// A message is in flight.
fn hand_out(
    queue: &mut Queue,
    step: &mut Step,
    (sequence, message): (u64, Arc<Message>),
    flight: Flight,
) -> Received {
    queue.add_flight(step, sequence, flight);
    let Flight { state, deadline_ms } = flight;
    let (queue, rows) = (queue.record.id, queue.record.messages);
    Received {
        message,
        receipt: Receipt { queue, rows, sequence, receive: state.receives },
        receives: state.receives,
        first_received_ms: state.first_received_ms.unwrap_or(step.now_ms),
        sequence,
        hidden_until_ms: deadline_ms,
    }
}

fn remember(queue: &mut Queue, receive: &Receive, received: &[Received], now_ms: i64) {
    if let Some(id) = receive.attempt.clone().filter(|_| queue.is_fifo()) {
        let messages = received.iter().map(|one| (one.sequence, one.receives)).collect();
        queue.attempts.put(id, messages, now_ms);
    }
}
