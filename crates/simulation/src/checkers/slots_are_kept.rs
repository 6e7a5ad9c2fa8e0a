//! A function never runs more attempts at a time than it has slots.

use everstep_invocations::Attempt;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "slots_are_kept"
    }

    fn attempt_started(&self, evidence: &Evidence, attempt: &Attempt, _: u64) -> Verdict {
        let functions = &evidence.functions;
        let Some(slots) = functions.slots.get(&attempt.function) else { return Ok(()) };
        let running = functions
            .witness
            .all()
            .filter(|(_, tried)| !tried.over && tried.function == attempt.function)
            .count();
        ensure(running < *slots as usize, attempt.invocation, || {
            format!("{running} attempts of {} run, of at most {slots}", attempt.function)
        })
    }
}
