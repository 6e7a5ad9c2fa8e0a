//! Tasks that move the messages of a dead-letter queue to where they came from, or elsewhere.

use minicbor::{Decode, Encode};

/// A task, by the number of tasks of its queue before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct MoveTaskId(#[n(0)] pub u64);

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MoveTask {
    #[n(0)]
    pub id: MoveTaskId,
    /// The queue that messages are moved to; each back to its own source if there is none.
    #[n(1)]
    pub destination: Option<String>,
    #[n(2)]
    pub per_second: Option<u32>,
    #[n(3)]
    pub status: MoveStatus,
    #[n(4)]
    pub moved: u64,
    /// Messages that could be received when it was started.
    #[n(5)]
    pub to_move: u64,
    #[n(6)]
    pub started_ms: i64,
    /// What arrives later is not moved.
    #[n(7)]
    pub(crate) below: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum MoveStatus {
    #[n(0)]
    Running,
    #[n(1)]
    Completed,
    #[n(2)]
    Cancelled,
    /// With the reason.
    #[n(3)]
    Failed(#[n(0)] String),
}

/// Tasks that are remembered for each queue.
pub(crate) const REMEMBERED: usize = 10;
