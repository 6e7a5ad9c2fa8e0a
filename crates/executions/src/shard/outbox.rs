//! Unconfirmed requests of steps to the outside: attempts to be cancelled, destinations to be notified of
//! failures.

use everstep_history::{Attempt, FrameId};
use everstep_shards::{Effect, Error, Result};
use everstep_store::{Batch, Scan, Space, each_row};

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::id::ExecutionId;
use crate::layout::{self, OutboxKey};
use crate::message::Message;
use crate::notification::{Ending, Notification, NotificationId};
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
            let key = layout::parse_outbox(&key)
                .ok_or_else(|| Error::damaged("a key of the outbox cannot be read"))?;
            match key {
                OutboxKey::Cancel { id, sequence } => self.cancel_again(id, sequence, &row),
                OutboxKey::Notify(id) => self.notify_stored(id, &row),
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

    /// Notifies a destination of a failure that is durable, or leaves that to its row until there is room.
    pub(super) fn notify(&mut self, notification: Notification) {
        let id = notification.key();
        if !self.outbox.knows(id) && self.outbox.admit(id, &notification.ending.target) {
            self.shared.runner.notify(notification);
        }
    }

    fn notify_stored(&mut self, id: NotificationId, row: &[u8]) -> Result<()> {
        match self.stored(id, row)? {
            Some(notification) => self.notify(notification),
            None => self.notified(id),
        }
        Ok(())
    }

    /// A notification as its row has it; nothing if its execution is gone.
    fn stored(&self, id: NotificationId, row: &[u8]) -> Result<Option<Notification>> {
        let NotificationId { execution, sequence, started_ms } = id;
        let summary = self.summary(execution)?;
        let Some(summary) = summary.filter(|summary| summary.started_ms == started_ms) else {
            return Ok(None);
        };
        let (execution_arn, ending) = (summary.arn.into(), Ending::decode(row)?);
        let mailbox = self.shared.mailbox.clone();
        Ok(Some(Notification { execution, execution_arn, started_ms, sequence, ending, mailbox }))
    }

    fn summary(&self, id: ExecutionId) -> Result<Option<Summary>> {
        let row = self.shared.store.get(self.shard, Space::Executions, &layout::execution(id))?;
        row.map(|row| Summary::decode(&row)).transpose()
    }

    /// The destination was notified. That stays known until the row is gone: it would be read again.
    pub(super) fn notified(&mut self, id: NotificationId) {
        let mut batch = Batch::new(self.shard);
        batch.remove(Space::Outbox, layout::notification(id));
        self.commit(batch, vec![AfterCommit::Post(Message::NotificationRemoved(id))]);
    }

    /// Repeats notifications that are due, and reads some that there is room for.
    pub(super) fn notify_due(&mut self, now_ms: i64) -> Result<()> {
        while let Some(id) = self.outbox.pop_due(now_ms) {
            let key = layout::notification(id);
            let row = self.shared.store.get(self.shard, Space::Outbox, &key)?;
            let notification = row.map(|row| self.stored(id, &row)).transpose()?.flatten();
            match notification {
                Some(notification) => self.shared.runner.notify(notification),
                None => self.notified(id),
            }
        }
        self.read_notifications()
    }

    fn read_notifications(&mut self) -> Result<()> {
        let Some((destination, cursor, room)) = self.outbox.next_to_read() else { return Ok(()) };
        let from = layout::outbox_from(&cursor);
        let scan = Scan::between(&from, &[], OUTBOX_AT_A_TIME);
        let rows = self.shared.store.scan(self.shard, Space::Outbox, scan)?;
        let (mut found, mut last) = (Vec::new(), None);
        let mut more = rows.len() == OUTBOX_AT_A_TIME;
        for (key, row) in rows {
            if found.len() == room {
                more = true;
                break;
            }
            if let Some(OutboxKey::Notify(id)) = layout::parse_outbox(&key)
                && Ending::decode(&row)?.target == destination
            {
                found.push((id, row));
            }
            last = Some(key);
        }
        self.outbox.has_read(&destination, &cursor, last.filter(|_| more));
        for (id, row) in found {
            // A failure that is on its way to the store is notified when it is there.
            if !self.outbox.knows(id) && self.is_durable(id.execution) {
                self.notify_stored(id, &row)?;
            }
        }
        Ok(())
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
