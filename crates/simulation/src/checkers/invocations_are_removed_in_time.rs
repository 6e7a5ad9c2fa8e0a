//! An invocation is removed when it is over, its records have arrived and its time is over, or when a client
//! purges it; then nothing of it is left. What has expired long ago is gone.

use everstep_invocations::InvocationId;
use everstep_store::{Batch, Space};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "invocations_are_removed_in_time"
    }

    fn batch(&self, evidence: &Evidence, batch: &Batch) -> Verdict {
        let functions = &evidence.functions;
        for write in &batch.writes {
            let record = write.space == Space::Invocations && write.key.get(16) == Some(&0);
            if !record || write.value.is_some() {
                continue;
            }
            let id = write.key.get(..16).and_then(InvocationId::from_bytes);
            let life = id.and_then(|id| functions.ledger.last(id)).filter(|life| life.is_there());
            let Some(life) = life else { continue };
            let asked = functions.purged.contains(&life.id);
            let expired =
                life.invocation().is_routed() && functions.may_be_expired(life, evidence.latest_ms);
            ensure(life.invocation().state.is_over() && (asked || expired), life.id, || {
                format!("it is removed: {:?}, asked for {asked}", life.invocation().state)
            })?;
        }
        Ok(())
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let rows = evidence.disk.durable();
        for (_, space, key) in rows.keys().filter(|(_, space, _)| *space == Space::Invocations) {
            let id = key.get(..16).and_then(InvocationId::from_bytes);
            let Some(id) = id.filter(|_| key.get(16) != Some(&3)) else { continue };
            let there = evidence.functions.ledger.last(id).is_some_and(|life| life.is_there());
            ensure(there, id, || format!("it is gone, and a row of {} is left", space.name()))?;
        }
        Ok(())
    }

    fn end(&self, evidence: &Evidence) -> Verdict {
        let functions = &evidence.functions;
        let old_ms = evidence.now_ms - functions.settings.retention_ms;
        for life in functions.ledger.present().filter(|life| !life.invocation().dead) {
            // One that was sent back is kept from then on.
            let sent = life.invocation().redriven_as.is_some();
            let expired = life.invocation().ended_ms.is_some_and(|ended| ended < old_ms);
            ensure(!expired || sent, life.id, || {
                format!("it ended at {:?}, and is still there", life.invocation().ended_ms)
            })?;
        }
        Ok(())
    }
}
