//! An execution as lists show it: its identity and its status.

use everstep_interpreter::Status;
use everstep_shards::{Result, row};
use minicbor::{Decode, Encode};

use crate::id::{ExecutionId, ListId};
use crate::revision::RevisionId;

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Summary {
    #[n(0)]
    pub arn: String,
    #[n(1)]
    pub revision: RevisionId,
    #[n(2)]
    pub standing: Standing,
    #[n(3)]
    pub started_ms: i64,
    #[n(4)]
    pub stopped_ms: Option<i64>,
    #[n(5)]
    pub redrives: u32,
    #[n(6)]
    pub redriven_ms: Option<i64>,
    /// The lists it is in.
    #[n(7)]
    pub lists: Vec<ListId>,
    /// Labels from its starter.
    #[n(8)]
    pub labels: Vec<(String, String)>,
    /// How many events the AWS history has, once it is over.
    #[n(9)]
    pub shown_events: Option<u32>,
}

/// A status without what came with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(index_only)]
#[repr(u8)]
pub enum Standing {
    #[n(0)]
    Running = 0,
    #[n(1)]
    Succeeded = 1,
    #[n(2)]
    Failed = 2,
    #[n(3)]
    TimedOut = 3,
    #[n(4)]
    Aborted = 4,
}

impl Standing {
    pub const ALL: [Self; 5] =
        [Self::Running, Self::Succeeded, Self::Failed, Self::TimedOut, Self::Aborted];

    #[must_use]
    pub fn of(status: &Status) -> Self {
        match status {
            Status::Running => Self::Running,
            Status::Succeeded { .. } => Self::Succeeded,
            Status::Failed { .. } => Self::Failed,
            Status::TimedOut => Self::TimedOut,
            Status::Aborted { .. } => Self::Aborted,
        }
    }
}

impl Summary {
    #[must_use]
    pub fn id(&self) -> ExecutionId {
        ExecutionId::of(&self.arn)
    }

    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode(self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        row::decode("an execution's row", bytes)
    }
}
