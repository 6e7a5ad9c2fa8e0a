//! What becomes of an error: retried, caught, passed on to what is around, or the end.

use everstep_asl::handling::{self, Origin, Raised};
use everstep_asl::model::{
    Assign, Catcher, Jitter, Kind, Mode, QueryLanguage, ResultPath, Retrier, State,
};
use everstep_asl::{Dialect, error_name};
use serde::Serialize;

use super::scope::Found;

/// Waits that are listed one by one; a retrier may have a hundred million.
const DELAYS_MAX: usize = 100;

/// What one state does about an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The state whose `Retry` and `Catch` are asked.
    pub state: String,
    /// The error as that state sees it.
    pub error: String,
    pub retry: Option<Retried>,
    /// None: the error goes on to the state around, or ends the execution.
    pub catch: Option<Caught>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    /// Its place in `Retry`.
    pub index: usize,
    /// The name in `ErrorEquals` that matched.
    pub matched: String,
    pub max_attempts: u64,
    /// The first hundred.
    pub delays_seconds: Vec<f64>,
    /// None if it is beyond counting.
    pub total_delay_seconds: Option<f64>,
    pub last_delay_seconds: Option<f64>,
    /// Each wait is drawn at random between nothing and its length.
    pub full_jitter: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Caught {
    /// Its place in `Catch`.
    pub index: usize,
    /// The name in `ErrorEquals` that matched.
    pub matched: String,
    pub next: String,
    pub receives: Receives,
    pub assigns: Vec<String>,
}

/// What the state after a catcher gets as its input.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Receives {
    /// The error in place of the input.
    Error,
    InputWithError {
        path: String,
    },
    Input,
    /// What the catcher's `Output` makes.
    Output,
}

/// Where the dialects differ, explanations follow the specification and mention AWS.
const DIALECT: Dialect = Dialect::Spec;

/// Follows an error from the state where it happens outwards.
pub(super) fn follow(found: &Found<'_>, error: &str) -> Vec<Step> {
    let mut raised = raised(found.state, error);
    let mut shown = error;
    let mut steps: Vec<Step> = Vec::new();
    for state in std::iter::once(&found.state).chain(&found.around) {
        if !steps.is_empty() {
            raised = outside(state, raised);
            shown = if raised.name == error_name::TOO_MANY_FAILURES { raised.name } else { error };
        }
        let step = step(state, shown, raised);
        let caught = step.catch.is_some();
        steps.push(step);
        if caught {
            break;
        }
    }
    steps
}

/// An error as the engine raises it in a state.
fn raised<'e>(state: &State, error: &'e str) -> Raised<'e> {
    let Kind::Task(task) = &state.kind else {
        // What is wrong with a state's own payload, and whatever fails in a state without Catch, goes outwards.
        let own = matches!(state.kind, Kind::Parallel(_) | Kind::Map(_))
            && error != error_name::DATA_LIMIT_EXCEEDED;
        let origin = if own { Origin::Named } else { Origin::Fatal };
        return Raised { name: error, origin };
    };
    match Origin::of_task(error, &task.resource) {
        Origin::Named if error == error_name::HEARTBEAT_TIMEOUT => {
            Raised { name: error_name::TIMEOUT, origin: Origin::MissedHeartbeat }
        }
        Origin::Crash(crash) => {
            Raised { name: DIALECT.crashed_function(crash), origin: Origin::Crash(crash) }
        }
        origin => Raised { name: error, origin },
    }
}

/// An error inside a state, as that state sees it.
fn outside<'e>(state: &State, raised: Raised<'e>) -> Raised<'e> {
    match &state.kind {
        // Items run as executions of their own: whatever ends one is a failed item.
        Kind::Map(map) if matches!(map.mode, Mode::Distributed(_)) => {
            Raised::named(error_name::TOO_MANY_FAILURES)
        }
        _ => raised.outside(),
    }
}

fn step(state: &State, error: &str, raised: Raised<'_>) -> Step {
    Step {
        state: state.name.to_string(),
        error: error.to_owned(),
        retry: handling::retrier(state, raised, DIALECT)
            .map(|found| retried(found.index, found.handler, found.pattern)),
        catch: handling::catcher(state, raised, DIALECT)
            .map(|found| caught(state, found.index, found.handler, found.pattern)),
    }
}

fn retried(index: usize, retrier: &Retrier, matched: &str) -> Retried {
    let listed = retrier.max_attempts.min(DELAYS_MAX as u64);
    let total = retrier.total_delay_seconds();
    let last = retrier.max_attempts.checked_sub(1).map(|last| retrier.delay_seconds(last));
    Retried {
        index,
        matched: matched.to_owned(),
        max_attempts: retrier.max_attempts,
        delays_seconds: (0..listed).map(|attempt| retrier.delay_seconds(attempt)).collect(),
        total_delay_seconds: Some(total).filter(|total| total.is_finite()),
        last_delay_seconds: last.filter(|last| last.is_finite()),
        full_jitter: retrier.jitter == Jitter::Full,
    }
}

fn caught(state: &State, index: usize, catcher: &Catcher, matched: &str) -> Caught {
    let receives = match (state.query_language, &catcher.result_path) {
        (QueryLanguage::Jsonata, _) if catcher.output.is_some() => Receives::Output,
        (QueryLanguage::Jsonata, _) | (_, ResultPath::Replace) => Receives::Error,
        (_, ResultPath::Discard) => Receives::Input,
        (_, ResultPath::Insert(path)) => {
            Receives::InputWithError { path: path.as_str().to_owned() }
        }
    };
    Caught {
        index,
        matched: matched.to_owned(),
        next: catcher.next.name.to_string(),
        receives,
        assigns: names(catcher.assign.as_ref()),
    }
}

fn names(assign: Option<&Assign>) -> Vec<String> {
    assign.map(|assign| assign.names.clone()).unwrap_or_default()
}
