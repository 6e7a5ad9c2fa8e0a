//! The interface for logs and metrics of an engine.

use crate::error::Error;
use crate::id::{AttemptId, InvocationId};
use crate::invocation::Invocation;
use everstep_target::Target;

/// Every method may be called from any thread, and must be short.
pub trait Observer: Send + Sync {
    /// A result came that does not count: the attempt has had one, or was given up.
    fn stale_result(&self, _id: InvocationId, _attempt: AttemptId) {}

    /// Whether it wants every change: invocations are copied for it.
    fn wants_changes(&self) -> bool {
        false
    }

    /// An attempt of an invocation has ended, or the invocation itself, and that is durable. A crash right
    /// then loses the call: it does not come again.
    fn changed(&self, _invocation: &Invocation) {}

    /// A delivery has failed; it is retried.
    fn delivery_failed(&self, _id: InvocationId, _target: &Target, _why: &str) {}

    /// One invocation cannot be read. The others are not affected.
    fn stuck(&self, _id: InvocationId, _error: &Error) {}

    /// One invocation is not continued until it is released or cancelled. Said at each start.
    fn quarantined(&self, _id: InvocationId, _why: &str) {}

    /// The store has failed: nothing runs until the engine is opened again.
    fn failed(&self, _error: &Error) {}
}

/// Ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
