//! When an execution must be woken, as the store has it.
//!
//! An open execution has at most one row that says so. A start of the engine reads all that say "near",
//! and of those that say "far" only the ones that have become due soon: a million executions that wait
//! for next week cost neither memory nor time.

use everstep_interpreter::Execution;
use everstep_shards::Timers;
use everstep_store::{Batch, Shard, Space, Store};

use super::slot::Slot;
use crate::error::Result;
use crate::id::ExecutionId;
use crate::layout;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wake {
    /// Only by what others say to it.
    Never,
    /// As soon as the engine runs: something that it asked for must be asked for again. With the moment of its
    /// start: those that were started first come first.
    AtOnce(i64),
    /// Not before this moment. The row may name an earlier one, never a later.
    Near(i64),
    /// At this moment exactly.
    Far(i64),
}

impl Wake {
    /// What the store should say. `timers` know which moments are far.
    pub(super) fn wanted(slot: &Slot, timers: &Timers<ExecutionId>) -> Self {
        let execution = &slot.execution;
        if !slot.is_running() {
            return Self::Never;
        }
        // Heartbeats begin anew after a crash, from when the engine runs again.
        if slot.is_unfinished || execution.has_undelivered() || execution.has_heartbeats() {
            return Self::AtOnce(execution.started_ms());
        }
        match execution.next_due_ms() {
            Some(due) if timers.is_far(due) => Self::Far(due),
            Some(due) => Self::Near(due),
            None => Self::Never,
        }
    }

    /// What the store says of an execution.
    pub(super) fn read(
        store: &dyn Store,
        shard: Shard,
        id: ExecutionId,
        execution: &Execution,
    ) -> Result<Self> {
        let near = store.get(shard, Space::Wakes, &layout::near(id))?;
        Ok(match (near, execution.next_due_ms()) {
            (Some(row), _) => Self::of_row(&row),
            (None, Some(due)) => Self::Far(due),
            (None, None) => Self::Never,
        })
    }

    /// What the row of a near one says.
    pub(super) fn of_row(row: &[u8]) -> Self {
        match (row.try_into(), row.split_first_chunk()) {
            (Ok(due), _) => Self::Near(i64::from_be_bytes(due)),
            (_, Some((started, _))) => Self::AtOnce(i64::from_be_bytes(*started)),
            // From before the start was kept.
            (_, None) => Self::AtOnce(i64::MIN),
        }
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
            Self::AtOnce(started) => {
                // One more byte tells it from a moment at which it is due.
                let row = [started.to_be_bytes().as_slice(), &[0]].concat();
                batch.put(Space::Wakes, layout::near(id), row);
            }
            Self::Far(_) | Self::Never => {
                if matches!(self, Self::Near(_) | Self::AtOnce(_)) {
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
