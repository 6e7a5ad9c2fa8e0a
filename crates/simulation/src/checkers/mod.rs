//! What must always hold, each invariant in a file of its own, stated at its head.

mod a_key_runs_once;
mod a_record_arrives_after_its_commit_and_at_least_once;
mod a_result_counts_once;
mod accepted_is_never_lost;
mod acknowledged_is_durable;
mod an_answer_counts_once;
mod attempts_exact;
mod children_have_one_name;
mod dead_letters_agree;
mod every_execution_ends_or_waits_for_something;
mod every_request_is_answered;
mod failures_are_notified;
mod invocation_rows_agree;
mod invocations_are_removed_in_time;
mod lists_agree;
mod map_run_tally_equals_children;
mod nested_found_again;
mod no_acknowledged_start_lost;
mod no_attempt_after_a_later_one_ended;
mod no_completed_step_run_again;
mod no_offered_task_is_stranded;
mod notifications_become_invocations;
mod quarantine_is_earned;
mod recovery_is_a_fold;
mod retention_removes_everything;
mod retry_counts_exact;
mod same_attempt_same_id;
mod sessions_end;
mod slots_are_kept;
mod stop_reaches_children;
mod timers_fire_and_never_early;
mod verify_finds_no_damage;
mod what_is_accepted_runs;

use std::fmt;

use everstep_executions::{ExecutionId, Notification, Task};
use everstep_invocations::{Attempt, Delivery};
use everstep_store::Batch;

use crate::evidence::{Evidence, Reply, Request};
use crate::functions::ledger::Life as Invocation;
use crate::functions::workers::Receipt;
use crate::functions::{Reply as InvocationReply, Request as InvocationRequest};
use crate::ledger::Life;
use crate::whose::Whose;

/// Something that must hold does not.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) checker: &'static str,
    pub(crate) id: Option<Whose>,
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn boxed(checker: &'static str, id: Option<Whose>, what: String) -> Box<Self> {
        Box::new(Self { checker, id, what })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.checker, self.what)
    }
}

/// Whom it concerns, and what is wrong.
type Verdict = Result<(), (Option<Whose>, String)>;

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

    /// A failure left to be notified when this batch was the last that was durable.
    fn notify(&self, _evidence: &Evidence, _failed: &Notification, _durable_to: u64) -> Verdict {
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

    /// Code is given an attempt of an invocation when this batch was the last that was durable.
    fn attempt_started(&self, _: &Evidence, _attempt: &Attempt, _durable_to: u64) -> Verdict {
        Ok(())
    }

    /// A worker has been answered whether its result counts.
    fn attempt_settled(&self, _evidence: &Evidence, _receipt: &Receipt) -> Verdict {
        Ok(())
    }

    /// A record left for its destination when this batch was the last that was durable.
    fn delivery(&self, _evidence: &Evidence, _delivery: &Delivery, _durable_to: u64) -> Verdict {
        Ok(())
    }

    /// A request about an invocation has been answered, and what was said is the last of the facts.
    fn invocation_reply(
        &self,
        _evidence: &Evidence,
        _request: &InvocationRequest,
        _reply: &InvocationReply,
    ) -> Verdict {
        Ok(())
    }

    /// The whole story of an invocation so far.
    fn invocation(&self, _evidence: &Evidence, _life: &Invocation) -> Verdict {
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
    &a_key_runs_once::Check,
    &a_record_arrives_after_its_commit_and_at_least_once::Check,
    &a_result_counts_once::Check,
    &accepted_is_never_lost::Check,
    &acknowledged_is_durable::Check,
    &an_answer_counts_once::Check,
    &attempts_exact::Check,
    &children_have_one_name::Check,
    &dead_letters_agree::Check,
    &every_execution_ends_or_waits_for_something::Check,
    &every_request_is_answered::Check,
    &failures_are_notified::Check,
    &invocation_rows_agree::Check,
    &invocations_are_removed_in_time::Check,
    &lists_agree::Check,
    &map_run_tally_equals_children::Check,
    &nested_found_again::Check,
    &no_acknowledged_start_lost::Check,
    &no_attempt_after_a_later_one_ended::Check,
    &no_completed_step_run_again::Check,
    &no_offered_task_is_stranded::Check,
    &notifications_become_invocations::Check,
    &quarantine_is_earned::Check,
    &recovery_is_a_fold::Check,
    &retention_removes_everything::Check,
    &retry_counts_exact::Check,
    &same_attempt_same_id::Check,
    &sessions_end::Check,
    &slots_are_kept::Check,
    &stop_reaches_children::Check,
    &timers_fire_and_never_early::Check,
    &verify_finds_no_damage::Check,
    &what_is_accepted_runs::Check,
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

pub(crate) fn notify(evidence: &Evidence, failed: &Notification, durable_to: u64) -> Outcome {
    each(|checker| checker.notify(evidence, failed, durable_to))
}

pub(crate) fn reply(evidence: &Evidence, request: &Request, reply: &Reply) -> Outcome {
    each(|checker| checker.reply(evidence, request, reply))
}

pub(crate) fn attempt_started(evidence: &Evidence, attempt: &Attempt, durable_to: u64) -> Outcome {
    each(|checker| checker.attempt_started(evidence, attempt, durable_to))
}

pub(crate) fn attempt_settled(evidence: &Evidence, receipt: &Receipt) -> Outcome {
    each(|checker| checker.attempt_settled(evidence, receipt))
}

pub(crate) fn delivery(evidence: &Evidence, delivery: &Delivery, durable_to: u64) -> Outcome {
    each(|checker| checker.delivery(evidence, delivery, durable_to))
}

pub(crate) fn invocation_reply(
    evidence: &Evidence,
    request: &InvocationRequest,
    reply: &InvocationReply,
) -> Outcome {
    each(|checker| checker.invocation_reply(evidence, request, reply))
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
    for life in evidence.functions.ledger.all().filter(|life| life.fresh) {
        each(|checker| checker.invocation(evidence, life))?;
    }
    evidence.functions.ledger.mark_seen();
    Ok(())
}

/// Says what is wrong, unless it holds.
fn ensure(holds: bool, whose: impl Into<Whose>, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err((Some(whose.into()), what())) }
}
