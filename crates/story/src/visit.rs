//! Each visit of a state: when it was, how it ended, and every attempt.
//!
//! A state that runs in a loop, or for each item of a Map, is visited many times. Times are milliseconds since the start
//! of the execution.

use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// Which state of the definition: `Ship/Charge` is the state `Charge` of the Map `Ship`, `Undo[1]/Refund` one of
    /// the second branch of the Parallel `Undo`.
    pub place: Arc<str>,
    /// The branches and items it is in, the outermost first.
    pub scope: Vec<String>,
    pub state: Arc<str>,
    pub kind: &'static str,
    pub entered_ms: i64,
    pub left_ms: Option<i64>,
    pub outcome: Outcome,
    pub attempts: Vec<Attempt>,
    /// Where its input is.
    pub entered: EventPlace,
    /// Where its output is.
    pub left: Option<EventPlace>,
    /// The entry of its last failure.
    pub failure: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has not ended.
    Open,
    Succeeded,
    Caught,
    Failed,
    Aborted,
}

/// One try of the state's work.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub scheduled_ms: i64,
    /// When a worker began; nothing if that is not known.
    pub started_ms: Option<i64>,
    pub ended_ms: Option<i64>,
    /// When it is retried.
    pub retry_ms: Option<i64>,
    /// The entry that says how it failed.
    pub failure: Option<usize>,
    /// Where its parameters are.
    pub scheduled: EventPlace,
    /// Where its result is.
    pub ended: Option<EventPlace>,
}

/// An event by the step of the journal it is in, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    pub step: u32,
    pub index: u32,
}

impl Visit {
    pub(crate) fn begin(&mut self, at_ms: i64, place: EventPlace) {
        self.attempts.push(Attempt {
            scheduled_ms: at_ms,
            started_ms: None,
            ended_ms: None,
            retry_ms: None,
            failure: None,
            scheduled: place,
            ended: None,
        });
        self.reopen();
    }

    /// A redrive continues it.
    pub(crate) fn reopen(&mut self) {
        if self.outcome != Outcome::Succeeded && self.outcome != Outcome::Caught {
            (self.outcome, self.left_ms, self.left) = (Outcome::Open, None, None);
        }
    }

    pub(crate) fn open_attempt(&mut self) -> Option<&mut Attempt> {
        self.attempts.last_mut().filter(|attempt| attempt.ended_ms.is_none())
    }

    pub(crate) fn end_attempt(&mut self, at_ms: i64, place: EventPlace) {
        if let Some(attempt) = self.open_attempt() {
            (attempt.ended_ms, attempt.ended) = (Some(at_ms), Some(place));
            // Of a function the journal only learns with its result that it has begun.
            attempt.started_ms = attempt.started_ms.filter(|started_ms| *started_ms < at_ms);
        }
    }

    /// The attempt, or the state itself if it could not be tried, failed as an entry says.
    pub(crate) fn fail(
        &mut self,
        at_ms: i64,
        place: EventPlace,
        entry: usize,
        retry_ms: Option<i64>,
    ) {
        self.end_attempt(at_ms, place);
        self.failure = Some(entry);
        // A failure of a redriven state that could not be tried again is not one of the attempt before.
        if let Some(attempt) = self.attempts.last_mut().filter(|one| one.ended_ms == Some(at_ms)) {
            (attempt.failure, attempt.retry_ms) = (Some(entry), retry_ms);
        }
    }

    pub(crate) fn leave(&mut self, at_ms: i64, place: Option<EventPlace>, outcome: Outcome) {
        (self.left_ms, self.left, self.outcome) = (Some(at_ms), place, outcome);
        if let Some(attempt) = self.open_attempt() {
            attempt.ended_ms = Some(at_ms);
        }
    }

    /// What the open visit waits for, if it is a retry.
    #[must_use]
    pub fn retry_due_ms(&self) -> Option<i64> {
        let is_open = self.outcome == Outcome::Open;
        self.attempts.last().filter(|_| is_open)?.retry_ms
    }
}
