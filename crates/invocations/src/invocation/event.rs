//! All that can happen to an invocation.

use crate::function::Failure;
use crate::id::{AttemptId, InvocationId};
use crate::invocation::Reason;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// A worker takes it.
    AttemptStarted {
        attempt: AttemptId,
        at_ms: i64,
    },
    /// The engine that ran it is gone; it is to be repeated.
    AttemptInterrupted {
        at_ms: i64,
    },
    /// `interrupted` if it has failed because the engine died while it ran.
    AttemptFailed {
        failure: Failure,
        worker_pid: Option<u32>,
        interrupted: bool,
        at_ms: i64,
    },
    /// The attempt has not run after all.
    AttemptThrottled {
        at_ms: i64,
    },
    /// The function could not be run, and it was known before an attempt was started.
    AttemptPostponed,
    RetryScheduled {
        rule: usize,
        delay_ms: u64,
        due_ms: i64,
    },
    WaitScheduled {
        due_ms: i64,
    },
    InvocationSucceeded {
        worker_pid: Option<u32>,
        at_ms: i64,
    },
    InvocationExhausted {
        reason: Reason,
        at_ms: i64,
    },
    InvocationExpired {
        at_ms: i64,
    },
    InvocationCancelled {
        at_ms: i64,
    },
    InvocationParked {
        at_ms: i64,
    },
    DestinationDelivered {
        index: u32,
    },
    InvocationRedriven {
        into: InvocationId,
    },
}
