//! What a shard does by itself, as time passes: in small steps, so that requests never wait long.

use everstep_shards::Outside;
use everstep_store::{Scan, Space, after_prefix};

use super::Shard;
use crate::error::{Error, Result};
use crate::layout::{self, Order};
use crate::queue::Queue;

/// Queues that are looked at before requests have their turn again.
const QUEUES_AT_A_TIME: usize = 64;
/// Deduplication records that are removed at a time.
const SEEN_AT_A_TIME: usize = 256;
/// How soon rows are looked at that were discarded by a commit that is on its way.
const DISCARDED_MS: i64 = 100;

impl Shard {
    /// Does what is due, and says when there will be more to do.
    pub fn tick(&mut self, now_ms: i64) -> Option<i64> {
        if let Some(error) = self.shared.failure().cloned() {
            self.give_up(&error.into());
            return None;
        }
        let done = self.look_at_due(now_ms);
        self.deliver_due(now_ms);
        let done = done.and_then(|()| self.read_moves(now_ms));
        if let Err(error) = done.and_then(|()| self.remove_discarded()) {
            // An engine that cannot read what is due cannot run.
            self.fail(error);
        }
        self.next_ms(now_ms)
    }

    fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let alarm = self.alarms.first().map(|(at_ms, _)| *at_ms);
        let outbox = self.outbox.next_ms(now_ms);
        let discarded = (!self.discarded.is_empty()).then(|| {
            if self.has_discarded() { now_ms } else { now_ms.saturating_add(DISCARDED_MS) }
        });
        [alarm, outbox, discarded].into_iter().flatten().min()
    }

    fn look_at_due(&mut self, now_ms: i64) -> Result<()> {
        for _ in 0..QUEUES_AT_A_TIME {
            let due = self.alarms.first().filter(|(at_ms, _)| *at_ms <= now_ms);
            let Some((_, name)) = due.cloned() else { return Ok(()) };
            let mut queue = self.take(&name)?;
            let looked = self.look_at(&mut queue, now_ms);
            self.put_back(queue, now_ms);
            looked?;
        }
        Ok(())
    }

    fn look_at(&mut self, queue: &mut Queue, now_ms: i64) -> Result<()> {
        queue.again = false;
        self.land_due(queue, now_ms);
        self.promote(queue, now_ms)?;
        self.expire(queue, now_ms);
        self.continue_move(queue, now_ms)?;
        self.forget_seen(queue, now_ms)?;
        self.serve(queue, now_ms);
        Ok(())
    }

    /// Removes deduplication records that count no longer.
    fn forget_seen(&mut self, queue: &mut Queue, now_ms: i64) -> Result<()> {
        if queue.seen_due_ms.is_none_or(|due_ms| due_ms > now_ms) {
            return Ok(());
        }
        let seen_ms = self.shared.settings.seen_ms;
        let high = after_prefix(&layout::in_order(Order::Seen, queue.record.id));
        let scan = Scan::between(&queue.seen_from, &high, SEEN_AT_A_TIME);
        let rows = self.shared.store.scan(self.shard, Space::QueueOrders, scan)?;
        queue.seen_due_ms = (!queue.seen.is_empty()).then(|| now_ms.saturating_add(seen_ms));
        let mut step = self.step(now_ms);
        for (key, _) in rows {
            let unreadable = || Error::damaged("the key of a deduplication record is unreadable");
            let (at_ms, fingerprint) = layout::parse_seen_at(&key).ok_or_else(unreadable)?;
            let due_ms = at_ms.saturating_add(seen_ms);
            queue.seen_due_ms = Some(due_ms.max(now_ms));
            if due_ms > now_ms {
                break;
            }
            let seen = queue.find_seen(fingerprint, &*self.shared.store, self.shard)?;
            if seen.is_some_and(|seen| seen.at_ms == at_ms) {
                queue.remove_seen(&mut step, fingerprint);
            }
            queue.seen_from = [key.as_slice(), &[0]].concat();
            step.batch.remove(Space::QueueOrders, key);
        }
        self.commit(queue, step, Vec::new());
        Ok(())
    }

    /// The engine has failed: answers all that wait.
    fn give_up(&mut self, error: &Error) {
        for queue in self.queues.values_mut() {
            for waiter in queue.waiters.take_all() {
                (waiter.reply)(Err(error.clone()));
            }
        }
        self.alarms.clear();
    }
}

impl Drop for Shard {
    /// Nobody waits for a shard that is gone.
    fn drop(&mut self) {
        self.give_up(&Error::Stopped);
    }
}
