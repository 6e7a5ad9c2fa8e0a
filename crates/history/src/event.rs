//! All that can have happened.

use std::sync::Arc;

use crate::Payload;

/// A running scope: the machine itself (0), a branch, or an iteration, in the order of their start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub u32);

impl FrameId {
    /// The machine itself.
    pub const ROOT: Self = Self(0);
}

/// A state by its place in its own machine.
pub type Position = u32;

/// Which attempt of which state a task belongs to: what its token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt {
    pub frame: FrameId,
    /// Counts every task the execution has scheduled, so that no two are alike.
    pub number: u32,
}

/// An error as it travels: both parts may be missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    pub error: Option<Arc<str>>,
    pub cause: Option<Arc<str>>,
}

impl Failure {
    pub fn new(error: impl Into<Arc<str>>, cause: impl Into<Arc<str>>) -> Self {
        Self { error: Some(error.into()), cause: Some(cause.into()) }
    }

    /// The name that retriers and catchers match.
    #[must_use]
    pub fn name(&self) -> &str {
        self.error.as_deref().unwrap_or_default()
    }
}

/// How far a task got before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureStage {
    #[default]
    Run,
    Schedule,
    Start,
    Submit,
}

/// One thing that happened. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    ExecutionStarted {
        at_ms: i64,
        input: Payload,
    },
    StateEntered {
        frame: FrameId,
        at_ms: i64,
        state: Position,
        input: Payload,
    },
    /// `next` is where the frame goes, or nowhere if it has ended.
    StateExited {
        frame: FrameId,
        at_ms: i64,
        output: Payload,
        assigned: Vec<(Arc<str>, Payload)>,
        next: Option<Position>,
    },

    TaskScheduled {
        attempt: Attempt,
        at_ms: i64,
        parameters: Payload,
        timeout_seconds: Option<u64>,
        heartbeat_seconds: Option<u64>,
        /// When it is given up on, whatever the settings say to the user.
        deadline_ms: Option<i64>,
        credentials: Option<Payload>,
    },
    TaskStarted {
        attempt: Attempt,
        at_ms: i64,
        worker: Option<Arc<str>>,
    },
    TaskSubmitted {
        attempt: Attempt,
        at_ms: i64,
        output: Payload,
    },
    TaskSucceeded {
        attempt: Attempt,
        at_ms: i64,
        output: Payload,
    },
    TaskFailed {
        attempt: Attempt,
        at_ms: i64,
        failure: Failure,
        stage: FailureStage,
    },
    /// `heartbeat`: a heartbeat was missed, rather than the deadline.
    TaskTimedOut {
        attempt: Attempt,
        at_ms: i64,
        failure: Failure,
        heartbeat: bool,
    },
    /// A state stops because the scope it is in has failed; `attempt` is the task whose result is
    /// no longer needed.
    StateAborted {
        frame: FrameId,
        at_ms: i64,
        attempt: Option<Attempt>,
    },

    /// A retrier took the failure; the state runs again at `due_ms`.
    RetryScheduled {
        frame: FrameId,
        at_ms: i64,
        retrier: u32,
        due_ms: i64,
        failure: Failure,
    },
    /// A state failed for good: no retrier took it, or not any more. `retrier` is the one that
    /// matched and has no retry left, `catcher` the one that takes over.
    StateFailed {
        frame: FrameId,
        at_ms: i64,
        failure: Failure,
        retrier: Option<u32>,
        catcher: Option<u32>,
    },
    WaitStarted {
        frame: FrameId,
        at_ms: i64,
        until_ms: i64,
    },

    /// Branch `n` is frame `first + n`.
    ParallelStarted {
        frame: FrameId,
        at_ms: i64,
        first: FrameId,
        branches: u32,
        input: Payload,
    },
    ParallelSucceeded {
        frame: FrameId,
        at_ms: i64,
    },
    ParallelFailed {
        frame: FrameId,
        at_ms: i64,
        failure: Failure,
    },

    MapStarted {
        frame: FrameId,
        at_ms: i64,
        items: Payload,
        max_concurrency: u32,

        distributed: bool,
    },
    /// `after` is the iteration that made room for this one.
    IterationStarted {
        frame: FrameId,
        at_ms: i64,
        index: u32,
        child: FrameId,
        input: Payload,
        after: Option<FrameId>,
    },
    IterationSucceeded {
        child: FrameId,
        at_ms: i64,
    },
    IterationFailed {
        child: FrameId,
        at_ms: i64,
        failure: Failure,
    },
    IterationAborted {
        child: FrameId,
        at_ms: i64,
    },
    MapSucceeded {
        frame: FrameId,
        at_ms: i64,
    },
    MapFailed {
        frame: FrameId,
        at_ms: i64,
        failure: Failure,
    },

    /// Inputs of the children of a distributed Map that is about to start: the next ones, in order. There are
    /// events of this kind where one would be too large or would take too long.
    MapInputsSelected {
        frame: FrameId,
        at_ms: i64,
        inputs: Payload,
    },
    /// The items of a distributed Map were handed to child executions.
    MapRunStarted {
        frame: FrameId,
        at_ms: i64,
        attempt: Attempt,
        /// One for each child, beyond those that were selected before.
        inputs: Payload,
        tolerated_count: Option<u64>,
        tolerated_percentage: Option<f64>,
    },
    /// A Map Run continues with the children that had not succeeded. `run` is the attempt that it was
    /// started with.
    MapRunRedriven {
        frame: FrameId,
        at_ms: i64,
        attempt: Attempt,
        run: Attempt,
        count: u32,
    },
    MapRunSucceeded {
        frame: FrameId,
        at_ms: i64,
        output: Payload,
    },
    MapRunFailed {
        frame: FrameId,
        at_ms: i64,
        failure: Failure,
    },

    /// An expression has no value; the failure it causes follows.
    EvaluationFailed {
        frame: FrameId,
        at_ms: i64,
        failure: Failure,
        location: Option<Arc<str>>,
    },

    ExecutionSucceeded {
        at_ms: i64,
        output: Payload,
    },
    ExecutionFailed {
        at_ms: i64,
        failure: Failure,
    },
    ExecutionTimedOut {
        at_ms: i64,
    },
    ExecutionAborted {
        at_ms: i64,
        failure: Failure,
    },
    /// It continues from where it failed.
    ExecutionRedriven {
        at_ms: i64,
        count: u32,
    },
}

impl Event {
    /// The frame in which it happened; none for events of the whole execution.
    #[must_use]
    pub fn frame(&self) -> Option<FrameId> {
        match self {
            Self::StateEntered { frame, .. }
            | Self::StateExited { frame, .. }
            | Self::StateAborted { frame, .. }
            | Self::RetryScheduled { frame, .. }
            | Self::StateFailed { frame, .. }
            | Self::WaitStarted { frame, .. }
            | Self::ParallelStarted { frame, .. }
            | Self::ParallelSucceeded { frame, .. }
            | Self::ParallelFailed { frame, .. }
            | Self::MapStarted { frame, .. }
            | Self::IterationStarted { frame, .. }
            | Self::MapSucceeded { frame, .. }
            | Self::MapFailed { frame, .. }
            | Self::MapInputsSelected { frame, .. }
            | Self::MapRunStarted { frame, .. }
            | Self::MapRunRedriven { frame, .. }
            | Self::MapRunSucceeded { frame, .. }
            | Self::MapRunFailed { frame, .. }
            | Self::EvaluationFailed { frame, .. } => Some(*frame),
            Self::TaskScheduled { attempt, .. }
            | Self::TaskStarted { attempt, .. }
            | Self::TaskSubmitted { attempt, .. }
            | Self::TaskSucceeded { attempt, .. }
            | Self::TaskFailed { attempt, .. }
            | Self::TaskTimedOut { attempt, .. } => Some(attempt.frame),
            Self::IterationSucceeded { child, .. }
            | Self::IterationFailed { child, .. }
            | Self::IterationAborted { child, .. } => Some(*child),
            Self::ExecutionStarted { .. }
            | Self::ExecutionSucceeded { .. }
            | Self::ExecutionFailed { .. }
            | Self::ExecutionTimedOut { .. }
            | Self::ExecutionAborted { .. }
            | Self::ExecutionRedriven { .. } => None,
        }
    }

    /// The attempt that it schedules.
    #[must_use]
    pub fn scheduled(&self) -> Option<Attempt> {
        match self {
            Self::TaskScheduled { attempt, .. }
            | Self::MapRunStarted { attempt, .. }
            | Self::MapRunRedriven { attempt, .. } => Some(*attempt),
            _ => None,
        }
    }

    /// When it happened, in milliseconds since 1970.
    #[must_use]
    pub fn at_ms(&self) -> i64 {
        match self {
            Self::ExecutionStarted { at_ms, .. }
            | Self::StateEntered { at_ms, .. }
            | Self::StateExited { at_ms, .. }
            | Self::TaskScheduled { at_ms, .. }
            | Self::TaskStarted { at_ms, .. }
            | Self::TaskSubmitted { at_ms, .. }
            | Self::TaskSucceeded { at_ms, .. }
            | Self::TaskFailed { at_ms, .. }
            | Self::TaskTimedOut { at_ms, .. }
            | Self::StateAborted { at_ms, .. }
            | Self::RetryScheduled { at_ms, .. }
            | Self::StateFailed { at_ms, .. }
            | Self::WaitStarted { at_ms, .. }
            | Self::ParallelStarted { at_ms, .. }
            | Self::ParallelSucceeded { at_ms, .. }
            | Self::ParallelFailed { at_ms, .. }
            | Self::MapStarted { at_ms, .. }
            | Self::IterationStarted { at_ms, .. }
            | Self::IterationSucceeded { at_ms, .. }
            | Self::IterationFailed { at_ms, .. }
            | Self::IterationAborted { at_ms, .. }
            | Self::MapSucceeded { at_ms, .. }
            | Self::MapFailed { at_ms, .. }
            | Self::MapInputsSelected { at_ms, .. }
            | Self::MapRunStarted { at_ms, .. }
            | Self::MapRunRedriven { at_ms, .. }
            | Self::MapRunSucceeded { at_ms, .. }
            | Self::MapRunFailed { at_ms, .. }
            | Self::EvaluationFailed { at_ms, .. }
            | Self::ExecutionSucceeded { at_ms, .. }
            | Self::ExecutionFailed { at_ms, .. }
            | Self::ExecutionTimedOut { at_ms, .. }
            | Self::ExecutionAborted { at_ms, .. }
            | Self::ExecutionRedriven { at_ms, .. } => *at_ms,
        }
    }
}
