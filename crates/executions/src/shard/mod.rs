//! A shard: executions with one owner, which takes messages one at a time.
//!
//! A shard never waits for a commit. It decides on what is in memory, hands the step over and continues;
//! what follows from a step leaves only when the step is durable. So memory may be ahead of the store,
//! never the other way round, and steps become durable in the order in which they were decided. If a
//! commit fails, memory cannot be trusted any more and the whole engine gives up: the next start folds
//! what the store has.
//!
//! Nothing here knows of threads or clocks: time comes with each call. The simulation drives this very
//! code.

mod lend;
pub(crate) mod load;
mod outbox;
mod quarantine;
mod requests;
mod retention;
pub(crate) mod slot;
mod step;
mod tick;
mod wake;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use everstep_history::Attempt;
use everstep_interpreter::{Execution, Input};
use everstep_shards::{Ledger, Outbox, Outside, Quarantine, Slots, Timers};
use everstep_store::{Shard as StoreShard, Space, each_row};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::layout;
use crate::message::Message;
use crate::notification::NotificationId;
use crate::shared::Shared;
use lend::Lent;
use slot::Slot;
use wake::Wake;

pub struct Shard {
    shard: StoreShard,
    shared: Arc<Shared>,
    slots: Slots<ExecutionId, Slot>,
    timers: Timers<ExecutionId>,
    /// Executions that the shared may have to be asked again for, since the engine started.
    unrecovered: HashSet<ExecutionId>,
    recovery: VecDeque<ExecutionId>,
    /// Signs of life that executions expect which are not in memory now.
    heartbeats: HashMap<ExecutionId, Vec<(Attempt, i64)>>,
    /// Notifications by destination.
    outbox: Outbox<NotificationId, String>,
    ledger: Ledger<AfterCommit>,
    uses: u64,
    /// Bytes of data of the executions in memory.
    resident_bytes: usize,
    /// Those of them that are EXPRESS, and cannot leave.
    express_bytes: usize,
    /// Executions that have more to decide, in the order of their turns, and from when on.
    ready: VecDeque<(i64, ExecutionId)>,
    /// Executions that are being worked on outside the shard.
    lent: HashMap<ExecutionId, Lent>,
    lent_bytes: usize,
    quarantine: Quarantine<ExecutionId>,
    /// Executions that were released and have not been read since.
    released: HashSet<ExecutionId>,
    /// Removals that are on their way, each with the commit to wait for.
    removing: HashMap<ExecutionId, u64>,
    /// Executions whose notes are on their way, each with the last commit of them: notes are removed with their
    /// execution, and the store may not show these yet.
    noting: HashMap<ExecutionId, u64>,
    next_sweep_ms: i64,
    swept_to: Vec<u8>,
    /// The last commit that removed something.
    sweep_ticket: u64,
    seeds: Pcg64Mcg,
}

/// Rows that are read from the store at a time.
const ROWS_AT_A_TIME: usize = 10_000;

impl Shard {
    /// Takes a shard over: reads what must be woken, and asks once more for what may not have been done.
    /// Executions are read when they are needed.
    pub fn open(shard: StoreShard, shared: Arc<Shared>, seed: u64, now_ms: i64) -> Result<Self> {
        let mut seeds = Pcg64Mcg::seed_from_u64(seed ^ u64::from(shard.0));
        let (store, owner) = (shared.store.clone(), [seeds.next_u64(), seeds.next_u64()]);
        let (quarantine, forgotten) = quarantine::read(&shared, shard, now_ms)?;
        let mut opened = Self {
            shard,
            ledger: Ledger::take_over(store, shared.clone(), shard, layout::OWNER, owner),
            slots: Slots::default(),
            timers: Timers::new(shared.settings.shards.horizon_ms),
            unrecovered: HashSet::new(),
            recovery: VecDeque::new(),
            heartbeats: HashMap::new(),
            outbox: Outbox::new(shared.settings.shards.deliveries_max),
            uses: 0,
            resident_bytes: 0,
            express_bytes: 0,
            ready: VecDeque::new(),
            lent: HashMap::new(),
            lent_bytes: 0,
            quarantine,
            released: HashSet::new(),
            next_sweep_ms: now_ms + shared.settings.shards.sweep_every_ms,
            removing: HashMap::new(),
            noting: HashMap::new(),
            swept_to: Vec::new(),
            sweep_ticket: 0,
            seeds,
            shared,
        };
        opened.read_near()?;
        opened.look_ahead(now_ms)?;
        opened.empty_outbox()?;
        opened.open_quarantine(forgotten)?;
        Ok(opened)
    }

    fn read_near(&mut self) -> Result<()> {
        let (from, to) = layout::near_all();
        let (timers, unrecovered) = (&mut self.timers, &mut self.unrecovered);
        let mut recovery = Vec::new();
        let place = (self.shard, Space::Wakes);
        each_row(&*self.shared.store, place, (&from, &to), ROWS_AT_A_TIME, |(key, row)| {
            let id = layout::parse_near(&key)
                .ok_or_else(|| Error::damaged("a key of the wakes cannot be read"))?;
            match Wake::of_row(&row) {
                Wake::Near(due) => {
                    timers.arm(due, id);
                }
                Wake::AtOnce(started_ms) => {
                    unrecovered.insert(id);
                    recovery.push((started_ms, id));
                }
                Wake::Far(_) | Wake::Never => {}
            }
            Ok::<(), Error>(())
        })?;
        recovery.sort_unstable();
        self.recovery.extend(recovery.into_iter().map(|(_, id)| id));
        Ok(())
    }

    /// Takes a message. Everything it leads to is handed over when this returns.
    pub fn handle(&mut self, message: Message, now_ms: i64) {
        if let Some(error) = self.shared.failure() {
            return message.refuse(error.clone().into());
        }
        if let Some(ticket) = self.removal_of(message.id()) {
            return self.put_off(message, ticket);
        }
        let Some(message) = self.with_execution(message, now_ms) else { return };
        match message {
            Message::Continue { id } => self.continue_later(id, now_ms),
            Message::Decided(decided) => self.have_back(decided, now_ms),
            Message::Loaded(loaded) => self.have_loaded(loaded, now_ms),
            Message::Release { id, reply } => self.release(id, reply),
            Message::Start { start, reply, watcher } => {
                self.start(*start, reply, watcher, now_ms);
            }
            Message::Report { id, attempt, report, reply } => {
                self.report(id, attempt, report, reply, now_ms);
            }
            Message::Heartbeat { id, attempt, reply } => self.heartbeat(id, attempt, reply, now_ms),
            Message::Note { id, notes, reply } => self.note(id, notes, reply),
            Message::Stop { id, failure, reply } => self.stop(id, failure, reply, now_ms),
            Message::Redrive { id, reply } => self.redrive(id, reply, now_ms),
            Message::Watch { id, reply } => self.watch(id, reply, now_ms),
            Message::Delete { id, reply } => self.delete(id, reply, now_ms),
            Message::Delivered { id, sequence } => self.delivered(id, sequence),
            Message::Notify(failed) => self.notify(*failed),
            Message::Notified(id) => self.notified(id),
            Message::NotNotified(id) => self.outbox.retry(id, now_ms),
            Message::NotificationRemoved(id) => self.outbox.remove(id),
        }
    }

    /// What concerns an execution that is being removed waits until it is gone: the store may or may not
    /// show it until then.
    fn put_off(&mut self, message: Message, ticket: u64) {
        let mailbox = self.shared.mailbox.clone();
        let again = move |outcome: Result<()>| match outcome {
            Ok(()) => mailbox.post(message),
            Err(error) => message.refuse(error),
        };
        self.follow(ticket, vec![AfterCommit::Answer(Box::new(again))]);
    }

    /// The commit that removes an execution, while it is on its way.
    fn removal_of(&self, id: ExecutionId) -> Option<u64> {
        self.removing.get(&id).copied().filter(|ticket| !self.ledger.is_acknowledged(*ticket))
    }

    /// An execution as it is in memory, if it is there: for checks against the store.
    #[must_use]
    pub fn in_memory(&self, id: ExecutionId) -> Option<&Execution> {
        self.slots.get(id).map(|slot| &slot.execution)
    }

    /// Takes an execution out of memory. See [`Self::fetch`].
    fn take(&mut self, id: ExecutionId) -> Option<Box<Slot>> {
        let slot = self.slots.take(id)?;
        let bytes = self.resident(&slot);
        *bytes = bytes.saturating_sub(slot.bytes);
        Some(slot)
    }

    /// Where the bytes of an execution in memory are counted.
    fn resident(&mut self, slot: &Slot) -> &mut usize {
        if slot.is_durable() { &mut self.resident_bytes } else { &mut self.express_bytes }
    }

    /// Puts an execution into memory that was read from the store. What it asked for before a crash is asked for again
    /// the first time it is read.
    fn install(&mut self, mut slot: Box<Slot>, now_ms: i64) {
        let id = slot.id;
        match self.heartbeats.remove(&id) {
            Some(expected) => {
                for (attempt, due_ms) in expected {
                    slot.execution.expect_heartbeat(attempt, due_ms);
                }
            }
            None => {
                for (attempt, _) in slot.execution.heartbeats() {
                    // Only attempts that are awaited have heartbeats.
                    let _ = slot.execution.heartbeat(attempt, now_ms);
                }
            }
        }
        slot.armed = slot.execution.next_due_ms().filter(|due| self.timers.is_armed(*due, id));
        if !self.unrecovered.remove(&id) {
            slot.undelivered.clear();
        }
        if self.quarantine.holds(id).is_some() {
            return self.put_back(slot, now_ms);
        }
        if slot.is_unfinished {
            slot.is_continuing = true;
            self.ready.push_back((now_ms, id));
        }
        let is_overdue = slot.execution.next_due_ms().is_some_and(|due| due <= now_ms);
        if is_overdue {
            return self.step(slot, [Input::TimePassed], now_ms, Vec::new());
        }
        self.put_back(slot, now_ms);
    }

    /// Asks for what may not have been done before a crash, unless its time has passed meanwhile.
    fn ask_again(&mut self, slot: &mut Slot, now_ms: i64) {
        if slot.undelivered.is_empty()
            || slot.execution.next_due_ms().is_some_and(|due| due <= now_ms)
        {
            return;
        }
        let is_released = self.released.remove(&slot.id);
        for effect in std::mem::take(&mut slot.undelivered) {
            if let Some(mut task) = self.task(slot, effect, true)
                && slot.execution.awaits(task.attempt)
                && !slot.execution.is_handed_over(task.attempt)
            {
                if is_released {
                    // Whoever had it could not report while the execution was quarantined.
                    task.started_ms = task.started_ms.map(|_| now_ms);
                }
                self.shared.runner.dispatch(*task);
            }
        }
    }

    /// Puts an execution into memory, and ensures that it is woken in time.
    fn put_back(&mut self, mut slot: Box<Slot>, now_ms: i64) {
        if self.quarantine.holds(slot.id).is_none() {
            self.ask_again(&mut slot, now_ms);
        }
        self.arm(&mut slot);
        slot.bytes = slot.execution.held_bytes();
        *self.resident(&slot) += slot.bytes;
        self.uses += 1;
        slot.used = self.uses;
        if !slot.is_running() || (slot.is_durable() && slot.is_parked(now_ms)) {
            self.slots.release(slot.id, slot.ticket);
        }
        self.slots.put(slot.id, slot);
    }

    fn arm(&mut self, slot: &mut Slot) {
        let due = match slot.wake {
            Wake::Far(due) if self.timers.is_far(due) => None,
            _ => slot.execution.next_due_ms(),
        };
        if due == slot.armed {
            return;
        }
        if let Some(old) = slot.armed {
            self.timers.disarm(old, slot.id);
        }
        if let Some(due) = due {
            self.timers.arm(due, slot.id);
        }
        slot.armed = due;
    }

    fn draw(&mut self) -> u64 {
        self.seeds.next_u64()
    }
}
