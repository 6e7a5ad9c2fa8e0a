//! Everything about one state.

use everstep_asl::model::{Kind, Operand, State, Target, Transition};
use everstep_asl::{Dialect, Source};
use everstep_graph::definition::{condition, detail};
use serde::Serialize;

use super::errors;
use super::handling::{self, Step};
use super::scope::Found;
use super::time::{self, Longest};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateFacts {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub does: Option<String>,
    pub comment: Option<String>,
    pub pointer: String,
    pub line: usize,
    pub column: usize,
    /// The states it is inside of, the nearest first.
    pub inside: Vec<String>,
    /// Where it can go if nothing fails.
    pub ways: Vec<Way>,
    /// Whether its machine or branch ends with it.
    pub ends: bool,
    /// Only of a Task.
    pub timeout: Option<Timeout>,
    pub attempts_max: u64,
    /// None if it is beyond counting.
    pub waits_max_seconds: Option<f64>,
    pub longest: Longest,
    pub errors: Vec<ErrorFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Way {
    /// None: always, or if no condition of a Choice holds.
    pub when: Option<String>,
    pub next: String,
}

/// How long an attempt may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Timeout {
    Seconds(u64),
    FromData,
    /// 60 s by the specification, 99,999,999 s on AWS.
    Default,
}

/// What becomes of one error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorFacts {
    pub error: String,
    /// When it happens, for names of the language's own.
    pub meaning: Option<&'static str>,
    /// This state first, then those around it, until one catches.
    pub handling: Vec<Step>,
    pub execution_fails: bool,
    /// Nothing can retry or catch it.
    #[serde(skip)]
    pub fatal: bool,
}

impl StateFacts {
    pub fn new(source: &Source, found: &Found<'_>, dialect: Dialect) -> Self {
        let state = found.state;
        let position = source.position(state.name_span.start);
        Self {
            name: state.name.to_string(),
            kind: state.kind.name(),
            does: detail(state),
            comment: state.comment.clone(),
            pointer: found.place.pointer.clone(),
            line: position.line,
            column: position.column,
            inside: found.around.iter().map(|state| state.name.to_string()).collect(),
            ways: ways(state),
            ends: matches!(state.transition(), Some(Transition::End))
                || matches!(state.kind, Kind::Succeed),
            timeout: timeout(&state.kind),
            attempts_max: time::attempts_max(state),
            waits_max_seconds: Some(time::waits_max(state)).filter(|waits| waits.is_finite()),
            longest: Longest::of_state(state),
            errors: errors::of(state, dialect)
                .into_iter()
                .map(|error| facts(found, error, dialect))
                .collect(),
        }
    }
}

fn ways(state: &State) -> Vec<Way> {
    let way = |when, target: &Target| Way { when, next: target.name.to_string() };
    match (state.transition(), &state.kind) {
        (Some(Transition::Next(target)), _) => vec![way(None, target)],
        (_, Kind::Choice(choice)) => {
            let rules =
                choice.rules.iter().map(|rule| way(Some(condition(&rule.condition)), &rule.next));
            rules.chain(choice.default.iter().map(|target| way(None, target))).collect()
        }
        _ => Vec::new(),
    }
}

fn facts(found: &Found<'_>, error: errors::Error, dialect: Dialect) -> ErrorFacts {
    let raised = error.raised();
    let (handling, fatal) = (handling::follow(found, raised, dialect), raised.is_fatal());
    let execution_fails = handling.iter().all(|step| step.catch.is_none());
    ErrorFacts { error: error.name, meaning: error.meaning, handling, execution_fails, fatal }
}

fn timeout(kind: &Kind) -> Option<Timeout> {
    let Kind::Task(task) = kind else { return None };
    Some(match &task.timeout {
        None => Timeout::Default,
        Some(Operand::Literal(seconds)) => Timeout::Seconds(*seconds),
        Some(_) => Timeout::FromData,
    })
}
