//! A queue as it is stored.

use std::collections::BTreeMap;

use everstep_shards::row;
use minicbor::{Decode, Encode};

use crate::attributes::Attributes;
use crate::error::Result;
use crate::id::RowsId;
use crate::move_task::{MoveStatus, MoveTask};

const VERSION: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Record {
    #[n(0)]
    pub name: String,
    /// The rows that it has as long as it exists.
    #[n(1)]
    pub(crate) id: RowsId,
    /// The rows of its messages, until it is purged.
    #[n(2)]
    pub(crate) messages: RowsId,
    #[n(3)]
    pub attributes: Attributes,
    #[n(4)]
    pub tags: BTreeMap<String, String>,
    #[n(5)]
    pub created_ms: i64,
    #[n(6)]
    pub modified_ms: i64,
    /// Sequence numbers below have perhaps been used.
    #[n(7)]
    pub(crate) sequence_to: u64,
    /// The latest first.
    #[n(8)]
    pub move_tasks: Vec<MoveTask>,
}

impl Record {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("a queue", VERSION, row)?)
    }

    /// The task that moves its messages, if one does.
    #[must_use]
    pub fn running_task(&self) -> Option<&MoveTask> {
        self.move_tasks.first().filter(|task| task.status == MoveStatus::Running)
    }
}
