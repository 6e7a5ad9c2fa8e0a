//! How an invocation begins.

use std::sync::Arc;

use everstep_retry::Policy;
use everstep_store::{Batch, Space};

use super::Shard;
use super::slot::{Response, Slot};
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::function::{Failure, FunctionSettings, Interrupted, Terms};
use crate::invocation::{Event, Invocation, Reason, State};
use crate::layout::{self, Order, Part};
use crate::message::{Acceptance, Accepted, Finished, Handling, Mode, Reply};
use crate::session::Session;

enum Known {
    Before(Box<Slot>),
    New(Arc<FunctionSettings>),
    /// The stored result does not answer this caller.
    Anew(Box<Slot>, Arc<FunctionSettings>),
}

impl Shard {
    /// An acceptance that is repeated finds the invocation that it has led to.
    pub(super) fn accept(
        &mut self,
        acceptance: Acceptance,
        reply: Reply<Accepted>,
        watcher: Option<Reply<Finished>>,
        now_ms: i64,
    ) {
        let id = acceptance.id;
        if watcher.is_some() && self.watching >= self.shared.settings.watchers_max {
            return refuse(reply, watcher, Error::Busy);
        }
        let function = self.shared.functions.function(&acceptance.function);
        let found = self.take(id, now_ms).and_then(|known| match (known, function) {
            (Some(slot), Some(function))
                if acceptance.mode == Mode::Synchronous && is_no_answer(&slot, &function) =>
            {
                Ok(Known::Anew(slot, function))
            }
            (Some(slot), _) => Ok(Known::Before(slot)),
            (None, Some(function)) => Ok(Known::New(function)),
            (None, None) => Err(Error::NoSuchFunction(acceptance.function.clone())),
        });
        match found {
            Err(error) => refuse(reply, watcher, error),
            Ok(Known::Before(slot)) => {
                let known = AfterCommit::reply(reply, Ok(Accepted { id, known: true }));
                self.follow(slot.ticket, vec![known]);
                match watcher {
                    Some(watcher) => self.attach(slot, watcher),
                    None => self.put_back(slot),
                }
            }
            Ok(Known::New(function)) => {
                let after = vec![AfterCommit::reply(reply, Ok(Accepted { id, known: false }))];
                let batch = Batch::new(self.shard);
                self.begin((acceptance, &function), batch, watcher, after, now_ms);
            }
            Ok(Known::Anew(slot, function)) => {
                let after = vec![AfterCommit::reply(reply, Ok(Accepted { id, known: false }))];
                let batch = self.forgotten(&slot.invocation);
                self.begin((acceptance, &function), batch, watcher, after, now_ms);
            }
        }
    }

    /// What is left of a call that is to be made anew, but for the rows that the new one overwrites.
    fn forgotten(&self, old: &Invocation) -> Batch {
        let mut batch = Batch::new(self.shard);
        let ended_ms = old.ended_ms.unwrap_or(old.accepted_ms);
        for key in [
            layout::at(Order::Accepted, old.accepted_ms, old.id),
            layout::at(Order::Closed, ended_ms, old.id),
        ] {
            batch.remove(Space::InvocationOrders, key);
        }
        batch.remove(Space::Invocations, layout::part(old.id, Part::Response));
        batch
    }

    fn begin(
        &mut self,
        (acceptance, function): (Acceptance, &FunctionSettings),
        mut batch: Batch,
        watcher: Option<Reply<Finished>>,
        after: Vec<AfterCommit>,
        now_ms: i64,
    ) {
        // The session that an earlier invocation with the same key has begun is not this one's.
        self.sessions.remove(&acceptance.id);
        let end = self.end_at_once(&acceptance, now_ms);
        let mut slot = new_slot(acceptance, function, now_ms, &mut batch);
        self.watching += usize::from(watcher.is_some());
        slot.watchers.extend(watcher);
        match end {
            Some(event) => {
                let before = slot.change(&[event]);
                self.write(&mut slot, &before, batch, after, now_ms);
                self.put_back(slot);
            }
            None => self.ready(slot, batch, after, now_ms),
        }
    }

    /// What is never run.
    pub(super) fn end_at_once(&self, acceptance: &Acceptance, at_ms: i64) -> Option<Event> {
        let settings = &self.shared.settings;
        let step = acceptance.session.map_or(0, |(_, step)| step);
        if acceptance.mode == Mode::Unparseable {
            let reason = Reason::Unparseable;
            Some(Event::InvocationExhausted { reason, at_ms })
        } else if acceptance.source.depth > settings.depth_max || step > settings.session_steps_max
        {
            Some(Event::InvocationParked { at_ms })
        } else {
            None
        }
    }

    /// Answers `watcher` when the invocation ends, or at once if it has ended.
    pub(super) fn attach(&mut self, mut slot: Box<Slot>, watcher: Reply<Finished>) {
        if slot.invocation.state.is_over() {
            let response = slot.response(&self.shared, self.shard);
            let finished: Result<Finished> = response.map(|response| slot.finished(response));
            self.follow(slot.ticket, vec![AfterCommit::reply(watcher, finished)]);
        } else {
            self.watching += 1;
            slot.watchers.push(watcher);
        }
        self.put_back(slot);
    }
}

/// Whether a call with a key has ended in a way that later ones with that key are not given: the engine died,
/// or it failed and only a success counts.
fn is_no_answer(slot: &Slot, function: &FunctionSettings) -> bool {
    let Invocation { state, attempts, terms, .. } = &slot.invocation;
    let interrupted = attempts.last_failure().is_some_and(Failure::is_interruption);
    let failed = matches!(state, State::Exhausted { .. });
    failed && !terms.dead_letters && (interrupted || !function.failures_answer)
}

fn refuse(reply: Reply<Accepted>, watcher: Option<Reply<Finished>>, error: Error) {
    if let Some(watcher) = watcher {
        watcher(Err(error.clone()));
    }
    reply(Err(error));
}

/// A new invocation, and the rows that say what it was given.
pub(super) fn new_slot(
    acceptance: Acceptance,
    function: &FunctionSettings,
    now_ms: i64,
    batch: &mut Batch,
) -> Box<Slot> {
    let Acceptance { id, function: name, payload, source, key, mode, session, handling } =
        acceptance;
    let (terms, age_ms) = match (mode, handling) {
        (Mode::Synchronous, _) => (once(&function.terms), None),
        (_, None) => (function.terms.clone(), function.event_age_max_ms),
        (_, Some(Handling { policy, event_age_max_ms, dead_letters })) => {
            (Terms { policy, dead_letters, ..function.terms.clone() }, event_age_max_ms)
        }
    };
    let session = session.or_else(|| (!terms.next.is_empty()).then_some((id, 0)));
    if session == Some((id, 0)) {
        let row = Session::begun(id, &name, now_ms).encoded();
        batch.put(Space::Invocations, layout::part(id, Part::Session), row);
    }
    let named = (name, function.version.clone());
    let mut invocation = Invocation::accepted(id, named, source, terms, now_ms);
    invocation.key = key;
    invocation.expires_ms = age_ms.map(|age_ms| later(now_ms, age_ms));
    (invocation.session, invocation.step) =
        session.map(|(id, step)| (Some(id), step)).unwrap_or_default();
    given(invocation, payload.into(), batch)
}

/// A new invocation in memory; writes its event, and its place among all.
pub(super) fn given(invocation: Invocation, payload: Arc<[u8]>, batch: &mut Batch) -> Box<Slot> {
    let Invocation { id, accepted_ms, .. } = invocation;
    batch.put(Space::Invocations, layout::part(id, Part::Payload), payload.to_vec());
    batch.put(Space::InvocationOrders, layout::at(Order::Accepted, accepted_ms, id), Vec::new());
    let mut slot = Box::new(Slot::new(invocation));
    slot.payload = Some(payload);
    slot.response = Response::Known(None);
    slot
}

/// The terms of a synchronous call: one attempt, no destinations.
fn once(terms: &Terms) -> Terms {
    Terms {
        policy: Policy::default(),
        on_success: Vec::new(),
        on_failure: Vec::new(),
        next: Vec::new(),
        dead_letters: false,
        // Its caller has seen the connection break, and may call again.
        interrupted: Interrupted::Count,
        ..terms.clone()
    }
}

pub(super) fn later(now_ms: i64, by_ms: u64) -> i64 {
    now_ms.saturating_add(i64::try_from(by_ms).unwrap_or(i64::MAX))
}
