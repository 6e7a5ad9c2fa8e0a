//! Durable invocations of functions: attempts, retries, destinations, dead letters.
//!
//! What is accepted runs until it succeeds, its policy gives up, it grows too old or is cancelled,
//! whatever happens to the engine meanwhile; then its destinations and its next functions are notified, and a
//! failure is kept as a dead letter that can be sent back. Counts are rows: a crash never resets one.
//!
//! [`Invocations`] is the way in; [`Functions`] and [`Destinations`] are what it needs done. How processes
//! are run, where triggers get their messages and what is written in a configuration is not known here.
//! `docs/design/invocations.md` has the invariants.

mod after_commit;
mod codec;
mod concurrency;
mod context;
mod destination;
mod engine;
mod error;
mod function;
mod id;
mod intake;
mod invocation;
mod layout;
mod message;
mod moment;
mod observer;
mod reader;
mod report;
mod request;
mod session;
mod settings;
mod shard;
mod shared;
mod synchronous;
mod verify;

pub use everstep_shards::{Clock, Mailbox, SystemClock};

pub use destination::{Delivered, Delivery, Destinations};
pub use engine::Invocations;
pub use error::{Error, Result};
pub use everstep_target::Target;
pub use function::{
    Attempt, Claim, Done, Edge, EdgeInput, Failure, FunctionSettings, Functions, INTERRUPTED,
    INTERRUPTIONS_MAX, Interrupted, Outcome, Receipt, RetryMetadata, Terms,
};
pub use id::{AttemptId, HomeId, InvocationId, NotAnId};
pub use intake::{Intake, Note};
pub use invocation::{
    AttemptRecord, Attempts, Happened, Invocation, Reason, Source, SourceKind, State, What,
};
pub use message::{Acceptance, Accepted, Call, Finished, Handling, Message, Mode, Reply, Resend};
pub use observer::{Observer, Silent};
pub use reader::{Bookmark, Filter, Page, Shown};
pub use request::{Redrive, Request};
pub use session::{Session, SessionStatus, SessionStep};
pub use settings::Settings;
pub use shard::Shard;
pub use shared::{Parts, Shared};
pub use verify::{Verified, verify};

#[cfg(test)]
mod tests;
