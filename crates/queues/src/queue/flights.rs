//! Messages that were received and are hidden until a deadline.

use std::collections::{BTreeMap, BTreeSet};

use crate::message::State;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) state: State,
    pub(crate) deadline_ms: i64,
}

/// All of them are in memory: a queue has a bounded number.
#[derive(Default)]
pub(crate) struct Flights {
    flights: BTreeMap<u64, Flight>,
    deadlines: BTreeSet<(i64, u64)>,
}

impl Flights {
    pub(crate) fn add(&mut self, sequence: u64, flight: Flight) {
        self.deadlines.insert((flight.deadline_ms, sequence));
        self.flights.insert(sequence, flight);
    }

    pub(crate) fn remove(&mut self, sequence: u64) -> Option<Flight> {
        let flight = self.flights.remove(&sequence)?;
        self.deadlines.remove(&(flight.deadline_ms, sequence));
        Some(flight)
    }

    pub(crate) fn get(&self, sequence: u64) -> Option<&Flight> {
        self.flights.get(&sequence)
    }

    /// The message that is visible again first, and when.
    pub(crate) fn next(&self) -> Option<(i64, u64)> {
        self.deadlines.first().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.flights.len()
    }
}
