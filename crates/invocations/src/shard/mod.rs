//! A shard: invocations with one owner, which takes messages one at a time.
//!
//! As the runtime's shards do, it never waits for a commit: it decides on what is in memory, hands the rows
//! over and continues; what follows (an attempt, an answer, a delivery) leaves when they are durable. If a
//! commit fails, everything is given up and the next start reads what the store has.
//!
//! Invocations that run or wait for a worker are in memory, with those whose last commit is on its way. All
//! others are rows: so one that is read from the store and says that it is running was interrupted.
//!
//! Nothing here knows of threads or clocks: time comes with each call.

mod accept;
mod deliver;
mod intake;
mod quarantine;
mod redrive;
mod requests;
mod session;
mod slot;
mod start;
mod step;
mod sweep;
mod tick;

use std::collections::HashMap;
use std::sync::Arc;

use everstep_shards::{Ledger, Outbox, Outside, Quarantine, Slots, Timers};
use everstep_store::{Shard as StoreShard, Space};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::{InvocationId, Recipient};
use crate::invocation::Invocation;
use crate::layout::{self, Part};
use crate::message::Message;
use crate::session::Session;
use crate::shared::Shared;
use crate::synchronous;
use slot::Slot;

/// A delivery, by its invocation and the index of its route.
type Place = (InvocationId, u32);

pub struct Shard {
    shard: StoreShard,
    shared: Arc<Shared>,
    slots: Slots<InvocationId, Slot>,
    /// Sessions that were changed, each with the commit to wait for.
    sessions: HashMap<InvocationId, (Session, u64)>,
    timers: Timers<InvocationId>,
    outbox: Outbox<Place, Recipient>,
    /// How many wait for an end.
    watching: usize,
    ledger: Ledger<AfterCommit>,
    quarantine: Quarantine<InvocationId>,
    next_sweep_ms: i64,
    chance: Pcg64Mcg,
}

impl Shard {
    /// Takes a shard over, and reads what is due soon. What was running is found to have been interrupted
    /// as it is looked at.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn open(shard: StoreShard, shared: Arc<Shared>, seed: u64, now_ms: i64) -> Result<Self> {
        let mut chance = Pcg64Mcg::seed_from_u64(seed ^ (u64::from(shard.0) << 48));
        let (store, owner) = (shared.store.clone(), [chance.next_u64(), chance.next_u64()]);
        let (quarantine, forgotten) = quarantine::read(&shared, shard, now_ms)?;
        let mut opened = Self {
            shard,
            quarantine,
            ledger: Ledger::take_over(store, shared.clone(), shard, layout::OWNER, owner),
            slots: Slots::default(),
            sessions: HashMap::new(),
            timers: Timers::new(shared.settings.shards.horizon_ms),
            outbox: Outbox::new(shared.settings.shards.deliveries_max),
            watching: 0,
            next_sweep_ms: now_ms.saturating_add(shared.settings.shards.sweep_every_ms),
            chance,
            shared,
        };
        opened.open_quarantine(forgotten);
        opened.find_recipients(now_ms)?;
        opened.look_ahead(now_ms)?;
        Ok(opened)
    }

    /// Takes a message. Everything it leads to is handed over when this returns.
    pub fn handle(&mut self, message: Message, now_ms: i64) {
        if let Some(error) = self.shared.failure() {
            return message.refuse(error.clone().into());
        }
        let Some(message) = self.pass_quarantine(message) else { return };
        match message {
            Message::Accept { acceptance, reply, watcher } => {
                self.accept(*acceptance, reply, watcher, now_ms);
            }
            Message::AcceptAll { intake, reply } => self.accept_all(*intake, reply, now_ms),
            Message::Call { call, reply } => {
                synchronous::call(&self.shared, *call, reply, now_ms);
            }
            Message::Ready { id, permit } => self.has_slot(id, permit, now_ms),
            Message::Claim { id, attempt, receipt } => self.claim(id, attempt, receipt, now_ms),
            Message::Ended { id, attempt, outcome, receipt } => {
                self.ended(id, attempt, outcome, receipt, now_ms);
            }
            Message::Cancel { id, reply } => self.cancel(id, reply, now_ms),
            Message::Watch { id, reply } => self.watch(id, reply, now_ms),
            Message::Redrive { id, redrive, reply } => self.redrive(id, redrive, reply, now_ms),
            Message::Release { id, reply } => self.release(id, reply, now_ms),
            Message::Purge { id, undelivered, reply } => self.purge(id, undelivered, reply, now_ms),
            Message::Deliver { id, index } => self.deliver_once((id, index), now_ms),
            Message::Delivered { id, accepted_ms, index, outcome } => {
                self.delivered((id, index), accepted_ms, outcome, now_ms);
            }
            Message::Step { session, end, reply } => self.step_ended(session, *end, reply, now_ms),
        }
    }

    /// The engine has failed: answers all watchers.
    pub(crate) fn give_up(&mut self, error: &Error) {
        for slot in self.slots.values_mut() {
            for watcher in std::mem::take(&mut slot.watchers) {
                watcher(Err(error.clone()));
            }
        }
        self.watching = 0;
    }

    /// Takes an invocation out of memory, or reads it from the store.
    fn take(&mut self, id: InvocationId, now_ms: i64) -> Result<Option<Box<Slot>>> {
        match self.slots.get(id) {
            Some(slot) if slot.gone => return Ok(None),
            Some(_) => return Ok(self.slots.take(id)),
            None => {}
        }
        let key = layout::part(id, Part::Record);
        let Some(row) = self.shared.store.get(self.shard, Space::Invocations, &key)? else {
            return Ok(None);
        };
        let mut slot = Box::new(Slot::new(Invocation::decode(&row)?));
        if slot.is_running() {
            self.interrupt(&mut slot, now_ms);
        }
        Ok(Some(slot))
    }

    /// As [`Shard::take`], for what the engine does by itself: no caller gets the error.
    fn take_or_strand(&mut self, id: InvocationId, now_ms: i64) -> Option<Box<Slot>> {
        self.take(id, now_ms).unwrap_or_else(|error| {
            self.shared.observer.stuck(id, &error);
            None
        })
    }

    /// Puts an invocation into memory, until nothing needs it there.
    fn put_back(&mut self, slot: Box<Slot>) {
        if !slot.is_busy() {
            self.slots.release(slot.invocation.id, slot.ticket);
        }
        self.slots.put(slot.invocation.id, slot);
    }

    /// A number from 0 up to 1.
    fn unit(&mut self) -> f64 {
        // 53 bits are all that it has.
        let numerator = (self.chance.next_u64() >> 11) as f64;
        numerator / (1u64 << 53) as f64
    }
}

#[cfg(test)]
impl Shard {
    /// How many invocations are in memory.
    pub(crate) fn resident(&self) -> usize {
        self.slots.len()
    }
}
