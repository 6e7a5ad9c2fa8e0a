//! Code is given an attempt when its start is durable, once, and never after a later attempt of the same
//! invocation was given to it or ended.

use everstep_invocations::Attempt;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "no_attempt_after_a_later_one_ended"
    }

    fn attempt_started(&self, evidence: &Evidence, attempt: &Attempt, durable_to: u64) -> Verdict {
        let (id, functions) = (attempt.invocation, &evidence.functions);
        let written = functions.ledger.of(id).rev().find_map(|life| {
            let of_it = |invocation: &everstep_invocations::Invocation| {
                invocation.attempts.kept().any(|record| record.id == attempt.id)
            };
            let first = life.versions.iter().find(|version| of_it(&version.invocation))?;
            Some((life.begun(), first.batch))
        });
        let Some((begun, batch)) = written else {
            return Err((Some(id.into()), format!("attempt {} was never recorded", attempt.n)));
        };
        ensure(batch <= durable_to, id, || {
            format!("attempt {} is given to code before it is durable", attempt.n)
        })?;
        let of_life = functions
            .witness
            .all()
            .filter(|(_, tried)| tried.invocation == id && tried.begun == begun);
        for (known, tried) in of_life {
            ensure(known != attempt.id, id, || {
                format!("attempt {} is given to code twice", attempt.n)
            })?;
            ensure(tried.n <= attempt.n, id, || {
                format!("attempt {} is given to code after attempt {}", attempt.n, tried.n)
            })?;
        }
        Ok(())
    }
}
