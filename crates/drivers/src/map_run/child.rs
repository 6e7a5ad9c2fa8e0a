//! One child of a Map Run: what the store has of it, and how the outcome of an EXPRESS child is noted.

use everstep_executions::Standing;
use everstep_history::Payload;
use everstep_interpreter::Status;
use serde::{Deserialize, Serialize};

/// How a child ended. Why it failed is not needed: the parent gets only what has succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub standing: Standing,
    /// Of a child that succeeded, unless the run had too many bytes of them already.
    pub output: Option<Payload>,
}

impl Outcome {
    #[must_use]
    pub fn of(status: Status) -> Self {
        let standing = Standing::of(&status);
        let output = match status {
            Status::Succeeded { output } => Some(output),
            _ => None,
        };
        Self { standing, output }
    }
}

/// What the store has of a child.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Absent,
    /// A STANDARD child. `output` is there if it has succeeded and was asked for.
    Execution {
        standing: Standing,
        stopped_ms: Option<i64>,
        output: Option<Payload>,
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
            Self::Execution { standing, stopped_ms, output } => {
                let stale =
                    stopped_ms.zip(redriven_ms).is_some_and(|(stop, redrive)| stop <= redrive);
                (Outcome { standing, output }, stale)
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
    /// The items of the child, unless it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items: Option<u64>,
}

impl SavedOutcome {
    pub(super) fn of(
        standing: Standing,
        output: Option<&Payload>,
        redrives: u32,
        items: u64,
    ) -> Self {
        let output = output.map(Payload::text);
        let items = Some(items).filter(|items| *items != 1);
        Self { redrives, standing: standing as u8, output, items }
    }

    pub(super) fn items(&self) -> u64 {
        self.items.unwrap_or(1)
    }

    pub(super) fn without_output(self) -> Self {
        Self { output: None, ..self }
    }

    fn outcome(self) -> Outcome {
        let known = Standing::ALL.into_iter().find(|standing| *standing as u8 == self.standing);
        let standing = known.unwrap_or(Standing::Failed);
        let output = self.output.and_then(|text| Payload::from_stored(&text).ok());
        Outcome { standing, output }
    }
}

#[cfg(test)]
mod tests {
    use everstep_history::Failure;
    use serde_json::{Value, json};

    use super::*;

    fn check(outcome: &Outcome, items: u64) {
        let saved = SavedOutcome::of(outcome.standing, outcome.output.as_ref(), 3, items);
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
        let nested = (0..300).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        check(&Outcome::of(Status::Succeeded { output: Payload::new(nested) }), 1);
    }

    #[test]
    fn notes_of_earlier_versions_are_read() {
        let row = r#"{"redrives":1,"standing":2,"output":null,"error":"E","cause":null}"#;
        let read: SavedOutcome = serde_json::from_str(row).expect("it is a note");
        assert_eq!((read.items(), read.outcome().standing), (1, Standing::Failed));
    }

    fn verdict(standing: Standing, stopped_ms: Option<i64>, redriven_ms: Option<i64>) -> Verdict {
        Seen::Execution { standing, stopped_ms, output: None }.verdict(1, redriven_ms)
    }

    #[test]
    fn what_failed_before_the_redrive_is_stale() {
        assert_eq!(verdict(Standing::Running, None, Some(5)), Verdict::Running);
        assert_eq!(verdict(Standing::Failed, Some(5), Some(5)), Verdict::Stale);
        assert!(matches!(verdict(Standing::Failed, Some(6), Some(5)), Verdict::Over(_)));
        assert!(matches!(verdict(Standing::Failed, Some(6), None), Verdict::Over(_)));
        assert!(matches!(verdict(Standing::Succeeded, Some(1), Some(5)), Verdict::Over(_)));
        let saved = SavedOutcome::of(Standing::TimedOut, None, 0, 1);
        assert_eq!(Seen::Saved(saved).verdict(1, None), Verdict::Stale);
    }
}
