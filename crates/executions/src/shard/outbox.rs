//! What a step asked for outside and nobody has confirmed: attempts to be cancelled, failures to be told.

use everstep_history::{Attempt, FrameId};
use everstep_shards::Effect;
use everstep_store::{Batch, Space, each_row};

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::failed::{Ending, Failed};
use crate::id::ExecutionId;
use crate::layout::{self, Errand};
use crate::summary::Summary;

pub(super) fn encode(attempts: &[Attempt]) -> Vec<u8> {
    let bytes = |attempt: &Attempt| {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&attempt.frame.0.to_be_bytes());
        bytes[4..].copy_from_slice(&attempt.number.to_be_bytes());
        bytes
    };
    attempts.iter().flat_map(bytes).collect()
}

fn decode(row: &[u8]) -> Vec<Attempt> {
    let word = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap_or_default());
    row.chunks_exact(8)
        .map(|bytes| Attempt { frame: FrameId(word(&bytes[..4])), number: word(&bytes[4..]) })
        .collect()
}

/// Rows that are read at a time.
const OUTBOX_AT_A_TIME: usize = 1000;

impl Shard {
    /// Asks once more for all that may not have been done before a crash.
    pub(super) fn empty_outbox(&mut self) -> Result<()> {
        let (store, place) = (self.shared.store.clone(), (self.shard, Space::Outbox));
        each_row(&*store, place, (&[], &[]), OUTBOX_AT_A_TIME, |(key, row)| {
            let errand = layout::parse_outbox(&key)
                .ok_or_else(|| Error::damaged("a key of the outbox cannot be read"))?;
            match errand {
                Errand::Cancel { id, sequence } => self.cancel_again(id, sequence, &row),
                Errand::Tell { id, sequence, started_ms } => {
                    self.tell_again(id, sequence, started_ms, &row)
                }
            }
        })
    }

    fn cancel_again(&mut self, id: ExecutionId, sequence: u32, row: &[u8]) -> Result<()> {
        match self.summary(id)? {
            Some(summary) => {
                let arn = summary.arn.into();
                let attempts = decode(row);
                AfterCommit::Cancel { id, arn, attempts, sequence }.run(&self.shared);
            }
            None => self.delivered(id, sequence),
        }
        Ok(())
    }

    fn tell_again(
        &mut self,
        id: ExecutionId,
        sequence: u32,
        started_ms: i64,
        row: &[u8],
    ) -> Result<()> {
        match self.summary(id)?.filter(|summary| summary.started_ms == started_ms) {
            Some(summary) => {
                let (execution_arn, ending) = (summary.arn.into(), Ending::decode(row)?);
                let (execution, mailbox) = (id, self.shared.mailbox.clone());
                let failed =
                    Failed { execution, execution_arn, started_ms, sequence, ending, mailbox };
                AfterCommit::Tell(Box::new(failed)).run(&self.shared);
            }
            None => self.told(id, started_ms, sequence),
        }
        Ok(())
    }

    fn summary(&self, id: ExecutionId) -> Result<Option<Summary>> {
        let row = self.shared.store.get(self.shard, Space::Executions, &layout::execution(id))?;
        Ok(row.map(|row| Summary::decode(&row)).transpose()?)
    }

    /// Who was to know knows.
    pub(super) fn told(&mut self, id: ExecutionId, started_ms: i64, sequence: u32) {
        let mut batch = Batch::new(self.shard);
        batch.remove(Space::Outbox, layout::telling(id, sequence, started_ms));
        self.commit(batch, Vec::new());
    }

    /// It has been done.
    pub(super) fn delivered(&mut self, id: ExecutionId, sequence: u32) {
        let mut batch = Batch::new(self.shard);
        batch.remove(Space::Outbox, layout::outbox(id, sequence));
        self.commit(batch, Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_read_as_written() {
        let attempts = [
            Attempt { frame: FrameId(0), number: 3 },
            Attempt { frame: FrameId(9), number: 1 << 20 },
        ];
        assert_eq!(decode(&encode(&attempts)), attempts);
    }
}
