//! All that can reach a shard.

use everstep_retry::Policy;
use serde_json::{Map, Value};

use crate::concurrency::Permit;
use crate::error::{Error, Result};
use crate::function::{Outcome, Receipt};
use crate::id::{AttemptId, InvocationId};
use crate::intake::Intake;
use crate::invocation::{Source, State};
use crate::request::Request;
use crate::session::StepEnd;

/// Called exactly once, when the answer is known and what it rests on is durable.
pub type Reply<T> = Box<dyn FnOnce(Result<T>) + Send>;

pub enum Message {
    Accept {
        acceptance: Box<Acceptance>,
        reply: Reply<Accepted>,
        watcher: Option<Reply<Finished>>,
    },
    /// Several events, accepted in one commit.
    AcceptAll {
        intake: Box<Intake>,
        reply: Reply<Vec<Accepted>>,
    },
    /// A synchronous call without a key.
    Call {
        call: Box<Call>,
        reply: Reply<Finished>,
    },
    /// There is a slot for it.
    Ready {
        id: InvocationId,
        permit: Permit,
    },
    /// A worker is ready to take an attempt.
    Claim {
        id: InvocationId,
        attempt: AttemptId,
        receipt: Receipt,
    },
    Ended {
        id: InvocationId,
        attempt: AttemptId,
        outcome: Outcome,
        receipt: Receipt,
    },
    Cancel {
        id: InvocationId,
        reply: Reply<()>,
    },
    Watch {
        id: InvocationId,
        reply: Reply<Finished>,
    },
    Redrive {
        id: InvocationId,
        redrive: Resend,
        reply: Reply<InvocationId>,
    },
    /// Ends the quarantine of an invocation; whether there was one.
    Release {
        id: InvocationId,
        reply: Reply<bool>,
    },
    Purge {
        id: InvocationId,
        /// Purges it even if deliveries are still to be made.
        undelivered: bool,
        reply: Reply<()>,
    },
    /// Its end is durable: make this delivery.
    Deliver {
        id: InvocationId,
        index: u32,
    },
    /// What became of a delivery.
    Delivered {
        id: InvocationId,
        /// The acceptance of the invocation that made it: by now, its key may have led to another one.
        accepted_ms: i64,
        index: u32,
        outcome: std::result::Result<(), String>,
    },
    /// A step of a session is over.
    Step {
        session: InvocationId,
        end: Box<StepEnd>,
        reply: Reply<()>,
    },
}

/// A function to be run once, of which nothing is written down.
#[derive(Debug, Clone)]
pub struct Call {
    pub ids: (InvocationId, AttemptId),
    pub request: Request,
    pub client_context: Map<String, Value>,
}

/// What is to be invoked.
#[derive(Debug, Clone)]
pub struct Acceptance {
    pub id: InvocationId,
    pub function: String,
    pub payload: Vec<u8>,
    pub source: Source,
    pub key: Option<String>,
    pub mode: Mode,
    /// The session that it continues, and how many steps that has had before it.
    pub session: Option<(InvocationId, u32)>,
    /// What the sender wants done about failures; what the function says if there is nothing.
    pub handling: Option<Handling>,
}

/// What is done about failures of an event, in place of what its function says.
#[derive(Debug, Clone, PartialEq)]
pub struct Handling {
    pub policy: Policy,
    /// How old the event may become before it is given up.
    pub event_age_max_ms: Option<u64>,
    /// Whether a failure is kept as a dead letter.
    pub dead_letters: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// With retries, destinations and all.
    Asynchronous,
    /// One attempt, for a caller that waits.
    Synchronous,
    /// Not at all: it goes to the dead letters.
    Unparseable,
}

/// An acceptance that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    pub id: InvocationId,
    /// It had been accepted before, with the same key.
    pub known: bool,
}

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    pub id: InvocationId,
    pub state: State,
    /// The output or the error, as JSON text; none if no attempt has ended.
    pub response: Option<Vec<u8>>,
    /// The last lines that its worker has written, as far as they are known.
    pub log: Vec<String>,
}

/// How a dead letter is sent back.
#[derive(Debug, Clone, Default)]
pub struct Resend {
    /// With the function as it is now, not as it was at acceptance.
    pub latest: bool,
    /// With this event instead of its own.
    pub payload: Option<Vec<u8>>,
    /// Not before this moment.
    pub not_before_ms: Option<i64>,
}

impl Message {
    /// Whose shard it is for.
    #[must_use]
    pub fn id(&self) -> InvocationId {
        match self {
            Self::Accept { acceptance, .. } => acceptance.id,
            Self::AcceptAll { intake, .. } => InvocationId::at(intake.home),
            Self::Call { call, .. } => call.ids.0,
            Self::Ready { id, .. }
            | Self::Claim { id, .. }
            | Self::Ended { id, .. }
            | Self::Cancel { id, .. }
            | Self::Watch { id, .. }
            | Self::Redrive { id, .. }
            | Self::Purge { id, .. }
            | Self::Release { id, .. }
            | Self::Deliver { id, .. }
            | Self::Delivered { id, .. } => *id,
            Self::Step { session, .. } => *session,
        }
    }

    /// Whether it can reach an invocation in quarantine.
    pub(crate) fn reaches_quarantined(&self) -> bool {
        matches!(
            self,
            Self::Cancel { .. } | Self::Watch { .. } | Self::Purge { .. } | Self::Release { .. }
        )
    }

    /// Answers the caller with an error.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Accept { reply, watcher, .. } => {
                if let Some(watcher) = watcher {
                    watcher(Err(error.clone()));
                }
                reply(Err(error));
            }
            Self::AcceptAll { reply, .. } => reply(Err(error)),
            Self::Claim { receipt, .. } | Self::Ended { receipt, .. } => receipt(Err(error)),
            Self::Call { reply, .. } | Self::Watch { reply, .. } => reply(Err(error)),
            Self::Redrive { reply, .. } => reply(Err(error)),
            Self::Release { reply, .. } => reply(Err(error)),
            Self::Cancel { reply, .. } | Self::Purge { reply, .. } | Self::Step { reply, .. } => {
                reply(Err(error));
            }
            Self::Ready { .. } | Self::Deliver { .. } | Self::Delivered { .. } => {}
        }
    }
}
