//! Removing executions: after their time, or when asked to. A few rows at a time.
//!
//! An execution's steps go first, from the last one back, and its own row goes with the first of them: so
//! its name stays taken until all is gone, and what a crash leaves behind is found again by the row that
//! names the moment of its end.

use everstep_shards::{Outside, Result};
use everstep_store::{Batch, Scan, Space, after_prefix};

use super::Shard;
use super::slot::Slot;
use crate::after_commit::AfterCommit;
use crate::error::Error;
use crate::id::ExecutionId;
use crate::layout::{self, OutboxKey, Position};
use crate::message::{Message, Reply};
use crate::summary::{Standing, Summary};

/// Steps, and notes, that are removed at a time.
const STEPS_AT_A_TIME: usize = 500;
/// About how many bytes of steps are read at a time to remove them.
const BYTES_AT_A_TIME: usize = 1 << 20;
/// Executions that are removed at a time.
const EXECUTIONS_AT_A_TIME: usize = 32;

impl Shard {
    pub(super) fn is_expired(&self, slot: &Slot, now_ms: i64) -> bool {
        let retention = self.shared.settings.retention_ms;
        let now_ms = self.shared.settings.shards.retention_limit.now_ms(now_ms);
        matches!((slot.summary.stopped_ms, retention), (Some(stopped), Some(kept)) if stopped <= now_ms - kept)
    }

    pub(super) fn sweep_if_due(&mut self, now_ms: i64) {
        let Some(kept) = self.shared.settings.retention_ms else { return };
        if now_ms < self.next_sweep_ms {
            return;
        }
        if !self.ledger.is_acknowledged(self.sweep_ticket) {
            self.next_sweep_ms = now_ms + 1;
            return;
        }
        let trusted_ms = self.shared.settings.shards.retention_limit.now_ms(now_ms);
        match self.sweep(trusted_ms.saturating_sub(kept)) {
            Ok(true) => self.next_sweep_ms = now_ms + 1,
            Ok(false) => self.next_sweep_ms = now_ms + self.shared.settings.shards.sweep_every_ms,
            Err(error) => {
                self.shared.fail(error);
            }
        }
    }

    /// Removes some of the executions that ended before a moment; whether there may be more.
    fn sweep(&mut self, before_ms: i64) -> Result<bool> {
        let to = layout::closed_before(before_ms);
        if self.swept_to >= to {
            self.swept_to.clear();
        }
        let scan = Scan::between(&self.swept_to, &to, EXECUTIONS_AT_A_TIME);
        let rows = self.shared.store.scan(self.shard, Space::Closed, scan)?;
        for (key, _) in &rows {
            let (_, id) = layout::parse_closed(key).ok_or_else(|| {
                everstep_shards::Error::damaged("a key of the closed executions cannot be read")
            })?;
            if !self.is_settled(id) {
                // What is on its way may be a redrive.
                return Ok(true);
            }
            let removed = self.remove(id)?;
            self.sweep_ticket = self.ledger.last();
            if removed.is_none() {
                return Ok(true);
            }
            self.swept_to = [key.as_slice(), &[0]].concat();
        }
        let more = rows.len() == EXECUTIONS_AT_A_TIME;
        if !more {
            // What ends later may have ended earlier by the clock, if that was set back.
            self.swept_to.clear();
        }
        Ok(more)
    }

    pub(super) fn delete(&mut self, id: ExecutionId, reply: Reply<()>, now_ms: i64) {
        let Some(slot) = self.take(id) else { return reply(Err(Error::NotFound)) };
        if slot.is_running() {
            let error = Error::WrongStatus(Box::new(slot.summary.clone()));
            return self.answer(slot, reply, Err(error), now_ms);
        }
        let ticket = self.noting.get(&id).map_or(slot.ticket, |noted| slot.ticket.max(*noted));
        if !self.ledger.is_acknowledged(ticket) {
            // What is on its way must be there before it can be removed.
            let (mailbox, again) = (self.shared.mailbox.clone(), Message::Delete { id, reply });
            let after = AfterCommit::Answer(Box::new(move |_| mailbox.post(again)));
            self.follow(ticket, vec![after]);
            return self.put_back(slot, now_ms);
        }
        self.remove_and_answer(id, reply);
    }

    /// Whether all that was written of an execution is durable.
    fn is_settled(&self, id: ExecutionId) -> bool {
        let noted = self.noting.get(&id).copied().unwrap_or_default();
        self.is_durable(id) && self.ledger.is_acknowledged(noted)
    }

    /// Whether everything about an execution is durable. What is neither here nor lent is.
    pub(super) fn is_durable(&self, id: ExecutionId) -> bool {
        !self.lent.contains_key(&id) && self.slots.is_durable(id, &self.ledger)
    }

    pub(super) fn remove_and_answer(&mut self, id: ExecutionId, reply: Reply<()>) {
        match self.remove(id) {
            Err(error) => reply(Err(error.into())),
            Ok(Some(last)) => self.follow(last, vec![AfterCommit::reply(reply, Ok(()))]),
            Ok(None) => self.shared.mailbox.post(Message::Delete { id, reply }),
        }
    }

    /// Removes an execution, or its last steps if there are many: then there is no ticket.
    fn remove(&mut self, id: ExecutionId) -> Result<Option<u64>> {
        self.take(id);
        let key = layout::execution(id);
        let Some(row) = self.shared.store.get(self.shard, Space::Executions, &key)? else {
            return Ok(Some(self.ledger.last()));
        };
        let summary = Summary::decode(&row)?;
        let steps = layout::steps(summary.started_ms, id);
        let to = after_prefix(&steps);
        let scan = Scan::between(&steps, &to, STEPS_AT_A_TIME).up_to_bytes(BYTES_AT_A_TIME);
        let scan = scan.reversed();
        let steps = self.shared.store.scan(self.shard, Space::Journal, scan)?;
        let notes = layout::note(id, &[]);
        let to = after_prefix(&notes);
        let scan = Scan::between(&notes, &to, STEPS_AT_A_TIME);
        let notes = self.shared.store.scan(self.shard, Space::Catalog, scan)?;
        let mut batch = Batch::new(self.shard);
        let first = layout::step(summary.started_ms, id, 0);
        let more_steps = steps.last().is_some_and(|(step, _)| *step != first);
        let rest = more_steps || notes.len() == STEPS_AT_A_TIME;
        for (step, _) in steps {
            batch.remove(Space::Journal, step);
        }
        for (note, _) in notes {
            batch.remove(Space::Catalog, note);
        }
        if !rest {
            self.forget_notifications(id, &mut batch)?;
            self.quarantine.forget(id, &mut batch);
            erase(&summary, id, &mut batch);
        }
        let ticket = self.commit(batch, Vec::new());
        self.removing.insert(id, ticket);
        Ok((!rest).then_some(ticket))
    }

    /// Notifications that have not arrived go with their execution. Should there be more, the next start finds
    /// them, and that the execution is gone.
    fn forget_notifications(&self, id: ExecutionId, batch: &mut Batch) -> Result<()> {
        let from = layout::execution(id);
        let to = after_prefix(&from);
        let scan = Scan::between(&from, &to, STEPS_AT_A_TIME);
        for (key, _) in self.shared.store.scan(self.shard, Space::Outbox, scan)? {
            if matches!(layout::parse_outbox(&key), Some(OutboxKey::Notify(_))) {
                batch.remove(Space::Outbox, key);
            }
        }
        Ok(())
    }
}

fn erase(summary: &Summary, id: ExecutionId, batch: &mut Batch) {
    batch.remove(Space::Executions, layout::execution(id));
    let at = Position::new(summary.started_ms, id);
    for list in &summary.lists {
        for standing in Standing::ALL {
            batch.remove(Space::Lists, layout::listed(*list, standing, at));
        }
    }
    if let Some(stopped_ms) = summary.stopped_ms {
        batch.remove(Space::Closed, layout::closed(stopped_ms, id));
    }
}
