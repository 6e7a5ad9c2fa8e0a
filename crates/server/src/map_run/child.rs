//! One child of a Map Run.

use std::sync::Arc;

use everstep_executions::{
    Ended, ExecutionId, ListId, Prepared, Reader, Result, Standing, Start, Started, Summary,
    request_id,
};
use everstep_history::{Event, Failure, Payload};
use everstep_interpreter::Status;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The label of an execution that a Map Run has started: the run's ARN.
pub(crate) const MAP_RUN: &str = "mapRun";
/// The label that says how many items such an execution works on.
pub(crate) const ITEMS: &str = "items";

/// What is heard of a child.
pub(super) enum News {
    Begun(Result<Started>),
    Redriven(Result<i64>),
    Stopped(Result<i64>),
    /// The one who is told of the end of what it has started; of a start that is refused, `Begun` tells.
    Ended(Result<Ended>),
    Watched(Result<Ended>),
}

/// What became of a child.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) standing: Standing,
    pub(super) result: std::result::Result<Payload, Failure>,
}

/// What all children of a run share.
pub(super) struct Family {
    pub(super) run_arn: String,
    /// When the parent was started: of two executions that have had the same name, each has children
    /// of its own.
    pub(super) parent_started_ms: i64,
    pub(super) prepared: Arc<Prepared>,
    pub(super) labels: Vec<(String, String)>,
    pub(super) redrives: u32,
}

impl Family {
    /// The name of a child: the same whenever it is asked for.
    fn name(&self, index: u32) -> String {
        request_id(&format!("{}/{}/{index}", self.run_arn, self.parent_started_ms))
    }

    pub(super) fn id(&self, index: u32) -> ExecutionId {
        ExecutionId::of(&self.arn(index))
    }

    /// An EXPRESS child is another execution after a redrive.
    fn arn(&self, index: u32) -> String {
        let (revision, name) = (&self.prepared.revision, self.name(index));
        let of = |kind| revision.machine_arn.replacen(":stateMachine:", kind, 1);
        if revision.express {
            let again = request_id(&format!("{name}/{}", self.redrives));
            format!("{}:{name}:{again}", of(":express:"))
        } else {
            format!("{}:{name}", of(":execution:"))
        }
    }

    pub(super) fn start(&self, index: u32, input: Value, items: u64) -> Start {
        let mut start = Start::new(&self.arn(index), self.prepared.clone(), Payload::new(input));
        start.lists = vec![ListId::of(&self.run_arn)];
        start.labels.clone_from(&self.labels);
        start.labels.push((MAP_RUN.to_owned(), self.run_arn.clone()));
        start.labels.push((ITEMS.to_owned(), items.to_string()));
        start
    }
}

impl Outcome {
    pub(super) fn of(status: Status) -> Self {
        let standing = Standing::of(&status);
        let result = match status {
            Status::Succeeded { output } => Ok(output),
            Status::Failed { failure } | Status::Aborted { failure } => Err(failure),
            Status::TimedOut | Status::Running => Err(Failure::default()),
        };
        Self { standing, result }
    }

    /// Of a STANDARD child that is over.
    pub(super) fn read(reader: &Reader, summary: &Summary) -> Result<Self> {
        let last = reader.first_and_last(summary)?.map(|(_, last)| last).unwrap_or_default();
        let result = last.into_iter().rev().find_map(|event| match event {
            Event::ExecutionSucceeded { output, .. } => Some(Ok(output)),
            Event::ExecutionFailed { failure, .. } | Event::ExecutionAborted { failure, .. } => {
                Some(Err(failure))
            }
            _ => None,
        });
        let result = result.unwrap_or_else(|| Err(Failure::default()));
        Ok(Self { standing: summary.standing, result })
    }
}

/// The outcome of an EXPRESS child, as it is noted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Noted {
    /// The redrive it belongs to: what failed before is run again.
    pub(super) redrives: u32,
    standing: u8,
    output: Option<String>,
    error: Option<String>,
    cause: Option<String>,
}

impl Noted {
    pub(super) fn of(outcome: &Outcome, redrives: u32) -> Self {
        let standing = outcome.standing as u8;
        let (output, failure) = match &outcome.result {
            Ok(output) => (Some(output.text()), Failure::default()),
            Err(failure) => (None, failure.clone()),
        };
        let text = |word: Option<Arc<str>>| word.map(|word| word.to_string());
        let (error, cause) = (text(failure.error), text(failure.cause));
        Self { redrives, standing, output, error, cause }
    }

    pub(super) fn outcome(self) -> Outcome {
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

    fn check(outcome: Outcome) {
        let noted = serde_json::to_vec(&Noted::of(&outcome, 3)).expect("it is JSON");
        let read: Noted = serde_json::from_slice(&noted).expect("it was written");
        assert_eq!((read.redrives, read.outcome()), (3, outcome));
    }

    #[test]
    fn outcomes_are_read_as_noted() {
        check(Outcome::of(Status::Succeeded { output: Payload::new(json!({ "a": [1, null] })) }));
        check(Outcome::of(Status::Failed { failure: Failure::new("E", "why") }));
        check(Outcome::of(Status::Aborted { failure: Failure::default() }));
        check(Outcome::of(Status::TimedOut));
    }
}
