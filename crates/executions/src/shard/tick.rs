//! What a shard does by itself, as time passes: in small steps, so that messages never wait long.

use everstep_interpreter::Input;
use everstep_shards::Outside;
use everstep_store::Space;

use super::Shard;
use super::slot::Slot;
use super::wake::Wake;
use crate::error::Error;
use crate::id::ExecutionId;
use crate::layout;

/// Executions that are woken before messages have their turn again.
const WOKEN_AT_A_TIME: usize = 256;
/// How long a shard waits for what it has lent, if nothing comes.
const LENT_PAUSE_MS: i64 = 20;
/// Executions that are looked at again after a start, at a time.
const RECOVERED_AT_A_TIME: usize = 64;

impl Shard {
    /// Does what is due, and says when there will be more to do. Errors concern single executions, or are
    /// final and known to the outside.
    pub fn tick(&mut self, now_ms: i64) -> (Option<i64>, Vec<(ExecutionId, Error)>) {
        let ticked = self.do_what_is_due(now_ms);
        self.shared.in_flight.rest();
        ticked
    }

    fn do_what_is_due(&mut self, now_ms: i64) -> (Option<i64>, Vec<(ExecutionId, Error)>) {
        let mut troubles = Vec::new();
        if let Some(error) = self.shared.failure().cloned() {
            self.give_up(&error.into());
            return (None, troubles);
        }
        self.recover_some(now_ms, &mut troubles);
        self.wake_due(now_ms, &mut troubles);
        troubles.extend(self.continue_next(now_ms));
        if self.timers.must_look_ahead(now_ms)
            && let Err(error) = self.look_ahead(now_ms)
        {
            // An engine that cannot read what is due cannot run.
            self.shared.fail(error);
        }
        if let Err(error) = self.notify_due(now_ms) {
            self.shared.fail(error);
        }
        self.sweep_if_due(now_ms);
        self.let_go();
        let ledger = &self.ledger;
        self.removing.retain(|_, ticket| !ledger.is_acknowledged(*ticket));
        self.noting.retain(|_, ticket| !ledger.is_acknowledged(*ticket));
        (self.next_ms(now_ms), troubles)
    }

    /// The engine has failed: answers all watchers.
    fn give_up(&mut self, error: &Error) {
        for slot in self.slots.values_mut() {
            for watcher in std::mem::take(&mut slot.watchers) {
                watcher(Err(error.clone()));
            }
        }
    }

    /// Whether everything that was open at the start has been looked at.
    #[must_use]
    pub fn is_recovered(&self) -> bool {
        self.unrecovered.is_empty()
    }

    fn next_ms(&self, now_ms: i64) -> Option<i64> {
        if self.has_lent_much() {
            // What comes back wakes the shard.
            return Some(now_ms.saturating_add(LENT_PAUSE_MS));
        }
        if !self.recovery.is_empty() {
            return Some(now_ms);
        }
        let turn = self.ready.iter().map(|(from_ms, _)| *from_ms).min();
        let sweep = self.shared.settings.retention_ms.map(|_| self.next_sweep_ms);
        let notification = self.outbox.next_ms(now_ms);
        [self.timers.next_ms()].into_iter().chain(sweep).chain(notification).chain(turn).min()
    }

    fn recover_some(&mut self, now_ms: i64, troubles: &mut Vec<(ExecutionId, Error)>) {
        let mut recovered = 0;
        while recovered < RECOVERED_AT_A_TIME
            && !self.has_lent_much()
            && let Some(id) = self.recovery.pop_front()
        {
            if self.unrecovered.contains(&id) {
                recovered += 1;
                self.look_at(id, now_ms, troubles);
                if !self.lent.contains_key(&id) {
                    // Gone from the store, or unreadable: it will not be any better later.
                    self.unrecovered.remove(&id);
                }
            }
        }
    }

    fn wake_due(&mut self, now_ms: i64, troubles: &mut Vec<(ExecutionId, Error)>) {
        for _ in 0..WOKEN_AT_A_TIME {
            if self.has_lent_much() {
                return;
            }
            let Some((due, id)) = self.timers.pop_due(now_ms) else { return };
            if let Some(slot) = self.slots.get_mut(id)
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
        match self.fetch_and_take(id, now_ms) {
            Ok(Some(slot)) => self.pass_time(slot, now_ms),
            Ok(None) | Err(Error::AlreadyExists(_) | Error::Quarantined(_)) => {}
            Err(error) => troubles.push((id, error)),
        }
    }

    /// Lets an execution do what is due.
    fn pass_time(&mut self, slot: Box<Slot>, now_ms: i64) {
        match slot.execution.next_due_ms() {
            Some(due) if due <= now_ms => self.step(slot, [Input::TimePassed], now_ms, Vec::new()),
            _ => self.put_back(slot, now_ms),
        }
    }

    /// Whether EXPRESS executions hold so much data that no other can be started.
    pub(super) fn is_full_of_express(&self) -> bool {
        self.express_bytes > self.shared.settings.express_bytes
    }

    /// Timers that have come near are armed: those that the store shows, and those of executions that are in
    /// memory until their rows are durable.
    pub(super) fn look_ahead(&mut self, now_ms: i64) -> everstep_shards::Result<()> {
        let place = (self.shard, Space::Wakes);
        let near = self.timers.look_ahead(now_ms, &*self.shared.store, place, layout::FAR)?;
        for slot in self.slots.values_mut() {
            if let Wake::Far(due) = slot.wake
                && near.contains(&due)
            {
                self.timers.arm(due, slot.id);
                slot.armed = Some(due);
            }
        }
        Ok(())
    }

    /// Executions leave memory that nothing needs there.
    pub(super) fn let_go(&mut self) {
        while let Some(id) = self.slots.next_released(&self.ledger) {
            self.forget(id);
        }
        if self.slots.len() > self.shared.settings.resident_max
            || self.resident_bytes > self.shared.settings.resident_bytes
        {
            self.forget_oldest();
        }
    }

    /// Drops an execution from memory; what only memory knew of it stays.
    fn forget(&mut self, id: ExecutionId) {
        let Some(slot) = self.slots.get(id) else { return };
        if !slot.watchers.is_empty() || !slot.undelivered.is_empty() {
            return;
        }
        if slot.is_running() {
            let expected = slot.execution.heartbeats();
            if !expected.is_empty() {
                self.heartbeats.insert(id, expected);
            }
        }
        self.take(id);
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
