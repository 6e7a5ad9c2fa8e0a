//! A small world around one driver: a virtual clock, rows, invocations that end as they are told to, a source.
//!
//! What is durable is what survives [`World::crash`]. Requests are performed one at a time; a crash can come between any
//! two of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use everstep_invocations::{Acceptance, HomeId, InvocationId, Mode, SourceKind};
use everstep_schedule::{Schedule, Zone};
use jiff::Timestamp;
use serde_json::Value;

use crate::driver::{Driver, Input, Request, Write};
use crate::item::{Item, Outcome, Settled};
use crate::plan::{Ack, Missed, OnExhausted, Origin, Overlap, Place, Plan, Timer};
use crate::record::Stored;
use crate::standing::Standing;

/// How long the run of an item takes, and how it ends.
pub(super) type Runs = Box<dyn Fn(&str) -> (i64, Outcome)>;

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) now_ms: i64,
    pub(super) driver: Option<Driver>,
    requests: VecDeque<Request>,
    /// What is durable: the notes and the invocations.
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) invocations: BTreeMap<InvocationId, Started>,
    /// In the order of acceptance.
    order: Vec<InvocationId>,
    watched: BTreeSet<InvocationId>,
    pub(super) runs: Runs,
    /// The source: items that are not acknowledged, in their order.
    pub(super) source: Vec<Item>,
    given: BTreeSet<u64>,
    fetching: Option<(u64, usize, Option<String>)>,
    /// All that was settled and confirmed.
    pub(super) settled: Vec<(u64, Settled)>,
    pub(super) confirmed: Vec<u64>,
    /// Writes that are refused before one succeeds.
    pub(super) busy: usize,
    /// The cursor, and how many items there were, of each write.
    pub(super) cursors: Vec<Option<String>>,
    pub(super) sizes: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Started {
    pub(super) item: String,
    pub(super) acceptance: Acceptance,
    pub(super) accepted_ms: i64,
    pub(super) ends_ms: i64,
    pub(super) outcome: Outcome,
    pub(super) redriven_as: Option<InvocationId>,
}

pub(super) fn ms(text: &str) -> i64 {
    text.parse::<Timestamp>().expect("a timestamp").as_millisecond()
}

pub(super) fn plan(origin: Origin) -> Plan {
    let kind = match origin {
        Origin::Timer(_) => SourceKind::Timer,
        Origin::Fetched { .. } => SourceKind::Queue,
        Origin::Offered => SourceKind::Http,
    };
    Plan {
        name: "t".to_owned(),
        partition: None,
        kind,
        origin,
        function: "f".to_owned(),
        execution_name: None,
        handling: None,
        ack: Ack::OnAccept,
        on_exhausted: OnExhausted::DeadLetter,
        in_order: false,
        backlog_max: 10,
        item_bytes_max: 1000,
        enabled: true,
        is_startup: false,
        place: Place { region: "us-east-1".to_owned(), account: "123456789012".to_owned() },
    }
}

pub(super) fn timer(schedule: &str, zone: &str) -> Timer {
    let schedule = Schedule::parse(schedule, Zone::named(zone).expect("a zone"));
    Timer {
        schedule: schedule.unwrap_or_else(|invalid| panic!("{invalid}")),
        missed: Missed::One,
        overlap: Overlap::Coalesce,
        run_on_startup: false,
        input: None,
    }
}

pub(super) fn timer_plan(timer: Timer) -> Plan {
    plan(Origin::Timer(Box::new(timer)))
}

/// Items `0`, `1`, …, each at the position with its number.
pub(super) fn items(count: u64) -> Vec<Item> {
    let item = |number: u64| Item {
        id: number.to_string(),
        payload: number.to_string().into_bytes(),
        unparseable: false,
        position: Some(number.to_string()),
        delivery_count: None,
        handle: number,
    };
    (0..count).map(item).collect()
}

impl World {
    pub(super) fn new(plan: Plan, start: &str) -> Self {
        let mut world = Self {
            plan,
            now_ms: ms(start),
            driver: None,
            requests: VecDeque::new(),
            rows: BTreeMap::new(),
            invocations: BTreeMap::new(),
            order: Vec::new(),
            watched: BTreeSet::new(),
            runs: Box::new(|_| (0, Outcome::Succeeded)),
            source: Vec::new(),
            given: BTreeSet::new(),
            fetching: None,
            settled: Vec::new(),
            confirmed: Vec::new(),
            busy: 0,
            cursors: Vec::new(),
            sizes: Vec::new(),
        };
        world.open();
        world
    }

    /// Begins a new life: of the old one only what is durable is left.
    pub(super) fn open(&mut self) {
        let notes: Vec<_> = self.rows.clone().into_iter().collect();
        let stored = Stored::read(&notes).expect("readable");
        let (driver, requests) = Driver::open(self.plan.clone(), stored, self.now_ms);
        (self.driver, self.requests) = (Some(driver), requests.into());
    }

    pub(super) fn crash(&mut self) {
        self.driver = None;
        self.requests.clear();
        self.watched.clear();
        self.given.clear();
        self.fetching = None;
    }

    /// Nobody is there for so long.
    pub(super) fn is_away(&mut self, ms: i64) {
        self.crash();
        let until_ms = self.now_ms + ms;
        self.now_ms = until_ms;
        self.open();
    }

    pub(super) fn input(&mut self, input: Input) {
        if let Some(driver) = &mut self.driver {
            self.requests.extend(driver.handle(input, self.now_ms));
        }
    }

    pub(super) fn home(&self) -> HomeId {
        self.plan.home()
    }

    pub(super) fn standing(&self) -> Standing {
        self.driver.as_ref().expect("it is open").standing()
    }

    /// Performs the request of that place; whether there was one.
    pub(super) fn perform(&mut self, which: usize) -> bool {
        let place = which % self.requests.len().max(1);
        let Some(request) = self.requests.remove(place) else { return false };
        match request {
            Request::Write(write) => self.write(write),
            Request::Fetch { number, most, after } => self.fetching = Some((number, most, after)),
            Request::Watch(id) => {
                self.watched.insert(id);
            }
            Request::Redrive(id) => self.redrive(id),
            Request::Settle(handle, settled) => self.settle_item(handle, settled),
            Request::Confirm(handle) => self.confirmed.push(handle),
        }
        true
    }

    fn write(&mut self, write: Write) {
        if self.busy > 0 {
            self.busy -= 1;
            return self.input(Input::Written(Err(crate::Refusal::Busy)));
        }
        self.sizes.push(write.items.len());
        let mut known = Vec::new();
        for (acceptance, notes) in write.items {
            let id = acceptance.id;
            known.push(self.invocations.contains_key(&id));
            if known.last() == Some(&false) {
                notes.into_iter().for_each(|note| self.note(note));
                self.start(acceptance);
            }
        }
        write.notes.into_iter().for_each(|note| self.note(note));
        let notes: Vec<_> = self.rows.clone().into_iter().collect();
        let record = Stored::read(&notes).expect("readable").record.expect("it was written");
        self.cursors.push(record.cursor);
        self.input(Input::Written(Ok(known)));
    }

    fn note(&mut self, note: everstep_invocations::Note) {
        match note.value {
            Some(value) => self.rows.insert(note.key, value),
            None => self.rows.remove(&note.key),
        };
    }

    fn start(&mut self, acceptance: Acceptance) {
        let item = acceptance.source.message_id.clone().expect("every item has an id");
        let (takes_ms, outcome) = match acceptance.mode {
            Mode::Unparseable => (0, Outcome::Failed { error: "Unparseable".to_owned() }),
            _ => (self.runs)(&item),
        };
        let (id, accepted_ms) = (acceptance.id, self.now_ms);
        let ends_ms = accepted_ms + takes_ms;
        let redriven_as = None;
        let started = Started { item, acceptance, accepted_ms, ends_ms, outcome, redriven_as };
        self.invocations.insert(id, started);
        self.order.push(id);
    }

    fn redrive(&mut self, id: InvocationId) {
        let old = self.invocations.get(&id).expect("it is there").clone();
        let into = old.redriven_as.unwrap_or_else(|| {
            let into = InvocationId::of_item(self.home(), &format!("{id} again"));
            self.invocations.get_mut(&id).expect("it is there").redriven_as = Some(into);
            let (takes_ms, outcome) = (self.runs)(&old.item);
            let (accepted_ms, ends_ms) = (self.now_ms, self.now_ms + takes_ms);
            let started = Started { accepted_ms, ends_ms, outcome, ..old };
            self.invocations.insert(into, started);
            self.order.push(into);
            into
        });
        self.input(Input::Redriven(id, Ok(Some(into))));
    }

    fn settle_item(&mut self, handle: u64, settled: Settled) {
        if matches!(settled, Settled::Accepted { .. } | Settled::Completed(_)) {
            self.source.retain(|item| item.handle != handle);
        }
        self.given.remove(&handle);
        self.settled.push((handle, settled));
    }

    /// Something outside happens that can happen now; whether anything has.
    pub(super) fn happen(&mut self) -> bool {
        let over = |id: &&InvocationId| self.invocations[*id].ends_ms <= self.now_ms;
        if let Some(id) = self.watched.iter().find(over).copied() {
            self.watched.remove(&id);
            let Started { outcome, redriven_as, .. } = self.invocations[&id].clone();
            let outcome = redriven_as.map_or(outcome, |into| Outcome::Redriven { into });
            self.input(Input::Ended(id, outcome));
            return true;
        }
        let due = self.driver.as_ref().and_then(Driver::next_due_ms);
        if due.is_some_and(|due_ms| due_ms <= self.now_ms) {
            self.input(Input::TimePassed);
            return true;
        }
        self.answer_fetch()
    }

    fn answer_fetch(&mut self) -> bool {
        let Some((number, most, after)) = self.fetching.clone() else { return false };
        let after: Option<u64> = after.and_then(|after| after.parse().ok());
        let is_new = |item: &&Item| {
            let is_given = item.position.is_none() && self.given.contains(&item.handle);
            !is_given && after.is_none_or(|after| item.handle > after)
        };
        let found: Vec<Item> = self.source.iter().filter(is_new).take(most).cloned().collect();
        if found.is_empty() {
            // It answers when there is something.
            return false;
        }
        self.given.extend(found.iter().map(|item| item.handle));
        self.fetching = None;
        self.input(Input::Fetched(number, Ok(found)));
        true
    }

    /// Lets everything happen that can happen now.
    pub(super) fn settle(&mut self) {
        for _ in 0..100_000 {
            if !self.perform(0) && !self.happen() {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    /// Lets so many seconds pass.
    pub(super) fn pass(&mut self, seconds: i64) {
        let until_ms = self.now_ms + seconds * 1000;
        loop {
            self.settle();
            match self.next_ms().filter(|next_ms| *next_ms <= until_ms) {
                Some(next_ms) => self.now_ms = next_ms,
                None => break,
            }
        }
        self.now_ms = until_ms;
        self.settle();
    }

    fn next_ms(&self) -> Option<i64> {
        let due = self.driver.as_ref().and_then(Driver::next_due_ms);
        let ends = self.watched.iter().map(|id| self.invocations[id].ends_ms);
        due.into_iter().chain(ends).filter(|at_ms| *at_ms > self.now_ms).min()
    }

    /// The items that were accepted, in order.
    pub(super) fn accepted(&self) -> Vec<&str> {
        self.order.iter().map(|id| self.invocations[id].item.as_str()).collect()
    }

    /// When runs began, in seconds since a moment.
    pub(super) fn starts(&self, since: &str) -> Vec<i64> {
        let since_ms = ms(since);
        let at = |id: &InvocationId| (self.invocations[id].accepted_ms - since_ms) / 1000;
        self.order.iter().map(at).collect()
    }

    /// The events that were accepted, in order.
    pub(super) fn events(&self) -> Vec<Value> {
        let payload = |id: &InvocationId| {
            serde_json::from_slice(&self.invocations[id].acceptance.payload).expect("JSON")
        };
        self.order.iter().map(payload).collect()
    }

    /// The rows of items in flight.
    pub(super) fn flight_rows(&self) -> usize {
        self.rows.keys().filter(|key| key.len() > 1).count()
    }
}
