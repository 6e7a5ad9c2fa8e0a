//! Messages on their way to another queue.
//!
//! The queues may be in different shards, so no commit is about both. The message leaves this queue and becomes a row
//! of its own in one commit; it is in nobody's hands then. That row is offered to the other queue until it confirms,
//! which happens when the message and the id of the move are rows there: so a repeated offer adds nothing. Only when
//! this shard has written that, the other queue may forget the id. However often either side crashes, the message
//! arrives once.

use std::sync::Arc;

use everstep_store::{Scan, Space};

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::{MessageId, MoveId, Recipient};
use crate::layout::{self, Part};
use crate::message::{Departure, Message, Move, Stage, State};
use crate::queue::{Queue, Step};
use crate::request::{Arrival, Place, Reply, Request};

/// A message that leaves its queue.
pub(super) struct Leaving<'s> {
    pub(super) sequence: u64,
    pub(super) message: Arc<Message>,
    pub(super) state: &'s State,
    pub(super) reason: Reason,
}

/// Why and where to a message is moved.
pub(super) enum Reason {
    /// It was received too often.
    Received,
    /// A task moves it.
    Task(String),
}

impl Shard {
    /// A message leaves its queue. It has left all orders of it.
    pub(super) fn move_out(
        &mut self,
        queue: &mut Queue,
        step: &mut Step,
        leaving: Leaving<'_>,
        after: &mut Vec<AfterCommit>,
    ) {
        let id = MoveId::of(queue.record.messages, leaving.sequence);
        queue.remove_message(step, leaving.sequence);
        let (target, departure) = departure(queue, id, leaving, step.now_ms);
        let place = Place(Recipient::named(&target), id);
        let moved = Move { id, target, stage: Stage::Leaving(Box::new(departure)) };
        step.batch.put(Space::Queues, layout::moved(place.0, id), moved.encoded());
        self.moves.put(place, step.commit, Some(()));
        after.push(AfterCommit::Post(Request::Deliver { shard: self.shard.0, place }));
    }

    /// Offers a message to the other queue, unless that has begun. Its row is durable.
    pub(super) fn deliver_once(&mut self, place: Place, now_ms: i64) {
        if !self.outbox.knows(place) && self.outbox.admit(place, &place.0) {
            self.deliver(place, now_ms);
        }
    }

    fn deliver(&mut self, place: Place, now_ms: i64) {
        match self.read_move(place) {
            Ok(Some(moved)) => {
                let request = self.offer(moved);
                self.shared.mailbox.post(request);
            }
            Ok(None) => self.outbox.remove(place),
            Err(error) => {
                self.shared.observer.stuck("(on its way to another queue)", &error);
                self.outbox.retry(place, now_ms);
            }
        }
    }

    fn read_move(&self, Place(to, id): Place) -> Result<Option<Move>> {
        let row = self.shared.store.get(self.shard, Space::Queues, &layout::moved(to, id))?;
        row.map(|row| Move::decode(&row)).transpose()
    }

    /// What is asked of the other queue at this stage.
    fn offer(&self, moved: Move) -> Request {
        let Move { id, target, stage } = moved;
        let reply = self.receipt(Place(Recipient::named(&target), id));
        match stage {
            Stage::Leaving(departure) => {
                let arrival = Box::new(Arrival { id, departure: *departure });
                Request::Arrive { queue: target, arrival, reply }
            }
            Stage::Arrived => Request::Forget { queue: target, id, reply },
        }
    }

    fn receipt(&self, place: Place) -> Reply<()> {
        let (mailbox, shard) = (self.shared.mailbox.clone(), self.shard.0);
        Box::new(move |outcome| mailbox.post(Request::Delivered { shard, place, outcome }))
    }

    /// The other queue has confirmed a stage, or has not: then it is repeated.
    pub(super) fn delivered(&mut self, place: Place, outcome: Result<()>, now_ms: i64) {
        let moved = match self.read_move(place) {
            Ok(Some(moved)) => moved,
            Ok(None) => return self.outbox.remove(place),
            Err(error) => {
                self.shared.observer.stuck("(on its way to another queue)", &error);
                return self.outbox.retry(place, now_ms);
            }
        };
        match outcome {
            Ok(()) => self.advance(place, moved, now_ms),
            // The next start repeats it.
            Err(Error::Stopped | Error::Failed(_)) => {}
            Err(error) => {
                self.shared.observer.move_failed(&moved.target, &error);
                self.outbox.retry(place, now_ms);
            }
        }
    }

    fn advance(&mut self, place: Place, moved: Move, now_ms: i64) {
        let mut step = self.step(now_ms);
        let key = layout::moved(place.0, place.1);
        match moved.stage {
            Stage::Leaving(_) => {
                let moved = Move { stage: Stage::Arrived, ..moved };
                step.batch.put(Space::Queues, key, moved.encoded());
                let next = AfterCommit::Post(self.offer(moved));
                self.hand_over(step, vec![next]);
            }
            Stage::Arrived => {
                step.batch.remove(Space::Queues, key);
                self.moves.put(place, step.commit, None);
                self.hand_over(step, Vec::new());
                self.outbox.remove(place);
            }
        }
    }

    pub(super) fn deliver_due(&mut self, now_ms: i64) {
        while let Some(place) = self.outbox.pop_due(now_ms) {
            self.deliver(place, now_ms);
        }
    }

    /// Finds out for which queues there are moves that were left by another life.
    pub(super) fn find_moves(&mut self) -> Result<()> {
        let (mut from, to) = (vec![Part::Move as u8], layout::end(Part::Move));
        loop {
            let scan = Scan::between(&from, &to, 1);
            let rows = self.shared.store.scan(self.shard, Space::Queues, scan)?;
            let Some((to, _)) = rows.first().and_then(|(key, _)| layout::parse_move(key)) else {
                return Ok(());
            };
            self.outbox.has_rows(to);
            from = layout::after_moves(to);
        }
    }

    /// Reads moves that were left by another life, or for which there was no room.
    pub(super) fn read_moves(&mut self, now_ms: i64) -> Result<()> {
        let ledger = &self.ledger;
        self.moves.settle(|commit| ledger.is_acknowledged(commit));
        let Some((to, cursor, room)) = self.outbox.next_to_read() else { return Ok(()) };
        let (low, high) = (layout::moves(to, &cursor), layout::after_moves(to));
        let rows = self.shared.store.scan(
            self.shard,
            Space::Queues,
            Scan::between(&low, &high, room).up_to_bytes(BYTES_AT_A_TIME),
        )?;
        let last = rows.last().map(|(key, _)| key.clone());
        self.outbox.has_read(&to, &cursor, last);
        for (to, id) in rows.iter().filter_map(|(key, _)| layout::parse_move(key)) {
            let place = Place(to, id);
            // One on its way to the store is offered when it is there; one that is over is not offered again.
            if self.moves.get(place).is_none() {
                self.deliver_once(place, now_ms);
            }
        }
        Ok(())
    }
}

/// Bytes of messages that are read at a time.
const BYTES_AT_A_TIME: usize = 1 << 20;

/// Where a message goes, and what of it.
fn departure(queue: &Queue, id: MoveId, leaving: Leaving<'_>, now_ms: i64) -> (String, Departure) {
    let Leaving { message, state, reason, .. } = leaving;
    let message = Arc::unwrap_or_clone(message);
    match reason {
        Reason::Received => {
            let name = queue.record.name.clone();
            let target = queue.record.attributes.redrive.as_ref();
            let target = target.map_or_else(|| name.clone(), |redrive| redrive.target.clone());
            let message = Message { dead_letter_of: Some(name), ..message };
            let (receives, first_received_ms) = (state.receives, state.first_received_ms);
            (target, Departure { message, receives, first_received_ms })
        }
        Reason::Task(target) => {
            let id = MessageId::of_redrive(id);
            let message = Message { id, sent_ms: now_ms, dead_letter_of: None, ..message };
            (target, Departure { message, receives: 0, first_received_ms: None })
        }
    }
}
