//! What reaches an execution too late or was never valid, by name.

use everstep_history::Attempt;

use crate::Input;
use crate::execution::{Execution, Status, TaskPhase};

/// Why an input changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    NotStarted,
    AlreadyStarted,
    /// The execution has ended.
    Ended,
    /// Only an execution that has ended without success can be redriven, and only if its history has
    /// room for it.
    NotRedrivable,
    /// The attempt has had its result, or its time is over.
    StaleAttempt,
    /// No such attempt was ever scheduled.
    UnknownAttempt,
    /// A report about a task for the attempt of a Map Run, or the other way round.
    WrongAttempt,
    /// The same was reported before, as a runner does that is asked again after a crash.
    Repeated,
    /// Nothing is due yet.
    NotDue,
    /// Everything in it waits for something.
    NotReady,
}

/// How far an execution has come.
enum Stage {
    New,
    Running,
    Succeeded,
    /// It failed, timed out or was stopped.
    Unsuccessful,
}

impl Execution {
    /// Whether an input changes anything now, or why not.
    pub fn accepts(&self, input: &Input, now_ms: i64) -> Result<(), Refusal> {
        match (self.stage(), input) {
            (Stage::New, Input::Start { .. }) | (Stage::Running, Input::Stop { .. }) => Ok(()),
            (Stage::Unsuccessful, Input::Redrive) if self.has_room() => Ok(()),
            (_, Input::Start { .. }) => Err(Refusal::AlreadyStarted),
            (_, Input::Redrive) => Err(Refusal::NotRedrivable),
            (_, Input::TaskStarted { attempt, .. }) => {
                self.awaited_task(*attempt).and_then(|task| first(task.started_ms.is_some()))
            }
            (_, Input::TaskSubmitted { attempt, .. }) => {
                self.awaited_task(*attempt).and_then(|task| first(task.submitted))
            }
            (_, Input::TaskSucceeded { attempt, .. } | Input::TaskFailed { attempt, .. }) => {
                self.awaited_task(*attempt).map(drop)
            }
            (_, Input::MapRunFinished { attempt, .. } | Input::MapRunFailed { attempt, .. }) => {
                self.awaited_run(*attempt)
            }
            (Stage::Running, Input::TimePassed) => match self.next_due_ms() {
                Some(due_ms) if due_ms <= now_ms => Ok(()),
                _ => Err(Refusal::NotDue),
            },
            (Stage::Running, Input::Continue) => {
                if self.is_ready() {
                    Ok(())
                } else {
                    Err(Refusal::NotReady)
                }
            }
            (Stage::New, Input::TimePassed | Input::Stop { .. } | Input::Continue) => {
                Err(Refusal::NotStarted)
            }
            (_, Input::TimePassed | Input::Stop { .. } | Input::Continue) => Err(Refusal::Ended),
        }
    }

    /// Whether the result of an attempt would still be taken, or why not.
    pub fn awaited(&self, attempt: Attempt) -> Result<(), Refusal> {
        if self.awaits(attempt) {
            Ok(())
        } else if !self.knows(attempt) {
            Err(Refusal::UnknownAttempt)
        } else if self.status != Status::Running {
            Err(Refusal::Ended)
        } else {
            Err(Refusal::StaleAttempt)
        }
    }

    fn awaited_task(&self, attempt: Attempt) -> Result<&TaskPhase, Refusal> {
        self.awaited(attempt)?;
        self.task(attempt).ok_or(Refusal::WrongAttempt)
    }

    fn awaited_run(&self, attempt: Attempt) -> Result<(), Refusal> {
        self.awaited(attempt)?;
        if self.awaits_run(attempt) { Ok(()) } else { Err(Refusal::WrongAttempt) }
    }

    fn stage(&self) -> Stage {
        match self.status {
            Status::Running if self.has_started() => Stage::Running,
            Status::Running => Stage::New,
            Status::Succeeded { .. } => Stage::Succeeded,
            Status::Failed { .. } | Status::Aborted { .. } | Status::TimedOut => {
                Stage::Unsuccessful
            }
        }
    }
}

fn first(reported: bool) -> Result<(), Refusal> {
    if reported { Err(Refusal::Repeated) } else { Ok(()) }
}
