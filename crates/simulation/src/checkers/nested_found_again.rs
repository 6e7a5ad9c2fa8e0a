//! A task that starts an execution starts one, whatever crashes, and ends as that one ended.

use everstep_history::Event;
use everstep_interpreter::Status;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "nested_found_again"
    }

    fn step(&self, evidence: &Evidence, life: &Life) -> Verdict {
        // Another execution of the same name has attempts of the same numbers.
        if evidence.ledger.of(life.id).count() > 1 {
            return Ok(());
        }
        for event in life.steps.last().into_iter().flat_map(|step| &step.events) {
            let Event::TaskSucceeded { attempt, .. } = event else { continue };
            let Some(children) = evidence.drivers.nested.get(&(life.id, *attempt)) else {
                continue;
            };
            let mut lives = children.iter().flat_map(|id| evidence.ledger.of(*id));
            let succeeded =
                lives.any(|life| matches!(life.execution.status(), Status::Succeeded { .. }));
            ensure(succeeded, life.id, || {
                format!("{attempt:?} has succeeded, and what it started has not")
            })?;
        }
        Ok(())
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        for ((parent, attempt), children) in &evidence.drivers.nested {
            ensure(children.len() == 1, *parent, || {
                format!("{attempt:?} has started {} executions", children.len())
            })?;
        }
        Ok(())
    }
}
