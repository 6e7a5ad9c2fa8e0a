//! Of all that is said of an attempt of a function one answer counts, the one in the record; a worker is answered
//! so when it is durable.

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::workers::{Fate, Receipt};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "an_answer_counts_once"
    }

    fn attempt_settled(&self, evidence: &Evidence, receipt: &Receipt) -> Verdict {
        let Receipt { attempt, answer, counts, durable_to } = receipt;
        let tried = evidence.functions.witness.tried.get(attempt).and_then(|all| all.last());
        let Some(tried) = tried.filter(|_| counts.is_ok()) else { return Ok(()) };
        let id = tried.invocation;
        let counted = tried.answers.iter().filter(|given| given.fate == Fate::Counted).count();
        ensure(counted <= 1, id, || format!("{counted} answers to attempt {} count", tried.n))?;
        let mut versions = evidence.functions.ledger.of(id).flat_map(|life| life.to(*durable_to));
        let recorded = versions.any(|version| {
            let failure = |record: &everstep_invocations::AttemptRecord| {
                let said = format!("answer {answer}");
                record.failure.as_ref().is_some_and(|failure| failure.message == said)
            };
            let text = format!("{{\"answer\":{answer}}}").into_bytes();
            let mut kept = version.invocation.attempts.kept();
            let throttled = || version.invocation.throttled > 0;
            version.response.as_deref() == Some(&text)
                || kept.any(|record| record.id == *attempt && failure(record))
                || throttled()
        });
        ensure(recorded, id, || format!("answer {answer} counts, and is not recorded"))
    }
}
