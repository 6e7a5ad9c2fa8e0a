//! What a trigger is to do, as its configuration says.

use everstep_invocations::{Handling, HomeId, SourceKind};
use everstep_schedule::Schedule;
use everstep_target::ExecutionName;

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub name: String,
    /// Of a stream.
    pub partition: Option<String>,
    pub kind: SourceKind,
    pub origin: Origin,
    /// The function that runs, or what stands for it.
    pub function: String,
    /// Names the executions that are started, if it is a state machine that runs.
    pub execution_name: Option<ExecutionName>,
    /// What is done about failures; what the function says if there is nothing.
    pub handling: Option<Handling>,
    pub ack: Ack,
    pub on_exhausted: OnExhausted,
    /// Whether an item waits until the one before it is over.
    pub in_order: bool,
    /// Items that may be accepted and not over.
    pub backlog_max: usize,
    /// Bytes of an item.
    pub item_bytes_max: usize,
    /// Nothing is accepted otherwise, but for what is fired by hand.
    pub enabled: bool,
    /// The server has just been started, or the trigger is new.
    pub is_startup: bool,
    /// Where its server says it is.
    pub place: Place,
}

/// For events that name where they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub region: String,
    pub account: String,
}

/// Where items come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// The machine itself makes them.
    Timer(Box<Timer>),
    /// They are asked for. `idle_ms` is the pause after none was there.
    Fetched { idle_ms: i64 },
    /// Somebody brings them, and waits for the answer.
    Offered,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Timer {
    pub schedule: Schedule,
    pub missed: Missed,
    pub overlap: Overlap,
    pub run_on_startup: bool,
    /// The event, in place of one that describes the tick: JSON text.
    pub input: Option<Vec<u8>>,
}

/// What becomes of ticks that came while nobody was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// One run, for the first of them.
    One,
    Skip,
    /// A run for each of the first so many.
    All {
        limit: u32,
    },
}

/// What becomes of a tick that comes while the run before it is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// One run when it is, for all that came meanwhile.
    Coalesce,
    Skip,
    /// It runs too.
    Allow,
}

/// When the source is rid of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ack {
    /// When its acceptance is durable.
    OnAccept,
    /// When its invocation is over, and that is durable.
    OnComplete,
}

/// What becomes of an item whose last retry has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExhausted {
    /// It is kept as a dead letter, and others follow.
    DeadLetter,
    /// Nothing follows until somebody resumes the trigger: then it is sent back first.
    Block,
    /// It is not kept.
    Skip,
}

impl Plan {
    /// Where its notes and its invocations are.
    #[must_use]
    pub fn home(&self) -> HomeId {
        let names = [Some("trigger"), Some(self.name.as_str()), self.partition.as_deref()];
        HomeId::named(&names.into_iter().flatten().collect::<Vec<_>>())
    }
}
