//! Durable queues: what is sent is received until it is deleted, expires or is moved to a dead-letter queue, whatever
//! happens to the engine meanwhile.
//!
//! A queue belongs to one shard. Its messages are rows; in memory are the next that can be received, those in flight,
//! and the callers that wait. [`Queues`] is the entry. Which protocol a caller speaks, and what a consumer does with a
//! message, is not known here. `docs/design/queues.md` has the invariants.

mod after_commit;
mod ahead;
mod attributes;
mod content;
mod engine;
mod error;
mod id;
mod layout;
mod message;
mod move_task;
mod observer;
mod queue;
mod reader;
mod receipt;
mod record;
mod request;
mod settings;
mod shard;
mod shared;

pub use everstep_shards::{Clock, Mailbox, SystemClock};

pub use attributes::{
    Attributes, Fifo, NAME_MAX, RedriveAllow, RedrivePolicy, is_fifo, is_name, poison_name,
};
pub use content::{Attribute, AttributeValue, Content};
pub use engine::Queues;
pub use error::{Error, Result};
pub use id::{MessageId, MoveId, RowsId, shard_of};
pub use message::Message;
pub use move_task::{MoveStatus, MoveTask, MoveTaskId};
pub use observer::{Observer, Silent};
pub use reader::{Description, Peeked};
pub use receipt::{NotAReceipt, Receipt};
pub use record::Record;
pub use request::{
    Arrival, Cancelled, Change, Created, Creation, Receive, Received, Reply, Request, Sending,
    Sent, Set, Standing,
};
pub use settings::Settings;
pub use shard::Shard;
pub use shared::{Parts, Shared};

#[cfg(test)]
mod tests;
