//! A record leaves for its destination when the end that it tells of is durable, the same each time, and in the
//! end each destination has had it: a URL or a state machine has confirmed it, a function has an invocation
//! that follows from it, once.

use everstep_invocations::{Delivery, EdgeInput, Invocation, SourceKind, State};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::Life;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "a_record_arrives_after_its_commit_and_at_least_once"
    }

    fn delivery(&self, evidence: &Evidence, delivery: &Delivery, durable_to: u64) -> Verdict {
        let (id, target) = (delivery.invocation, &delivery.target);
        let over = evidence.functions.ledger.of(id).any(|life| {
            let mut versions = life.to(durable_to);
            versions.any(|version| routes(&version.invocation).0.contains(&target.to_string()))
        });
        ensure(over, id, || format!("a record leaves for {target:?} before its end is durable"))?;
        let known = evidence.functions.delivered.get(&(id, target.to_string()));
        let same =
            known.and_then(|known| known.first.as_ref()).is_none_or(|first| first == delivery);
        // The key of an invocation that was removed may be used again.
        let once = evidence.functions.ledger.of(id).count() == 1;
        ensure(same || !once, id, || format!("two records for {target:?} differ"))
    }

    /// What follows from a record follows from an end that is durable.
    fn invocation(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let source = &life.invocation().source;
        let Some(origin) = source.message_id.as_ref().and_then(|id| id.parse().ok()) else {
            return Ok(());
        };
        let before = life.versions[0].batch;
        let over =
            evidence.functions.ledger.of(origin).any(|origin| {
                origin.to(before - 1).any(|version| version.invocation.state.is_over())
            });
        let follows = source.kind == SourceKind::Destination;
        ensure(over || !follows, life.id, || format!("it follows from {origin}, which is not over"))
    }

    fn end(&self, evidence: &Evidence) -> Verdict {
        for life in evidence.functions.ledger.all() {
            let removed = life.gone.is_some() && evidence.functions.purged.contains(&life.id);
            let once = evidence.functions.ledger.of(life.id).count() == 1;
            if life.invocation().state.is_over() && !removed && once {
                arrived(evidence, life)?;
            }
        }
        Ok(())
    }
}

fn arrived(evidence: &Evidence, life: &Life) -> Verdict {
    let invocation = life.invocation();
    let open = &invocation.undelivered;
    ensure(open.is_empty(), life.id, || format!("these routes were never served: {open:?}"))?;
    let (targets, functions) = routes(invocation);
    for target in targets {
        let known = evidence.functions.delivered.get(&(life.id, target.clone()));
        let confirmed = known.is_some_and(|known| known.confirmed);
        ensure(confirmed, life.id, || format!("{target} has never had its record"))?;
    }
    for function in functions {
        let id = life.id.to_string();
        let follows = |other: &&Life| {
            let Invocation { function: of, source, .. } = other.invocation();
            *of == function && source.message_id.as_ref() == Some(&id)
        };
        let count = evidence.functions.ledger.all().filter(follows).count();
        ensure(count >= 1, life.id, || format!("{function} has never had its record"))?;
    }
    Ok(())
}

/// Who is to have the record of an invocation: targets that are no functions, and functions.
fn routes(invocation: &Invocation) -> (Vec<String>, Vec<String>) {
    let (targets, input) = match invocation.state {
        State::Succeeded => (&invocation.terms.on_success, EdgeInput::Scalar),
        State::Exhausted { .. } | State::Expired => {
            (&invocation.terms.on_failure, EdgeInput::Error)
        }
        _ => return (Vec::new(), Vec::new()),
    };
    let outside = targets.iter().filter(|target| target.function().is_none());
    let next = invocation.terms.next.iter().filter(|edge| edge.input == input);
    let functions = targets.iter().filter_map(|target| target.function().map(str::to_owned));
    (
        outside.map(|target| target.to_string()).collect(),
        functions.chain(next.map(|edge| edge.function.clone())).collect(),
    )
}
