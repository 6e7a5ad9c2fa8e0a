//! An attempt keeps its token and request id over crashes. It leaves the engine when it is durable, once in
//! the life of an engine; `again` is said exactly when an earlier engine may have sent it. After a crash it
//! is dispatched again if and only if it is open and no worker holds it.

use everstep_executions::Task;
use everstep_history::Event;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "same_attempt_same_id"
    }

    fn dispatch(&self, evidence: &Evidence, task: &Task, durable_to: u64) -> Verdict {
        let (id, attempt) = (task.execution, task.attempt);
        if evidence.is_express(id) {
            return Ok(());
        }
        let Some((_, batch, generation)) = evidence.scheduled(id, attempt) else {
            return Err((
                Some(id.into()),
                format!("{attempt:?} was never scheduled, and is dispatched"),
            ));
        };
        ensure(batch <= durable_to, id, || {
            format!("{attempt:?} is dispatched before it is durable")
        })?;
        let earlier = generation < evidence.generation;
        ensure(task.again == earlier, id, || {
            format!("{attempt:?} of an earlier engine: {earlier}, said to be: {}", task.again)
        })?;
        if evidence.ledger.of(id).count() > 1 {
            return Ok(());
        }
        // It may be that it is taken over in this very moment.
        let settled = |life: &&Life| life.steps.iter().all(|step| step.batch <= durable_to);
        if let Some(life) = evidence.ledger.last(id).filter(|_| earlier).filter(settled) {
            ensure(!life.execution.is_handed_over(attempt), id, || {
                format!("a worker holds {attempt:?}, and it is dispatched again")
            })?;
        }
        let Some(known) = evidence.witness.tried.get(&(id, attempt)) else { return Ok(()) };
        let same = known.token == task.attempt_name()
            && known.request_id == task.request_id()
            && known.job == task.job;
        ensure(same, id, || format!("{attempt:?} has another token, id or job"))?;
        let twice = known.dispatched.iter().any(|seen| seen.generation == evidence.generation);
        ensure(!twice, id, || format!("{attempt:?} is dispatched twice: {:?}", known.dispatched))
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let mut running =
            evidence.ledger.present().filter(|life| !evidence.is_quarantined(life.id));
        running.try_for_each(|life| check_open(evidence, life))
    }
}

/// Every open attempt has left this engine, or an earlier one and a worker holds it.
fn check_open(evidence: &Evidence, life: &Life) -> Verdict {
    for event in life.events() {
        let (Event::TaskScheduled { attempt, .. }
        | Event::MapRunStarted { attempt, .. }
        | Event::MapRunRedriven { attempt, .. }) = event
        else {
            continue;
        };
        if !life.execution.awaits(*attempt) || life.execution.is_handed_over(*attempt) {
            continue;
        }
        let tried = evidence.witness.tried.get(&(life.id, *attempt));
        let sent = tried.is_some_and(|tried| {
            tried.dispatched.iter().any(|seen| seen.generation == evidence.generation)
        });
        ensure(sent, life.id, || format!("{attempt:?} is open, and this engine has not sent it"))?;
    }
    Ok(())
}
