//! Tasks that call this very service: executions that start executions, and all its other operations.
//!
//! An execution that a task starts is labelled with the task's token, and named after the task's request id unless the
//! task names it. So a task that is dispatched again after a crash finds the execution that it has started, whether
//! that is over or not; and the cancellation of a task finds it by what the parent's journal says of the attempt.
//! Nothing else is kept.
//!
//! - `driver`: makes the call and, for `.sync`, waits for the execution that it started;
//! - `cancel`: stops the execution that a cancelled task has started.

mod cancel;
mod driver;
#[cfg(test)]
mod tests;

pub use cancel::{Cancel, CancelInput, CancelRequest};
pub use driver::{Called, Driver, Input, Refusal, Request};

/// The label of an execution that a task has started: the task's token.
pub const PARENT: &str = "parent";

/// The engine has too many requests: try again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// How long to pause when the engine is busy.
const PAUSE_MS: i64 = 100;
