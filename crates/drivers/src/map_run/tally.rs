//! How many children of a Map Run, and how many of its items, have which status.

use everstep_executions::Standing;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where one child is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Pending,
    /// It did not succeed, and waits for its redrive.
    PendingRedrive,
    Running,
    Over(Standing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    pending: u64,
    pending_redrive: u64,
    running: u64,
    succeeded: u64,
    failed: u64,
    timed_out: u64,
    aborted: u64,
}

/// Of the children, and of the items that they process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tallies {
    pub executions: Tally,
    pub items: Tally,
}

impl Tally {
    fn count(&mut self, place: Place) -> &mut u64 {
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

    #[must_use]
    pub fn total(&self) -> u64 {
        self.pending + self.pending_redrive + self.running + self.succeeded + self.unsuccessful()
    }

    /// Those that are over and did not succeed.
    #[must_use]
    pub fn unsuccessful(&self) -> u64 {
        self.failed + self.timed_out + self.aborted
    }

    /// As `DescribeMapRun` answers it.
    #[must_use]
    pub fn shown(&self) -> Value {
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
    pub fn add(&mut self, place: Place, items: u64) {
        *self.executions.count(place) += 1;
        *self.items.count(place) += items;
    }

    pub fn shift(&mut self, from: Place, to: Place, items: u64) {
        *self.executions.count(from) -= 1;
        *self.items.count(from) -= items;
        self.add(to, items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_items_are_counted_by_status() {
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
