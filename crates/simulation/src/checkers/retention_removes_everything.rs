//! An execution is removed when a client asks for it or its time is over, never while it runs; then nothing
//! of it is left in any space. What has expired long ago is gone.

use everstep_executions::ExecutionId;
use everstep_store::{Batch, Space, Write};

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "retention_removes_everything"
    }

    fn batch(&self, evidence: &Evidence, batch: &Batch) -> Verdict {
        let removed = batch.writes.iter().filter(|write| {
            write.value.is_none() && matches!(write.space, Space::Executions | Space::Journal)
        });
        let id_of = |write: &Write| {
            let from = if write.space == Space::Journal { 8 } else { 0 };
            ExecutionId::from_bytes(write.key.get(from..from + 16)?)
        };
        for id in removed.filter_map(id_of) {
            let Some(life) = evidence.ledger.last(id).filter(|life| life.gone.is_none()) else {
                continue;
            };
            let asked = evidence.subject(id).is_some_and(|subject| subject.delete_sent);
            let over = life.stopped_ms().is_some();
            ensure(over && (asked || evidence.may_be_expired(life)), id, || {
                format!("it is removed: over {over}, asked for {asked}")
            })?;
        }
        Ok(())
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        let gone = evidence
            .subjects
            .iter()
            .map(|subject| subject.id)
            .filter(|id| evidence.ledger.last(*id).is_none_or(|life| life.gone.is_some()));
        let rows = evidence.disk.durable();
        for id in gone {
            let of_it = |key: &[u8]| key.windows(16).any(|part| part == id.bytes());
            // What it has cancelled may not be confirmed yet.
            let cancels = |space: Space, key: &[u8]| {
                space == Space::Outbox
                    && key.len() == 20
                    && evidence.drivers.cancelling.contains(&id)
            };
            let left = rows.keys().find(|(_, space, key)| of_it(key) && !cancels(*space, key));
            ensure(left.is_none(), id, || format!("it is gone, and this is left: {left:?}"))?;
        }
        Ok(())
    }

    fn end(&self, evidence: &Evidence) -> Verdict {
        let Some(kept) = evidence.settings.retention_ms else { return Ok(()) };
        for life in evidence.ledger.present() {
            let expired = life.stopped_ms().is_some_and(|stopped| stopped < evidence.now_ms - kept);
            ensure(!expired, life.id, || {
                format!(
                    "it ended at {:?}, is kept for {kept} ms, and is there at {}",
                    life.stopped_ms(),
                    evidence.now_ms
                )
            })?;
        }
        Ok(())
    }
}
