//! What a trigger is.

use std::path::PathBuf;

use everstep_retry::Policy;
use everstep_schedule::Schedule;
use everstep_target::ExecutionName;

use crate::model::Target;
use crate::origin::{Given, Line};
use crate::text::Text;

/// What starts a function or a state machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    pub name: String,
    pub line: Line,
    pub kind: TriggerKind,
    /// A function or a state machine.
    pub target: Target,
    /// Names the executions of a state machine. It names the message.
    pub execution_name: Option<ExecutionName>,
    /// In place of the function's; always there for a state machine.
    pub policy: Option<Given<Policy>>,
    /// In place of the function's.
    pub max_event_age_ms: Option<Given<u64>>,
    /// How many may be accepted and not over.
    pub max_backlog: u32,
    pub enabled: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TriggerKind {
    Timer(Timer),
    Http(Http),
    File(Folder),
}

impl TriggerKind {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Timer(_) => "timer",
            Self::Http(_) => "http",
            Self::File(_) => "file",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Timer {
    pub schedule: Schedule,
    pub missed: Missed,
    pub overlap: Overlap,
    pub run_on_startup: bool,
    /// The event, in place of one that describes the tick: JSON text.
    pub input: Option<String>,
}

/// What becomes of ticks that came while the server was away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// One run for all of them.
    #[default]
    One,
    Skip,
    /// A run for each of the first so many.
    All {
        limit: u32,
    },
}

/// What becomes of a tick that comes while the run before it is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// One run when it is, for all that came meanwhile.
    #[default]
    Coalesce,
    Skip,
    Allow,
}

/// Requests to `/triggers/NAME`.
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// What a request must bring.
    pub secret: Option<Text>,
    pub signature: Option<Signature>,
    /// The header whose value is the same when a request is repeated.
    pub idempotency_header: String,
    pub format: Format,
    pub body_bytes_max: u32,
}

/// The HMAC (SHA-256) of the body, in a header.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    pub header: String,
    pub secret: Text,
    /// What stands before it: `sha256=`
    pub prefix: String,
    pub encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    #[default]
    Hex,
    Base64,
}

/// What the body of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One event.
    #[default]
    Json,
    /// A list of events, and the handshake of Azure's Event Grid.
    EventGrid,
}

/// Files that are put into a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    pub directory: PathBuf,
    /// Which names: `*.csv`
    pub pattern: Option<String>,
    /// A file that has not changed for so long is whole.
    pub stable_ms: u64,
    /// How often it is looked for.
    pub interval_ms: u64,
    /// Where files go that have been processed, and those that could not be.
    pub done: PathBuf,
    pub failed: PathBuf,
    pub on_exhausted: OnExhausted,
}

/// What becomes of an item whose last retry has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExhausted {
    /// It is kept as a dead letter, and others follow.
    #[default]
    DeadLetter,
    /// Nothing follows until somebody resumes the trigger.
    Block,
    /// It is not kept.
    Skip,
}
