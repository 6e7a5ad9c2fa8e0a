//! What has happened to an invocation, in order, as people are shown it.

use super::{Invocation, State};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    pub at_ms: i64,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    InvocationAccepted,
    AttemptStarted {
        n: u32,
    },
    /// The engine died so many times while it ran.
    AttemptInterrupted {
        n: u32,
        times: u32,
    },
    AttemptFailed {
        n: u32,
        error: String,
    },
    RetryScheduled {
        n: u32,
        due_ms: i64,
    },
    InvocationSucceeded,
    InvocationExhausted,
    InvocationExpired,
    InvocationCancelled,
    InvocationParked,
    /// All deliveries are made; their times are not kept.
    DestinationDelivered {
        count: usize,
    },
}

impl What {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvocationAccepted => "InvocationAccepted",
            Self::AttemptStarted { .. } => "AttemptStarted",
            Self::AttemptInterrupted { .. } => "AttemptInterrupted",
            Self::AttemptFailed { .. } => "AttemptFailed",
            Self::RetryScheduled { .. } => "RetryScheduled",
            Self::InvocationSucceeded => "InvocationSucceeded",
            Self::InvocationExhausted => "InvocationExhausted",
            Self::InvocationExpired => "InvocationExpired",
            Self::InvocationCancelled => "InvocationCancelled",
            Self::InvocationParked => "InvocationParked",
            Self::DestinationDelivered { .. } => "DestinationDelivered",
        }
    }
}

impl Invocation {
    /// Of attempts that are only counted nothing is said.
    #[must_use]
    pub fn history(&self) -> Vec<Happened> {
        let mut history =
            vec![Happened { at_ms: self.accepted_ms, what: What::InvocationAccepted }];
        let mut add = |at_ms, what| history.push(Happened { at_ms, what });
        for attempt in self.attempts.kept() {
            let n = attempt.n;
            if attempt.interruptions > 0 {
                let at_ms = attempt.interrupted_ms.unwrap_or(attempt.started_ms);
                add(at_ms, What::AttemptInterrupted { n, times: attempt.interruptions });
            }
            if attempt.interrupted_ms.is_none() {
                add(attempt.started_ms, What::AttemptStarted { n });
            }
            let Some(ended_ms) = attempt.ended_ms else { continue };
            if let Some(failure) = &attempt.failure {
                add(ended_ms, What::AttemptFailed { n, error: failure.error_type.clone() });
            }
            if let Some(delay) = attempt.next_delay_ms {
                let due_ms = ended_ms.saturating_add(i64::try_from(delay).unwrap_or(i64::MAX));
                add(ended_ms, What::RetryScheduled { n: n + 1, due_ms });
            }
        }
        let end = match self.state {
            State::Succeeded => What::InvocationSucceeded,
            State::Exhausted { .. } => What::InvocationExhausted,
            State::Expired => What::InvocationExpired,
            State::Cancelled => What::InvocationCancelled,
            State::Parked => What::InvocationParked,
            State::Accepted | State::Running | State::Waiting { .. } => return history,
        };
        let at_ms = self.ended_ms.unwrap_or(self.accepted_ms);
        add(at_ms, end);
        let delivered = self.routes().len() - self.undelivered.len().min(self.routes().len());
        if delivered > 0 {
            add(at_ms, What::DestinationDelivered { count: delivered });
        }
        history
    }
}
