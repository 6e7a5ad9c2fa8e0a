//! A message as it is stored: what it is, which is written once, and how it stands, which changes.

use everstep_shards::row;
use minicbor::{Decode, Encode};

use crate::content::Content;
use crate::error::Result;
use crate::id::{Group, MessageId, MoveId};

const VERSION: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Message {
    #[n(0)]
    pub id: MessageId,
    #[n(1)]
    pub content: Content,
    /// When it was first sent.
    #[n(2)]
    pub sent_ms: i64,
    /// The queue from which it was moved here, because it was received too often there.
    #[n(3)]
    pub dead_letter_of: Option<String>,
}

impl Message {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("a message", VERSION, row)?)
    }
}

/// How a message stands. Which order it is in says the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct State {
    /// When it arrived in this queue. Never earlier than that of a message with a lower sequence number.
    #[n(0)]
    pub(crate) arrived_ms: i64,
    /// How often it was received, also from queues that it was in before.
    #[n(1)]
    pub(crate) receives: u32,
    #[n(2)]
    pub(crate) receives_here: u32,
    #[n(3)]
    pub(crate) first_received_ms: Option<i64>,
    #[n(4)]
    pub(crate) last_received_ms: Option<i64>,
    /// Of FIFO queues.
    #[n(5)]
    pub(crate) group: Option<Group>,
}

impl State {
    pub(crate) fn new(arrived_ms: i64, group: Option<Group>) -> Self {
        Self {
            arrived_ms,
            receives: 0,
            receives_here: 0,
            first_received_ms: None,
            last_received_ms: None,
            group,
        }
    }

    pub(crate) fn received(self, now_ms: i64) -> Self {
        Self {
            receives: self.receives.saturating_add(1),
            receives_here: self.receives_here.saturating_add(1),
            first_received_ms: self.first_received_ms.or(Some(now_ms)),
            last_received_ms: Some(now_ms),
            ..self
        }
    }

    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("the state of a message", VERSION, row)?)
    }
}

/// A message that was sent in the last minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Seen {
    #[n(0)]
    pub(crate) at_ms: i64,
    #[n(1)]
    pub(crate) id: MessageId,
    #[n(2)]
    pub(crate) sequence: u64,
}

impl Seen {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("a deduplication record", VERSION, row)?)
    }
}

/// A message on its way to another queue.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Move {
    #[n(0)]
    pub(crate) id: MoveId,
    #[n(1)]
    pub(crate) target: String,
    #[n(2)]
    pub(crate) stage: Stage,
}

/// Each stage is durable before anything is asked of the other queue, and is repeated until the other queue confirms.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Stage {
    /// To be put into the other queue, which remembers that.
    #[n(0)]
    Leaving(#[n(0)] Box<Departure>),
    /// It is there: the other queue need not remember it any longer.
    #[n(1)]
    Arrived,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Departure {
    #[n(0)]
    pub(crate) message: Message,
    /// Counts go with a dead letter.
    #[n(1)]
    pub(crate) receives: u32,
    #[n(2)]
    pub(crate) first_received_ms: Option<i64>,
}

impl Move {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("a message on its way to another queue", VERSION, row)?)
    }
}

/// How many messages are in the orders whose rows are not all in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub(crate) struct Counts {
    #[n(0)]
    pub(crate) ready: u64,
    #[n(1)]
    pub(crate) delayed: u64,
}

impl Counts {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("the counts of a queue", VERSION, row)?)
    }
}
