//! What is kept of the attempts of an invocation: the first and the last, and how many there were.
//!
//! A policy may retry for ever, and the record is rewritten at each attempt: so those in the middle are
//! only counted.

use everstep_retry::Class;
use minicbor::{Decode, Encode};
use serde_json::{Map, Value};

use crate::codec;
use crate::function::{Failure, INTERRUPTED};
use crate::id::AttemptId;
use crate::moment::iso;

const FIRST_KEPT: usize = 5;
const LAST_KEPT: usize = 20;

#[derive(Debug, Clone, PartialEq, Default, Encode, Decode)]
pub struct Attempts {
    /// How many have been started, as far as they count.
    #[n(0)]
    started: u32,
    #[n(1)]
    first: Vec<AttemptRecord>,
    #[n(2)]
    last: Vec<AttemptRecord>,
}

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct AttemptRecord {
    /// From 1.
    #[n(0)]
    pub n: u32,
    #[n(1)]
    pub id: AttemptId,
    #[n(2)]
    pub started_ms: i64,
    #[n(3)]
    pub ended_ms: Option<i64>,
    #[n(4)]
    pub worker_pid: Option<u32>,
    /// None if it has succeeded, or has not ended.
    #[n(5)]
    pub failure: Option<Failure>,
    /// How long the next one had to wait.
    #[n(6)]
    pub next_delay_ms: Option<u64>,
    /// How often the engine died while it ran.
    #[cbor(n(7), with = "codec::count", has_nil)]
    pub interruptions: u32,
    /// When the last of these was found, until the attempt is started again.
    #[n(8)]
    pub interrupted_ms: Option<i64>,
}

impl Attempts {
    /// How many have been started.
    #[must_use]
    pub fn started(&self) -> u32 {
        self.started
    }

    /// How many are only counted.
    #[must_use]
    pub fn left_out(&self) -> u32 {
        let kept = u32::try_from(self.first.len() + self.last.len()).unwrap_or(u32::MAX);
        self.started.saturating_sub(kept)
    }

    /// Those that are kept, in order.
    pub fn kept(&self) -> impl Iterator<Item = &AttemptRecord> {
        self.first.iter().chain(&self.last)
    }

    #[must_use]
    pub fn latest(&self) -> Option<&AttemptRecord> {
        self.last.last().or(self.first.last())
    }

    /// The failure before the attempt that is running or comes next.
    #[must_use]
    pub fn last_failure(&self) -> Option<&Failure> {
        let mut before = self.last.iter().rev().chain(self.first.iter().rev());
        before.find_map(|attempt| attempt.failure.as_ref())
    }

    /// The attempt that has been started and has not ended: it runs, or was interrupted and is to be repeated.
    pub(crate) fn open(&self) -> Option<&AttemptRecord> {
        self.latest().filter(|attempt| attempt.ended_ms.is_none())
    }

    /// The number of the attempt that is running or comes next.
    pub(crate) fn current(&self) -> u32 {
        self.open().map_or(self.started.saturating_add(1), |open| open.n)
    }

    /// An attempt that is open is repeated: it is the same one.
    pub(crate) fn start(&mut self, id: AttemptId, started_ms: i64) {
        if let Some(open) = self.latest_mut().filter(|latest| latest.ended_ms.is_none()) {
            (open.started_ms, open.interrupted_ms) = (started_ms, None);
            return;
        }
        self.started = self.started.saturating_add(1);
        let attempt = AttemptRecord {
            n: self.started,
            id,
            started_ms,
            ended_ms: None,
            worker_pid: None,
            failure: None,
            next_delay_ms: None,
            interruptions: 0,
            interrupted_ms: None,
        };
        if self.first.len() < FIRST_KEPT {
            return self.first.push(attempt);
        }
        if self.last.len() == LAST_KEPT {
            self.last.remove(0);
        }
        self.last.push(attempt);
    }

    pub(crate) fn end(&mut self, failure: Option<Failure>, worker_pid: Option<u32>, at_ms: i64) {
        if let Some(latest) = self.latest_mut() {
            latest.ended_ms = Some(at_ms);
            latest.worker_pid = worker_pid;
            latest.failure = failure;
            latest.interrupted_ms = None;
        }
    }

    pub(crate) fn note_delay(&mut self, delay_ms: u64) {
        if let Some(latest) = self.latest_mut() {
            latest.next_delay_ms = Some(delay_ms);
        }
    }

    /// The engine that ran the latest is gone.
    pub(crate) fn interrupt(&mut self, at_ms: i64) {
        if let Some(latest) = self.latest_mut() {
            latest.interruptions = latest.interruptions.saturating_add(1);
            latest.interrupted_ms = Some(at_ms);
        }
    }

    /// The latest has not run; if it had before, it is to be repeated.
    pub(crate) fn withdraw(&mut self, at_ms: i64) {
        if let Some(latest) = self.latest_mut().filter(|latest| latest.interruptions > 0) {
            latest.interrupted_ms = Some(at_ms);
            return;
        }
        let withdrawn = self.last.pop().or_else(|| self.first.pop());
        self.started -= u32::from(withdrawn.is_some());
    }

    fn latest_mut(&mut self) -> Option<&mut AttemptRecord> {
        self.last.last_mut().or(self.first.last_mut())
    }

    pub(crate) fn to_json(&self) -> Value {
        self.kept().map(AttemptRecord::to_json).collect()
    }
}

impl AttemptRecord {
    /// As people know it.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match (&self.failure, self.ended_ms) {
            (Some(failure), _) if failure.error_type == INTERRUPTED => "Interrupted",
            (Some(_), _) => "Failed",
            (None, Some(_)) => "Succeeded",
            (None, None) if self.interrupted_ms.is_some() => "Interrupted",
            (None, None) => "Running",
        }
    }

    /// The names of the record in the specification.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("n", self.n.into());
        put("attemptId", self.id.to_string().into());
        put("startedAt", iso(self.started_ms).into());
        if let Some(ended_ms) = self.ended_ms {
            put("endedAt", iso(ended_ms).into());
        }
        if let Some(pid) = self.worker_pid {
            put("workerPid", pid.into());
        }
        put("outcome", self.outcome().into());
        if self.interruptions > 0 {
            put("interruptions", self.interruptions.into());
        }
        if let Some(Failure { error_type, class, message, stack, log, .. }) = &self.failure {
            put("errorType", error_type.clone().into());
            put("errorMessage", message.clone().into());
            put("stackTrace", stack.clone().into());
            put("errorClass", class_name(*class).into());
            if !log.is_empty() {
                put("log", log.clone().into());
            }
        }
        if let Some(delay) = self.next_delay_ms {
            put("nextDelayMs", delay.into());
        }
        object.into()
    }
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::User => "Error.User",
        Class::Runtime => "Error.Runtime",
        Class::Timeout => "Error.Timeout",
        Class::DataLimitExceeded => "Error.DataLimitExceeded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(started: u32, kept: &[u32], left_out: u32) {
        let mut attempts = Attempts::default();
        for at in 0..started {
            attempts.start(AttemptId::drawn([0, at.into()]), at.into());
            attempts.end(None, None, at.into());
        }
        assert_eq!(attempts.kept().map(|attempt| attempt.n).collect::<Vec<_>>(), kept);
        assert_eq!((attempts.started(), attempts.left_out()), (started, left_out));
    }

    #[test]
    fn the_first_and_the_last_are_kept() {
        check(0, &[], 0);
        check(6, &[1, 2, 3, 4, 5, 6], 0);
        let mut kept: Vec<u32> = (1..=5).collect();
        kept.extend(81..=100);
        check(100, &kept, 75);
    }

    #[test]
    fn what_has_not_run_does_not_count() {
        let mut attempts = Attempts::default();
        for at in 0..6 {
            attempts.start(AttemptId::drawn([0, at]), 0);
            attempts.end(None, None, 0);
        }
        attempts.withdraw(0);
        attempts.withdraw(0);
        assert_eq!(attempts.started(), 4);
        assert_eq!(attempts.latest().map(|attempt| attempt.n), Some(4));
    }

    #[test]
    fn what_was_interrupted_is_the_same_attempt_when_it_is_repeated() {
        let mut attempts = Attempts::default();
        attempts.start(AttemptId::drawn([0, 1]), 1);
        attempts.interrupt(2);
        assert_eq!(attempts.open().map(AttemptRecord::outcome), Some("Interrupted"));
        attempts.start(AttemptId::drawn([0, 1]), 3);
        let open = attempts.open().expect("it runs");
        assert_eq!((attempts.started(), open.interruptions, open.started_ms), (1, 1, 3));
        assert_eq!(open.outcome(), "Running");
    }
}
