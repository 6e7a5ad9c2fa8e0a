//! Deliveries: each has a row from the invocation's end until somebody has confirmed it.
//!
//! What is delivered is made from the invocation's own rows each time. A delivery to a function becomes an
//! invocation with an id made from this one: so however often it is made, it is accepted once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use everstep_store::{Batch, Scan, Space};

use super::Shard;
use super::slot::Slot;
use crate::destination::{Delivered, Delivery};
use crate::error::Result;
use crate::function::{Edge, EdgeInput, Target};
use crate::id::InvocationId;
use crate::invocation::{Input, Invocation, Route, Source, SourceKind, State, decide};
use crate::layout::{self, Order};
use crate::message::{Acceptance, Manner, Message};
use crate::report;
use crate::session::{StepEnd, StepOutcome};

/// Waits between deliveries double from the first to the last of these.
const AGAIN_MS_MIN: i64 = 1000;
const AGAIN_MS_MAX: i64 = 5 * 60 * 1000;

type Key = (InvocationId, u32);

/// Deliveries that are under way, or wait to be made again.
pub(super) struct Outbox {
    /// Each with how often it has failed since the start.
    known: HashMap<Key, u32>,
    again: BTreeSet<(i64, Key)>,
    /// There may be rows of deliveries that are not known here.
    behind: bool,
    read_from: Vec<u8>,
}

impl Default for Outbox {
    /// After a start all that there is has to be read.
    fn default() -> Self {
        let read_from = vec![Order::Outbox as u8];
        Self { known: HashMap::new(), again: BTreeSet::new(), behind: true, read_from }
    }
}

impl Outbox {
    pub(super) fn next_ms(&self, most: usize, now_ms: i64) -> Option<i64> {
        let behind = self.has_room(most).then_some(now_ms);
        self.again.first().map(|(at_ms, _)| *at_ms).into_iter().chain(behind).min()
    }

    fn has_room(&self, most: usize) -> bool {
        self.behind && self.known.len() <= most / 2
    }
}

impl Shard {
    /// Makes a delivery, unless it was found in the store before its turn came.
    pub(super) fn deliver_once(&mut self, id: InvocationId, index: u32, now_ms: i64) {
        if !self.outbox.known.contains_key(&(id, index)) {
            self.deliver(id, index, now_ms);
        }
    }

    /// Makes a delivery. The invocation's end is durable.
    fn deliver(&mut self, id: InvocationId, index: u32, now_ms: i64) {
        let key = (id, index);
        let full = self.outbox.known.len() >= self.world.settings.deliveries_max;
        if full && !self.outbox.known.contains_key(&key) {
            self.outbox.behind = true;
            return;
        }
        let Some(mut slot) = self.take_or_strand(id, now_ms) else { return };
        if slot.invocation.undelivered.contains(&index) {
            self.outbox.known.entry(key).or_insert(0);
            if let Err(error) = self.send(&mut slot, index) {
                self.world.observer.stranded(id, &error);
            }
        }
        self.put_back(slot);
    }

    fn send(&self, slot: &mut Slot, index: u32) -> Result<()> {
        let payload = slot.payload(&self.world, self.shard)?;
        let response = slot.response(&self.world, self.shard)?;
        let invocation = &slot.invocation;
        let done = self.receipt(invocation.id, index);
        match invocation.routes().get(index as usize) {
            Some(Route::Destination(target)) => {
                let bytes_max = self.record_bytes_max(target);
                let record = report::record(invocation, &payload, response.as_deref(), bytes_max);
                self.send_record(invocation, index, target, record, done);
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
        let most = self.world.settings.payload_bytes_max;
        self.world.destinations.record_bytes_max(target).map_or(most, |own| own.min(most))
    }

    fn receipt(&self, id: InvocationId, index: u32) -> Delivered {
        let postbox = self.world.postbox.clone();
        Box::new(move |outcome| postbox.post(id, Message::Delivered { id, index, outcome }))
    }

    fn send_record(
        &self,
        invocation: &Invocation,
        index: u32,
        target: &Target,
        record: Vec<u8>,
        done: Delivered,
    ) {
        let id = InvocationId::of_delivery(invocation.id, index);
        if let Some(function) = target.function() {
            let depth = invocation.source.depth + 1;
            self.send_event(invocation, id, function, (record, depth, None), done);
        } else {
            let record = Arc::from(record);
            let (target, function) = (target.clone(), invocation.function.clone());
            let delivery = Delivery { id, target, invocation: invocation.id, function, record };
            self.world.destinations.deliver(delivery, done);
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
        let id = InvocationId::of_delivery(invocation.id, index);
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
        let manner = Manner::Asynchronous;
        let function = function.to_owned();
        let acceptance = Acceptance { id, function, payload, source, key: None, manner, session };
        let reply = move |accepted: Result<_>| {
            done(accepted.map(|_| ()).map_err(|error| error.to_string()));
        };
        let (acceptance, reply) = (Box::new(acceptance), Box::new(reply));
        self.world.postbox.post(id, Message::Accept { acceptance, reply, watcher: None });
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
            Route::Next(edge) => {
                Some((InvocationId::of_delivery(invocation.id, index), edge.function.clone()))
            }
            _ => None,
        });
        let function = invocation.function.clone();
        let end = StepEnd { id: invocation.id, function, next: next.collect(), outcome };
        let reply = move |taken: Result<()>| done(taken.map_err(|error| error.to_string()));
        let (end, reply) = (Box::new(end), Box::new(reply));
        self.world.postbox.post(session, Message::Step { session, end, reply });
    }

    /// What became of a delivery. One that failed is made again, for ever.
    pub(super) fn delivered(
        &mut self,
        id: InvocationId,
        index: u32,
        outcome: std::result::Result<(), String>,
        now_ms: i64,
    ) {
        let Some(mut slot) = self.take_or_strand(id, now_ms) else { return };
        match outcome {
            Ok(()) => {
                self.outbox.known.remove(&(id, index));
                let events = decide(&slot.invocation, &Input::Deliver { index }, now_ms, 0.0);
                if let Ok(events) = events {
                    let before = slot.change(&events);
                    self.write(&mut slot, &before, Batch::new(self.shard), Vec::new(), now_ms);
                }
            }
            Err(why) => {
                if let Some(target) = target(&slot.invocation, index) {
                    self.world.observer.delivery_failed(id, &target, &why);
                }
                let failures = self.outbox.known.entry((id, index)).or_insert(0);
                let wait_ms = (AGAIN_MS_MIN << (*failures).min(16)).min(AGAIN_MS_MAX);
                *failures += 1;
                self.outbox.again.insert((now_ms.saturating_add(wait_ms), (id, index)));
            }
        }
        self.put_back(slot);
    }

    pub(super) fn deliver_due(&mut self, now_ms: i64) {
        while let Some((at_ms, key)) = self.outbox.again.first().copied()
            && at_ms <= now_ms
        {
            self.outbox.again.remove(&(at_ms, key));
            self.deliver(key.0, key.1, now_ms);
        }
    }

    /// Reads deliveries that were left by another life, or for which there was no room.
    pub(super) fn read_outbox(&mut self, now_ms: i64) -> Result<()> {
        let most = self.world.settings.deliveries_max;
        if !self.outbox.has_room(most) {
            return Ok(());
        }
        let room = (most - self.outbox.known.len()).max(1);
        let to = layout::end(Order::Outbox);
        let scan = Scan::between(&self.outbox.read_from, &to, room);
        let rows = self.world.store.scan(self.shard, Space::InvocationOrders, scan)?;
        match rows.last().filter(|_| rows.len() == room) {
            Some((last, _)) => self.outbox.read_from = [last.as_slice(), &[0]].concat(),
            None => {
                // Those that were passed over on the way are found next time.
                self.outbox.behind = self.outbox.read_from.len() > 1;
                self.outbox.read_from = vec![Order::Outbox as u8];
            }
        }
        for (key, _) in rows {
            let Some((id, index)) = layout::parse_outbox(&key) else { continue };
            // One whose end is on its way to the store is delivered when that is there.
            let early = self.slots.get(&id).is_some_and(|slot| !self.is_acknowledged(slot.ticket));
            if !early && !self.outbox.known.contains_key(&(id, index)) {
                self.deliver(id, index, now_ms);
            }
        }
        Ok(())
    }
}

fn target(invocation: &Invocation, index: u32) -> Option<Target> {
    match invocation.routes().get(index as usize)? {
        Route::Destination(target) => Some((*target).clone()),
        Route::Next(edge) => Some(Target(format!("function:{}", edge.function))),
        Route::Session => Some(Target("session".to_owned())),
    }
}
