//! What has failed for good is a dead letter, unless its function keeps none, until it is sent back or purged.
//! A letter that is sent back becomes one invocation, in the same batch. The letters that are listed are
//! these.

use std::collections::BTreeSet;

use everstep_invocations::InvocationId;
use everstep_store::Space;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::functions::ledger::Life;

const DEAD: u8 = 2;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "dead_letters_agree"
    }

    fn invocation(&self, evidence: &Evidence, life: &Life) -> Verdict {
        let letter = life.invocation();
        let wanted = letter.state.reason().is_some()
            && letter.terms.dead_letters
            && letter.redriven_as.is_none();
        ensure(letter.dead == wanted, life.id, || format!("{:?}, {wanted}", letter.state))?;
        let Some(into) = letter.redriven_as else { return Ok(()) };
        let batch_of = |life: &Life| {
            let sent = |version: &&crate::functions::ledger::Version| {
                version.invocation.redriven_as.is_some()
            };
            life.versions.iter().find(sent).map(|version| version.batch)
        };
        let begun: Vec<&Life> = evidence.functions.ledger.of(into).collect();
        let [begun] = begun.as_slice() else {
            return Err((Some(life.id.into()), format!("it became {} invocations", begun.len())));
        };
        let first = &begun.versions[0];
        let same = Some(first.batch) == batch_of(life);
        ensure(same && first.invocation.redriven_from == Some(life.id), life.id, || {
            format!("it was sent back as {into}, which does not follow from it")
        })
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let rows = evidence.disk.durable();
        let listed: BTreeSet<InvocationId> = rows
            .keys()
            .filter(|(_, space, key)| {
                *space == Space::InvocationOrders && key.first() == Some(&DEAD)
            })
            .filter_map(|(.., key)| InvocationId::from_bytes(key.get(9..)?))
            .collect();
        let dead = evidence.functions.ledger.present().filter(|life| life.invocation().dead);
        let expected: BTreeSet<InvocationId> = dead.map(|life| life.id).collect();
        match listed.symmetric_difference(&expected).next() {
            None => Ok(()),
            Some(id) => Err((Some((*id).into()), format!("listed {listed:?}, dead {expected:?}"))),
        }
    }
}
