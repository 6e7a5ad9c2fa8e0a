//! What has been over for long enough is removed, a few at a time.

use everstep_shards::Result;
use everstep_store::{Batch, Scan, Space};

use super::Shard;
use super::slot::Slot;
use crate::id::InvocationId;
use crate::layout::{self, Order, Part};

const REMOVED_AT_A_TIME: usize = 64;
/// Until what was removed is gone from the store, so that it is not found again.
const PAUSE_MS: i64 = 100;

impl Shard {
    pub(super) fn sweep_if_due(&mut self, now_ms: i64) -> Result<()> {
        if now_ms < self.next_sweep_ms {
            return Ok(());
        }
        let settings = &self.shared.settings;
        let trusted_ms = settings.shards.retention_limit.now_ms(now_ms);
        let old_ms = trusted_ms.saturating_sub(settings.retention_ms);
        let dead =
            settings.dead_letter_retention_ms.map(|kept_ms| trusted_ms.saturating_sub(kept_ms));
        let every_ms = settings.shards.sweep_every_ms;
        let mut full = self.sweep(Order::Closed, old_ms, now_ms)?;
        if let Some(dead_ms) = dead {
            full |= self.sweep(Order::Dead, dead_ms, now_ms)?;
        }
        full |= self.sweep(Order::Sessions, old_ms, now_ms)?;
        self.next_sweep_ms = now_ms.saturating_add(if full { PAUSE_MS } else { every_ms });
        Ok(())
    }

    /// Removes from an order what was there before a moment; whether there may be more of it.
    fn sweep(&mut self, order: Order, before_ms: i64, now_ms: i64) -> Result<bool> {
        let (from, to) = (layout::from(order, i64::MIN), layout::from(order, before_ms));
        let scan = Scan::between(&from, &to, REMOVED_AT_A_TIME);
        let rows = self.shared.store.scan(self.shard, Space::InvocationOrders, scan)?;
        let full = rows.len() == REMOVED_AT_A_TIME;
        for (key, _) in rows {
            match layout::parse_at(&key) {
                Some((at_ms, id)) if order == Order::Sessions => {
                    self.remove_session(id, at_ms, key);
                }
                Some((_, id)) => self.remove_invocation(order, id, key, now_ms),
                None => {}
            }
        }
        Ok(full)
    }

    fn remove_invocation(&mut self, order: Order, id: InvocationId, key: Vec<u8>, now_ms: i64) {
        let Some(mut slot) = self.take_or_strand(id, now_ms) else { return };
        if !self.is_filed(&slot, &key) {
            return self.put_back(slot);
        }
        if slot.invocation.is_routed() && slot.invocation.dead == (order == Order::Dead) {
            return self.remove(slot, key, Vec::new());
        }
        if order == Order::Closed {
            // It has deliveries to be made: swept again after another retention period.
            let mut batch = Batch::new(self.shard);
            batch.remove(Space::InvocationOrders, key);
            let key = layout::at(Order::Closed, now_ms, id);
            batch.put(Space::InvocationOrders, key, Vec::new());
            slot.ticket = self.commit(batch, Vec::new());
        }
        self.put_back(slot);
    }

    /// Whether an invocation stands at that place of an order. The store may have shown a place that has been
    /// given up, of this invocation or of an earlier one with the same key.
    fn is_filed(&self, slot: &Slot, key: &[u8]) -> bool {
        let stored = || self.shared.store.get(self.shard, Space::InvocationOrders, key);
        self.ledger.is_acknowledged(slot.ticket) && matches!(stored(), Ok(Some(_)))
    }

    /// Removes a session, unless the key of its invocation has been used again: then there is another one.
    fn remove_session(&mut self, id: InvocationId, at_ms: i64, key: Vec<u8>) {
        // One that cannot be read is left, for a version that can.
        let Ok(session) = self.session(id) else { return };
        let written = session.as_ref().map(|(_, ticket)| *ticket);
        let begun = self.slots.get(id).map(|slot| slot.ticket);
        let mut tickets = written.into_iter().chain(begun);
        if !tickets.all(|ticket| self.ledger.is_acknowledged(ticket)) {
            // The store may not show what is on its way: looked at again in the next sweep.
            return;
        }
        let mut batch = Batch::new(self.shard);
        batch.remove(Space::InvocationOrders, key);
        if session.is_none_or(|(session, _)| session.ended_ms == Some(at_ms)) {
            batch.remove(Space::Invocations, layout::part(id, Part::Session));
        }
        self.commit(batch, Vec::new());
    }
}
