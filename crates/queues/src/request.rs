//! All that can reach a shard.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::attributes::Attributes;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::id::{MessageId, MoveId, Recipient, shard_of};
use crate::message::{Departure, Message};
use crate::move_task::{MoveTask, MoveTaskId};
use crate::receipt::Receipt;
use crate::record::Record;

/// Called exactly once, when the answer is known and what it rests on is durable.
pub type Reply<T> = Box<dyn FnOnce(Result<T>) + Send>;

pub enum Request {
    Create {
        creation: Box<Creation>,
        reply: Reply<Created>,
    },
    /// Changes the settings or the tags of a queue.
    Change {
        queue: String,
        change: Change,
        reply: Reply<()>,
    },
    /// Deletes a queue and its messages.
    Delete {
        queue: String,
        reply: Reply<()>,
    },
    /// Removes the messages of a queue.
    Purge {
        queue: String,
        reply: Reply<()>,
    },
    Stand {
        queue: String,
        reply: Reply<Standing>,
    },
    Send {
        queue: String,
        sendings: Vec<Sending>,
        reply: Reply<Vec<Result<Sent>>>,
    },
    Receive {
        queue: String,
        receive: Receive,
        reply: Reply<Vec<Received>>,
    },
    /// Deletes messages.
    Remove {
        queue: String,
        receipts: Vec<Receipt>,
        reply: Reply<Vec<Result<()>>>,
    },
    /// Hides messages for so long from now on, or shows them.
    Hide {
        queue: String,
        receipts: Vec<(Receipt, i64)>,
        reply: Reply<Vec<Result<()>>>,
    },
    StartMove {
        queue: String,
        destination: Option<String>,
        per_second: Option<u32>,
        reply: Reply<MoveTaskId>,
    },
    /// Answers how many messages were moved.
    CancelMove {
        queue: String,
        task: MoveTaskId,
        reply: Reply<u64>,
    },
    /// A move is durable, or is to be attempted again.
    Deliver {
        shard: u16,
        place: Place,
    },
    /// What the other queue answered.
    Delivered {
        shard: u16,
        place: Place,
        outcome: Result<()>,
    },
    /// A message comes from another queue.
    Arrive {
        queue: String,
        arrival: Box<Arrival>,
        reply: Reply<()>,
    },
    /// The other queue knows that a message has arrived.
    Forget {
        queue: String,
        id: MoveId,
        reply: Reply<()>,
    },
    /// Answers all that wait for messages, and lets no more wait.
    StopWaiting {
        shard: u16,
    },
}

/// A move, by the queue that it is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(pub(crate) Recipient, pub(crate) MoveId);

pub struct Creation {
    pub name: String,
    /// Sees the settings of the existing queue, or the usual ones, and returns them as they are to be.
    pub set: Set,
    pub tags: BTreeMap<String, String>,
    /// Brings an existing queue to these settings instead of refusing others.
    pub update: bool,
}

pub type Set = Box<dyn FnOnce(Attributes) -> Attributes + Send>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Created {
    /// It existed already.
    pub existed: bool,
}

pub enum Change {
    /// Sees the settings as they are, and returns them as they are to be.
    Attributes(Set),
    Tag(BTreeMap<String, String>),
    Untag(Vec<String>),
}

/// A queue, and how many messages it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub record: Record,
    /// Can be received.
    pub ready: u64,
    pub delayed: u64,
    pub in_flight: u64,
    /// When the oldest message arrived that is not in flight, if there is one.
    pub oldest_ms: Option<i64>,
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    pub id: MessageId,
    pub content: Content,
    /// That of the queue, if there is none.
    pub delay_ms: Option<i64>,
    /// Of all sendings with the same key within a few minutes one counts, in any queue.
    pub key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub id: MessageId,
    /// Of FIFO queues.
    pub sequence: Option<u64>,
    /// It had been sent before.
    pub known: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Receive {
    pub max: usize,
    /// That of the queue, if there is none.
    pub visibility_ms: Option<i64>,
    pub wait_ms: Option<i64>,
    /// The same receive, repeated by a caller that has seen no answer. For FIFO queues.
    pub attempt: Option<String>,
    pub cancelled: Cancelled,
}

/// Whether a caller has gone, so that no message is handed to nobody.
#[derive(Debug, Clone, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub message: Arc<Message>,
    pub receipt: Receipt,
    /// This one included.
    pub receives: u32,
    pub first_received_ms: i64,
    pub sequence: u64,
    /// When it is visible again.
    pub hidden_until_ms: i64,
}

/// A message that comes from another queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    pub(crate) id: MoveId,
    pub(crate) departure: Departure,
}

impl Request {
    /// The shard it is for, of so many.
    #[must_use]
    pub fn shard(&self, shards: u16) -> u16 {
        match self {
            Self::Create { creation, .. } => shard_of(&creation.name, shards).0,
            Self::Change { queue, .. }
            | Self::Delete { queue, .. }
            | Self::Purge { queue, .. }
            | Self::Stand { queue, .. }
            | Self::Send { queue, .. }
            | Self::Receive { queue, .. }
            | Self::Remove { queue, .. }
            | Self::Hide { queue, .. }
            | Self::StartMove { queue, .. }
            | Self::CancelMove { queue, .. }
            | Self::Arrive { queue, .. }
            | Self::Forget { queue, .. } => shard_of(queue, shards).0,
            Self::Deliver { shard, .. }
            | Self::Delivered { shard, .. }
            | Self::StopWaiting { shard } => *shard,
        }
    }

    /// Answers the caller with an error.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Create { reply, .. } => reply(Err(error)),
            Self::Change { reply, .. }
            | Self::Delete { reply, .. }
            | Self::Purge { reply, .. }
            | Self::Arrive { reply, .. }
            | Self::Forget { reply, .. } => reply(Err(error)),
            Self::Stand { reply, .. } => reply(Err(error)),
            Self::Send { reply, .. } => reply(Err(error)),
            Self::Receive { reply, .. } => reply(Err(error)),
            Self::Remove { reply, .. } | Self::Hide { reply, .. } => reply(Err(error)),
            Self::StartMove { reply, .. } => reply(Err(error)),
            Self::CancelMove { reply, .. } => reply(Err(error)),
            Self::Deliver { .. } | Self::Delivered { .. } | Self::StopWaiting { .. } => {}
        }
    }
}

impl Standing {
    /// The tasks that moved its messages, the latest first.
    #[must_use]
    pub fn move_tasks(&self) -> &[MoveTask] {
        &self.record.move_tasks
    }
}
