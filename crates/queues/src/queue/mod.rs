//! A queue in memory: what its rows say, and the part of them that is needed at hand.
//!
//! Every method that changes something writes the rows of that change into a [`Step`], so memory and rows cannot
//! disagree. What follows from a change, and when it may leave, is the shard's.

pub(crate) mod attempts;
pub(crate) mod delays;
pub(crate) mod flights;
mod groups;
pub(crate) mod line;
pub(crate) mod waiters;

use std::sync::Arc;

use everstep_shards::row;
use everstep_store::{Batch, Scan, Shard, Space, Store, after_prefix, each_row};

use crate::ahead::Ahead;
use crate::error::{Error, Result};
use crate::id::{Fingerprint, MoveId};
use crate::layout::{self, Order};
use crate::message::{Counts, Message, Seen, State};
use crate::record::Record;
use crate::settings::Settings;
use attempts::Attempts;
use delays::Delays;
use flights::{Flight, Flights};
use line::Line;
use waiters::Waiters;

/// Sequence numbers that are reserved at a time, so that the queue's own row is seldom written.
const RESERVED: u64 = 10_000;
/// Rows that are read at a time when a queue is opened.
const ROWS_AT_A_TIME: usize = 1000;
/// How often it is checked whether changes on their way have become durable.
const SETTLE_EVERY_MS: i64 = 1000;

/// Changes of one commit.
pub(crate) struct Step {
    pub(crate) batch: Batch,
    /// The number that the commit will have.
    pub(crate) commit: u64,
    pub(crate) now_ms: i64,
}

pub(crate) struct Queue {
    pub(crate) record: Record,
    pub(crate) line: Line,
    pub(crate) flights: Flights,
    pub(crate) delays: Delays,
    pub(crate) counts: Counts,
    pub(crate) waiters: Waiters,
    pub(crate) attempts: Attempts,
    pub(crate) next_sequence: u64,
    /// The last arrival.
    last_arrived_ms: i64,
    messages: Ahead<u64, Arc<Message>>,
    ready: Ahead<u64, State>,
    pub(crate) seen: Ahead<Fingerprint, Seen>,
    arrivals: Ahead<MoveId, ()>,
    /// When the oldest deduplication record is to be removed, if there may be one; and where to read it.
    pub(crate) seen_due_ms: Option<i64>,
    pub(crate) seen_from: Vec<u8>,
    /// Before that it is not checked whether messages have been kept long enough.
    pub(crate) expire_ms: i64,
    /// When the task that moves messages continues.
    pub(crate) task_ms: Option<i64>,
    /// There is more to do right now.
    pub(crate) again: bool,
    counted: Counts,
    record_changed: bool,
    /// When the shard looks at it, as the shard knows it.
    pub(crate) alarm_ms: Option<i64>,
}

impl Queue {
    /// A queue that has no rows yet.
    pub(crate) fn new(record: Record, settings: &Settings) -> Self {
        let fifo = record.attributes.fifo.is_some();
        Self {
            line: Line::empty(room(settings, fifo), fifo),
            delays: Delays::new(false, i64::MIN),
            flights: Flights::default(),
            counts: Counts::default(),
            waiters: Waiters::default(),
            attempts: Attempts::default(),
            next_sequence: record.sequence_to,
            last_arrived_ms: i64::MIN,
            messages: Ahead::default(),
            ready: Ahead::default(),
            seen: Ahead::default(),
            arrivals: Ahead::default(),
            seen_due_ms: None,
            seen_from: layout::in_order(Order::Seen, record.id),
            expire_ms: i64::MIN,
            task_ms: record.running_task().map(|_| i64::MIN),
            again: false,
            counted: Counts::default(),
            record_changed: false,
            alarm_ms: None,
            record,
        }
    }

    /// A queue as its rows say it is. Only what is in flight is read now.
    pub(crate) fn open(
        record: Record,
        store: &dyn Store,
        shard: Shard,
        settings: &Settings,
    ) -> Result<Self> {
        let rows = record.messages;
        let counts = store.get(shard, Space::Queues, &layout::counts(rows))?;
        let counts = counts.map(|row| Counts::decode(&row)).transpose()?.unwrap_or_default();
        let mut queue = Self::new(record, settings);
        (queue.counts, queue.counted) = (counts, counts);
        let last_ready = queue.last_row(Order::Ready, store, shard)?;
        let last_delayed = queue.last_row(Order::Delayed, store, shard)?;
        for (_, state) in last_ready.iter().chain(&last_delayed) {
            queue.last_arrived_ms = queue.last_arrived_ms.max(state.arrived_ms);
        }
        let fifo = queue.record.attributes.fifo.is_some();
        if counts.ready > 0 {
            queue.line = Line::new(room(settings, fifo), fifo);
            queue.again = true;
        }
        let last_ms = last_delayed.and_then(|(key, _)| layout::parse_at(&key));
        let last_ms = last_ms.map_or(i64::MIN, |(due_ms, _)| due_ms);
        queue.delays = Delays::new(counts.delayed > 0, last_ms);
        queue.seen_due_ms = Some(i64::MIN);
        let from = layout::in_order(Order::InFlight, rows);
        let (to, place) = (after_prefix(&from), (shard, Space::QueueOrders));
        each_row(store, place, (&from, &to), ROWS_AT_A_TIME, |(key, row)| {
            let (deadline_ms, sequence) = layout::parse_at(&key).ok_or_else(unreadable)?;
            let state = State::decode(&row)?;
            queue.last_arrived_ms = queue.last_arrived_ms.max(state.arrived_ms);
            queue.line.lock(&state);
            queue.flights.add(sequence, Flight { state, deadline_ms });
            Ok::<_, Error>(())
        })?;
        Ok(queue)
    }

    /// The last row of an order.
    fn last_row(
        &self,
        order: Order,
        store: &dyn Store,
        shard: Shard,
    ) -> Result<Option<(Vec<u8>, State)>> {
        let from = layout::in_order(order, self.record.messages);
        let to = after_prefix(&from);
        let scan = Scan::between(&from, &to, 1).reversed();
        let last = store.scan(shard, Space::QueueOrders, scan)?.pop();
        last.map(|(key, row)| Ok((key, State::decode(&row)?))).transpose()
    }

    pub(crate) fn is_fifo(&self) -> bool {
        self.record.attributes.fifo.is_some()
    }

    /// A number that no message of this queue has had.
    pub(crate) fn draw_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        if self.next_sequence > self.record.sequence_to {
            self.record.sequence_to = sequence + RESERVED;
            self.record_changed = true;
        }
        sequence
    }

    /// Now, or the arrival of the last message if the clock was set back.
    pub(crate) fn arrival_ms(&mut self, now_ms: i64) -> i64 {
        self.last_arrived_ms = self.last_arrived_ms.max(now_ms);
        self.last_arrived_ms
    }

    /// Whether a message has been kept for as long as it is to be.
    pub(crate) fn is_expired(&self, state: &State, now_ms: i64) -> bool {
        state.arrived_ms.saturating_add(self.record.attributes.retention_ms) <= now_ms
    }

    /// The record has changed and is written with the next step.
    pub(crate) fn change_record(&mut self) -> &mut Record {
        self.record_changed = true;
        &mut self.record
    }

    pub(crate) fn put_message(&mut self, step: &mut Step, sequence: u64, message: Arc<Message>) {
        let key = layout::message(self.record.messages, sequence);
        step.batch.put(Space::Queues, key, message.encoded());
        self.messages.put(sequence, step.commit, Some(message));
    }

    pub(crate) fn remove_message(&mut self, step: &mut Step, sequence: u64) {
        step.batch.remove(Space::Queues, layout::message(self.record.messages, sequence));
        self.messages.put(sequence, step.commit, None);
    }

    /// Reads a message that is in one of the orders.
    pub(crate) fn message(
        &self,
        sequence: u64,
        store: &dyn Store,
        shard: Shard,
    ) -> Result<Arc<Message>> {
        let missing = || Error::damaged(&format!("message {sequence} of a queue has no content"));
        match self.messages.get(sequence) {
            Some(message) => message.cloned().ok_or_else(missing),
            None => {
                let key = layout::message(self.record.messages, sequence);
                let row = store.get(shard, Space::Queues, &key)?.ok_or_else(missing)?;
                Message::decode(&row).map(Arc::new)
            }
        }
    }

    pub(crate) fn add_ready(&mut self, step: &mut Step, sequence: u64, state: State) {
        let key = layout::ready(self.record.messages, sequence);
        step.batch.put(Space::QueueOrders, key, state.encoded());
        self.ready.put(sequence, step.commit, Some(state));
        self.line.add(sequence, state);
        self.counts.ready += 1;
    }

    pub(crate) fn remove_ready(&mut self, step: &mut Step, sequence: u64) {
        step.batch.remove(Space::QueueOrders, layout::ready(self.record.messages, sequence));
        self.ready.put(sequence, step.commit, None);
        self.line.remove(sequence);
        self.counts.ready = self.counts.ready.saturating_sub(1);
    }

    /// A message that can be received, in memory or not.
    pub(crate) fn find_ready(
        &self,
        sequence: u64,
        store: &dyn Store,
        shard: Shard,
    ) -> Result<Option<State>> {
        if let Some(state) = self.line.get(sequence) {
            return Ok(Some(*state));
        }
        if let Some(ahead) = self.ready.get(sequence) {
            return Ok(ahead.copied());
        }
        let key = layout::ready(self.record.messages, sequence);
        let row = store.get(shard, Space::QueueOrders, &key)?;
        row.map(|row| State::decode(&row)).transpose()
    }

    /// Reads more of the messages that can be received, if they are needed.
    pub(crate) fn read_ready(&mut self, store: &dyn Store, shard: Shard) -> Result<()> {
        while let Some((from, limit)) = self.line.wants() {
            let rows = self.record.messages;
            let (low, high) = (layout::ready(rows, from), layout::ready(rows, u64::MAX));
            let found = store.scan(shard, Space::QueueOrders, Scan::between(&low, &high, limit))?;
            let next = found.last().filter(|_| found.len() == limit);
            let next = next.and_then(|(key, _)| layout::parse_ready(key)).map(|last| last + 1);
            let parse = |(key, row): (Vec<u8>, Vec<u8>)| {
                Ok((layout::parse_ready(&key).ok_or_else(unreadable)?, State::decode(&row)?))
            };
            let found = found.into_iter().map(parse).collect::<Result<Vec<_>>>()?;
            let read = from..=next.map_or(u64::MAX, |next| next - 1);
            self.line.has_read(self.ready.merge(found, read), next);
        }
        Ok(())
    }

    pub(crate) fn add_delayed(
        &mut self,
        step: &mut Step,
        due_ms: i64,
        sequence: u64,
        state: State,
    ) {
        let key = layout::at(Order::Delayed, self.record.messages, due_ms, sequence);
        step.batch.put(Space::QueueOrders, key, state.encoded());
        self.delays.add((due_ms, sequence), step.commit, state);
        self.counts.delayed += 1;
    }

    pub(crate) fn remove_delayed(&mut self, step: &mut Step, due_ms: i64, sequence: u64) {
        let key = layout::at(Order::Delayed, self.record.messages, due_ms, sequence);
        step.batch.remove(Space::QueueOrders, key);
        self.delays.remove((due_ms, sequence), step.commit);
        self.counts.delayed = self.counts.delayed.saturating_sub(1);
    }

    pub(crate) fn add_flight(&mut self, step: &mut Step, sequence: u64, flight: Flight) {
        let key = layout::at(Order::InFlight, self.record.messages, flight.deadline_ms, sequence);
        step.batch.put(Space::QueueOrders, key, flight.state.encoded());
        self.line.lock(&flight.state);
        self.flights.add(sequence, flight);
    }

    pub(crate) fn remove_flight(&mut self, step: &mut Step, sequence: u64) -> Option<Flight> {
        let flight = self.flights.remove(sequence)?;
        let key = layout::at(Order::InFlight, self.record.messages, flight.deadline_ms, sequence);
        step.batch.remove(Space::QueueOrders, key);
        self.line.unlock(&flight.state);
        Some(flight)
    }

    pub(crate) fn put_seen(&mut self, step: &mut Step, fingerprint: Fingerprint, seen: Seen) {
        let id = self.record.id;
        step.batch.put(Space::Queues, layout::seen(id, fingerprint), seen.encoded());
        let key = layout::seen_at(id, seen.at_ms, fingerprint);
        if key < self.seen_from {
            // The clock was set back.
            self.seen_from.clone_from(&key);
        }
        step.batch.put(Space::QueueOrders, key, Vec::new());
        self.seen.put(fingerprint, step.commit, Some(seen));
    }

    /// A deduplication record is not removed at its time: there is a later one.
    pub(crate) fn remove_seen_at(&mut self, step: &mut Step, at_ms: i64, fingerprint: Fingerprint) {
        let key = layout::seen_at(self.record.id, at_ms, fingerprint);
        step.batch.remove(Space::QueueOrders, key);
    }

    pub(crate) fn remove_seen(&mut self, step: &mut Step, fingerprint: Fingerprint) {
        step.batch.remove(Space::Queues, layout::seen(self.record.id, fingerprint));
        self.seen.put(fingerprint, step.commit, None);
    }

    pub(crate) fn find_seen(
        &self,
        fingerprint: Fingerprint,
        store: &dyn Store,
        shard: Shard,
    ) -> Result<Option<Seen>> {
        if let Some(seen) = self.seen.get(fingerprint) {
            return Ok(seen.copied());
        }
        let key = layout::seen(self.record.id, fingerprint);
        let row = store.get(shard, Space::Queues, &key)?;
        row.map(|row| Seen::decode(&row)).transpose()
    }

    pub(crate) fn put_arrival(&mut self, step: &mut Step, id: MoveId) {
        let value = row::encode(&step.now_ms);
        step.batch.put(Space::Queues, layout::arrival(self.record.id, id), value);
        self.arrivals.put(id, step.commit, Some(()));
    }

    pub(crate) fn remove_arrival(&mut self, step: &mut Step, id: MoveId) {
        step.batch.remove(Space::Queues, layout::arrival(self.record.id, id));
        self.arrivals.put(id, step.commit, None);
    }

    pub(crate) fn has_arrived(&self, id: MoveId, store: &dyn Store, shard: Shard) -> Result<bool> {
        if let Some(arrival) = self.arrivals.get(id) {
            return Ok(arrival.is_some());
        }
        let key = layout::arrival(self.record.id, id);
        Ok(store.get(shard, Space::Queues, &key)?.is_some())
    }

    /// Writes what all steps of a queue write if it has changed.
    pub(crate) fn finish(&mut self, step: &mut Step) {
        if self.counted != self.counts {
            self.counted = self.counts;
            let key = layout::counts(self.record.messages);
            step.batch.put(Space::Queues, key, self.counts.encoded());
        }
        if std::mem::take(&mut self.record_changed) {
            let key = layout::queue(&self.record.name);
            step.batch.put(Space::Queues, key, self.record.encoded());
        }
    }

    /// Forgets changes that the store shows by now.
    pub(crate) fn settle(&mut self, is_acknowledged: impl Fn(u64) -> bool + Copy) {
        self.messages.settle(is_acknowledged);
        self.ready.settle(is_acknowledged);
        self.seen.settle(is_acknowledged);
        self.arrivals.settle(is_acknowledged);
        self.delays.ahead.settle(is_acknowledged);
    }

    /// The messages are gone, also those on their way to the store.
    pub(crate) fn forget_messages(&mut self) {
        (self.messages, self.ready) = (Ahead::default(), Ahead::default());
    }

    fn is_settled(&self) -> bool {
        self.messages.is_empty()
            && self.ready.is_empty()
            && self.seen.is_empty()
            && self.arrivals.is_empty()
            && self.delays.ahead.is_empty()
    }

    /// When there is something to do.
    pub(crate) fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let flight = self.flights.next().map(|(deadline_ms, _)| deadline_ms);
        let retention_ms = self.record.attributes.retention_ms;
        let expiry = self
            .line
            .first()
            .map(|(_, state)| state.arrived_ms.saturating_add(retention_ms).max(self.expire_ms));
        let unsettled = (!self.is_settled()).then(|| now_ms.saturating_add(SETTLE_EVERY_MS));
        let all = [
            flight,
            expiry,
            unsettled,
            self.delays.next_ms(),
            self.waiters.next_ms(),
            self.seen_due_ms,
            self.task_ms,
            self.again.then_some(now_ms),
        ];
        all.into_iter().flatten().min()
    }
}

fn room(settings: &Settings, fifo: bool) -> usize {
    if fifo { settings.fifo_ready_max } else { settings.ready_max }
}

fn unreadable() -> Error {
    Error::damaged("a key of an order of messages cannot be read")
}
