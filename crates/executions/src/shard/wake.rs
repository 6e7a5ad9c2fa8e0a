//! When an execution must be woken, as the store has it.
//!
//! An open execution has at most one row that says so. A start of the engine reads all that say "near",
//! and of those that say "far" only the ones that have become due soon: a million executions that wait
//! for next week cost neither memory nor time.

use everstep_interpreter::Execution;
use everstep_shards::Timers;
use everstep_store::{Batch, Shard, Space};

use crate::error::Result;
use crate::id::ExecutionId;
use crate::layout;
use crate::shared::Shared;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// Only by what others say to it.
    Never,
    /// As soon as the engine runs: something that it asked for must be asked for again.
    AtOnce,
    /// Not before this moment. The row may name an earlier one, never a later.
    Near(i64),
    /// At this moment exactly.
    Far(i64),
}

impl Wake {
    /// What the store should say. `timers` know which moments are far.
    pub(super) fn wanted(execution: &Execution, timers: &Timers<ExecutionId>) -> Self {
        // Heartbeats begin anew after a crash, from when the engine runs again.
        if execution.has_undelivered() || execution.has_heartbeats() {
            return Self::AtOnce;
        }
        match execution.next_due_ms() {
            Some(due) if timers.is_far(due) => Self::Far(due),
            Some(due) => Self::Near(due),
            None => Self::Never,
        }
    }

    /// What the store says of an execution.
    pub(super) fn read(
        shared: &Shared,
        shard: Shard,
        id: ExecutionId,
        execution: &Execution,
    ) -> Result<Self> {
        let near = shared.store.get(shard, Space::Wakes, &layout::near(id))?;
        Ok(match (near, execution.next_due_ms()) {
            (Some(row), _) => Self::of_row(&row),
            (None, Some(due)) => Self::Far(due),
            (None, None) => Self::Never,
        })
    }

    /// What the row of a near one says.
    pub(super) fn of_row(row: &[u8]) -> Self {
        row.try_into().map_or(Self::AtOnce, |due| Self::Near(i64::from_be_bytes(due)))
    }

    /// Changes the store from this to `wanted`, and returns what it says then.
    pub(super) fn change(self, wanted: Self, id: ExecutionId, batch: &mut Batch) -> Self {
        match (self, wanted) {
            (same, wanted) if same == wanted => return same,
            // Woken too early it goes back to sleep.
            (Self::Near(now), Self::Near(later)) if now <= later => return self,
            (Self::Far(due), _) => batch.remove(Space::Wakes, layout::far(due, id)),
            _ => {}
        }
        match wanted {
            Self::Near(due) => {
                batch.put(Space::Wakes, layout::near(id), due.to_be_bytes().to_vec());
            }
            Self::AtOnce => batch.put(Space::Wakes, layout::near(id), Vec::new()),
            Self::Far(_) | Self::Never => {
                if matches!(self, Self::Near(_) | Self::AtOnce) {
                    batch.remove(Space::Wakes, layout::near(id));
                }
                if let Self::Far(due) = wanted {
                    batch.put(Space::Wakes, layout::far(due, id), Vec::new());
                }
            }
        }
        wanted
    }
}
