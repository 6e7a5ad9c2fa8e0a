//! One child of a Map Run: what the store has of it, and how the outcome of an EXPRESS child is noted.

use std::sync::Arc;

use everstep_executions::Standing;
use everstep_history::{Failure, Payload};
use everstep_interpreter::Status;
use serde::{Deserialize, Serialize};

/// How a child ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub standing: Standing,
    pub result: Result<Payload, Failure>,
}

impl Outcome {
    #[must_use]
    pub fn of(status: Status) -> Self {
        let standing = Standing::of(&status);
        let result = match status {
            Status::Succeeded { output } => Ok(output),
            Status::Failed { failure } | Status::Aborted { failure } => Err(failure),
            Status::TimedOut | Status::Running => Err(Failure::default()),
        };
        Self { standing, result }
    }
}

/// What the store has of a child.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Absent,
    /// A STANDARD child. `result` is set once it is over.
    Execution {
        standing: Standing,
        stopped_ms: Option<i64>,
        result: Option<Result<Payload, Failure>>,
    },
    /// The note of an EXPRESS child.
    Saved(SavedOutcome),
}

/// What a driver does with a child that it finds in the store.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Absent,
    Running,
    /// It did not succeed before the redrive, so it is redriven.
    Stale,
    Over(Outcome),
}

impl Seen {
    /// `redrives` and `redriven_ms` are those of the run.
    pub(super) fn verdict(self, redrives: u32, redriven_ms: Option<i64>) -> Verdict {
        let (outcome, stale) = match self {
            Self::Absent => return Verdict::Absent,
            Self::Execution { standing: Standing::Running, .. } => return Verdict::Running,
            Self::Execution { standing, stopped_ms, result } => {
                let stale =
                    stopped_ms.zip(redriven_ms).is_some_and(|(stop, redrive)| stop <= redrive);
                let result = result.unwrap_or_else(|| Err(Failure::default()));
                (Outcome { standing, result }, stale)
            }
            Self::Saved(saved) => {
                let stale = saved.redrives != redrives;
                (saved.outcome(), stale)
            }
        };
        match outcome.standing {
            Standing::Succeeded => Verdict::Over(outcome),
            _ if stale => Verdict::Stale,
            _ => Verdict::Over(outcome),
        }
    }
}

/// The outcome of an EXPRESS child, as it is noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedOutcome {
    /// The redrive it belongs to: a child that failed before the current one runs again.
    redrives: u32,
    standing: u8,
    output: Option<String>,
    error: Option<String>,
    cause: Option<String>,
    /// The items of the child, unless it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
}

impl SavedOutcome {
    pub(super) fn of(outcome: &Outcome, redrives: u32, items: u64) -> Self {
        let standing = outcome.standing as u8;
        let (output, failure) = match &outcome.result {
            Ok(output) => (Some(output.text()), Failure::default()),
            Err(failure) => (None, failure.clone()),
        };
        let text = |text: Option<Arc<str>>| text.map(|text| text.to_string());
        let (error, cause) = (text(failure.error), text(failure.cause));
        let items = Some(items).filter(|items| *items != 1);
        Self { redrives, standing, output, error, cause, items }
    }

    pub(super) fn items(&self) -> u64 {
        self.items.unwrap_or(1)
    }

    fn outcome(self) -> Outcome {
        let known = Standing::ALL.into_iter().find(|standing| *standing as u8 == self.standing);
        let standing = known.unwrap_or(Standing::Failed);
        let output = self.output.and_then(|text| Payload::from_text(&text).ok());
        let failure =
            Failure { error: self.error.map(Into::into), cause: self.cause.map(Into::into) };
        Outcome { standing, result: output.ok_or(failure) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(outcome: &Outcome, items: u64) {
        let saved = SavedOutcome::of(outcome, 3, items);
        let row = serde_json::to_vec(&saved).expect("it is JSON");
        let read: SavedOutcome = serde_json::from_slice(&row).expect("it was written");
        assert_eq!((read.redrives, read.items()), (3, items));
        assert_eq!(read.outcome(), *outcome);
    }

    #[test]
    fn outcomes_are_read_as_noted() {
        let output = Payload::new(json!({ "a": [1, null] }));
        check(&Outcome::of(Status::Succeeded { output }), 1);
        check(&Outcome::of(Status::Failed { failure: Failure::new("E", "why") }), 7);
        check(&Outcome::of(Status::Aborted { failure: Failure::default() }), 0);
        check(&Outcome::of(Status::TimedOut), 1);
    }

    #[test]
    fn notes_of_earlier_versions_are_read() {
        let row = r#"{"redrives":1,"standing":2,"output":null,"error":"E","cause":null}"#;
        let read: SavedOutcome = serde_json::from_str(row).expect("it is a note");
        assert_eq!((read.items(), read.outcome().standing), (1, Standing::Failed));
    }

    fn verdict(standing: Standing, stopped_ms: Option<i64>, redriven_ms: Option<i64>) -> Verdict {
        Seen::Execution { standing, stopped_ms, result: None }.verdict(1, redriven_ms)
    }

    #[test]
    fn what_failed_before_the_redrive_is_stale() {
        assert_eq!(verdict(Standing::Running, None, Some(5)), Verdict::Running);
        assert_eq!(verdict(Standing::Failed, Some(5), Some(5)), Verdict::Stale);
        assert!(matches!(verdict(Standing::Failed, Some(6), Some(5)), Verdict::Over(_)));
        assert!(matches!(verdict(Standing::Failed, Some(6), None), Verdict::Over(_)));
        assert!(matches!(verdict(Standing::Succeeded, Some(1), Some(5)), Verdict::Over(_)));
        let saved = SavedOutcome::of(&Outcome::of(Status::TimedOut), 0, 1);
        assert_eq!(Seen::Saved(saved).verdict(1, None), Verdict::Stale);
    }
}
