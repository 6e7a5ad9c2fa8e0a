//! What happened in an execution: the vocabulary that is stored, and the records it is stored in.
//!
//! An execution is a fold of these events. They say what was decided, never how: no expression is
//! evaluated again to read them. States are named by their place in the definition, running
//! scopes by the order in which they were started.

mod event;
pub mod journal;
mod payload;

pub use event::{Attempt, Event, Failure, FailureStage, FrameId, Position};
pub use payload::Payload;
