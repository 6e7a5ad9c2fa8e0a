//! Code is given an attempt when its start is durable, once and once more after each interruption, and never after a
//! later attempt of the same invocation was given to it or ended.

use everstep_invocations::{Attempt, State};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "no_attempt_after_a_later_one_ended"
    }

    fn attempt_started(&self, evidence: &Evidence, attempt: &Attempt, durable_to: u64) -> Verdict {
        let (id, functions) = (attempt.invocation, &evidence.functions);
        let earlier = |begun| {
            let of_life = functions.witness.all().filter(move |(_, tried)| tried.begun == begun);
            of_life.filter(move |(_, tried)| tried.invocation == id)
        };
        let written = functions.ledger.of(id).rev().find_map(|life| {
            let again = earlier(life.begun()).filter(|(known, _)| *known == attempt.id).count();
            let of_it = |invocation: &everstep_invocations::Invocation| {
                let running =
                    invocation.attempts.latest().filter(|_| invocation.state == State::Running);
                running.is_some_and(|record| {
                    record.id == attempt.id && record.interruptions as usize >= again
                })
            };
            let first = life.versions.iter().find(|version| of_it(&version.invocation))?;
            Some((life.begun(), first.batch))
        });
        let Some((begun, batch)) = written else {
            let what = "was never recorded, or is given to code twice without an interruption";
            return Err((Some(id.into()), format!("attempt {} {what}", attempt.n)));
        };
        ensure(batch <= durable_to, id, || {
            format!("attempt {} is given to code before it is durable", attempt.n)
        })?;
        for (_, tried) in earlier(begun) {
            ensure(tried.n <= attempt.n, id, || {
                format!("attempt {} is given to code after attempt {}", attempt.n, tried.n)
            })?;
        }
        Ok(())
    }
}
