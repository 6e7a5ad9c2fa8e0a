//! What a shard does by itself, as time passes: in small steps, so that messages never wait long.

use everstep_shards::Outside;
use everstep_store::{Batch, Space};

use super::Shard;
use super::slot::Slot;
use crate::id::InvocationId;
use crate::invocation::State;
use crate::layout::Order;

/// Invocations that are woken before messages have their turn again.
const WOKEN_AT_A_TIME: usize = 256;

impl Shard {
    /// Does what is due, and says when there will be more to do.
    pub fn tick(&mut self, now_ms: i64) -> Option<i64> {
        let next_ms = self.do_what_is_due(now_ms);
        self.shared.settings.shards.in_flight.rest();
        next_ms
    }

    fn do_what_is_due(&mut self, now_ms: i64) -> Option<i64> {
        if let Some(error) = self.shared.failure().cloned() {
            self.give_up(&error.into());
            return None;
        }
        self.wake_due(now_ms);
        self.deliver_due(now_ms);
        let near = self.timers.must_look_ahead(now_ms);
        let read = if near { self.look_ahead(now_ms) } else { Ok(()) };
        let swept =
            read.and_then(|()| self.read_outbox(now_ms)).and_then(|()| self.sweep_if_due(now_ms));
        if let Err(error) = swept {
            // An engine that cannot read what is due cannot run.
            self.shared.fail(error);
        }
        self.let_go();
        Some(self.next_ms(now_ms))
    }

    fn next_ms(&self, now_ms: i64) -> i64 {
        let outbox = self.outbox.next_ms(now_ms);
        let next_ms = self.timers.next_ms().min(self.next_sweep_ms);
        outbox.map_or(next_ms, |outbox| next_ms.min(outbox))
    }

    fn wake_due(&mut self, now_ms: i64) {
        for _ in 0..WOKEN_AT_A_TIME {
            let Some((_, id)) = self.timers.pop_due(now_ms) else { return };
            self.look_at(id, now_ms);
        }
    }

    fn look_at(&mut self, id: InvocationId, now_ms: i64) {
        if self.may_work_on(id)
            && let Some(slot) = self.take_or_strand(id, now_ms)
        {
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

    /// Timers that have come near are armed: those that the store shows, and those of invocations that are in
    /// memory until their rows are durable.
    pub(super) fn look_ahead(&mut self, now_ms: i64) -> everstep_shards::Result<()> {
        let place = (self.shard, Space::InvocationOrders);
        let store = &*self.shared.store;
        let near = self.timers.look_ahead(now_ms, store, place, Order::Due as u8)?;
        for slot in self.slots.values() {
            if let State::Waiting { due_ms } = slot.invocation.state
                && near.contains(&due_ms)
            {
                self.timers.arm(due_ms, slot.invocation.id);
            }
        }
        Ok(())
    }

    /// What nothing needs in memory leaves it.
    fn let_go(&mut self) {
        while let Some(id) = self.slots.next_released(&self.ledger) {
            let idle = |slot: &Slot| !slot.is_busy() && slot.watchers.is_empty();
            if self.slots.get(id).is_some_and(idle) {
                self.slots.take(id);
            }
        }
        let ledger = &self.ledger;
        self.sessions.retain(|_, (_, ticket)| !ledger.is_acknowledged(*ticket));
    }
}
