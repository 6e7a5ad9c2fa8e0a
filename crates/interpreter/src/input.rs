//! All that can reach an execution.

use std::sync::Arc;

use crate::token::TokenKey;
use everstep_history::{Attempt, Failure, FailureStage, Payload};

/// Who an execution is: what the context object and ARNs are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub execution_arn: Arc<str>,
    pub execution_name: Arc<str>,
    pub role_arn: Arc<str>,
    pub machine_arn: Arc<str>,
    pub machine_name: Arc<str>,
    /// What its task tokens are made with.
    pub token_key: TokenKey,
}

/// The moment of an input, and the seed of all that is drawn while it is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasion<'o> {
    pub now_ms: i64,
    pub seed: u64,
    /// Activities that the definition names and that do not exist: they cannot be scheduled.
    pub missing_activities: &'o [&'o str],
}

impl Occasion<'_> {
    #[must_use]
    pub fn new(now_ms: i64, seed: u64) -> Self {
        Self { now_ms, seed, missing_activities: &[] }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Start {
        input: Payload,
    },
    TaskStarted {
        attempt: Attempt,
        worker: Option<Arc<str>>,
    },
    TaskSubmitted {
        attempt: Attempt,
        output: Payload,
    },
    TaskSucceeded {
        attempt: Attempt,
        output: Payload,
    },
    TaskFailed {
        attempt: Attempt,
        failure: Failure,
        stage: FailureStage,
    },
    /// How the children of a distributed Map ended, in the order of their inputs.
    MapRunFinished {
        attempt: Attempt,
        children: Vec<Result<Payload, Failure>>,
    },
    /// The dataset of a distributed Map could not be read or its results not written.
    MapRunFailed {
        attempt: Attempt,
        failure: Failure,
    },
    /// Time has come for whatever is due.
    TimePassed,
    /// A turn ended before all was decided: what is ready continues.
    Continue,
    Stop {
        failure: Failure,
    },
    Redrive,
}

impl Input {
    /// Whether it leads to evaluations, or is large itself: all that can take time.
    #[must_use]
    pub fn may_take_long(&self) -> bool {
        !matches!(self, Self::TaskStarted { .. } | Self::TaskSubmitted { .. } | Self::Stop { .. })
    }

    /// About how many bytes it brings.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Start { input: payload }
            | Self::TaskSubmitted { output: payload, .. }
            | Self::TaskSucceeded { output: payload, .. } => payload.weight(),
            Self::MapRunFinished { children, .. } => {
                children.iter().flatten().map(Payload::weight).sum()
            }
            _ => 0,
        }
    }
}
