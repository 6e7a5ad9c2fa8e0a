//! Who wants to hear of what goes wrong.

use crate::error::Error;
use crate::id::ExecutionId;

/// Called on the engine's own threads: no method may wait.
pub trait Observer: Send + Sync {
    /// One execution cannot be read or go on; the others do.
    fn stranded(&self, _id: ExecutionId, _error: &Error) {}

    /// Nothing can be written any more. Said once; the engine answers every request with this error and
    /// has to be started again.
    fn failed(&self, _error: &Error) {}
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
