//! A start that was acknowledged is never lost: until a client deletes the execution or its time is over,
//! its row and its first step are on the disk, whatever crashes.

use everstep_history::Event;
use everstep_store::Space;

use super::{Checker, Verdict, ensure};
use crate::evidence::{Evidence, Fact};

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "no_acknowledged_start_lost"
    }

    fn after_crash(&self, evidence: &Evidence) -> Verdict {
        check(evidence)
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        check(evidence)
    }
}

fn check(evidence: &Evidence) -> Verdict {
    let rows = evidence.disk.durable();
    for (id, fact) in &evidence.facts {
        let Fact::Started(at) = fact else { continue };
        if evidence.subject(*id).is_none_or(|subject| subject.delete_sent) {
            continue;
        }
        let of_start =
            |event: &Event| matches!(event, Event::ExecutionStarted { at_ms, .. } if at_ms == at);
        let life = evidence.ledger.of(*id).find(|life| life.events().next().is_some_and(of_start));
        if life.is_some_and(|life| evidence.may_be_expired(life)) {
            continue;
        }
        let shard = id.shard(evidence.shard_count);
        let row = rows.contains_key(&(shard, Space::Executions, id.bytes().to_vec()));
        let of_it = |key: &[u8]| key.get(8..24) == Some(id.bytes()) && key.ends_with(&[0; 4]);
        let step = rows
            .keys()
            .any(|(of, space, key)| (*of, *space) == (shard, Space::Journal) && of_it(key));
        ensure(life.is_some() && row && step, *id, || {
            format!(
                "its start at {at} was acknowledged: row {row}, first step {step}, story {}",
                life.is_some()
            )
        })?;
    }
    Ok(())
}
