//! What triggers accept, and what becomes of it.

use everstep_invocations::InvocationId;

/// A message, a file, a request: what becomes one invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The same whenever it is brought, and no other item of the trigger has it.
    pub id: String,
    /// JSON text, unless it is unparseable.
    pub payload: Vec<u8>,
    /// It cannot be an event: it goes to the dead letters as it is.
    pub unparseable: bool,
    /// How far its source has been read, when it is accepted.
    pub position: Option<String>,
    /// How often the source has brought it, if it says so.
    pub delivery_count: Option<u32>,
    /// What its source knows it by, in this life.
    pub handle: u64,
}

/// What its source is told of an item, at most once for each time that it was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It is durable: the source need not keep it.
    Accepted { id: InvocationId, known: bool },
    /// It is over, and that is durable.
    Completed(Outcome),
    /// It was not accepted.
    Refused(Refused),
}

/// Why an item was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Too many are not over.
    Full,
    /// The trigger is paused, disabled or blocked.
    Stopped,
    TooLarge {
        bytes: usize,
        most: usize,
    },
    /// The trigger makes no event by itself.
    NeedsPayload,
    /// The engine refuses it.
    ByEngine(String),
}

/// How the invocation of an item has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// No retry is left. Its error, if there was an attempt.
    Failed {
        error: String,
    },
    /// By hand.
    Cancelled,
    /// By hand, it has become another invocation.
    Redriven {
        into: InvocationId,
    },
    /// Nothing is stored of it any more.
    Gone,
}

impl Outcome {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded => "Succeeded",
            Self::Failed { .. } => "Failed",
            Self::Cancelled => "Cancelled",
            Self::Redriven { .. } => "Redriven",
            Self::Gone => "Unknown",
        }
    }
}
