//! What a shard does by itself, as time passes: in small steps, so that messages never wait long.

use everstep_store::{Batch, Space, each_row};

use super::Shard;
use super::slot::Slot;
use crate::error::{Error, Result};
use crate::id::InvocationId;
use crate::invocation::State;
use crate::layout::{self, Order};

/// Invocations that are woken before messages have their turn again.
const WOKEN_AT_A_TIME: usize = 256;
/// Timers that are read from the store at a time.
const READ_AT_A_TIME: usize = 10_000;

impl Shard {
    /// Does what is due, and says when there will be more to do.
    pub fn tick(&mut self, now_ms: i64) -> Option<i64> {
        if let Some(error) = self.world.failure().cloned() {
            self.give_up(&error);
            return None;
        }
        self.wake_due(now_ms);
        self.deliver_due(now_ms);
        let near = now_ms.saturating_add(self.world.settings.horizon_ms / 2) >= self.far_from_ms;
        let read = if near { self.read_near(now_ms) } else { Ok(()) };
        let swept =
            read.and_then(|()| self.read_outbox(now_ms)).and_then(|()| self.sweep_if_due(now_ms));
        if let Err(error) = swept {
            // Not to be able to read what is due is not to be able to go on.
            self.world.fail(error);
        }
        self.let_go();
        Some(self.next_ms(now_ms))
    }

    fn next_ms(&self, now_ms: i64) -> i64 {
        let settings = &self.world.settings;
        let look_ahead = self.far_from_ms.saturating_sub(settings.horizon_ms / 2);
        let timer = self.timers.first().map(|(due_ms, _)| *due_ms);
        let outbox = self.outbox.next_ms(settings.deliveries_max, now_ms);
        let others = timer.into_iter().chain(outbox).min().unwrap_or(i64::MAX);
        others.min(look_ahead).min(self.next_sweep_ms)
    }

    fn wake_due(&mut self, now_ms: i64) {
        for _ in 0..WOKEN_AT_A_TIME {
            let Some((due_ms, id)) = self.timers.first().copied() else { return };
            if due_ms > now_ms {
                return;
            }
            self.timers.remove(&(due_ms, id));
            self.look_at(id, now_ms);
        }
    }

    fn look_at(&mut self, id: InvocationId, now_ms: i64) {
        if let Some(slot) = self.take_or_strand(id, now_ms) {
            self.ready_if_due(slot, now_ms);
        }
    }

    /// Lets an invocation run, unless it is not its time.
    pub(super) fn ready_if_due(&mut self, slot: Box<Slot>, now_ms: i64) {
        match slot.invocation.state {
            State::Waiting { due_ms } if due_ms > now_ms => self.put_back(slot),
            State::Accepted | State::Waiting { .. } => {
                self.ready(slot, Batch::new(self.shard), Vec::new(), now_ms);
            }
            _ => self.put_back(slot),
        }
    }

    /// Reads timers that have come near. All that were missed are among them.
    pub(super) fn read_near(&mut self, now_ms: i64) -> Result<()> {
        let until_ms = now_ms.saturating_add(self.world.settings.horizon_ms);
        let from = layout::from(Order::Due, self.far_from_ms);
        let to = layout::from(Order::Due, until_ms);
        let (timers, place) = (&mut self.timers, (self.shard, Space::InvocationOrders));
        each_row(&*self.world.store, place, (&from, &to), READ_AT_A_TIME, |(key, _)| {
            let timer = layout::parse_at(&key)
                .ok_or_else(|| Error::damaged("a key of what is due cannot be read"))?;
            timers.insert(timer);
            Ok::<_, Error>(())
        })?;
        self.arm_on_their_way(until_ms);
        self.far_from_ms = until_ms;
        Ok(())
    }

    /// Timers that have come near and whose rows the store may not show yet: their invocations are in
    /// memory until the rows are durable.
    fn arm_on_their_way(&mut self, until_ms: i64) {
        for (id, slot) in &self.slots {
            if let State::Waiting { due_ms } = slot.invocation.state
                && (self.far_from_ms..until_ms).contains(&due_ms)
            {
                self.timers.insert((due_ms, *id));
            }
        }
    }

    /// What nothing needs in memory leaves it.
    fn let_go(&mut self) {
        while let Some((ticket, id)) = self.leaving.front().copied()
            && self.ledger.is_acknowledged(ticket)
        {
            self.leaving.pop_front();
            let idle = self.slots.get(&id).is_some_and(|slot| {
                slot.ticket == ticket && !slot.is_running() && slot.watchers.is_empty()
            });
            if idle {
                self.slots.remove(&id);
            }
        }
        let ledger = &self.ledger;
        self.sessions.retain(|_, (_, ticket)| !ledger.is_acknowledged(*ticket));
    }
}
