//! Ends a Map Run that was cancelled and has no driver, because the engine was restarted in between: stops its
//! children, then records how they ended.

use everstep_executions::{ExecutionId, Note, Standing};

use super::child::{Seen, Verdict};
use super::driver::Busy;
use super::read::Found;
use super::record::{self, Status};
use super::tally::Place;

/// How long to pause when the engine is busy.
const PAUSE_MS: i64 = 20;

/// All that can reach it.
#[derive(Debug, Clone, PartialEq)]
pub enum AbortInput {
    /// Answers [`AbortRequest::ListRunning`]: some of the children that run, or none if none does.
    Running(Vec<ExecutionId>),
    /// All children of [`AbortRequest::Stop`] have been stopped or are gone, or the engine was too busy for some.
    Stopped(Result<(), Busy>),
    /// Answers [`AbortRequest::ListAll`]: each child that the store knows, with its number of items.
    Children(Vec<(Seen, u64)>),
    /// Answers [`AbortRequest::Write`].
    Written(Result<(), Busy>),
    /// It is [`Abort::next_due_ms`] or later.
    TimePassed,
}

/// All that it asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum AbortRequest {
    ListRunning,
    Stop(Vec<ExecutionId>),
    ListAll,
    /// Makes notes beside the parent durable.
    Write(Vec<Note>),
    /// The end is durable: the cancellation is confirmed.
    Finish,
}

#[derive(Debug)]
pub struct Abort {
    found: Found,
    refused: Option<AbortRequest>,
    paused_until_ms: i64,
}

impl Abort {
    #[must_use]
    pub fn open(found: Found) -> (Self, AbortRequest) {
        let abort = Self { found, refused: None, paused_until_ms: 0 };
        (abort, AbortRequest::ListRunning)
    }

    pub fn handle(&mut self, input: AbortInput, now_ms: i64) -> Option<AbortRequest> {
        match input {
            AbortInput::Running(running) if running.is_empty() => Some(AbortRequest::ListAll),
            AbortInput::Running(running) => Some(AbortRequest::Stop(running)),
            AbortInput::Stopped(Ok(())) => Some(AbortRequest::ListRunning),
            AbortInput::Stopped(Err(Busy)) => self.pause(AbortRequest::ListRunning, now_ms),
            // It was about to end, and the store has shown that and then not.
            AbortInput::Children(children) if children.iter().any(|(seen, _)| runs(seen)) => {
                self.pause(AbortRequest::ListRunning, now_ms)
            }
            AbortInput::Children(children) => {
                self.count(children, now_ms);
                Some(self.write())
            }
            AbortInput::Written(Ok(())) => Some(AbortRequest::Finish),
            AbortInput::Written(Err(Busy)) => self.pause(self.write(), now_ms),
            AbortInput::TimePassed if now_ms < self.paused_until_ms => None,
            AbortInput::TimePassed => self.refused.take(),
        }
    }

    /// When [`AbortInput::TimePassed`] is wanted, if it is.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        self.refused.is_some().then_some(self.paused_until_ms)
    }

    fn pause(&mut self, request: AbortRequest, now_ms: i64) -> Option<AbortRequest> {
        self.refused = Some(request);
        self.paused_until_ms = now_ms.saturating_add(PAUSE_MS);
        None
    }

    /// The record has all children as they were before they began.
    fn count(&mut self, children: Vec<(Seen, u64)>, now_ms: i64) {
        let record = &mut self.found.record;
        for (seen, items) in children {
            let place = match seen.verdict(record.redrives, record.redriven_ms) {
                Verdict::Absent => Place::Pending,
                Verdict::Running => Place::Running,
                Verdict::Stale => Place::PendingRedrive,
                Verdict::Over(outcome) => Place::Over(outcome.standing),
            };
            record.tallies.shift(Place::Pending, place, items);
        }
        record.status = Status::Aborted;
        record.stopped_ms = Some(now_ms);
    }

    fn write(&self) -> AbortRequest {
        AbortRequest::Write(vec![record::record_note(self.found.run, &self.found.record)])
    }
}

fn runs(seen: &Seen) -> bool {
    matches!(seen, Seen::Execution { standing: Standing::Running, .. })
}
