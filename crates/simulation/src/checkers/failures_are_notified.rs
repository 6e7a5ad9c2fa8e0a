//! Each failure of an execution whose machine has a destination for failures is notified, as it was, when it is
//! durable: once in the life of an engine, and in the lives of later ones until it is confirmed. Nothing else is. What
//! has not been notified when its execution is removed goes with it.

use everstep_executions::{Notification, Standing};
use everstep_history::Event;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::{Life, Step};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "failures_are_notified"
    }

    fn notify(&self, evidence: &Evidence, failed: &Notification, durable_to: u64) -> Verdict {
        let (id, sequence) = (failed.execution, failed.sequence);
        ensure(wanted(evidence, id), id, || "its failures are not to be notified".to_owned())?;
        let mut lives = evidence.ledger.of(id);
        let life = lives.find(|life| started_ms(life) == Some(failed.started_ms));
        let step = life.and_then(|life| life.steps.get(sequence as usize));
        let Some((standing, at_ms)) = step.and_then(end) else {
            return Err((
                Some(id.into()),
                format!("step {sequence} is notified, and ends nothing"),
            ));
        };
        let durable = step.is_some_and(|step| step.batch <= durable_to);
        ensure(durable, id, || format!("step {sequence} is notified before it is durable"))?;
        let said = (failed.ending.standing, failed.ending.stopped_ms);
        ensure(said == (standing, at_ms), id, || {
            format!(
                "step {sequence} ended it with {standing:?} at {at_ms}, and this is notified: {said:?}"
            )
        })?;
        let notified = evidence.notified.get(&(id, failed.started_ms, sequence));
        let twice = notified.is_some_and(|notified| notified.by.contains(&evidence.generation));
        ensure(!twice, id, || format!("step {sequence} is notified twice by one engine"))
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let there = evidence.ledger.all().filter(|life| life.is_there());
        for life in there.filter(|life| wanted(evidence, life.id)) {
            let Some(started_ms) = started_ms(life) else { continue };
            for (sequence, _) in
                life.steps.iter().enumerate().filter(|(_, step)| end(step).is_some())
            {
                let key = (life.id, started_ms, u32::try_from(sequence).unwrap_or(u32::MAX));
                ensure(evidence.notified.contains_key(&key), life.id, || {
                    format!("it failed in step {sequence}, and that was not notified")
                })?;
            }
        }
        Ok(())
    }
}

fn wanted(evidence: &Evidence, id: everstep_executions::ExecutionId) -> bool {
    evidence.subject(id).is_some_and(|subject| {
        let machine = &evidence.machines[subject.machine];
        !machine.express && machine.prepared.revision.on_failure.is_some()
    })
}

fn started_ms(life: &Life) -> Option<i64> {
    life.events().next().map(Event::at_ms)
}

/// How a step ended its execution without success, and when.
fn end(step: &Step) -> Option<(Standing, i64)> {
    let last = step.events.last()?;
    let standing = match last {
        Event::ExecutionFailed { .. } => Standing::Failed,
        Event::ExecutionTimedOut { .. } => Standing::TimedOut,
        Event::ExecutionAborted { .. } => Standing::Aborted,
        _ => return None,
    };
    Some((standing, last.at_ms()))
}
