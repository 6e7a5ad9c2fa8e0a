//! What has been cancelled does not run: whenever the engine is quiet, the parent of each child that runs
//! runs too, and a task that has started an execution still waits for it.

use super::{Checker, Verdict, ensure};
use crate::drivers::Parent;
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "stop_reaches_children"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        for life in evidence.ledger.present().filter(|life| life.stopped_ms().is_none()) {
            let Some(subject) = evidence.subject(life.id) else { continue };
            let there = |id| evidence.ledger.last(id).filter(|life| life.is_there());
            let wanted = match subject.parent {
                Parent::Client => true,
                Parent::MapRun(parent) | Parent::Task(parent, _)
                    if evidence.drivers.cancelling.contains(&parent) =>
                {
                    true
                }
                // What an execution has cancelled is forgotten when it is removed before that is confirmed.
                Parent::MapRun(parent) => {
                    there(parent).is_none_or(|parent| parent.stopped_ms().is_none())
                }
                Parent::Task(parent, attempt) => {
                    there(parent).is_none_or(|parent| parent.execution.awaits(attempt))
                }
            };
            ensure(wanted, life.id, || {
                format!("it runs, and its parent does not wait: {:?}", subject.parent)
            })?;
        }
        Ok(())
    }
}
