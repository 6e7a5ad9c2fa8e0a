//! An event that was accepted is never lost: when the reply says so its rows are durable, and after any crash
//! they are there, until its time is over or a client purges it. In the end every invocation is over.

use everstep_store::Space;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::{Fact, Reply, Request, Said};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "accepted_is_never_lost"
    }

    fn invocation_reply(&self, evidence: &Evidence, _: &Request, reply: &Reply) -> Verdict {
        match evidence.functions.facts.last() {
            Some(fact) if reply.is_ok() => is_durable(evidence, fact),
            _ => Ok(()),
        }
    }

    fn after_crash(&self, evidence: &Evidence) -> Verdict {
        evidence.functions.facts.iter().try_for_each(|fact| is_durable(evidence, fact))?;
        is_stored(evidence)
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        is_stored(evidence)
    }

    fn end(&self, evidence: &Evidence) -> Verdict {
        for life in evidence.functions.ledger.present() {
            let state = life.invocation().state;
            ensure(state.is_over(), life.id, || format!("it never ends: {state:?}"))?;
        }
        Ok(())
    }
}

/// What a reply has said of an invocation is so after every crash.
fn is_durable(evidence: &Evidence, fact: &Fact) -> Verdict {
    let (ledger, durable_to) = (&evidence.functions.ledger, evidence.durable_to());
    let mut lives = ledger.of(fact.id);
    let holds = match &fact.said {
        Said::Accepted { .. } => lives.any(|life| life.to(durable_to).next().is_some()),
        Said::Finished { state, .. } => {
            lives.any(|life| life.to(durable_to).any(|version| version.invocation.state == *state))
        }
        Said::Cancelled => lives.any(|life| {
            let mut versions = life.to(durable_to);
            versions.any(|version| version.invocation.state.name() == "Cancelled")
        }),
        Said::Redriven(into) => {
            let sent = |life: &crate::functions::ledger::Life| {
                life.to(durable_to).any(|version| version.invocation.redriven_as == Some(*into))
            };
            lives.any(sent) && ledger.of(*into).any(|life| life.to(durable_to).next().is_some())
        }
        Said::Purged => lives.any(|life| life.gone.is_some_and(|batch| batch <= durable_to)),
    };
    ensure(holds, fact.id, || format!("a reply said {:?}, and that is not durable", fact.said))
}

/// Each invocation that is there has its record and its event.
fn is_stored(evidence: &Evidence) -> Verdict {
    let (rows, durable_to) = (evidence.disk.durable(), evidence.durable_to());
    for life in evidence.functions.ledger.present() {
        if life.to(durable_to).next().is_none() {
            continue;
        }
        let shard = life.id.shard(evidence.shard_count);
        for (part, what) in [(0, "record"), (1, "event")] {
            let key = [life.id.bytes().as_slice(), &[part]].concat();
            let stored = rows.contains_key(&(shard, Space::Invocations, key));
            ensure(stored, life.id, || format!("its {what} is lost"))?;
        }
    }
    Ok(())
}
