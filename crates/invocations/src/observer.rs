//! What whoever runs the engine may want to log or count.

use crate::error::Error;
use crate::id::{AttemptId, InvocationId};
use crate::invocation::Invocation;
use everstep_target::Target;

/// Every method may be called from any thread, and must be short.
pub trait Observer: Send + Sync {
    /// A result came that does not count: the attempt has had one, or nobody waits for it any more.
    fn stale_result(&self, _id: InvocationId, _attempt: AttemptId) {}

    /// Whether it wants to hear of every change: invocations are copied for it.
    fn wants_changes(&self) -> bool {
        false
    }

    /// An attempt of an invocation has ended, or the invocation itself, and that is durable. A crash right
    /// then loses the call: it does not come again.
    fn changed(&self, _invocation: &Invocation) {}

    /// A destination could not be reached; it is tried again.
    fn delivery_failed(&self, _id: InvocationId, _target: &Target, _why: &str) {}

    /// One invocation cannot be read. The others are not affected.
    fn stuck(&self, _id: InvocationId, _error: &Error) {}

    /// The store has failed: nothing goes on until the engine is opened again.
    fn failed(&self, _error: &Error) {}
}

/// Does not care.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
