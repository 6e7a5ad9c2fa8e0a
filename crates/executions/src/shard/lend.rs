//! What takes long is done outside the shard, and the shard continues with others.
//!
//! A shard does only what is bounded by construction: decisions of light definitions on little data, some events at a
//! time, and short journals. Everything else it lends to a pool: the execution leaves the shard with what it has to
//! decide on, messages for it wait, and it comes back with what was decided. Only the shard commits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use everstep_interpreter::{Input, Turn};

use super::Shard;
use super::load::Loader;
use super::slot::Slot;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::message::Message;
use crate::work::{Decided, Deciding, Job, Loaded, Work, guarded};

/// An execution that is not here now.
pub(super) struct Lent {
    bytes: usize,
    /// What has come for it meanwhile.
    waiting: VecDeque<Message>,
}

/// Where an execution is.
enum Place {
    Here,
    Nowhere,
    /// It is being worked on outside the shard.
    Outside,
}

/// An execution that is being read.
enum Begun {
    Loaded(Box<Slot>),
    /// There is more to read.
    More(Box<Loader>),
}

/// Requests that wait for one execution, at most.
const WAITING_MAX: usize = 1000;

impl Shard {
    /// Ensures that the execution which a message is for is in memory, if there is one. Nothing is returned if the
    /// message has to wait for it or was refused.
    pub(super) fn with_execution(&mut self, message: Message, now_ms: i64) -> Option<Message> {
        if !message.needs_execution() {
            return Some(message);
        }
        let id = message.id();
        if let Some(held) = self.quarantine.holds(id)
            && !message.evaluates_nothing()
        {
            message.refuse(Error::Quarantined(held.why.clone()));
            return None;
        }
        match self.fetch(id, now_ms) {
            Ok(Place::Here | Place::Nowhere) => Some(message),
            Ok(Place::Outside) => {
                self.wait(id, message);
                None
            }
            Err(error) => {
                self.unreadable(message, error);
                None
            }
        }
    }

    /// Brings an execution into memory, if it is stored and can be read in no time.
    fn fetch(&mut self, id: ExecutionId, now_ms: i64) -> Result<Place> {
        if self.slots.get(id).is_some() {
            return Ok(Place::Here);
        }
        if self.lent.contains_key(&id) {
            return Ok(Place::Outside);
        }
        self.shared.in_flight.begin(id.subject());
        let is_suspect = self.quarantine.is_suspect(id);
        match guarded(|| self.begin_to_load(id, is_suspect)) {
            Ok(Ok(None)) => Ok(Place::Nowhere),
            Ok(Ok(Some(Begun::Loaded(slot)))) => {
                self.install(slot, now_ms);
                Ok(if self.lent.contains_key(&id) { Place::Outside } else { Place::Here })
            }
            Ok(Ok(Some(Begun::More(loader)))) => {
                self.lent.insert(id, Lent { bytes: 0, waiting: VecDeque::new() });
                self.hand_over(Job::Load(loader), is_suspect);
                Ok(Place::Outside)
            }
            Ok(Err(error)) => Err(error),
            Err(panicked) => Err(self.quarantine(id, &panicked, now_ms)),
        }
    }

    /// Reads as much of an execution as takes no time. One that may have ended the engine is read outside the shard.
    fn begin_to_load(&self, id: ExecutionId, is_suspect: bool) -> Result<Option<Begun>> {
        let Some(loader) = Loader::open(&self.shared, self.shard, id)? else { return Ok(None) };
        let mut loader = Box::new(loader);
        if is_suspect || !loader.read_some()? {
            return Ok(Some(Begun::More(loader)));
        }
        Ok(Some(Begun::Loaded(loader.finish()?)))
    }

    /// Brings an execution into memory and takes it out; nothing if it is elsewhere.
    pub(super) fn fetch_and_take(
        &mut self,
        id: ExecutionId,
        now_ms: i64,
    ) -> Result<Option<Box<Slot>>> {
        if self.quarantine.holds(id).is_some() {
            return Ok(None);
        }
        Ok(match self.fetch(id, now_ms)? {
            Place::Here => self.take(id),
            Place::Nowhere | Place::Outside => None,
        })
    }

    fn wait(&mut self, id: ExecutionId, message: Message) {
        let Some(lent) = self.lent.get_mut(&id) else { return };
        if lent.waiting.len() >= WAITING_MAX && message.can_be_refused() {
            message.refuse(Error::Busy);
        } else if matches!(message, Message::Stop { .. }) {
            lent.waiting.push_front(message);
            self.shared.pool.hurry(id);
        } else {
            lent.waiting.push_back(message);
        }
    }

    /// A message for an execution that cannot be read, or only in part because it is being removed.
    fn unreadable(&mut self, message: Message, error: Error) {
        match (message, error) {
            // Its removal was begun before a crash.
            (Message::Delete { id, reply }, Error::AlreadyExists(_)) => {
                self.remove_and_answer(id, reply);
            }
            (message @ Message::Start { .. }, error) => message.refuse(error),
            (message, Error::AlreadyExists(_)) => message.refuse(Error::NotFound),
            (message, error) => message.refuse(error),
        }
    }

    /// Whether an execution decides outside the shard.
    pub(super) fn takes_long(&self, slot: &Slot, input: &Input) -> bool {
        let heavy_bytes = self.shared.settings.heavy_bytes;
        input.may_take_long()
            && (!slot.prepared.is_light
                || self.quarantine.is_suspect(slot.id)
                || slot.execution.held_bytes() > heavy_bytes
                || input.weight() > heavy_bytes)
    }

    pub(super) fn turn(&self, slot: &Slot) -> Turn {
        let settings = &self.shared.settings;
        let events_max = if self.is_stored_first(slot) { 1 } else { settings.turn_events };
        Turn { events_max, bytes_max: settings.turn_bytes, time: None }
    }

    pub(super) fn lend(
        &mut self,
        mut slot: Box<Slot>,
        inputs: Vec<(Input, u64)>,
        now_ms: i64,
        after: Vec<AfterCommit>,
    ) {
        // What is due meanwhile is looked at when it is back.
        if let Some(due) = slot.armed.take() {
            self.timers.disarm(due, slot.id);
        }
        let missing = self.missing_activities(&slot.prepared);
        let missing_activities = missing.into_iter().map(str::to_owned).collect();
        let bytes = slot.execution.held_bytes();
        self.lent.insert(slot.id, Lent { bytes, waiting: VecDeque::new() });
        self.lent_bytes += bytes;
        let (turn, is_suspect) = (self.turn(&slot), self.quarantine.is_suspect(slot.id));
        let deciding = Deciding { slot, inputs, now_ms, missing_activities, after, turn };
        self.hand_over(Job::Decide(Box::new(deciding)), is_suspect);
    }

    fn hand_over(&self, job: Job, is_suspect: bool) {
        let (mailbox, interrupted) = (self.shared.mailbox.clone(), Arc::<AtomicBool>::default());
        let in_flight = self.shared.in_flight.clone();
        self.shared.pool.run(Work { job, mailbox, interrupted, in_flight, is_suspect });
    }

    /// Whether so much data is lent that nothing else is woken for now.
    pub(super) fn has_lent_much(&self) -> bool {
        self.lent_bytes > self.shared.settings.resident_bytes
    }

    fn returned(&mut self, id: ExecutionId) -> VecDeque<Message> {
        let Some(lent) = self.lent.remove(&id) else { return VecDeque::new() };
        self.lent_bytes = self.lent_bytes.saturating_sub(lent.bytes);
        lent.waiting
    }

    pub(super) fn have_back(&mut self, decided: Decided, now_ms: i64) {
        let Decided { id, outcome, after } = decided;
        let waiting = self.returned(id);
        match outcome {
            Ok(decision) => {
                self.begin_work(&decision.slot);
                let slot = self.write(decision, now_ms, after);
                self.put_back(slot, now_ms);
            }
            Err(panicked) => self.panicked(id, panicked, after, now_ms),
        }
        self.handle_all(waiting, now_ms);
    }

    pub(super) fn have_loaded(&mut self, loaded: Loaded, now_ms: i64) {
        let Loaded { id, outcome } = loaded;
        let waiting = self.returned(id);
        let outcome =
            outcome.unwrap_or_else(|panicked| Err(self.quarantine(id, &panicked, now_ms)));
        match outcome {
            Ok(slot) => {
                self.install(slot, now_ms);
                // At once, or it might have left memory again when its turn comes.
                self.continue_now(id, now_ms);
                self.handle_all(waiting, now_ms);
            }
            Err(error) => {
                self.unrecovered.remove(&id);
                let is_known = matches!(error, Error::AlreadyExists(_) | Error::Quarantined(_));
                if waiting.is_empty() && !is_known {
                    self.shared.observer.stuck(id, &error);
                }
                waiting.into_iter().for_each(|message| self.unreadable(message, error.clone()));
            }
        }
    }

    fn handle_all(&mut self, messages: VecDeque<Message>, now_ms: i64) {
        for message in messages {
            self.handle(message, now_ms);
        }
    }

    /// What was decided is durable, and there is more: its turn comes after those of others.
    pub(super) fn continue_later(&mut self, id: ExecutionId, now_ms: i64) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        slot.is_continuing = slot.is_unfinished;
        if slot.is_unfinished {
            self.ready.push_back((slot.next_turn_ms.max(now_ms), id));
        }
    }

    /// Lets the execution continue whose turn it is.
    pub(super) fn continue_next(&mut self, now_ms: i64) -> Option<(ExecutionId, Error)> {
        if self.has_lent_much() {
            return None;
        }
        let at = self.ready.iter().position(|(from_ms, _)| *from_ms <= now_ms)?;
        let (_, id) = self.ready.remove(at)?;
        if self.quarantine.holds(id).is_some() {
            return None;
        }
        match self.fetch(id, now_ms) {
            Ok(Place::Here) => self.continue_now(id, now_ms),
            // It has its turn when it is back.
            Ok(Place::Outside) => self.wait(id, Message::Continue { id }),
            Ok(Place::Nowhere) | Err(Error::AlreadyExists(_) | Error::Quarantined(_)) => {}
            Err(error) => return Some((id, error)),
        }
        None
    }

    /// Lets an execution continue that is in memory, if it has more to decide.
    fn continue_now(&mut self, id: ExecutionId, now_ms: i64) {
        let is_held = self.quarantine.holds(id).is_some();
        let Some(slot) = self.slots.get_mut(id) else { return };
        // This was its turn, also if all was decided before it came.
        slot.is_continuing = false;
        if slot.is_unfinished
            && !is_held
            && let Some(slot) = self.take(id)
        {
            self.step(slot, [Input::Continue], now_ms, Vec::new());
        }
    }
}
