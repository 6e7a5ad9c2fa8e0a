//! Work on one execution that may take long. It is done outside the shard, so that others have their turn; the shard
//! has the execution back when it is done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use everstep_history::{Event, journal};
use everstep_interpreter::{Input, Occasion, Stopwatch, Time, Turn};
use everstep_shards::{InFlight, Mailbox, panic_text};

use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::message::Message;
use crate::shard::load::Loader;
use crate::shard::slot::Slot;

/// Does what shards lend it. Must not wait: work is taken, and done elsewhere.
pub trait Pool: Send + Sync {
    /// Ensures that [`Work::run`] is called, on any thread and at any time. Work that is dropped is lost with all who
    /// wait for it: only an engine that stops may do that.
    fn run(&self, work: Work);

    /// Somebody waits for this execution: its turn comes next, and is over soon.
    fn hurry(&self, _execution: ExecutionId) {}
}

/// Does everything at once.
pub(crate) struct Inline;

impl Pool for Inline {
    fn run(&self, work: Work) {
        work.run();
    }
}

pub struct Work {
    pub(crate) job: Job,
    pub(crate) mailbox: Arc<dyn Mailbox<Message>>,
    pub(crate) interrupted: Arc<AtomicBool>,
    pub(crate) in_flight: Arc<dyn InFlight>,
    /// It may be what has ended the engine before.
    pub(crate) is_suspect: bool,
}

pub(crate) enum Job {
    Decide(Box<Deciding>),
    Load(Box<Loader>),
}

/// An execution with what it has to decide on.
pub(crate) struct Deciding {
    pub(crate) slot: Box<Slot>,
    pub(crate) inputs: Vec<(Input, u64)>,
    pub(crate) now_ms: i64,
    pub(crate) missing_activities: Vec<String>,
    pub(crate) after: Vec<AfterCommit>,
    pub(crate) turn: Turn,
}

/// What came of it.
pub struct Decided {
    pub(crate) id: ExecutionId,
    pub(crate) outcome: std::result::Result<Decision, Panicked>,
    pub(crate) after: Vec<AfterCommit>,
}

pub(crate) struct Decision {
    pub(crate) slot: Box<Slot>,
    pub(crate) events: Vec<Event>,
    /// The events as a record of the journal, if they are stored.
    pub(crate) record: Vec<u8>,
}

/// Reading an execution, or its decision, has panicked: a defect.
pub(crate) struct Panicked {
    pub(crate) message: Arc<str>,
    /// What is left of it in memory. Nobody knows how far it got.
    pub(crate) slot: Option<Box<Slot>>,
}

/// An execution that was read, or why it cannot be.
pub struct Loaded {
    pub(crate) id: ExecutionId,
    pub(crate) outcome: std::result::Result<Result<Box<Slot>>, Panicked>,
}

/// What came of work that may have a defect.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> std::result::Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| Panicked { message: panic_text(&*panic).into(), slot: None })
}

/// A turn outside the shard ends after this time, between two states.
const TURN_MS: u64 = 50;
/// A definition whose states take longer is slow.
const SLOW_MS: u128 = 50;

impl Work {
    #[must_use]
    pub fn execution(&self) -> ExecutionId {
        match &self.job {
            Job::Decide(deciding) => deciding.slot.id,
            Job::Load(loader) => loader.id(),
        }
    }

    /// Whether it will take long, as far as experience shows.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        match &self.job {
            Job::Decide(deciding) => deciding.slot.prepared.is_slow.load(Ordering::Relaxed),
            Job::Load(_) => true,
        }
    }

    /// Whether it may be what has ended the engine before: only one such at a time is done.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.is_suspect
    }

    /// Whether it comes again after a start of the engine, so that nothing is lost with it.
    #[must_use]
    pub fn comes_again(&self) -> bool {
        match &self.job {
            Job::Decide(deciding) => {
                let mut inputs = deciding.inputs.iter();
                inputs.all(|(input, _)| matches!(input, Input::Continue | Input::TimePassed))
            }
            Job::Load(_) => false,
        }
    }

    /// Ends the turn soon.
    pub fn interruption(&self) -> Arc<AtomicBool> {
        self.interrupted.clone()
    }

    /// Does it, and gives the execution back.
    pub fn run(self) {
        let message = match self.job {
            Job::Decide(deciding) => {
                if deciding.slot.is_durable() {
                    self.in_flight.begin(deciding.slot.id.subject());
                }
                Message::Decided(deciding.run(self.interrupted))
            }
            Job::Load(loader) => {
                let id = loader.id();
                self.in_flight.begin(id.subject());
                Message::Loaded(Loaded { id, outcome: guarded(|| loader.read_all()) })
            }
        };
        self.in_flight.rest();
        self.mailbox.post(message);
    }
}

impl Deciding {
    fn run(self, interrupted: Arc<AtomicBool>) -> Decided {
        let began = Instant::now();
        let elapsed = move || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let stopwatch: Stopwatch = Arc::new(elapsed);
        let Self { slot, inputs, now_ms, missing_activities, after, mut turn } = self;
        turn.time = Some(Time { stopwatch, ms_max: TURN_MS, interrupted });
        let missing: Vec<&str> = missing_activities.iter().map(String::as_str).collect();
        let (id, prepared) = (slot.id, slot.prepared.clone());
        let outcome = decide(slot, inputs, now_ms, &missing, &turn);
        if began.elapsed().as_millis() > SLOW_MS {
            prepared.is_slow.store(true, Ordering::Relaxed);
        }
        Decided { id, outcome, after }
    }
}

/// Lets an execution decide on inputs, each with a seed.
pub(crate) fn decide(
    mut slot: Box<Slot>,
    inputs: Vec<(Input, u64)>,
    now_ms: i64,
    missing_activities: &[&str],
    turn: &Turn,
) -> std::result::Result<Decision, Panicked> {
    let decided = guarded(|| {
        let events = decide_all(&mut slot, inputs, now_ms, missing_activities, turn);
        let is_stored = slot.is_durable() && !events.is_empty();
        let record = if is_stored { journal::encode(&events) } else { Vec::new() };
        (events, record)
    });
    match decided {
        Ok((events, record)) => Ok(Decision { slot, events, record }),
        Err(panicked) => Err(Panicked { slot: Some(slot), ..panicked }),
    }
}

/// What is refused changes nothing; a caller that needs an answer has got it before.
fn decide_all(
    slot: &mut Slot,
    inputs: Vec<(Input, u64)>,
    now_ms: i64,
    missing_activities: &[&str],
    turn: &Turn,
) -> Vec<Event> {
    let mut events = Vec::new();
    for (input, seed) in inputs {
        let occasion = Occasion { now_ms, seed, missing_activities };
        let decision = slot.execution.decide_in_turn(input, occasion, turn).unwrap_or_default();
        // What was ready before may not be any more.
        slot.is_unfinished =
            decision.is_unfinished || slot.is_unfinished && slot.execution.is_ready();
        events.extend(decision.events);
    }
    events
}

impl Decided {
    /// Answers all who wait for it.
    pub(crate) fn refuse(self, error: &Error) {
        let slot = match self.outcome {
            Ok(decision) => Some(decision.slot),
            Err(panicked) => panicked.slot,
        };
        let watchers = slot.map(|slot| slot.watchers).unwrap_or_default();
        watchers.into_iter().for_each(|watcher| watcher(Err(error.clone())));
        self.after.into_iter().for_each(|effect| effect.answer(error));
    }
}

impl Loaded {
    pub(crate) fn refuse(self, error: &Error) {
        let slot = self.outcome.ok().and_then(Result::ok);
        let watchers = slot.map(|slot| slot.watchers).unwrap_or_default();
        watchers.into_iter().for_each(|watcher| watcher(Err(error.clone())));
    }
}
