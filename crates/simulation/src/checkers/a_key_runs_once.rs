//! Of all events with the same source and key one is accepted, as long as it is kept: they have one id, one of
//! them is told that it was the first, and all who wait for it are given the same answer.

use std::collections::BTreeMap;

use everstep_invocations::InvocationId;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::Life;
use crate::functions::{Fact, Reply, Request, Said};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "a_key_runs_once"
    }

    fn invocation_reply(&self, evidence: &Evidence, _: &Request, reply: &Reply) -> Verdict {
        let facts = &evidence.functions.facts;
        let Some(fact) = facts.last().filter(|_| reply.is_ok()) else { return Ok(()) };
        match &fact.said {
            Said::Accepted { known: false } => {
                let first = |other: &&Fact| (other.id, &other.said) == (fact.id, &fact.said);
                let times = facts.iter().filter(first).count();
                let lives = evidence.functions.ledger.of(fact.id).count();
                ensure(times <= lives, fact.id, || {
                    format!("{times} events were said to be the first of {lives}")
                })
            }
            Said::Finished { state, response } => {
                let is_end = |life: &Life| {
                    let mut versions = life.versions.iter();
                    let over = versions.find(|version| version.invocation.state.is_over());
                    over.is_some_and(|over| over.invocation.state == *state)
                        && last_response(life) == response.as_deref()
                };
                let given = evidence.functions.ledger.of(fact.id).any(is_end);
                ensure(given, fact.id, || format!("no invocation has ended with {:?}", fact.said))
            }
            _ => Ok(()),
        }
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let mut ids: BTreeMap<(&str, &str), InvocationId> = BTreeMap::new();
        for life in evidence.functions.ledger.all() {
            let invocation = life.invocation();
            let Some(key) = invocation.key.as_deref() else { continue };
            let id = *ids.entry((&invocation.source.name, key)).or_insert(life.id);
            ensure(id == life.id, life.id, || format!("{key} is the key of {id} too"))?;
        }
        Ok(())
    }
}

/// The answer of the last attempt that ended.
fn last_response(life: &Life) -> Option<&[u8]> {
    life.versions.iter().rev().find_map(|version| version.response.as_deref())
}
