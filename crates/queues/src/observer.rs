//! The interface for logs and metrics of the engine.

use crate::error::Error;

/// Every method may be called from any thread, and must be short.
pub trait Observer: Send + Sync {
    /// A message could not be moved to another queue; that is retried.
    fn move_failed(&self, _target: &str, _error: &Error) {}

    /// A row of a queue cannot be read. Other messages are not affected.
    fn stuck(&self, _queue: &str, _error: &Error) {}

    /// The store has failed: nothing works until the engine is opened again.
    fn failed(&self, _error: &Error) {}
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
