//! Which errors a state can meet.

use everstep_asl::error_name::{
    ALL, BRANCH_FAILED, DATA_LIMIT_EXCEEDED, HEARTBEAT_TIMEOUT, RUNTIME, TASK_FAILED, TIMEOUT,
    TOO_MANY_FAILURES,
};
use everstep_asl::handling::{self, Origin, Raised};
use everstep_asl::model::{
    DataFlow, Kind, Map, Mode, QueryLanguage, ResultPath, State, Task, Text,
};
use everstep_asl::{Dialect, RuntimeError};

/// An error by name, and when it happens where the name is the language's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) meaning: Option<&'static str>,
}

impl Error {
    /// As it reaches the state's own retriers and catchers.
    pub(super) fn raised(&self) -> Raised<'_> {
        Raised { name: &self.name, origin: self.origin }
    }
}

/// Those its retriers and catchers name, then the language's own.
pub(super) fn of(state: &State, dialect: Dialect) -> Vec<Error> {
    let predefined = predefined(state, dialect);
    let mut errors: Vec<Error> = Vec::new();
    for name in named(state) {
        let known = errors.iter().any(|error| error.name == name)
            || predefined.iter().any(|error| error.name == name);
        let wildcard = [ALL, TASK_FAILED].contains(&name);
        let raised = name != BRANCH_FAILED || dialect.matches_branch_failed();
        if !known && !wildcard && raised {
            let origin = match &state.kind {
                Kind::Task(task) => Origin::of_task(name, &task.resource),
                _ => Origin::Named,
            };
            let meaning = (name == BRANCH_FAILED).then_some("any error of a branch (not on AWS)");
            errors.push(Error { name: name.to_owned(), origin, meaning });
        }
    }
    errors.extend(own(state));
    errors.extend(predefined);
    errors
}

fn named(state: &State) -> impl Iterator<Item = &str> {
    let retry = state.retry().iter().flat_map(|retrier| &retrier.error_equals);
    let catch = state.catch().iter().flat_map(|catcher| &catcher.error_equals);
    retry.chain(catch).map(String::as_str)
}

/// What a Fail state fails with.
fn own(state: &State) -> Option<Error> {
    let Kind::Fail(fail) = &state.kind else { return None };
    let (name, meaning) = match &fail.error {
        Some(Text::Literal(name)) => (name.as_str(), None),
        Some(Text::Expression(_) | Text::Jsonata(_)) => {
            (TASK_FAILED, Some("the error name is in its data"))
        }
        None => (TASK_FAILED, Some("an unnamed error")),
    };
    Some(Error { name: name.to_owned(), origin: Origin::Named, meaning })
}

type Predefined = (&'static str, &'static str);

fn predefined(state: &State, dialect: Dialect) -> Vec<Error> {
    let mut list = match &state.kind {
        Kind::Task(task) => of_task(task),
        Kind::Parallel(_) => vec![(TASK_FAILED, "any other error of a branch")],
        Kind::Map(map) => of_map(map),
        Kind::Choice(choice) if choice.default.is_none() => vec![(
            dialect.runtime_error(RuntimeError::NoChoiceMatched),
            "no rule matches (on AWS: States.Runtime)",
        )],
        _ => Vec::new(),
    };
    list.extend(of_data(state, dialect));
    // Those that have no name of their own in this dialect.
    list.retain(|(name, _)| *name != RUNTIME);
    let named = |(name, meaning): Predefined| Error {
        name: name.to_owned(),
        origin: Origin::Named,
        meaning: Some(meaning),
    };
    let mut errors: Vec<Error> = list.into_iter().map(named).collect();
    errors.extend(of_size(state, dialect));
    if !matches!(state.kind, Kind::Fail(_)) {
        errors.push(named((RUNTIME, "the data does not fit the definition")));
    }
    errors
}

/// Payloads that are too large. Of a task's result its state learns; what a state makes itself nothing can
/// catch.
fn of_size(state: &State, dialect: Dialect) -> Vec<Error> {
    let error = |origin, meaning| Error {
        name: DATA_LIMIT_EXCEEDED.to_owned(),
        origin,
        meaning: Some(meaning),
    };
    let inside = Raised::named(DATA_LIMIT_EXCEEDED);
    let takes_inside = handling::retrier(state, inside, dialect).is_some()
        || handling::catcher(state, inside, dialect).is_some();
    let mut list = Vec::new();
    match state.kind {
        Kind::Task(_) => {
            list.push(error(Origin::OversizedResult, "its result is larger than 256 KiB"));
        }
        Kind::Parallel(_) | Kind::Map(_) if takes_inside => {
            list.push(error(Origin::Named, "a task inside returns more than 256 KiB"));
        }
        _ => {}
    }
    if matches!(state.kind, Kind::Parallel(_) | Kind::Map(_) | Kind::Pass(_)) {
        list.push(error(Origin::Fatal, "its output is larger than 256 KiB"));
    }
    list
}

fn of_task(task: &Task) -> Vec<Predefined> {
    let mut list = vec![(TIMEOUT, "an attempt takes longer than its timeout")];
    if task.heartbeat.is_some() {
        list.push((HEARTBEAT_TIMEOUT, "no heartbeat in time"));
    }
    list.push(("States.Permissions", "the task may not be called"));
    list.push((TASK_FAILED, "any other error of the task"));
    list
}

fn of_map(map: &Map) -> Vec<Predefined> {
    let mut list = Vec::new();
    if map.item_reader.is_some() {
        list.push(("States.ItemReaderFailed", "the dataset cannot be read"));
    }
    match map.mode {
        Mode::Inline => list.push((TASK_FAILED, "any other error of an iteration")),
        Mode::Distributed(_) => {
            list.push((TOO_MANY_FAILURES, "more items failed than are tolerated"));
        }
    }
    if map.result_writer.is_some() {
        list.push(("States.ResultWriterFailed", "the results cannot be written"));
    }
    list
}

/// What can go wrong with the data on its way in and out.
fn of_data(state: &State, dialect: Dialect) -> Vec<Predefined> {
    if state.query_language == QueryLanguage::Jsonata {
        return vec![("States.QueryEvaluationError", "a JSONata expression fails")];
    }
    let DataFlow::JsonPath(flow) = &state.flow else { return Vec::new() };
    let mut list = Vec::new();
    if flow.parameters.is_some() || flow.result_selector.is_some() {
        list.push((
            dialect.runtime_error(RuntimeError::ParameterPath),
            "a path of a template finds nothing (on AWS: States.Runtime)",
        ));
    }
    if matches!(flow.result_path, ResultPath::Insert(_)) {
        list.push((
            dialect.runtime_error(RuntimeError::ResultPath),
            "ResultPath does not fit the input (on AWS: States.Runtime)",
        ));
    }
    list
}
