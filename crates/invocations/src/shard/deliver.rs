//! Deliveries: each has a row from the invocation's end until it is confirmed.
//!
//! What is delivered is made from the invocation's own rows each time. A delivery to a function becomes an
//! invocation with an id made from this one: so however often it is made, it is accepted once.

use everstep_store::{Batch, Scan, Space};

use super::slot::Slot;
use super::{Place, Shard};
use crate::after_commit::AfterCommit;
use crate::destination::{Delivered, Delivery};
use crate::error::Result;
use everstep_target::Target;

use crate::function::{Edge, EdgeInput};
use crate::id::InvocationId;
use crate::invocation::{Input, Invocation, Route, Source, SourceKind, State, decide};
use crate::layout::{self, Order};
use crate::message::{Acceptance, Message, Mode};
use crate::report;
use crate::session::{StepEnd, StepOutcome};

impl Shard {
    /// Makes a delivery, unless it was found in the store before its turn came. The invocation's end is
    /// durable.
    pub(super) fn deliver_once(&mut self, place: Place, now_ms: i64) {
        if !self.outbox.knows(place) {
            self.deliver(place, now_ms);
        }
    }

    fn deliver(&mut self, place: Place, now_ms: i64) {
        let (id, index) = place;
        if !self.may_work_on(id) {
            // It stays a row until the invocation is released.
            return self.outbox.remove(place);
        }
        let Some(mut slot) = self.take_or_strand(id, now_ms) else { return };
        if slot.invocation.undelivered.contains(&index) {
            let to = slot.invocation.recipient(index);
            if self.outbox.admit(place, &to)
                && let Err(error) = self.send(&mut slot, index)
            {
                self.shared.observer.stuck(id, &error);
            }
        }
        self.put_back(slot);
    }

    fn send(&self, slot: &mut Slot, index: u32) -> Result<()> {
        let payload = slot.payload(&self.shared, self.shard)?;
        let response = slot.response(&self.shared, self.shard)?;
        let invocation = &slot.invocation;
        let done = self.receipt(invocation, index);
        match invocation.routes().get(index as usize) {
            Some(Route::Destination(target)) => {
                let bare = report::bare_record(invocation, response.is_some());
                let whole = report::record(invocation, &payload, response.as_deref());
                let fits = whole.len() <= self.record_bytes_max(target);
                let records = (if fits { whole } else { bare.clone() }, bare);
                self.send_record(invocation, index, target, records, done);
            }
            Some(Route::Next(edge)) => {
                self.send_next(invocation, index, edge, response.as_deref(), done);
            }
            Some(Route::Session) => self.send_step(invocation, response.as_deref(), done),
            // Not of this version's making: nothing that could be done about it.
            None => done(Ok(())),
        }
        Ok(())
    }

    /// A record may become an event, and no event is larger.
    fn record_bytes_max(&self, target: &Target) -> usize {
        let most = self.shared.settings.payload_bytes_max;
        self.shared.destinations.record_bytes_max(target).map_or(most, |own| own.min(most))
    }

    fn receipt(&self, invocation: &Invocation, index: u32) -> Delivered {
        let Invocation { id, accepted_ms, .. } = *invocation;
        let mailbox = self.shared.mailbox.clone();
        Box::new(move |outcome| {
            mailbox.post(Message::Delivered { id, accepted_ms, index, outcome });
        })
    }

    fn send_record(
        &self,
        invocation: &Invocation,
        index: u32,
        target: &Target,
        (record, bare): (Vec<u8>, Vec<u8>),
        done: Delivered,
    ) {
        let id = follower(invocation, index);
        if let Some(function) = target.function() {
            let depth = invocation.source.depth + 1;
            self.send_event(invocation, id, function, (record, depth, None), done);
        } else {
            let delivery = Delivery {
                id,
                target: target.clone(),
                invocation: invocation.id,
                function: invocation.function.clone(),
                record: record.into(),
                bare: bare.into(),
            };
            self.shared.destinations.deliver(delivery, done);
        }
    }

    fn send_next(
        &self,
        invocation: &Invocation,
        index: u32,
        edge: &Edge,
        response: Option<&[u8]>,
        done: Delivered,
    ) {
        let input = match edge.input {
            EdgeInput::Scalar => report::as_json(response.unwrap_or(b"null")).into_bytes(),
            EdgeInput::Error => report::error_input(invocation, response),
        };
        let session = invocation.session.map(|id| (id, invocation.step + 1));
        let id = follower(invocation, index);
        let depth = invocation.source.depth;
        self.send_event(invocation, id, &edge.function, (input, depth, session), done);
    }

    fn send_event(
        &self,
        origin: &Invocation,
        id: InvocationId,
        function: &str,
        (payload, depth, session): (Vec<u8>, u32, Option<(InvocationId, u32)>),
        done: Delivered,
    ) {
        let mut source = Source::new(SourceKind::Destination, origin.function.clone());
        source.message_id = Some(origin.id.to_string());
        source.depth = depth;
        let mode = Mode::Asynchronous;
        let function = function.to_owned();
        let (key, handling) = (None, None);
        let acceptance = Acceptance { id, function, payload, source, key, mode, session, handling };
        let reply = move |accepted: Result<_>| {
            done(accepted.map(|_| ()).map_err(|error| error.to_string()));
        };
        let (acceptance, reply) = (Box::new(acceptance), Box::new(reply));
        self.shared.mailbox.post(Message::Accept { acceptance, reply, watcher: None });
    }

    fn send_step(&self, invocation: &Invocation, response: Option<&[u8]>, done: Delivered) {
        let Some(session) = invocation.session else { return done(Ok(())) };
        let outcome = if invocation.state == State::Succeeded {
            StepOutcome::Succeeded { output: report::as_json(response.unwrap_or(b"null")).into() }
        } else {
            let (error, cause) = report::error_and_cause(invocation, response);
            StepOutcome::Failed { error, cause }
        };
        let next = (0..).zip(invocation.routes()).filter_map(|(index, route)| match route {
            Route::Next(edge) => Some((follower(invocation, index), edge.function.clone())),
            _ => None,
        });
        let function = invocation.function.clone();
        let ended_ms = invocation.ended_ms.unwrap_or(invocation.accepted_ms);
        let end = StepEnd { id: invocation.id, function, ended_ms, next: next.collect(), outcome };
        let reply = move |taken: Result<()>| done(taken.map_err(|error| error.to_string()));
        let (end, reply) = (Box::new(end), Box::new(reply));
        self.shared.mailbox.post(Message::Step { session, end, reply });
    }

    /// What became of a delivery. One that failed is retried for ever; one of an invocation that was purged, and whose
    /// key has been used again, concerns nobody.
    pub(super) fn delivered(
        &mut self,
        place: Place,
        accepted_ms: i64,
        outcome: std::result::Result<(), String>,
        now_ms: i64,
    ) {
        let (id, index) = place;
        let Some(mut slot) = self.take_or_strand(id, now_ms) else { return };
        if slot.invocation.accepted_ms != accepted_ms {
            return self.put_back(slot);
        }
        match outcome {
            Ok(()) => {
                self.outbox.remove(place);
                let events = decide(&slot.invocation, &Input::Deliver { index }, now_ms, 0.0);
                if let Ok(events) = events {
                    let before = slot.change(&events);
                    self.write(&mut slot, &before, Batch::new(self.shard), Vec::new(), now_ms);
                }
            }
            Err(why) => {
                let target = Target::from(&*slot.invocation.route_name(index));
                self.shared.observer.delivery_failed(id, &target, &why);
                self.outbox.retry(place, now_ms);
            }
        }
        self.put_back(slot);
    }

    pub(super) fn deliver_due(&mut self, now_ms: i64) {
        while let Some(place) = self.outbox.pop_due(now_ms) {
            self.deliver(place, now_ms);
        }
    }

    /// Finds out for whom there are deliveries that were left by another life.
    pub(super) fn find_recipients(&mut self, now_ms: i64) -> Result<()> {
        self.sort_by_recipient(now_ms)?;
        let (mut from, to) = (vec![Order::Delivery as u8], layout::end(Order::Delivery));
        loop {
            let scan = Scan::between(&from, &to, 1);
            let rows = self.shared.store.scan(self.shard, Space::InvocationOrders, scan)?;
            let Some(recipient) = rows.first().and_then(|(key, _)| layout::recipient(key)) else {
                return Ok(());
            };
            self.outbox.has_rows(recipient);
            from = layout::after_deliveries(recipient);
        }
    }

    /// Reads deliveries that were left by another life, or for which there was no room.
    pub(super) fn read_outbox(&mut self, now_ms: i64) -> everstep_shards::Result<()> {
        let Some((recipient, cursor, room)) = self.outbox.next_to_read() else {
            return Ok(());
        };
        let (from, to) =
            (layout::deliveries(recipient, &cursor), layout::after_deliveries(recipient));
        let scan = Scan::between(&from, &to, room);
        let rows = self.shared.store.scan(self.shard, Space::InvocationOrders, scan)?;
        let last = rows.last().filter(|_| rows.len() == room).map(|(key, _)| key.clone());
        self.outbox.has_read(&recipient, &cursor, last);
        for (key, _) in rows {
            let Some((id, index)) = layout::parse_delivery(&key) else { continue };
            // Its end may be on its way to the store, and nothing leaves before that is there.
            let ticket = self.slots.get(id).map_or(0, |slot| slot.ticket);
            if self.ledger.is_acknowledged(ticket) {
                self.deliver_once((id, index), now_ms);
            } else {
                self.follow(ticket, vec![AfterCommit::Post(Message::Deliver { id, index })]);
            }
        }
        Ok(())
    }

    /// Deliveries were once kept by their invocations alone.
    fn sort_by_recipient(&mut self, now_ms: i64) -> Result<()> {
        let (from, to) = (vec![Order::Unsorted as u8], layout::end(Order::Unsorted));
        let scan = Scan::between(&from, &to, usize::MAX);
        for (key, _) in self.shared.store.scan(self.shard, Space::InvocationOrders, scan)? {
            let mut batch = Batch::new(self.shard);
            batch.remove(Space::InvocationOrders, key.clone());
            let mut after = Vec::new();
            if let Some((id, index)) = layout::parse_unsorted(&key)
                && let Some(slot) = self.take(id, now_ms)?
            {
                let key = layout::delivery(slot.invocation.recipient(index), id, index);
                batch.put(Space::InvocationOrders, key, Vec::new());
                after.push(AfterCommit::Post(Message::Deliver { id, index }));
                self.put_back(slot);
            }
            self.commit(batch, after);
        }
        Ok(())
    }
}

/// The invocation that a delivery becomes.
fn follower(invocation: &Invocation, index: u32) -> InvocationId {
    InvocationId::of_delivery(invocation.id, invocation.accepted_ms, index)
}
