//! Runs one trigger: accepts what comes, as far as there is room and its order allows, and notes what becomes of it.
//!
//! One write is under way at a time. It has the items that are accepted, the ends that have come since the last one, and
//! the record, which says how far the trigger has come when all of that is durable. What is brought meanwhile waits for
//! the next write, so many items share one. Nothing is acknowledged before its write is durable.
//!
//! - `intake`: what is accepted, and the writes;
//! - `flights`: what was accepted, until its end is noted;
//! - `control`: pause, resume, fire.

mod control;
mod flights;
mod intake;

use std::collections::{BTreeMap, VecDeque};

use everstep_invocations::{Acceptance, HomeId, InvocationId, Note};

use crate::item::{Item, Outcome, Refused, Settled};
use crate::plan::{Origin, Plan};
use crate::record::{Record, Stored};
use crate::standing::{Standing, State};
use crate::timer::Clockwork;
use flights::{Airborne, Phase};
use intake::{Waiting, Way, Writing};

/// How long a driver pauses when the engine is busy.
const PAUSE_MS: i64 = 20;
/// How long it pauses when the engine refuses what it writes.
const REFUSED_MS: i64 = 1000;
/// Pauses after a source could not be read double from the first to the last of these.
const FETCH_MS_MIN: i64 = 1000;
const FETCH_MS_MAX: i64 = 60_000;
/// Items of one write, and their bytes: the last of them may be over.
const WRITE_ITEMS_MAX: usize = 256;
pub const WRITE_BYTES_MAX: usize = 1 << 20;
/// Bytes of items that wait. More are refused, or not asked for.
const WAITING_BYTES_MAX: usize = 32 << 20;

/// All that can reach a driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Answers [`Request::Write`]: for each item whether it was known.
    Written(Result<Vec<bool>, Refusal>),
    /// Answers [`Request::Fetch`] of that number, with no more items than were asked for; or why the source cannot be
    /// read.
    Fetched(u64, Result<Vec<Item>, String>),
    /// Somebody brings an item. Answered by [`Request::Settle`].
    Offered(Item),
    /// Somebody wants an item to be accepted, whatever state the trigger is in. A timer makes the event if there is no
    /// payload. Answered by [`Request::Settle`].
    Fired { id: String, payload: Option<Vec<u8>>, handle: u64 },
    /// Answers [`Request::Watch`].
    Ended(InvocationId, Outcome),
    /// Refuses [`Request::Watch`]: the engine is busy.
    NotWatched(InvocationId),
    /// Answers [`Request::Redrive`]: what it has become, now or before; none if it is gone.
    Redriven(InvocationId, Result<Option<InvocationId>, Busy>),
    /// Answered by [`Request::Confirm`].
    Pause { handle: u64 },
    /// Answered by [`Request::Confirm`].
    Resume { handle: u64 },
    /// It is [`Driver::next_due_ms`] or later.
    TimePassed,
}

/// The engine has too many requests: try again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Why a write was refused. Nothing of it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Busy,
    /// It cannot be accepted as things are: there is no such function.
    Because(String),
}

/// All that a driver asks for.
#[derive(Debug, Clone)]
pub enum Request {
    /// Makes all of it durable in one commit, or nothing.
    Write(Write),
    /// Reads at most so many items. May be answered late: when there is something. A source with positions gives what
    /// comes after this one, in order and without a gap. Another one gives nothing that it has given in this life and
    /// that is not settled. A fetch that is under way is not wanted any more: what it gives is refused.
    Fetch { number: u64, most: usize, after: Option<String> },
    /// Waits for the end of an invocation.
    Watch(InvocationId),
    /// Sends a dead letter back.
    Redrive(InvocationId),
    /// What the source, or who has brought it, is told of an item. Not answered.
    Settle(u64, Settled),
    /// What was asked for is durable. Not answered.
    Confirm(u64),
}

/// What becomes durable together.
#[derive(Debug, Clone)]
pub struct Write {
    /// Each with what is noted if it is new.
    pub items: Vec<(Acceptance, Vec<Note>)>,
    pub notes: Vec<Note>,
}

#[derive(Debug)]
pub struct Driver {
    plan: Plan,
    home: HomeId,
    /// As it is, apart from what is being written.
    record: Record,
    flights: BTreeMap<InvocationId, Airborne>,
    waiting: VecDeque<Waiting>,
    writing: Option<Writing>,
    /// The record has changed since it was written last.
    is_dirty: bool,
    /// Who waits for the next write to be durable.
    confirmations: Vec<u64>,
    /// The number of the fetch that is under way, and of the last one.
    fetching: Option<u64>,
    fetches: u64,
    fetch_after_ms: i64,
    fetch_failures: u32,
    /// What the engine was too busy for, and when to ask again.
    refused: Vec<Request>,
    paused_until_ms: Option<i64>,
    trouble: Option<String>,
}

impl Driver {
    /// Takes a trigger up: a new one, or one that the store knows.
    #[must_use]
    pub fn open(plan: Plan, stored: Stored, now_ms: i64) -> (Self, Vec<Request>) {
        let is_new = stored.record.is_none();
        let flights: BTreeMap<_, _> = stored
            .flights
            .into_iter()
            .map(|(id, row)| (id, Airborne::stored(row, plan.on_exhausted)))
            .collect();
        let running = flights.iter().filter(|(_, flight)| flight.phase == Phase::Running);
        let mut requests: Vec<Request> = running.map(|(id, _)| Request::Watch(*id)).collect();
        let mut driver = Self {
            home: plan.home(),
            record: stored.record.unwrap_or_default(),
            flights,
            waiting: VecDeque::new(),
            writing: None,
            is_dirty: is_new,
            confirmations: Vec::new(),
            fetching: None,
            fetches: 0,
            fetch_after_ms: now_ms,
            fetch_failures: 0,
            refused: Vec::new(),
            paused_until_ms: None,
            trouble: None,
            plan,
        };
        driver.take_up_timer(now_ms);
        driver.run_on_startup(now_ms);
        driver.advance(now_ms, &mut requests);
        (driver, requests)
    }

    pub fn handle(&mut self, input: Input, now_ms: i64) -> Vec<Request> {
        let mut requests = Vec::new();
        match input {
            Input::Written(Ok(known)) => self.written(&known, &mut requests),
            Input::Written(Err(refusal)) => self.not_written(refusal, now_ms, &mut requests),
            Input::Fetched(number, fetched) => {
                self.fetched(number, fetched, now_ms, &mut requests);
            }
            Input::Offered(item) => self.offered(item, &mut requests),
            Input::Fired { id, payload, handle } => {
                self.fired(id, payload, handle, now_ms, &mut requests);
            }
            Input::Ended(id, outcome) => self.ended(id, outcome, now_ms, &mut requests),
            Input::NotWatched(id) => self.ask_later(Request::Watch(id), now_ms),
            Input::Redriven(id, answer) => self.redriven(id, answer, now_ms, &mut requests),
            Input::Pause { handle } => self.pause(handle, &mut requests),
            Input::Resume { handle } => self.resume(handle, now_ms, &mut requests),
            Input::TimePassed => {}
        }
        self.advance(now_ms, &mut requests);
        requests
    }

    /// When [`Input::TimePassed`] is wanted, if it is.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        if self.paused_until_ms.is_some() {
            return self.paused_until_ms;
        }
        let tick = self.clockwork().and_then(|clockwork| clockwork.next_ms);
        let fetch = self.wants_to_fetch().then_some(self.fetch_after_ms);
        tick.into_iter().chain(fetch).min()
    }

    /// Whether a write is under way: what it says may be durable or not.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// What keeps it from its work, if anything does.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    #[must_use]
    pub fn standing(&self) -> Standing {
        let clockwork = self.clockwork();
        let due = clockwork.map_or(0, |clockwork| clockwork.due.len());
        let open = || self.flights.values().filter(|flight| flight.is_open());
        let blocked = self.flights.iter().filter(|(_, flight)| flight.phase == Phase::Blocked);
        let stored = self.flights.values().filter(|flight| flight.is_stored).count();
        Standing {
            state: self.state(),
            in_flight: open().count(),
            waiting: self.waiting.len() + due,
            oldest_ms: open().map(|flight| flight.row.accepted_ms).min(),
            accepted: self.record.counters.ended() + stored as u64 - self.unnoted(),
            counters: self.record.counters,
            position: self.record.position.clone(),
            cursor: self.record.cursor.clone(),
            next_ms: clockwork.and_then(|clockwork| clockwork.next_ms),
            last_tick_ms: clockwork.and_then(|clockwork| clockwork.last).map(|(at_ms, _)| at_ms),
            last: self.record.last.iter().cloned().collect(),
            blocked_by: blocked.map(|(id, _)| *id).collect(),
            trouble: self.trouble.clone(),
        }
    }

    fn state(&self) -> State {
        match () {
            () if !self.plan.enabled => State::Disabled,
            () if self.record.paused => State::Paused,
            () if self.is_blocked() => State::Blocked,
            () => State::Running,
        }
    }

    fn is_stopped(&self) -> bool {
        self.state() != State::Running
    }

    fn clockwork(&self) -> Option<&Clockwork> {
        self.record.clockwork.as_ref()
    }

    /// Does what there is room for.
    fn advance(&mut self, now_ms: i64, requests: &mut Vec<Request>) {
        if self.paused_until_ms.is_some_and(|until_ms| now_ms < until_ms) {
            return;
        }
        self.paused_until_ms = None;
        requests.append(&mut self.refused);
        self.advance_timer(now_ms);
        self.write(now_ms, requests);
        self.fetch(now_ms, requests);
    }

    fn ask_later(&mut self, request: Request, now_ms: i64) {
        self.refused.push(request);
        self.pause_for(PAUSE_MS, now_ms);
    }

    fn pause_for(&mut self, ms: i64, now_ms: i64) {
        self.paused_until_ms = Some(now_ms.saturating_add(ms));
    }

    fn take_up_timer(&mut self, now_ms: i64) {
        let Origin::Timer(timer) = &self.plan.origin else { return self.record.clockwork = None };
        let known = self.record.clockwork.take();
        let stopped = self.is_stopped();
        let before = known.clone();
        let mut clockwork = match known {
            // What comes while it is stopped is not missed.
            Some(known) if stopped => known,
            known => Clockwork::take_up(known, timer, &mut self.record.counters, now_ms),
        };
        if stopped {
            clockwork.stop();
        }
        self.is_dirty |= before.as_ref() != Some(&clockwork);
        self.record.clockwork = Some(clockwork);
    }

    fn advance_timer(&mut self, now_ms: i64) {
        if self.is_stopped() {
            return;
        }
        let is_busy = self.is_busy();
        let (Origin::Timer(timer), Some(clockwork)) =
            (&self.plan.origin, &mut self.record.clockwork)
        else {
            return;
        };
        self.is_dirty |= clockwork.advance(timer, is_busy, &mut self.record.counters, now_ms);
    }

    fn wants_to_fetch(&self) -> bool {
        let is_source = matches!(self.plan.origin, Origin::Fetched { .. });
        is_source && self.fetching.is_none() && !self.is_stopped() && self.room() > 0
    }

    fn fetch(&mut self, now_ms: i64, requests: &mut Vec<Request>) {
        if self.wants_to_fetch() && now_ms >= self.fetch_after_ms {
            self.fetches += 1;
            self.fetching = Some(self.fetches);
            let (most, after) = (self.room().min(WRITE_ITEMS_MAX), self.read_to());
            requests.push(Request::Fetch { number: self.fetches, most, after });
        }
    }

    /// How far the source has been read, with what is being accepted or waits for that.
    fn read_to(&self) -> Option<String> {
        let waiting = self.waiting.iter().rev().find_map(|waiting| waiting.item.position.clone());
        let writing = || self.writing.as_ref().and_then(Writing::position);
        waiting.or_else(writing).or_else(|| self.record.position.clone())
    }

    fn fetched(
        &mut self,
        number: u64,
        fetched: Result<Vec<Item>, String>,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        let Origin::Fetched { idle_ms } = self.plan.origin else { return };
        if self.fetching != Some(number) {
            let late = fetched.unwrap_or_default().into_iter();
            return late.for_each(|item| self.refuse(item.handle, Refused::Stopped, requests));
        }
        self.fetching = None;
        match fetched {
            Ok(items) => {
                (self.fetch_failures, self.trouble) = (0, None);
                let pause_ms = if items.is_empty() { idle_ms } else { 0 };
                self.fetch_after_ms = now_ms.saturating_add(pause_ms);
                for item in items {
                    self.bring(item, Way::Fetched, requests);
                }
            }
            Err(why) => {
                let pause_ms = FETCH_MS_MIN << self.fetch_failures.min(10);
                self.fetch_failures = self.fetch_failures.saturating_add(1);
                self.fetch_after_ms = now_ms.saturating_add(pause_ms.min(FETCH_MS_MAX));
                self.trouble = Some(why);
            }
        }
    }

    fn offered(&mut self, item: Item, requests: &mut Vec<Request>) {
        if self.room() == 0 {
            return self.refuse(item.handle, Refused::Full, requests);
        }
        self.bring(item, Way::Offered, requests);
    }

    fn refuse(&mut self, handle: u64, why: Refused, requests: &mut Vec<Request>) {
        self.record.counters.refused += 1;
        requests.push(Request::Settle(handle, Settled::Refused(why)));
    }

    /// Items that may still be brought.
    fn room(&self) -> usize {
        let bytes: usize = self.waiting.iter().map(|waiting| waiting.item.payload.len()).sum();
        if bytes >= WAITING_BYTES_MAX {
            return 0;
        }
        let taken = self.flights.values().filter(|flight| flight.is_open()).count();
        let writing = self.writing.as_ref().map_or(0, |writing| writing.items.len());
        self.plan.backlog_max.saturating_sub(taken + writing + self.waiting.len())
    }
}
