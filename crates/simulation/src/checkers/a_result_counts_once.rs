//! Of all that is said of an attempt at most one result counts: the journal ends each attempt once, by a
//! result that was sent, and no worker was answered that another one counts.

use std::collections::BTreeMap;

use everstep_history::{Attempt, Event};

use super::{Checker, Verdict, ensure};
use crate::evidence::{Ask, Evidence, Reply, Request};
use crate::ledger::Life;
use crate::tasks::{Fate, Tried};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "a_result_counts_once"
    }

    fn reply(&self, evidence: &Evidence, request: &Request, _: &Reply) -> Verdict {
        let Ask::Report { attempt, .. } = request.ask else { return Ok(()) };
        let id = evidence.subjects[request.subject].id;
        if evidence.is_express(id) || evidence.ledger.of(id).count() > 1 {
            return Ok(());
        }
        let Some(tried) = evidence.witness.tried.get(&(id, attempt)) else { return Ok(()) };
        let counted = tried.answers.iter().filter(|given| given.fate == Fate::Counted).count();
        ensure(counted <= 1, id, || format!("{counted} results of {attempt:?} were accepted"))
    }

    fn life(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let mut ends: BTreeMap<Attempt, Option<u64>> = BTreeMap::new();
        for event in life.events() {
            let Some(attempt) = self::ends(event) else { continue };
            let before = ends.insert(attempt, number(event));
            ensure(before.is_none(), life.id, || format!("{attempt:?} ends twice: {event:?}"))?;
        }
        if evidence.ledger.of(life.id).count() > 1 {
            return Ok(());
        }
        let tried = evidence.witness.tried.iter().filter(|((id, _), _)| *id == life.id);
        for ((_, attempt), tried) in tried {
            judge(life, *attempt, tried, ends.get(attempt).copied())?;
        }
        Ok(())
    }
}

/// `counted` is the number of the result that the journal has, if it has ended at all.
fn judge(life: &Life, attempt: Attempt, tried: &Tried, counted: Option<Option<u64>>) -> Verdict {
    if let Some(Some(number)) = counted {
        let sent = tried.answers.iter().any(|given| given.number == number);
        ensure(sent, life.id, || {
            format!("{attempt:?} has a result that no worker sent: {number}")
        })?;
    }
    for given in tried.answers.iter().filter(|given| given.fate == Fate::Counted) {
        ensure(counted == Some(Some(given.number)), life.id, || {
            format!("{given:?} of {attempt:?} was accepted, the journal has {counted:?}")
        })?;
    }
    Ok(())
}

/// The attempt that an event ends.
pub(super) fn ends(event: &Event) -> Option<Attempt> {
    match event {
        Event::TaskSucceeded { attempt, .. }
        | Event::TaskFailed { attempt, .. }
        | Event::TaskTimedOut { attempt, .. } => Some(*attempt),
        _ => None,
    }
}

/// The number of the result that an event records.
pub(super) fn number(event: &Event) -> Option<u64> {
    match event {
        Event::TaskSucceeded { output, .. } => output.value()["answer"].as_u64(),
        Event::TaskFailed { failure, .. } => {
            failure.cause.as_ref()?.strip_prefix("answer ")?.parse().ok()
        }
        _ => None,
    }
}
