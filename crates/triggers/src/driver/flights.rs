//! What was accepted, until its end is noted.

use everstep_invocations::InvocationId;

use super::{Busy, Driver, Request};
use crate::item::{Outcome, Settled};
use crate::plan::OnExhausted;
use crate::record::Flight;

#[derive(Debug)]
pub(super) struct Airborne {
    pub(super) row: Flight,
    pub(super) phase: Phase,
    /// It has a row, and counts. Otherwise it was known when it was brought, and only its source waits for its end.
    pub(super) is_stored: bool,
    /// What its invocation was before: a dead letter that was sent back is another one. Its row may be there still.
    pub(super) formers: Vec<InvocationId>,
    /// Its row is to be written again.
    pub(super) has_changed: bool,
    /// What its source knows it by, each time it was brought; for those that wait for its end.
    pub(super) handles: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// It has failed for good, and others wait.
    Blocked,
    /// It is being sent back.
    Redriving,
    /// Its end is to be noted.
    Over(Outcome),
}

impl Airborne {
    pub(super) fn new(row: Flight, is_stored: bool, handle: Option<u64>) -> Self {
        let handles = handle.into_iter().collect();
        let (phase, formers, has_changed) = (Phase::Running, Vec::new(), false);
        Self { row, phase, is_stored, formers, has_changed, handles }
    }

    /// As the store has it.
    pub(super) fn stored(row: Flight, on_exhausted: OnExhausted) -> Self {
        let is_blocked = row.is_blocked && on_exhausted == OnExhausted::Block;
        let phase = if is_blocked { Phase::Blocked } else { Phase::Running };
        Self { phase, ..Self::new(row, true, None) }
    }

    pub(super) fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Over(_))
    }
}

impl Driver {
    /// Whether something runs that others may have to wait for.
    pub(super) fn is_busy(&self) -> bool {
        self.flights.values().any(|flight| flight.is_open() && flight.is_stored)
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.flights.values().any(|flight| flight.phase == Phase::Blocked)
    }

    pub(super) fn is_redriving(&self) -> bool {
        self.flights.values().any(|flight| flight.phase == Phase::Redriving)
    }

    /// Stored flights whose ends are counted already.
    pub(super) fn unnoted(&self) -> u64 {
        self.flights.values().filter(|flight| flight.is_stored && !flight.is_open()).count() as u64
    }

    pub(super) fn ended(
        &mut self,
        id: InvocationId,
        outcome: Outcome,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        let Some(flight) = self.flights.get_mut(&id) else { return };
        if flight.phase != Phase::Running {
            return;
        }
        match outcome {
            Outcome::Redriven { into } => self.becomes(id, into, requests),
            Outcome::Failed { .. } if self.plan.on_exhausted == OnExhausted::Block => {
                flight.phase = Phase::Blocked;
                (flight.row.is_blocked, flight.has_changed) = (true, flight.is_stored);
                self.stop(requests);
            }
            outcome => self.close(id, outcome, now_ms),
        }
    }

    /// The invocation of an item has become another one.
    fn becomes(&mut self, id: InvocationId, into: InvocationId, requests: &mut Vec<Request>) {
        let Some(mut flight) = self.flights.remove(&id) else { return };
        if let Some(known) = self.flights.get_mut(&into) {
            // Its source has brought it again, and knows it by what it was at first.
            return known.handles.append(&mut flight.handles);
        }
        flight.phase = Phase::Running;
        flight.formers.push(id);
        (flight.row.is_blocked, flight.has_changed) = (false, flight.is_stored);
        self.flights.insert(into, flight);
        self.is_dirty = true;
        requests.push(Request::Watch(into));
    }

    /// Counts the end of an item. It is noted with the next write.
    fn close(&mut self, id: InvocationId, outcome: Outcome, now_ms: i64) {
        let Some(flight) = self.flights.get_mut(&id) else { return };
        flight.phase = Phase::Over(outcome.clone());
        self.is_dirty = true;
        if !flight.is_stored {
            return;
        }
        let counters = &mut self.record.counters;
        match &outcome {
            Outcome::Succeeded => counters.succeeded += 1,
            Outcome::Failed { .. } => {
                counters.failed += 1;
                counters.dead_lettered += u64::from(self.plan.on_exhausted != OnExhausted::Skip);
            }
            Outcome::Cancelled => counters.cancelled += 1,
            Outcome::Gone | Outcome::Redriven { .. } => counters.unknown += 1,
        }
        self.record.remember(&flight.row, id, &outcome, now_ms);
    }

    /// Ends are noted: those who wait for them are told.
    pub(super) fn noted(&mut self, ids: &[InvocationId], requests: &mut Vec<Request>) {
        for id in ids {
            let Some(Airborne { phase: Phase::Over(outcome), handles, .. }) =
                self.flights.remove(id)
            else {
                continue;
            };
            let settle = |handle| Request::Settle(handle, Settled::Completed(outcome.clone()));
            requests.extend(handles.into_iter().map(settle));
        }
    }

    /// Sends back what others wait for.
    pub(super) fn redrive_blocked(&mut self, requests: &mut Vec<Request>) {
        for (id, flight) in &mut self.flights {
            if flight.phase == Phase::Blocked {
                flight.phase = Phase::Redriving;
                requests.push(Request::Redrive(*id));
            }
        }
    }

    pub(super) fn redriven(
        &mut self,
        id: InvocationId,
        answer: Result<Option<InvocationId>, Busy>,
        now_ms: i64,
        requests: &mut Vec<Request>,
    ) {
        if self.flights.get(&id).is_none_or(|flight| flight.phase != Phase::Redriving) {
            return;
        }
        match answer {
            Ok(Some(into)) => self.becomes(id, into, requests),
            // Somebody has purged it.
            Ok(None) => self.close(id, Outcome::Gone, now_ms),
            Err(Busy) => self.ask_later(Request::Redrive(id), now_ms),
        }
    }
}
