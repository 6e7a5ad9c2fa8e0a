//! An invocation: what is stored of it, and how events change that.
//!
//! Pure: [`decide`] says what happens, [`Invocation::apply`] makes it so. Neither reads a clock, draws
//! anything or knows where rows are.

mod attempts;
mod decide;
mod event;
mod history;
mod json;
mod record;
mod route;
mod source;

use minicbor::{Decode, Encode};

pub use attempts::{AttemptRecord, Attempts};
pub(crate) use decide::{Input, Refusal, decide};
pub(crate) use event::Event;
pub use history::{Happened, What};
pub(crate) use route::Route;
pub use source::{Source, SourceKind};

use crate::function::{Failure, Terms};
use crate::id::{AttemptId, InvocationId};

/// All that is known of an invocation but its event and its answer, which have rows of their own.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Invocation {
    #[n(0)]
    pub id: InvocationId,
    #[n(1)]
    pub function: String,
    #[n(2)]
    pub version: String,
    #[n(3)]
    pub source: Source,
    /// What the source or the caller would repeat: the id is made from it.
    #[n(4)]
    pub key: Option<String>,
    #[n(5)]
    pub accepted_ms: i64,
    #[n(6)]
    pub expires_ms: Option<i64>,
    #[n(7)]
    pub terms: Terms,
    #[n(8)]
    pub state: State,
    #[n(9)]
    pub attempts: Attempts,
    /// Retries that each rule of the policy has had.
    #[n(10)]
    pub retries: Vec<u32>,
    /// How often the engine died while it ran, over all attempts.
    #[n(11)]
    pub interruptions: u32,
    /// How often it had to wait because the function could not be run.
    #[n(12)]
    pub throttled: u32,
    /// The same, since an attempt last ran.
    #[n(13)]
    pub throttled_in_a_row: u32,
    #[n(14)]
    pub ended_ms: Option<i64>,
    /// Deliveries that are due, as places among its routes.
    #[n(15)]
    pub undelivered: Vec<u32>,
    /// Whether it is a dead letter now.
    #[n(16)]
    pub dead: bool,
    #[n(17)]
    pub session: Option<InvocationId>,
    /// `next` edges between the session's first invocation and this one.
    #[n(18)]
    pub step: u32,
    /// The dead letter that it was, and the invocation that became of it.
    #[n(19)]
    pub redriven_from: Option<InvocationId>,
    #[n(20)]
    pub redriven_as: Option<InvocationId>,
    /// Where its row among those that are due is, if it has one.
    #[n(21)]
    pub(crate) wake_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum State {
    /// To be run as soon as there is a slot.
    #[n(0)]
    Accepted,
    #[n(1)]
    Running,
    #[n(2)]
    Waiting {
        #[n(0)]
        due_ms: i64,
    },
    #[n(3)]
    Succeeded,
    #[n(4)]
    Exhausted {
        #[n(0)]
        reason: Reason,
    },
    #[n(5)]
    Expired,
    #[n(6)]
    Cancelled,
    /// Never run: too many destinations or edges have led to it. Delivered nowhere.
    #[n(7)]
    Parked,
}

/// Why an invocation has failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Reason {
    #[n(0)]
    RetriesExhausted,
    #[n(1)]
    EventAgeExceeded,
    #[n(2)]
    NonRetryable,
    #[n(3)]
    Unparseable,
    #[n(4)]
    InterruptionsExhausted,
    #[n(5)]
    ZeroReservedConcurrency,
    #[n(6)]
    LoopDetected,
}

impl Reason {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RetriesExhausted => "RetriesExhausted",
            Self::EventAgeExceeded => "EventAgeExceeded",
            Self::NonRetryable => "NonRetryable",
            Self::Unparseable => "Unparseable",
            Self::InterruptionsExhausted => "InterruptionsExhausted",
            Self::ZeroReservedConcurrency => "ZeroReservedConcurrency",
            Self::LoopDetected => "LoopDetected",
        }
    }
}

impl State {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Running => "Running",
            Self::Waiting { .. } => "Waiting",
            Self::Succeeded => "Succeeded",
            Self::Exhausted { .. } => "Exhausted",
            Self::Expired => "Expired",
            Self::Cancelled => "Cancelled",
            Self::Parked => "Parked",
        }
    }

    #[must_use]
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Accepted | Self::Running | Self::Waiting { .. })
    }

    /// Why it has failed, if it has.
    #[must_use]
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Exhausted { reason } => Some(reason),
            Self::Expired => Some(Reason::EventAgeExceeded),
            Self::Parked => Some(Reason::LoopDetected),
            _ => None,
        }
    }
}

impl Invocation {
    /// One to which nothing has happened yet.
    pub(crate) fn accepted(
        id: InvocationId,
        (function, version): (String, String),
        source: Source,
        terms: Terms,
        now_ms: i64,
    ) -> Self {
        Self {
            id,
            function,
            version,
            source,
            key: None,
            accepted_ms: now_ms,
            expires_ms: None,
            terms,
            state: State::Accepted,
            attempts: Attempts::default(),
            retries: Vec::new(),
            interruptions: 0,
            throttled: 0,
            throttled_in_a_row: 0,
            ended_ms: None,
            undelivered: Vec::new(),
            dead: false,
            session: None,
            step: 0,
            redriven_from: None,
            redriven_as: None,
            wake_ms: None,
        }
    }

    /// Whether it is over and all its deliveries are made.
    #[must_use]
    pub fn is_routed(&self) -> bool {
        self.state.is_over() && self.undelivered.is_empty()
    }

    /// Changes what is known. Cannot fail and decides nothing.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::AttemptStarted { attempt, at_ms } => {
                self.attempts.start(*attempt, *at_ms);
                self.state = State::Running;
            }
            Event::AttemptInterrupted { at_ms } => {
                self.interrupt(*at_ms);
                self.state = State::Accepted;
            }
            Event::AttemptFailed { failure, worker_pid, interrupted, at_ms } => {
                if *interrupted {
                    self.interrupt(*at_ms);
                }
                self.attempts.end(Some(failure.clipped()), *worker_pid, *at_ms);
                self.throttled_in_a_row = 0;
            }
            Event::AttemptThrottled { at_ms } => {
                self.attempts.withdraw(*at_ms);
                self.throttle();
            }
            Event::AttemptPostponed => self.throttle(),
            Event::RetryScheduled { rule, delay_ms, due_ms } => {
                self.retries.resize(self.retries.len().max(rule + 1), 0);
                self.retries[*rule] += 1;
                self.attempts.note_delay(*delay_ms);
                self.state = State::Waiting { due_ms: *due_ms };
            }
            Event::WaitScheduled { due_ms } => self.state = State::Waiting { due_ms: *due_ms },
            Event::InvocationSucceeded { worker_pid, at_ms } => {
                self.attempts.end(None, *worker_pid, *at_ms);
                self.end(State::Succeeded, *at_ms);
            }
            Event::InvocationExhausted { reason, at_ms } => {
                self.end(State::Exhausted { reason: *reason }, *at_ms);
            }
            Event::InvocationExpired { at_ms } => self.end(State::Expired, *at_ms),
            Event::InvocationCancelled { at_ms } => {
                if self.attempts.open().is_some() {
                    self.attempts.end(Some(Failure::cancelled()), None, *at_ms);
                }
                self.end(State::Cancelled, *at_ms);
            }
            Event::InvocationParked { at_ms } => self.end(State::Parked, *at_ms),
            Event::DestinationDelivered { index } => self.undelivered.retain(|due| due != index),
            Event::InvocationRedriven { into } => {
                self.dead = false;
                self.redriven_as = Some(*into);
            }
        }
    }

    /// The attempt that is running or comes next: if an interrupted one is to be repeated, it is that one.
    pub(crate) fn current_attempt(&self) -> AttemptId {
        let Self { id, accepted_ms, attempts, throttled, .. } = self;
        let next = || AttemptId::next(*id, *accepted_ms, attempts.started(), *throttled);
        attempts.open().map_or_else(next, |open| open.id)
    }

    fn interrupt(&mut self, at_ms: i64) {
        self.interruptions = self.interruptions.saturating_add(1);
        self.attempts.interrupt(at_ms);
        self.throttled_in_a_row = 0;
    }

    fn throttle(&mut self) {
        self.throttled = self.throttled.saturating_add(1);
        self.throttled_in_a_row = self.throttled_in_a_row.saturating_add(1);
    }

    fn end(&mut self, state: State, at_ms: i64) {
        if self.attempts.open().is_some() {
            // It was to be repeated, and is not.
            self.attempts.end(Some(Failure::interrupted()), None, at_ms);
        }
        self.state = state;
        self.ended_ms = Some(at_ms);
        self.dead = state.reason().is_some() && self.terms.dead_letters;
        self.undelivered = (0..).take(self.routes().len()).collect();
    }
}
