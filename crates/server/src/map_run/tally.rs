//! How the children of a Map Run stand, counted.

use everstep_executions::Standing;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How one child stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Pending,
    /// It did not succeed, and waits until the redrive reaches it.
    PendingRedrive,
    Running,
    Over(Standing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pending: u64,
    pending_redrive: u64,
    running: u64,
    succeeded: u64,
    failed: u64,
    timed_out: u64,
    aborted: u64,
}

/// Of the children, and of the items that they work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Tallies {
    pub(crate) executions: Tally,
    pub(crate) items: Tally,
}

impl Tally {
    fn of(&mut self, place: Place) -> &mut u64 {
        match place {
            Place::Pending => &mut self.pending,
            Place::PendingRedrive => &mut self.pending_redrive,
            Place::Running | Place::Over(Standing::Running) => &mut self.running,
            Place::Over(Standing::Succeeded) => &mut self.succeeded,
            Place::Over(Standing::Failed) => &mut self.failed,
            Place::Over(Standing::TimedOut) => &mut self.timed_out,
            Place::Over(Standing::Aborted) => &mut self.aborted,
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.pending + self.pending_redrive + self.running + self.succeeded + self.unsuccessful()
    }

    /// Those that are over and did not succeed.
    pub(crate) fn unsuccessful(&self) -> u64 {
        self.failed + self.timed_out + self.aborted
    }

    pub(crate) fn shown(&self) -> Value {
        json!({
            "pending": self.pending,
            "running": self.running,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "timedOut": self.timed_out,
            "aborted": self.aborted,
            "total": self.total(),
            "resultsWritten": 0,
            "failuresNotRedrivable": 0,
            "pendingRedrive": self.pending_redrive,
        })
    }
}

impl Tallies {
    pub(crate) fn add(&mut self, place: Place, items: u64) {
        *self.executions.of(place) += 1;
        *self.items.of(place) += items;
    }

    pub(crate) fn shift(&mut self, from: Place, to: Place, items: u64) {
        *self.executions.of(from) -= 1;
        *self.items.of(from) -= items;
        self.add(to, items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_items_are_counted_where_they_stand() {
        let mut tallies = Tallies::default();
        tallies.add(Place::Pending, 10);
        tallies.add(Place::Pending, 3);
        tallies.shift(Place::Pending, Place::Running, 3);
        tallies.shift(Place::Running, Place::Over(Standing::TimedOut), 3);
        assert_eq!(tallies.executions.shown()["pending"], 1);
        assert_eq!(tallies.items.shown()["timedOut"], 3);
        assert_eq!(tallies.items.unsuccessful(), 3);
        assert_eq!((tallies.executions.total(), tallies.items.total()), (2, 13));
    }
}
