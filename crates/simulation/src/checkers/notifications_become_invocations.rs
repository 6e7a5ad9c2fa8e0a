//! A failure of an execution that was notified to a function has become an invocation of it, which is durable.
//! That there is one of them, however often it was notified, follows from its key.

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "notifications_become_invocations"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let durable_to = evidence.durable_to();
        for ((id, ..), notified) in &evidence.notified {
            let Some(key) = notified.invocation.as_ref() else { continue };
            let lives = evidence.functions.ledger.all();
            let of_it = lives.filter(|life| life.invocation().key.as_ref() == Some(key));
            let found = of_it.filter(|life| life.to(durable_to).next().is_some()).count() > 0;
            ensure(found, *id, || {
                format!("its failure was notified, and no invocation has the key {key}")
            })?;
        }
        Ok(())
    }
}
