//! What becomes of an error: retried, caught, passed on to what is around, or the end.

use everstep_asl::error_name;
use everstep_asl::model::{
    Assign, Catcher, Jitter, Kind, Mode, QueryLanguage, ResultPath, Retrier, State,
};
use serde::Serialize;

use super::errors;
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

/// Follows an error from the state where it happens outwards.
pub(super) fn follow(found: &Found<'_>, error: &str) -> Vec<Step> {
    let mut names = vec![error.to_owned()];
    if matches!(found.state.kind, Kind::Parallel(_)) && !errors::of_data_itself(error) {
        names = outside(found.state, names);
    }
    let mut steps = Vec::new();
    for state in std::iter::once(&found.state).chain(&found.around) {
        if !steps.is_empty() {
            names = outside(state, names);
        }
        let step = step(state, &names);
        let caught = step.catch.is_some();
        steps.push(step);
        if caught {
            break;
        }
    }
    steps
}

/// By which names an error inside a state is known to that state.
fn outside(state: &State, names: Vec<String>) -> Vec<String> {
    let ends_all = names.iter().any(|name| name == error_name::RUNTIME);
    match &state.kind {
        // Items run as executions of their own: whatever ends one is a failed item.
        Kind::Map(map) if matches!(map.mode, Mode::Distributed(_)) => {
            vec!["States.ExceedToleratedFailureThreshold".to_owned()]
        }
        // The specification gives it a name of its own; the service passes the branch's on.
        Kind::Parallel(_)
            if !ends_all && !names.iter().any(|name| name == errors::BRANCH_FAILED) =>
        {
            names.into_iter().chain([errors::BRANCH_FAILED.to_owned()]).collect()
        }
        _ => names,
    }
}

fn step(state: &State, names: &[String]) -> Step {
    Step {
        state: state.name.to_string(),
        error: names[0].clone(),
        retry: first_match(state.retry(), names, |retrier| &retrier.error_equals)
            .map(|(index, retrier, matched)| retried(index, retrier, matched)),
        catch: first_match(state.catch(), names, |catcher| &catcher.error_equals)
            .map(|(index, catcher, matched)| caught(state, index, catcher, matched)),
    }
}

/// The first handler that matches decides, whatever those behind it say.
fn first_match<'h, H>(
    handlers: &'h [H],
    names: &[String],
    patterns: impl Fn(&'h H) -> &'h Vec<String>,
) -> Option<(usize, &'h H, &'h str)> {
    handlers.iter().enumerate().find_map(|(index, handler)| {
        let matches =
            |pattern: &&String| names.iter().any(|name| error_name::matches(pattern, name));
        patterns(handler).iter().find(matches).map(|matched| (index, handler, matched.as_str()))
    })
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
