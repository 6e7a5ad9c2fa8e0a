//! A session: the invocations that follow from one by `next` edges, and the one result that they have.
//!
//! Each step says once how it ended and which steps follow. The session is over when a step has failed
//! and no edge catches that, or when no step is left. Pure.

use everstep_shards::row;
use minicbor::{Decode, Encode};
use serde_json::{Value, json};

use crate::error::Result;
use crate::id::InvocationId;
use crate::moment::iso;
use crate::report::as_json;

const VERSION: u8 = 1;

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Session {
    /// The id of the invocation that began it.
    #[n(0)]
    pub id: InvocationId,
    #[n(1)]
    pub started_ms: i64,
    #[n(2)]
    pub ended_ms: Option<i64>,
    #[n(3)]
    pub status: SessionStatus,
    #[n(4)]
    pub steps: Vec<SessionStep>,
    /// The result so far: of the steps that nothing follows, the one that ended last.
    #[n(5)]
    last: Option<LastWord>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
struct LastWord {
    #[n(0)]
    ended_ms: i64,
    #[n(1)]
    id: InvocationId,
    #[cbor(n(2), with = "minicbor::bytes")]
    output: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum SessionStatus {
    #[n(0)]
    Running,
    /// With the output, as JSON text, of the step that ended last of those that nothing follows.
    #[n(1)]
    Succeeded {
        #[cbor(n(0), with = "minicbor::bytes")]
        output: Vec<u8>,
    },
    #[n(2)]
    Failed {
        #[n(0)]
        error: String,
        #[n(1)]
        cause: String,
        #[n(2)]
        failed_function: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SessionStep {
    #[n(0)]
    pub id: InvocationId,
    #[n(1)]
    pub function: String,
    #[n(2)]
    pub ended: bool,
}

/// What a step says when it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct StepEnd {
    pub(crate) id: InvocationId,
    pub(crate) function: String,
    pub(crate) ended_ms: i64,
    /// The steps that follow: invocations and their functions.
    pub(crate) next: Vec<(InvocationId, String)>,
    pub(crate) outcome: StepOutcome,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepOutcome {
    Succeeded {
        output: Vec<u8>,
    },
    /// It has failed; a catcher is among those that follow, or not.
    Failed {
        error: String,
        cause: String,
    },
}

impl Session {
    /// As users are shown it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object =
            json!({ "sessionId": self.id.to_string(), "startedAt": iso(self.started_ms) });
        if let Some(ended_ms) = self.ended_ms {
            object["endedAt"] = iso(ended_ms).into();
        }
        match &self.status {
            SessionStatus::Running => object["status"] = "RUNNING".into(),
            SessionStatus::Succeeded { output } => {
                object["status"] = "SUCCEEDED".into();
                object["output"] = serde_json::from_str(&as_json(output)).unwrap_or_default();
            }
            SessionStatus::Failed { error, cause, failed_function } => {
                object["status"] = "FAILED".into();
                object["error"] = error.clone().into();
                object["cause"] = cause.clone().into();
                object["failedFunction"] = failed_function.clone().into();
            }
        }
        let step = |step: &SessionStep| {
            let SessionStep { id, function, ended } = step;
            json!({ "invocationId": id.to_string(), "function": function, "ended": ended })
        };
        object["steps"] = self.steps.iter().map(step).collect();
        object
    }

    pub(crate) fn begun(id: InvocationId, function: &str, now_ms: i64) -> Self {
        let steps = vec![SessionStep { id, function: function.to_owned(), ended: false }];
        let status = SessionStatus::Running;
        Self { id, started_ms: now_ms, ended_ms: None, status, steps, last: None }
    }

    /// Takes what a step says; whether that changes anything. A step may say it more than once, and before
    /// the one that it follows from.
    pub(crate) fn take(&mut self, end: StepEnd, steps_max: u32, now_ms: i64) -> bool {
        let step = self.steps.iter_mut().find(|step| step.id == end.id);
        if self.status != SessionStatus::Running {
            // The result stands; that the step is over is still to be seen.
            return step.is_some_and(|step| !std::mem::replace(&mut step.ended, true));
        }
        if step.is_some_and(|step| step.ended) {
            return false;
        }
        self.note(end.id, &end.function).ended = true;
        for (id, function) in &end.next {
            self.note(*id, function);
        }
        if let Some(status) = self.result(end, steps_max) {
            self.status = status;
            self.ended_ms = Some(now_ms);
        }
        true
    }

    /// The same in whatever order steps have their say, unless more than one fails.
    fn result(&mut self, end: StepEnd, steps_max: u32) -> Option<SessionStatus> {
        let StepEnd { id, function, ended_ms, next, outcome } = end;
        match outcome {
            StepOutcome::Failed { error, cause } if next.is_empty() => {
                return Some(SessionStatus::Failed { error, cause, failed_function: function });
            }
            StepOutcome::Succeeded { output } if next.is_empty() => {
                self.last = self.last.take().max(Some(LastWord { ended_ms, id, output }));
            }
            _ => {}
        }
        if self.steps.len() > steps_max as usize {
            return Some(SessionStatus::Failed {
                error: "Everstep.SessionTooLong".to_owned(),
                cause: format!("the session has more than {steps_max} steps"),
                failed_function: function,
            });
        }
        let over = self.steps.iter().all(|step| step.ended);
        let last = self.last.take_if(|_| over)?;
        Some(SessionStatus::Succeeded { output: last.output })
    }

    fn note(&mut self, id: InvocationId, function: &str) -> &mut SessionStep {
        let place = self.steps.iter().position(|step| step.id == id).unwrap_or_else(|| {
            self.steps.push(SessionStep { id, function: function.to_owned(), ended: false });
            self.steps.len() - 1
        });
        &mut self.steps[place]
    }

    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode_versioned(VERSION, self)
    }

    /// # Errors
    ///
    /// If the row is damaged, or of a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(row::decode_versioned("a session", VERSION, bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> InvocationId {
        InvocationId::drawn([0, n])
    }

    fn end(step: u64, next: &[u64], fails: bool) -> StepEnd {
        let outcome = if fails {
            StepOutcome::Failed { error: format!("E{step}"), cause: String::new() }
        } else {
            StepOutcome::Succeeded { output: step.to_string().into_bytes() }
        };
        let next = next.iter().map(|n| (id(*n), format!("f{n}"))).collect();
        let ended_ms = step.cast_signed();
        StepEnd { id: id(step), function: format!("f{step}"), ended_ms, next, outcome }
    }

    fn check(ends: &[StepEnd], expected: &str) {
        let mut session = Session::begun(id(1), "f1", 0);
        for end in ends {
            session.take(end.clone(), 5, 7);
            assert_eq!(Session::decode(&session.encoded()).as_ref(), Ok(&session));
        }
        let found = match &session.status {
            SessionStatus::Running => "running".to_owned(),
            SessionStatus::Succeeded { output } => String::from_utf8_lossy(output).into_owned(),
            SessionStatus::Failed { error, failed_function, .. } => {
                format!("{error} of {failed_function}")
            }
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_session_has_one_result() {
        check(&[end(1, &[], false)], "1");
        check(&[end(1, &[2], false)], "running");
        check(&[end(1, &[2], false), end(2, &[], false)], "2");
        check(&[end(1, &[2], false), end(2, &[], true)], "E2 of f2");
        check(&[end(1, &[2], false), end(2, &[], true), end(2, &[], false)], "E2 of f2");
        check(&[end(1, &[2], true), end(2, &[], false)], "2");
    }

    #[test]
    fn steps_may_overtake_and_repeat_each_other() {
        check(&[end(2, &[], false)], "running");
        check(&[end(2, &[], false), end(1, &[2, 3], false)], "running");
        check(&[end(1, &[2, 3], false), end(2, &[], false), end(2, &[], false)], "running");
        check(&[end(1, &[2, 3], false), end(3, &[], false), end(2, &[], false)], "3");
        check(&[end(1, &[2, 3], false), end(2, &[], false), end(3, &[], false)], "3");
        check(&[end(2, &[], false), end(1, &[2], false)], "2");
        check(&[end(2, &[], false), end(1, &[2], true)], "2");
        check(&[end(3, &[], false), end(2, &[3], true), end(1, &[2], false)], "3");
    }

    #[test]
    fn steps_end_after_the_result_too() {
        let mut session = Session::begun(id(1), "f1", 0);
        assert!(session.take(end(1, &[2, 3], false), 5, 7));
        assert!(session.take(end(2, &[], true), 5, 8));
        assert!(session.take(end(3, &[], false), 5, 9));
        assert!(!session.take(end(3, &[], false), 5, 9) && !session.take(end(4, &[], false), 5, 9));
        assert!(session.steps.iter().all(|step| step.ended));
        assert!(matches!(session.status, SessionStatus::Failed { .. }));
        assert_eq!(session.ended_ms, Some(8));
    }

    #[test]
    fn a_session_has_not_too_many_steps() {
        check(&[end(1, &[2, 3, 4, 5, 6], false)], "Everstep.SessionTooLong of f1");
    }
}
