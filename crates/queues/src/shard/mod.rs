//! A shard: queues with one owner, which takes requests one at a time.
//!
//! As all shards here do, it never waits for a commit: it decides on what is in memory, hands the rows over and
//! continues; what follows (an answer, a message for another queue) leaves when they are durable. If a commit fails,
//! everything is given up and the next start reads what the store has.
//!
//! Nothing here knows of threads or clocks: time comes with each call.

mod arrive;
mod discard;
mod expire;
mod hide;
mod manage;
mod move_out;
mod move_task;
mod promote;
mod receive;
mod remove;
mod send;
mod tick;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use everstep_shards::{Ledger, Outbox, Outside};
use everstep_store::{Batch, Shard as StoreShard, Space, each_row};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::after_commit::AfterCommit;
use crate::ahead::Ahead;
use crate::error::{Error, Result};
use crate::id::{Recipient, RowsId};
use crate::layout::{self, Part};
use crate::queue::{Queue, Step};
use crate::record::Record;
use crate::request::{Place, Request};
use crate::shared::Shared;
use discard::Discarded;

/// Queues that are read at a time.
const ROWS_AT_A_TIME: usize = 1000;

pub struct Shard {
    shard: StoreShard,
    shared: Arc<Shared>,
    /// By name, in order, so that the same happens each time in a simulation.
    queues: BTreeMap<Arc<str>, Box<Queue>>,
    /// When each queue is to be looked at.
    alarms: BTreeSet<(i64, Arc<str>)>,
    outbox: Outbox<Place, Recipient>,
    /// Moves that may not be visible in the store yet.
    moves: Ahead<Place, ()>,
    discarded: VecDeque<Discarded>,
    ledger: Ledger<AfterCommit>,
    chance: Pcg64Mcg,
    /// No receive waits any more.
    is_closing: bool,
}

impl Shard {
    /// Takes a shard over, and reads which queues it has and what is in flight.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn open(shard: StoreShard, shared: Arc<Shared>, seed: u64, now_ms: i64) -> Result<Self> {
        let mut chance = Pcg64Mcg::seed_from_u64(seed ^ (u64::from(shard.0) << 48) ^ 0x51);
        let (store, owner) = (shared.store.clone(), [chance.next_u64(), chance.next_u64()]);
        let mut opened = Self {
            shard,
            ledger: Ledger::take_over(store, shared.clone(), shard, layout::OWNER, owner),
            queues: BTreeMap::new(),
            alarms: BTreeSet::new(),
            outbox: Outbox::new(shared.settings.shards.deliveries_max),
            moves: Ahead::default(),
            discarded: VecDeque::new(),
            chance,
            is_closing: false,
            shared,
        };
        opened.read_queues(now_ms)?;
        opened.find_moves()?;
        opened.find_discarded()?;
        Ok(opened)
    }

    fn read_queues(&mut self, now_ms: i64) -> Result<()> {
        let shared = self.shared.clone();
        let (from, to) = (vec![Part::Queue as u8], layout::end(Part::Queue));
        let place = (self.shard, Space::Queues);
        each_row(&*shared.store, place, (&from, &to), ROWS_AT_A_TIME, |(_, row)| {
            let record = Record::decode(&row)?;
            let queue = Queue::open(record, &*shared.store, self.shard, &shared.settings)?;
            self.put_back(Box::new(queue), now_ms);
            Ok::<_, Error>(())
        })
    }

    /// Takes a request. Everything it leads to is handed over when this returns.
    pub fn handle(&mut self, request: Request, now_ms: i64) {
        if let Some(error) = self.shared.failure() {
            return request.refuse(error.clone().into());
        }
        match request {
            Request::Create { creation, reply } => self.create(*creation, reply, now_ms),
            Request::Change { queue, change, reply } => self.change(&queue, change, reply, now_ms),
            Request::Delete { queue, reply } => self.delete(&queue, reply, now_ms),
            Request::Purge { queue, reply } => self.purge(&queue, reply, now_ms),
            Request::Stand { queue, reply } => self.stand(&queue, reply, now_ms),
            Request::Send { queue, sendings, reply } => self.send(&queue, sendings, reply, now_ms),
            Request::Receive { queue, receive, reply } => {
                self.receive(&queue, receive, reply, now_ms);
            }
            Request::Remove { queue, receipts, reply } => {
                self.remove(&queue, &receipts, reply, now_ms);
            }
            Request::Hide { queue, receipts, reply } => self.hide(&queue, &receipts, reply, now_ms),
            Request::StartMove { queue, destination, per_second, reply } => {
                self.start_move(&queue, destination, per_second, reply, now_ms);
            }
            Request::CancelMove { queue, task, reply } => {
                self.cancel_move(&queue, task, reply, now_ms);
            }
            Request::Deliver { place, .. } => self.deliver_once(place, now_ms),
            Request::Delivered { place, outcome, .. } => self.delivered(place, outcome, now_ms),
            Request::Arrive { queue, arrival, reply } => {
                self.arrive(&queue, *arrival, reply, now_ms);
            }
            Request::Forget { queue, id, reply } => self.forget(&queue, id, reply, now_ms),
            Request::StopWaiting { .. } => self.stop_waiting(now_ms),
        }
    }

    /// Takes a queue out, to be changed.
    fn take(&mut self, name: &str) -> Result<Box<Queue>> {
        let queue = self.queues.remove(name).ok_or_else(|| Error::NoSuchQueue(name.to_owned()))?;
        Ok(queue)
    }

    /// Puts a queue back, and notes when it is to be looked at.
    fn put_back(&mut self, mut queue: Box<Queue>, now_ms: i64) {
        let ledger = &self.ledger;
        queue.settle(|commit| ledger.is_acknowledged(commit));
        let name: Arc<str> = queue.record.name.as_str().into();
        let alarm_ms = queue.next_ms(now_ms);
        if queue.alarm_ms != alarm_ms {
            self.silence(&mut queue, &name);
            queue.alarm_ms = alarm_ms;
            self.alarms.extend(alarm_ms.map(|at_ms| (at_ms, name.clone())));
        }
        self.queues.insert(name, queue);
    }

    /// The queue is not looked at.
    fn silence(&mut self, queue: &mut Queue, name: &Arc<str>) {
        if let Some(at_ms) = queue.alarm_ms.take() {
            self.alarms.remove(&(at_ms, name.clone()));
        }
    }

    fn step(&self, now_ms: i64) -> Step {
        Step { batch: Batch::new(self.shard), commit: self.ledger.last() + 1, now_ms }
    }

    /// Hands over what has changed of a queue; `after` follows when that is durable.
    fn commit(&mut self, queue: &mut Queue, mut step: Step, after: Vec<AfterCommit>) {
        queue.finish(&mut step);
        self.hand_over(step, after);
    }

    fn hand_over(&mut self, step: Step, after: Vec<AfterCommit>) {
        if step.batch.writes.is_empty() {
            // What it rests on may be on its way.
            return self.ledger.follow(self.ledger.last(), after);
        }
        let number = self.ledger.commit(step.batch, after);
        debug_assert_eq!(number, step.commit, "a step is handed over before the next is begun");
    }

    /// An answer that changes nothing waits for what it rests on.
    fn answer<T: Send + 'static>(&mut self, reply: crate::Reply<T>, answer: Result<T>) {
        let after = vec![AfterCommit::reply(reply, answer)];
        self.ledger.follow(self.ledger.last(), after);
    }

    fn draw_rows(&mut self) -> RowsId {
        RowsId::drawn(self.chance.next_u64())
    }
}

#[cfg(test)]
impl Shard {
    /// How many messages of all queues are in memory.
    pub(crate) fn resident(&self) -> usize {
        self.queues.values().map(|queue| queue.line.len() + queue.flights.len()).sum()
    }
}
