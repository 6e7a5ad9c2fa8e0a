//! What people see of a trigger.

use everstep_invocations::InvocationId;

use crate::record::{Counters, Last};

#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub state: State,
    /// Items that were accepted and are not over.
    pub in_flight: usize,
    /// Items that were brought, or are due, and are not accepted.
    pub waiting: usize,
    /// When the oldest of those in flight was accepted.
    pub oldest_ms: Option<i64>,
    pub accepted: u64,
    pub counters: Counters,
    pub position: Option<String>,
    pub cursor: Option<String>,
    /// When a timer is due next.
    pub next_ms: Option<i64>,
    /// The last tick that was accepted.
    pub last_tick_ms: Option<i64>,
    /// The last ends, latest last.
    pub last: Vec<Last>,
    /// Items that have failed for good, and that others wait for.
    pub blocked_by: Vec<InvocationId>,
    /// What keeps it from its work, if anything does.
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    /// By hand, until it is resumed.
    Paused,
    /// Its configuration says so.
    Disabled,
    /// An item has failed for good.
    Blocked,
}

impl State {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Paused => "Paused",
            Self::Disabled => "Disabled",
            Self::Blocked => "Blocked",
        }
    }
}
