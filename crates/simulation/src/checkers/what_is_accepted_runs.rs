//! What was accepted runs: an attempt is interrupted only if a worker had taken it, and no event becomes a dead letter
//! for want of retries that code has never seen, unless its workers could not be started or each of its starts was
//! cut before the code had it.

use everstep_invocations::{AttemptRecord, Reason, State};

use super::attempts_exact::repeats_max;
use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::Life;
use crate::functions::workload::UNSTARTABLE;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "what_is_accepted_runs"
    }

    fn invocation(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let (invocation, witness) = (life.invocation(), &evidence.functions.witness);
        for record in invocation.attempts.kept() {
            let taken = witness.taken.get(&record.id).copied().unwrap_or(0);
            ensure(record.interruptions <= taken, life.id, || {
                let (n, times) = (record.n, record.interruptions);
                format!("attempt {n} was interrupted {times} times and taken {taken} times")
            })?;
        }
        let exhausted = State::Exhausted { reason: Reason::RetriesExhausted };
        let accounted = |record: &AttemptRecord| {
            let unstartable =
                record.failure.as_ref().is_some_and(|failure| failure.error_type == UNSTARTABLE);
            let cut = record.interruptions > repeats_max(invocation);
            witness.tried.contains_key(&record.id) || unstartable || cut
        };
        let accounted = invocation.attempts.kept().any(accounted);
        ensure(invocation.state != exhausted || accounted, life.id, || {
            "it is given up, and code has never seen it".to_owned()
        })
    }
}
