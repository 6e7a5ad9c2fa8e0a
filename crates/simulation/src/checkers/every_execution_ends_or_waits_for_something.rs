//! When faults have stopped, time has run on and tasks were answered, every execution is over, or waits for
//! a callback or an activity that a worker still holds.

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "every_execution_ends_or_waits_for_something"
    }

    fn end(&self, evidence: &Evidence) -> Verdict {
        for life in evidence.ledger.present().filter(|life| life.stopped_ms().is_none()) {
            let due = life.execution.next_due_ms();
            ensure(due.is_none(), life.id, || format!("it still waits for a moment: {due:?}"))?;
            let held = evidence.witness.tried.iter().any(|((id, attempt), tried)| {
                *id == life.id && tried.held && life.execution.awaits(*attempt)
            });
            ensure(held, life.id, || "it waits for nothing and is not over".to_owned())?;
        }
        Ok(())
    }
}
