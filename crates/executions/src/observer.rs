//! The interface for logs and metrics: what happens in an engine, and what goes wrong.

use std::sync::Arc;

use everstep_history::Event;

use crate::error::Error;
use crate::id::ExecutionId;
use crate::revision::Prepared;

/// What happened in an execution between two waits.
#[derive(Debug, Clone)]
pub struct Step {
    pub execution: ExecutionId,
    pub execution_arn: Arc<str>,
    pub prepared: Arc<Prepared>,
    /// From 0.
    pub sequence: u32,
    pub events: Vec<Event>,
}

/// Called on the engine's own threads: no method may wait.
pub trait Observer: Send + Sync {
    /// Whether it wants the steps of such executions: they are copied for it.
    fn wants_steps(&self, _of: &Prepared) -> bool {
        false
    }

    /// Called when a step that it wants is durable, in the order of its steps. A crash right then
    /// loses the call: it does not come again.
    fn stepped(&self, _step: Step) {}

    /// One execution cannot be read or cannot continue. The others are not affected.
    fn stuck(&self, _id: ExecutionId, _error: &Error) {}

    /// One execution is not continued until it is released or stopped. Said when that begins, and at each start.
    fn quarantined(&self, _execution_arn: &str, _why: &str) {}

    /// Nothing can be written any more. Said once; the engine answers every request with this error and
    /// has to be started again.
    fn failed(&self, _error: &Error) {}
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
