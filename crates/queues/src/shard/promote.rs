//! Delayed messages become ready when their time has come.

use everstep_store::{Scan, Space};

use super::Shard;
use crate::error::{Error, Result};
use crate::layout::{self, Order};
use crate::message::State;
use crate::queue::Queue;
use crate::queue::delays::Delay;

/// Messages that one commit is about.
const AT_A_TIME: usize = 256;

impl Shard {
    pub(super) fn promote(&mut self, queue: &mut Queue, now_ms: i64) -> Result<()> {
        if queue.delays.next_ms().is_none_or(|next_ms| next_ms > now_ms) {
            return Ok(());
        }
        let from = queue.delays.read_to;
        let (found, read_to) = self.read_delayed(queue, from, now_ms)?;
        let mut step = self.step(now_ms);
        for ((due_ms, sequence), state) in queue.delays.ahead.merge(found, from..=read_to) {
            queue.remove_delayed(&mut step, due_ms, sequence);
            if self.is_expired(queue, &state, now_ms) {
                queue.remove_message(&mut step, sequence);
            } else {
                queue.add_ready(&mut step, sequence, state);
            }
        }
        if read_to < (now_ms, u64::MAX) {
            queue.delays.read_to = read_to;
        } else {
            let next_ms = self.next_delay(queue, now_ms)?;
            queue.delays.has_read_to(now_ms, next_ms);
        }
        self.commit(queue, step, Vec::new());
        Ok(())
    }

    /// Rows that are due, and up to where there are no others.
    fn read_delayed(
        &self,
        queue: &Queue,
        from: Delay,
        now_ms: i64,
    ) -> Result<(Vec<(Delay, State)>, Delay)> {
        let rows = queue.record.messages;
        let low = layout::at(Order::Delayed, rows, from.0, from.1);
        let high = layout::from(Order::Delayed, rows, now_ms.saturating_add(1));
        let scan = Scan::between(&low, &high, AT_A_TIME);
        let found = self.shared.store.scan(self.shard, Space::QueueOrders, scan)?;
        let parse = |(key, row): (Vec<u8>, Vec<u8>)| {
            let delay = layout::parse_at(&key);
            let delay = delay.ok_or_else(|| Error::damaged("the key of a delay is unreadable"))?;
            Ok((delay, State::decode(&row)?))
        };
        let found = found.into_iter().map(parse).collect::<Result<Vec<_>>>()?;
        let last = found.last().filter(|_| found.len() == AT_A_TIME).map(|(delay, _)| *delay);
        Ok((found, last.unwrap_or((now_ms, u64::MAX))))
    }

    /// When the first message is due that is not due yet, as far as the store knows.
    fn next_delay(&self, queue: &Queue, now_ms: i64) -> Result<Option<i64>> {
        let rows = queue.record.messages;
        let low = layout::from(Order::Delayed, rows, now_ms.saturating_add(1));
        let high = everstep_store::after_prefix(&layout::in_order(Order::Delayed, rows));
        let scan = Scan::between(&low, &high, 1);
        let found = self.shared.store.scan(self.shard, Space::QueueOrders, scan)?;
        Ok(found.first().and_then(|(key, _)| layout::parse_at(key)).map(|(due_ms, _)| due_ms))
    }
}
