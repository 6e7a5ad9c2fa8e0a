//! What must always hold, each invariant in a file of its own, stated at its head.

mod a_result_counts_once;
mod acknowledged_is_durable;
mod every_execution_ends_or_waits_for_something;
mod every_request_is_answered;
mod failures_are_told;
mod lists_agree;
mod no_acknowledged_start_lost;
mod no_completed_step_run_again;
mod recovery_is_a_fold;
mod retention_removes_everything;
mod retry_counts_exact;
mod same_attempt_same_id;
mod timers_fire_and_never_early;

use std::fmt;

use everstep_executions::{ExecutionId, Failed, Task};
use everstep_store::Batch;

use crate::evidence::{Evidence, Reply, Request};
use crate::ledger::Life;

/// Something that must hold does not.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) checker: &'static str,
    pub(crate) id: Option<ExecutionId>,
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn boxed(checker: &'static str, id: Option<ExecutionId>, what: String) -> Box<Self> {
        Box::new(Self { checker, id, what })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.checker, self.what)
    }
}

/// The execution concerned, and what is wrong with it.
type Verdict = Result<(), (Option<ExecutionId>, String)>;

/// Each method is called when its occasion comes, with all that is known then.
trait Checker: Sync {
    fn name(&self) -> &'static str;

    /// A batch was handed to the disk.
    fn batch(&self, _evidence: &Evidence, _batch: &Batch) -> Verdict {
        Ok(())
    }

    /// An execution has made a step, its last one.
    fn step(&self, _evidence: &Evidence, _life: &Life) -> Verdict {
        Ok(())
    }

    /// A task left the engine when this batch was the last that was durable.
    fn dispatch(&self, _evidence: &Evidence, _task: &Task, _durable_to: u64) -> Verdict {
        Ok(())
    }

    /// A failure was told when this batch was the last that was durable.
    fn tell(&self, _evidence: &Evidence, _failed: &Failed, _durable_to: u64) -> Verdict {
        Ok(())
    }

    /// A request has been answered, and what was said is among the facts.
    fn reply(&self, _evidence: &Evidence, _request: &Request, _reply: &Reply) -> Verdict {
        Ok(())
    }

    /// The whole story of an execution so far.
    fn life(&self, _evidence: &Evidence, _life: &Life) -> Verdict {
        Ok(())
    }

    fn before_crash(&self, _evidence: &Evidence) -> Verdict {
        Ok(())
    }

    /// The next engine has opened the store, and has had no turn.
    fn after_crash(&self, _evidence: &Evidence) -> Verdict {
        Ok(())
    }

    /// The engine has nothing to do, and everything is durable.
    fn quiet(&self, _evidence: &Evidence) -> Verdict {
        Ok(())
    }

    /// No fault for a long time, and every task was answered.
    fn end(&self, _evidence: &Evidence) -> Verdict {
        Ok(())
    }
}

const ALL: &[&dyn Checker] = &[
    &a_result_counts_once::Check,
    &acknowledged_is_durable::Check,
    &every_execution_ends_or_waits_for_something::Check,
    &every_request_is_answered::Check,
    &failures_are_told::Check,
    &lists_agree::Check,
    &no_acknowledged_start_lost::Check,
    &no_completed_step_run_again::Check,
    &recovery_is_a_fold::Check,
    &retention_removes_everything::Check,
    &retry_counts_exact::Check,
    &same_attempt_same_id::Check,
    &timers_fire_and_never_early::Check,
];

/// The names of all checkers, with those that the world itself is.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter()
        .map(|checker| checker.name())
        .chain(["expectations_hold", "the_engine_comes_to_rest"])
}

type Outcome = Result<(), Box<Violation>>;

fn each(check: impl Fn(&dyn Checker) -> Verdict) -> Outcome {
    for checker in ALL {
        check(*checker).map_err(|(id, what)| Violation::boxed(checker.name(), id, what))?;
    }
    Ok(())
}

pub(crate) fn batch(evidence: &Evidence, batch: &Batch) -> Outcome {
    each(|checker| checker.batch(evidence, batch))
}

pub(crate) fn step(evidence: &Evidence, id: ExecutionId) -> Outcome {
    let Some(life) = evidence.ledger.last(id) else { return Ok(()) };
    each(|checker| checker.step(evidence, life))
}

pub(crate) fn dispatch(evidence: &Evidence, task: &Task, durable_to: u64) -> Outcome {
    each(|checker| checker.dispatch(evidence, task, durable_to))
}

pub(crate) fn tell(evidence: &Evidence, failed: &Failed, durable_to: u64) -> Outcome {
    each(|checker| checker.tell(evidence, failed, durable_to))
}

pub(crate) fn reply(evidence: &Evidence, request: &Request, reply: &Reply) -> Outcome {
    each(|checker| checker.reply(evidence, request, reply))
}

pub(crate) fn before_crash(evidence: &mut Evidence) -> Outcome {
    lives(evidence)?;
    each(|checker| checker.before_crash(evidence))
}

pub(crate) fn after_crash(evidence: &Evidence) -> Outcome {
    each(|checker| checker.after_crash(evidence))
}

pub(crate) fn quiet(evidence: &mut Evidence) -> Outcome {
    lives(evidence)?;
    each(|checker| checker.quiet(evidence))
}

pub(crate) fn end(evidence: &Evidence) -> Outcome {
    each(|checker| checker.end(evidence))
}

/// The stories that have changed.
fn lives(evidence: &mut Evidence) -> Outcome {
    for life in evidence.ledger.all().filter(|life| life.fresh) {
        each(|checker| checker.life(evidence, life))?;
    }
    evidence.ledger.mark_seen();
    Ok(())
}

/// Says what is wrong with an execution, unless it holds.
fn ensure(holds: bool, id: ExecutionId, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err((Some(id), what())) }
}
