//! All that can happen to an invocation.

use crate::function::Failure;
use crate::id::{AttemptId, InvocationId};
use crate::invocation::Reason;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    AttemptStarted {
        attempt: AttemptId,
        at_ms: i64,
    },
    /// `free` if it was interrupted and that does not use up a retry.
    AttemptFailed {
        failure: Failure,
        worker_pid: Option<u32>,
        free: bool,
        at_ms: i64,
    },
    /// The attempt has not run after all.
    AttemptThrottled,
    /// The function could not be run, and it was known before an attempt was started.
    AttemptPostponed,
    RetryScheduled {
        rule: Option<usize>,
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
