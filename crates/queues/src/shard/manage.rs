//! Queues themselves: created, changed, purged, deleted.

use std::sync::Arc;

use everstep_store::Space;

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::attributes::{Attributes, is_name};
use crate::error::{Error, Result};
use crate::layout;
use crate::message::Counts;
use crate::queue::delays::Delays;
use crate::queue::flights::Flights;
use crate::queue::{Queue, Step};
use crate::record::Record;
use crate::request::{Change, Created, Creation, Reply, Standing};

impl Shard {
    pub(super) fn create(&mut self, creation: Creation, reply: Reply<Created>, now_ms: i64) {
        if !is_name(&creation.name) {
            return reply(Err(Error::InvalidName(creation.name)));
        }
        match self.take(&creation.name) {
            Ok(mut queue) => {
                let existing = self.create_again(&mut queue, creation, now_ms);
                self.put_back(queue, now_ms);
                self.answer(reply, existing);
            }
            Err(_) if self.queues.len() >= self.shared.settings.queues_max => {
                self.answer(reply, Err(Error::TooManyQueues));
            }
            Err(_) => self.create_new(creation, reply, now_ms),
        }
    }

    fn create_new(&mut self, creation: Creation, reply: Reply<Created>, now_ms: i64) {
        let Creation { name, set, tags, update: _ } = creation;
        let attributes = set(Attributes::of(&name));
        let record = Record {
            name,
            id: self.draw_rows(),
            messages: self.draw_rows(),
            attributes,
            tags,
            created_ms: now_ms,
            modified_ms: now_ms,
            sequence_to: 1,
            move_tasks: Vec::new(),
        };
        let mut queue = Box::new(Queue::new(record, &self.shared.settings));
        queue.change_record();
        let step = self.step(now_ms);
        let after = vec![AfterCommit::reply(reply, Ok(Created { existed: false }))];
        self.commit(&mut queue, step, after);
        self.put_back(queue, now_ms);
    }

    /// A queue that exists is not changed, unless that is asked for.
    fn create_again(
        &mut self,
        queue: &mut Queue,
        creation: Creation,
        now_ms: i64,
    ) -> Result<Created> {
        let attributes = (creation.set)(queue.record.attributes.clone());
        let other = difference(&queue.record.attributes, &attributes);
        if let Some(attribute) = other.filter(|_| !creation.update) {
            return Err(Error::Exists(attribute));
        }
        if other.is_some() {
            let record = queue.change_record();
            (record.attributes, record.modified_ms) = (attributes, now_ms);
            let step = self.step(now_ms);
            self.commit(queue, step, Vec::new());
        }
        Ok(Created { existed: true })
    }

    pub(super) fn change(&mut self, name: &str, change: Change, reply: Reply<()>, now_ms: i64) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        let record = queue.change_record();
        match change {
            Change::Attributes(change) => {
                record.attributes = change(record.attributes.clone());
                record.modified_ms = now_ms;
            }
            Change::Tag(tags) => record.tags.extend(tags),
            Change::Untag(keys) => record.tags.retain(|key, _| !keys.contains(key)),
        }
        // Messages may expire earlier now.
        queue.expire_ms = now_ms;
        let step = self.step(now_ms);
        self.commit(&mut queue, step, vec![AfterCommit::reply(reply, Ok(()))]);
        self.put_back(queue, now_ms);
    }

    pub(super) fn delete(&mut self, name: &str, reply: Reply<()>, now_ms: i64) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        self.silence(&mut queue, &Arc::from(name));
        for waiter in queue.waiters.take_all() {
            (waiter.reply)(Err(Error::NoSuchQueue(name.to_owned())));
        }
        let mut step = self.step(now_ms);
        step.batch.remove(Space::Queues, layout::queue(name));
        self.discard(&mut step, queue.record.id);
        self.discard(&mut step, queue.record.messages);
        self.hand_over(step, vec![AfterCommit::reply(reply, Ok(()))]);
    }

    /// All messages are gone at once: later ones have other rows. The old rows are removed little by little.
    pub(super) fn purge(&mut self, name: &str, reply: Reply<()>, now_ms: i64) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        let mut step = self.step(now_ms);
        self.replace_messages(&mut queue, &mut step);
        self.commit(&mut queue, step, vec![AfterCommit::reply(reply, Ok(()))]);
        self.put_back(queue, now_ms);
    }

    fn replace_messages(&mut self, queue: &mut Queue, step: &mut Step) {
        self.discard(step, queue.record.messages);
        let messages = self.draw_rows();
        queue.change_record().messages = messages;
        let record = queue.record.clone();
        let empty = Queue::new(record, &self.shared.settings);
        queue.line = empty.line;
        queue.flights = Flights::default();
        queue.delays = Delays::new(false, i64::MIN);
        queue.counts = Counts::default();
        queue.forget_messages();
    }

    pub(super) fn stand(&mut self, name: &str, reply: Reply<Standing>, now_ms: i64) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        let read = queue.read_ready(&*self.shared.store, self.shard);
        let standing = read.map(|()| Standing {
            record: queue.record.clone(),
            ready: queue.counts.ready,
            delayed: queue.counts.delayed,
            in_flight: queue.flights.len() as u64,
            oldest_ms: queue.line.first().map(|(_, state)| state.arrived_ms),
        });
        self.put_back(queue, now_ms);
        self.answer(reply, standing);
    }
}

/// The first attribute, by the name it has in SQS, that is not the same.
fn difference(one: &Attributes, other: &Attributes) -> Option<&'static str> {
    let fifo = |attributes: &Attributes| attributes.fifo.clone().unwrap_or_default();
    let (a, b) = (fifo(one), fifo(other));
    [
        ("DelaySeconds", one.delay_ms == other.delay_ms),
        ("MaximumMessageSize", one.bytes_max == other.bytes_max),
        ("MessageRetentionPeriod", one.retention_ms == other.retention_ms),
        ("ReceiveMessageWaitTimeSeconds", one.wait_ms == other.wait_ms),
        ("VisibilityTimeout", one.visibility_ms == other.visibility_ms),
        ("RedrivePolicy", one.redrive == other.redrive),
        ("RedriveAllowPolicy", one.redrive_allow == other.redrive_allow),
        ("ContentBasedDeduplication", a.content_based == b.content_based),
        ("DeduplicationScope", a.by_group == b.by_group),
        ("FifoThroughputLimit", a.limit_by_group == b.limit_by_group),
        ("SqsManagedSseEnabled", one.managed_encryption == other.managed_encryption),
    ]
    .into_iter()
    .find_map(|(name, same)| (!same).then_some(name))
}
