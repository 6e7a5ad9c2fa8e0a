//! What is finished is not done again: a state that was left is entered only when another leads to it, a
//! state that was entered is not entered again before it is left, and an attempt whose result is recorded
//! is never dispatched.

use std::collections::BTreeMap;

use everstep_executions::Task;
use everstep_history::{Event, FrameId, Position};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

/// Where a frame is.
enum At {
    Inside,
    Between(Option<Position>),
}

impl Checker for Check {
    fn name(&self) -> &'static str {
        "no_completed_step_run_again"
    }

    fn life(&self, _: &Evidence, life: &Life) -> Verdict {
        let mut frames: BTreeMap<FrameId, At> = BTreeMap::new();
        for event in life.events() {
            match event {
                Event::StateEntered { frame, state, .. } => {
                    let leads = match frames.insert(*frame, At::Inside) {
                        None => true,
                        Some(At::Between(next)) => next == Some(*state),
                        Some(At::Inside) => false,
                    };
                    ensure(leads, life.id, || format!("nothing leads to {event:?}"))?;
                }
                Event::StateExited { frame, next, .. } => {
                    let was = frames.insert(*frame, At::Between(*next));
                    let inside = matches!(was, Some(At::Inside));
                    ensure(inside, life.id, || format!("left, and not entered: {event:?}"))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn dispatch(&self, evidence: &Evidence, task: &Task, durable_to: u64) -> Verdict {
        let Some(life) = evidence.ledger.last(task.execution) else { return Ok(()) };
        let over = life
            .events_to(durable_to)
            .any(|event| super::a_result_counts_once::ends(event) == Some(task.attempt));
        ensure(!over, life.id, || format!("{:?} is over, and dispatched", task.attempt))
    }
}
