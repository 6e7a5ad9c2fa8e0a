//! What a shard does by itself, as time passes: in small steps, so that messages never wait long.

use everstep_interpreter::Input;
use everstep_store::{Space, each_row};

use super::slot::Slot;
use super::wake::Wake;
use super::{ROWS_AT_A_TIME, Shard};
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::layout;

/// Executions that are woken before messages have their turn again.
const WOKEN_AT_A_TIME: usize = 256;
/// Executions that are looked at again after a start, at a time.
const RECOVERED_AT_A_TIME: usize = 64;

impl Shard {
    /// Does what is due, and says when there will be more to do. Errors concern single executions, or are
    /// final and known to the world.
    pub fn tick(&mut self, now_ms: i64) -> (Option<i64>, Vec<(ExecutionId, Error)>) {
        let mut troubles = Vec::new();
        if self.world.failure().is_some() {
            return (None, troubles);
        }
        self.recover_some(now_ms, &mut troubles);
        self.wake_due(now_ms, &mut troubles);
        self.look_ahead(now_ms);
        self.sweep_if_due(now_ms);
        self.let_go();
        let ledger = &self.ledger;
        self.removing.retain(|_, ticket| !ledger.is_acknowledged(*ticket));
        self.noting.retain(|_, ticket| !ledger.is_acknowledged(*ticket));
        (self.next_ms(now_ms), troubles)
    }

    /// Whether everything that was open at the start has been looked at.
    #[must_use]
    pub fn is_recovered(&self) -> bool {
        self.unrecovered.is_empty()
    }

    fn next_ms(&self, now_ms: i64) -> Option<i64> {
        if !self.unrecovered.is_empty() {
            return Some(now_ms);
        }
        let look_ahead = self.far_from_ms.saturating_sub(self.world.settings.horizon_ms / 2);
        let timer = self.timers.first().map(|(due, _)| *due);
        let sweep = self.world.settings.retention_ms.map(|_| self.next_sweep_ms);
        timer.into_iter().chain([look_ahead]).chain(sweep).min()
    }

    fn recover_some(&mut self, now_ms: i64, troubles: &mut Vec<(ExecutionId, Error)>) {
        let mut recovered = 0;
        while recovered < RECOVERED_AT_A_TIME
            && let Some(id) = self.recovery.pop_front()
        {
            if self.unrecovered.contains(&id) {
                recovered += 1;
                self.look_at(id, now_ms, troubles);
                // Gone from the store, or unreadable: it will not be any better later.
                self.unrecovered.remove(&id);
            }
        }
    }

    fn wake_due(&mut self, now_ms: i64, troubles: &mut Vec<(ExecutionId, Error)>) {
        for _ in 0..WOKEN_AT_A_TIME {
            let Some((due, id)) = self.timers.first().copied().filter(|(due, _)| *due <= now_ms)
            else {
                return;
            };
            self.timers.remove(&(due, id));
            if let Some(slot) = self.slots.get_mut(&id)
                && slot.armed == Some(due)
            {
                slot.armed = None;
            }
            self.look_at(id, now_ms, troubles);
        }
    }

    /// Reads an execution if it must be, and lets it do what is due.
    fn look_at(&mut self, id: ExecutionId, now_ms: i64, troubles: &mut Vec<(ExecutionId, Error)>) {
        if self.removal_of(id).is_some() {
            return;
        }
        match self.take(id, now_ms) {
            Ok(Some(slot)) => {
                let slot = self.pass_time(slot, now_ms);
                self.put_back(slot, now_ms);
            }
            Ok(None) | Err(Error::AlreadyExists(_)) => {}
            Err(error) => troubles.push((id, error)),
        }
    }

    /// Lets an execution do what is due.
    pub(super) fn pass_time(&mut self, slot: Box<Slot>, now_ms: i64) -> Box<Slot> {
        match slot.execution.next_due_ms() {
            Some(due) if due <= now_ms => {
                self.decide(slot, [Input::TimePassed], now_ms, Vec::new())
            }
            _ => slot,
        }
    }

    /// Timers that have come near are read into memory.
    fn look_ahead(&mut self, now_ms: i64) {
        if now_ms.saturating_add(self.world.settings.horizon_ms / 2) >= self.far_from_ms
            && let Err(error) = self.read_far(now_ms)
        {
            // Not to be able to read what is due is not to be able to go on.
            self.world.fail(error);
        }
    }

    pub(super) fn read_far(&mut self, now_ms: i64) -> Result<()> {
        let until_ms = now_ms.saturating_add(self.world.settings.horizon_ms);
        let (from, to) = layout::far_between(self.far_from_ms, until_ms);
        let (timers, place) = (&mut self.timers, (self.shard, Space::Wakes));
        each_row(&*self.world.store, place, (&from, &to), ROWS_AT_A_TIME, |(key, _)| {
            let timer = layout::parse_far(&key)
                .ok_or_else(|| Error::damaged("a key of the wakes cannot be read"))?;
            timers.insert(timer);
            Ok::<_, Error>(())
        })?;
        self.arm_on_their_way(until_ms);
        self.far_from_ms = until_ms;
        Ok(())
    }

    /// Timers that have come near and whose rows the store may not show yet: their executions are in
    /// memory until the rows are durable.
    fn arm_on_their_way(&mut self, until_ms: i64) {
        for slot in self.slots.values_mut() {
            if let Wake::Far(due) = slot.wake
                && (self.far_from_ms..until_ms).contains(&due)
            {
                self.timers.insert((due, slot.id));
                slot.armed = Some(due);
            }
        }
    }

    /// Executions leave memory that nothing needs there.
    pub(super) fn let_go(&mut self) {
        while let Some((ticket, id)) = self.leaving.front().copied()
            && self.ledger.is_acknowledged(ticket)
        {
            self.leaving.pop_front();
            let same = self.slots.get(&id).is_some_and(|slot| slot.ticket == ticket);
            if same {
                self.forget(id);
            }
        }
        if self.slots.len() > self.world.settings.resident_max {
            self.forget_oldest();
        }
    }

    /// Drops an execution from memory; what only memory knew of it stays.
    fn forget(&mut self, id: ExecutionId) {
        let Some(slot) = self.slots.get(&id) else { return };
        if !slot.watchers.is_empty() {
            return;
        }
        if slot.is_running() {
            let expected = slot.execution.heartbeats();
            if !expected.is_empty() {
                self.heartbeats.insert(id, expected);
            }
        }
        self.slots.remove(&id);
    }

    /// The quarter of the executions in memory that was not needed for longest.
    fn forget_oldest(&mut self) {
        let mut idle: Vec<(u64, ExecutionId)> = self
            .slots
            .values()
            .filter(|slot| slot.is_durable() && self.ledger.is_acknowledged(slot.ticket))
            .map(|slot| (slot.used, slot.id))
            .collect();
        idle.sort_unstable();
        idle.truncate(self.slots.len().div_ceil(4));
        for (_, id) in idle {
            self.forget(id);
        }
    }
}
