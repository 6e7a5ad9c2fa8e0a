//! After three deaths of the engine in a row, without a step in between, the execution that was being worked on is
//! quarantined, and no other one is. It makes no step until it is released, except for its end if somebody stops it.

use everstep_history::Event;
use everstep_shards::FAILURES_MAX;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "quarantine_is_earned"
    }

    fn after_crash(&self, evidence: &Evidence) -> Verdict {
        for life in evidence.ledger.present() {
            let count = evidence.deaths.in_a_row(life, u64::MAX);
            let held = evidence.is_quarantined(life.id);
            ensure(held == (count >= FAILURES_MAX as usize), life.id, || {
                format!("it has ended the engine {count} times in a row, quarantined: {held}")
            })?;
        }
        Ok(())
    }

    fn step(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let Some(step) = life.steps.last() else { return Ok(()) };
        let count = evidence.deaths.in_a_row(life, step.batch - 1);
        let stopped =
            step.events.iter().any(|event| matches!(event, Event::ExecutionAborted { .. }));
        let free = count < FAILURES_MAX as usize || evidence.deaths.asked.contains(&life.id);
        ensure(free || stopped, life.id, || "it makes a step, and is quarantined".to_owned())
    }
}
