//! What is accepted, and the writes.

use std::collections::VecDeque;

use everstep_invocations::{Acceptance, InvocationId, Mode, Note, Source};
use everstep_target::Named;

use super::flights::Airborne;
use super::{
    Driver, PAUSE_MS, REFUSED_MS, Refusal, Request, WRITE_BYTES_MAX, WRITE_ITEMS_MAX, Write,
};
use crate::event;
use crate::item::{Item, Refused, Settled};
use crate::plan::{Ack, Origin, Overlap};
use crate::record::{Flight, Record};
use crate::timer::Tick;

/// An item that was brought, and is not accepted.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) item: Item,
    pub(super) way: Way,
}

/// How an item came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Fetched,
    /// Somebody waits for the answer.
    Offered,
    /// By hand: it is accepted in any case, and somebody waits for the answer.
    Fired,
    /// The machine has made it: nobody waits.
    Made(Option<Tick>),
}

/// A write that is under way.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) items: Vec<(Waiting, InvocationId, Flight)>,
    /// Ends that it notes.
    noted: Vec<InvocationId>,
    /// Flights whose rows it writes again.
    changed: Vec<InvocationId>,
    /// What the record says of how far it has come.
    record: Record,
    confirmations: Vec<u64>,
}

impl Writing {
    pub(super) fn position(&self) -> Option<String> {
        self.record.position.clone()
    }
}

impl Driver {
    /// Takes an item that was brought, unless it cannot be accepted.
    pub(super) fn bring(&mut self, item: Item, way: Way, requests: &mut Vec<Request>) {
        let (bytes, most) = (item.payload.len(), self.plan.item_bytes_max);
        if bytes > most {
            return self.refuse(item.handle, Refused::TooLarge { bytes, most }, requests);
        }
        if self.is_stopped() && way != Way::Fired {
            return self.refuse(item.handle, Refused::Stopped, requests);
        }
        self.waiting.push_back(Waiting { item, way });
    }

    /// Writes what there is to write, unless a write is under way.
    pub(super) fn write(&mut self, now_ms: i64, requests: &mut Vec<Request>) {
        if self.writing.is_some() {
            return;
        }
        let picked = self.pick(now_ms);
        if picked.is_empty() && !self.is_dirty {
            return;
        }
        self.is_dirty = false;
        let mut record = self.record.clone();
        let mut items = Vec::new();
        for waiting in picked {
            let id = InvocationId::of_item(self.home, &waiting.item.id);
            let flight = Flight {
                number: record.next_number,
                item: waiting.item.id.clone(),
                before: record.position.clone(),
                accepted_ms: now_ms,
                is_blocked: false,
            };
            account(&mut record, &waiting, now_ms);
            items.push((waiting, id, flight));
        }
        let noted = self.over();
        record.cursor = self.cursor(&record, &items);
        let changed = self.changed();
        let write = Write {
            items: items
                .iter()
                .map(|(waiting, id, flight)| self.accept(waiting, *id, flight))
                .collect(),
            notes: self.notes(&record),
        };
        let confirmations = self.confirmable();
        self.writing = Some(Writing { items, noted, changed, record, confirmations });
        requests.push(Request::Write(write));
    }

    /// The record, and what becomes of the rows of flights.
    fn notes(&self, record: &Record) -> Vec<Note> {
        let mut notes = vec![record.note()];
        for (id, flight) in &self.flights {
            let is_over = !flight.is_open();
            if is_over || flight.has_changed {
                notes.extend(flight.formers.iter().copied().map(Flight::removal));
                notes.push(if is_over { Flight::removal(*id) } else { flight.row.note(*id) });
            }
        }
        notes
    }

    /// Takes out what can be accepted now. What it leaves waits.
    fn pick(&mut self, now_ms: i64) -> Vec<Waiting> {
        let mut picked = Vec::new();
        let is_fired = |waiting: &Waiting| matches!(waiting.way, Way::Fired | Way::Made(None));
        let all = std::mem::take(&mut self.waiting);
        let (fired, mut waiting): (VecDeque<_>, VecDeque<_>) = all.into_iter().partition(is_fired);
        picked.extend(fired);
        if !self.is_stopped() {
            picked.extend(self.pick_ticks(now_ms));
            let one_at_a_time = self.plan.in_order && (self.is_busy() || !picked.is_empty());
            let most = match self.plan.in_order {
                true => usize::from(!one_at_a_time),
                false => WRITE_ITEMS_MAX,
            };
            let mut bytes = 0;
            for _ in 0..most {
                if bytes >= WRITE_BYTES_MAX {
                    break;
                }
                let Some(next) = waiting.pop_front() else { break };
                bytes += next.item.payload.len();
                picked.push(next);
            }
        }
        self.waiting = waiting;
        picked
    }

    /// Ticks that can run now.
    fn pick_ticks(&self, now_ms: i64) -> Vec<Waiting> {
        let Origin::Timer(timer) = &self.plan.origin else { return Vec::new() };
        let most = match timer.overlap {
            Overlap::Allow => {
                let open = self.flights.values().filter(|flight| flight.is_open()).count();
                self.plan.backlog_max.saturating_sub(open).min(WRITE_ITEMS_MAX)
            }
            Overlap::Coalesce | Overlap::Skip => usize::from(!self.is_busy()),
        };
        let due = self.clockwork().into_iter().flat_map(|clockwork| &clockwork.due).take(most);
        due.map(|tick| self.tick(*tick, now_ms)).collect()
    }

    fn tick(&self, tick: Tick, now_ms: i64) -> Waiting {
        self.made(event::tick_id(tick.at_ms), Some(tick), now_ms)
    }

    /// A run that the machine makes: of a tick, or one that was not scheduled.
    pub(super) fn made(&self, id: String, tick: Option<Tick>, now_ms: i64) -> Waiting {
        let payload = self.timer_event(&id, tick, now_ms).unwrap_or_default();
        let item = Item {
            id,
            payload,
            unparseable: false,
            position: None,
            delivery_count: None,
            handle: 0,
        };
        Waiting { item, way: Way::Made(tick) }
    }

    /// The event of a timer; none if this is no timer.
    pub(super) fn timer_event(&self, id: &str, tick: Option<Tick>, now_ms: i64) -> Option<Vec<u8>> {
        let (Origin::Timer(timer), Some(clockwork)) = (&self.plan.origin, self.clockwork()) else {
            return None;
        };
        let id = InvocationId::of_item(self.home, id);
        let from = (self.plan.name.as_str(), &self.plan.place);
        Some(event::of_timer(from, timer, clockwork, (tick, id), now_ms))
    }

    fn accept(
        &self,
        waiting: &Waiting,
        id: InvocationId,
        flight: &Flight,
    ) -> (Acceptance, Vec<Note>) {
        let (plan, item) = (&self.plan, &waiting.item);
        let source = Source {
            message_id: Some(item.id.clone()),
            partition: plan.partition.clone(),
            offset: item.position.clone(),
            delivery_count: item.delivery_count,
            ..Source::new(plan.kind, &plan.name)
        };
        let partition = plan.partition.as_deref().unwrap_or_default();
        let named =
            Named { trigger: &plan.name, partition, message: &item.id, id: &id.to_string() };
        let key =
            plan.execution_name.as_ref().map_or_else(|| item.id.clone(), |name| name.fill(&named));
        let acceptance = Acceptance {
            id,
            function: plan.function.clone(),
            payload: item.payload.clone(),
            source,
            key: Some(key),
            mode: if item.unparseable { Mode::Unparseable } else { Mode::Asynchronous },
            session: None,
            handling: plan.handling.clone(),
        };
        (acceptance, vec![flight.note(id)])
    }

    /// A write is durable.
    pub(super) fn written(&mut self, known: &[bool], requests: &mut Vec<Request>) {
        let Some(writing) = self.writing.take() else { return };
        self.trouble = None;
        let Writing { items, noted, changed, record, confirmations } = writing;
        self.keep_up_with(&items, &record);
        self.noted(&noted, requests);
        for id in changed {
            if let Some(flight) = self.flights.get_mut(&id) {
                flight.has_changed = false;
            }
        }
        for ((waiting, id, row), known) in items.into_iter().zip(known) {
            self.accepted(waiting, id, row, *known, requests);
        }
        requests.extend(confirmations.into_iter().map(Request::Confirm));
    }

    /// Takes over from the record that was written what only writes change. Meanwhile others may have changed the rest.
    fn keep_up_with(&mut self, items: &[(Waiting, InvocationId, Flight)], written: &Record) {
        let Record { position, cursor, next_number, .. } = written;
        (self.record.position, self.record.cursor) = (position.clone(), cursor.clone());
        self.record.next_number = *next_number;
        let is_written =
            |tick: &Tick| items.iter().any(|(waiting, ..)| waiting.way == Way::Made(Some(*tick)));
        if let (Some(own), Some(written)) = (&mut self.record.clockwork, &written.clockwork) {
            own.due.retain(|tick| !is_written(tick));
            own.last = written.last;
        }
    }

    fn accepted(
        &mut self,
        waiting: Waiting,
        id: InvocationId,
        row: Flight,
        known: bool,
        requests: &mut Vec<Request>,
    ) {
        let Waiting { item: Item { handle, .. }, way } = waiting;
        self.record.counters.duplicates += u64::from(known);
        let answers_now = match way {
            Way::Fired | Way::Offered => true,
            Way::Fetched => self.plan.ack == Ack::OnAccept,
            Way::Made(_) => false,
        };
        if answers_now {
            requests.push(Request::Settle(handle, Settled::Accepted { id, known }));
        }
        let completes = (way == Way::Fetched && !answers_now).then_some(handle);
        match self.flights.get_mut(&id) {
            Some(flight) => flight.handles.extend(completes),
            // It is over, and that was noted: whoever has brought it again must be told how it ended.
            None if known && completes.is_none() => {}
            None => {
                self.flights.insert(id, Airborne::new(row, !known, completes));
                requests.push(Request::Watch(id));
            }
        }
    }

    /// Nothing of a write is stored.
    pub(super) fn not_written(
        &mut self,
        refusal: Refusal,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        let Some(writing) = self.writing.take() else { return };
        self.is_dirty = true;
        self.confirmations.extend(writing.confirmations);
        let because = match refusal {
            Refusal::Busy => None,
            Refusal::Because(why) => Some(why),
        };
        let pause_ms = if because.is_some() { REFUSED_MS } else { PAUSE_MS };
        self.pause_for(pause_ms, now_ms);
        for (waiting, ..) in writing.items.into_iter().rev() {
            match (waiting.way, &because) {
                // It is still due.
                (Way::Made(Some(_)), _) => {}
                (Way::Offered | Way::Fired, Some(why)) => {
                    self.refuse(waiting.item.handle, Refused::ByEngine(why.clone()), requests);
                }
                _ => self.waiting.push_front(waiting),
            }
        }
        if because.is_some() {
            self.trouble = because;
        }
        if self.is_stopped() {
            self.refuse_waiting(requests);
        }
    }

    /// Those that are over, with their ends yet to be noted.
    fn over(&self) -> Vec<InvocationId> {
        let over = self.flights.iter().filter(|(_, flight)| !flight.is_open());
        over.map(|(id, _)| *id).collect()
    }

    fn changed(&self) -> Vec<InvocationId> {
        let changed = self.flights.iter().filter(|(_, flight)| flight.has_changed);
        changed.map(|(id, _)| *id).collect()
    }

    /// How far it is done when a write is durable: up to the first item that is not over.
    fn cursor(&self, record: &Record, items: &[(Waiting, InvocationId, Flight)]) -> Option<String> {
        let open =
            self.flights.values().filter(|flight| flight.is_open()).map(|flight| &flight.row);
        let first = open.chain(items.iter().map(|(_, _, row)| row)).min_by_key(|row| row.number);
        first.map_or_else(|| record.position.clone(), |first| first.before.clone())
    }
}

/// Notes in the record that an item is accepted.
fn account(record: &mut Record, waiting: &Waiting, now_ms: i64) {
    record.next_number += 1;
    if waiting.item.position.is_some() {
        record.position.clone_from(&waiting.item.position);
    }
    if let (Way::Made(Some(tick)), Some(clockwork)) = (waiting.way, &mut record.clockwork) {
        clockwork.due.retain(|due| *due != tick);
        clockwork.last = Some((tick.at_ms, now_ms));
    }
}
