//! Messages that come from other queues.

use std::sync::Arc;

use super::Shard;
use super::send::{enter, group};
use crate::after_commit::AfterCommit;
use crate::error::Result;
use crate::id::MoveId;
use crate::message::{Departure, State};
use crate::queue::Queue;
use crate::request::{Arrival, Reply};

impl Shard {
    /// However often a message is offered, it is taken once.
    pub(super) fn arrive(&mut self, name: &str, arrival: Arrival, reply: Reply<()>, now_ms: i64) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        match queue.has_arrived(arrival.id, &*self.shared.store, self.shard) {
            Ok(false) => self.take_in(&mut queue, arrival, reply, now_ms),
            Ok(true) => self.answer(reply, Ok(())),
            Err(error) => self.answer(reply, Err(error)),
        }
        self.serve(&mut queue, now_ms);
        self.put_back(queue, now_ms);
    }

    fn take_in(&mut self, queue: &mut Queue, arrival: Arrival, reply: Reply<()>, now_ms: i64) {
        let Arrival { id, departure } = arrival;
        let Departure { message, receives, first_received_ms } = departure;
        let mut step = self.step(now_ms);
        queue.put_arrival(&mut step, id);
        let sequence = queue.draw_sequence();
        let new = State::new(queue.arrival_ms(now_ms), group(queue, &message.content));
        let state = State { receives, first_received_ms, ..new };
        queue.put_message(&mut step, sequence, Arc::new(message));
        enter(queue, &mut step, sequence, state, 0);
        self.commit(queue, step, vec![AfterCommit::reply(reply, Ok(()))]);
    }

    /// The other side knows that a message has arrived: it is not offered again.
    pub(super) fn forget(&mut self, name: &str, id: MoveId, reply: Reply<()>, now_ms: i64) {
        // A queue that was deleted has forgotten it.
        let Ok(mut queue) = self.take(name) else { return self.answer(reply, Ok(())) };
        let known: Result<bool> = queue.has_arrived(id, &*self.shared.store, self.shard);
        match known {
            Ok(true) => {
                let mut step = self.step(now_ms);
                queue.remove_arrival(&mut step, id);
                self.commit(&mut queue, step, vec![AfterCommit::reply(reply, Ok(()))]);
            }
            Ok(false) => self.answer(reply, Ok(())),
            Err(error) => self.answer(reply, Err(error)),
        }
        self.put_back(queue, now_ms);
    }
}
