//! Which errors a state can meet.

use everstep_asl::error_name::{
    ALL, BRANCH_FAILED, DATA_LIMIT_EXCEEDED, HEARTBEAT_TIMEOUT, RUNTIME, TASK_FAILED, TIMEOUT,
    TOO_MANY_FAILURES,
};
use everstep_asl::model::{
    DataFlow, Kind, Map, Mode, QueryLanguage, ResultPath, State, Task, Text,
};

/// An error by name, and when it happens where the name is the language's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) name: String,
    pub(super) meaning: Option<&'static str>,
}

/// Those its retriers and catchers name, then the language's own.
pub(super) fn of(state: &State) -> Vec<Error> {
    let predefined = predefined(state);
    let mut errors: Vec<Error> = Vec::new();
    for name in named(state) {
        let known = errors.iter().any(|error| error.name == name)
            || predefined.iter().any(|(predefined, _)| *predefined == name);
        if !known && name != ALL && name != TASK_FAILED {
            let meaning = (name == BRANCH_FAILED)
                .then_some("any error of a branch (AWS knows only the branch's own)");
            errors.push(Error { name: name.to_owned(), meaning });
        }
    }
    errors.extend(own(state));
    errors.extend(
        predefined
            .into_iter()
            .map(|(name, meaning)| Error { name: name.to_owned(), meaning: Some(meaning) }),
    );
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
    Some(match &fail.error {
        Some(Text::Literal(name)) => Error { name: name.clone(), meaning: None },
        Some(Text::Expression(_) | Text::Jsonata(_)) => {
            Error { name: TASK_FAILED.to_owned(), meaning: Some("the error that its data names") }
        }
        None => Error { name: TASK_FAILED.to_owned(), meaning: Some("an error without a name") },
    })
}

type Predefined = (&'static str, &'static str);

fn predefined(state: &State) -> Vec<Predefined> {
    let mut list = match &state.kind {
        Kind::Task(task) => of_task(task),
        Kind::Parallel(_) => vec![(TASK_FAILED, "any other error of a branch")],
        Kind::Map(map) => of_map(map),
        Kind::Choice(choice) if choice.default.is_none() => {
            vec![("States.NoChoiceMatched", "no rule matches (on AWS: States.Runtime)")]
        }
        _ => Vec::new(),
    };
    list.extend(of_data(state));
    if matches!(state.kind, Kind::Task(_) | Kind::Parallel(_) | Kind::Map(_) | Kind::Pass(_)) {
        list.push((DATA_LIMIT_EXCEEDED, "a payload is larger than 256 KiB"));
    }
    if !matches!(state.kind, Kind::Fail(_)) {
        list.push((RUNTIME, "the data does not fit the definition"));
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
            list.push((TOO_MANY_FAILURES, "more items failed than are tolerated"))
        }
    }
    if map.result_writer.is_some() {
        list.push(("States.ResultWriterFailed", "the results cannot be written"));
    }
    list
}

/// What can go wrong with the data on its way in and out.
fn of_data(state: &State) -> Vec<Predefined> {
    if state.query_language == QueryLanguage::Jsonata {
        return vec![("States.QueryEvaluationError", "a JSONata expression fails")];
    }
    let DataFlow::JsonPath(flow) = &state.flow else { return Vec::new() };
    let mut list = Vec::new();
    if flow.parameters.is_some() || flow.result_selector.is_some() {
        list.push((
            "States.ParameterPathFailure",
            "a path of a template finds nothing (on AWS: States.Runtime)",
        ));
    }
    if matches!(flow.result_path, ResultPath::Insert(_)) {
        list.push((
            "States.ResultPathMatchFailure",
            "ResultPath does not fit the input (on AWS: States.Runtime)",
        ));
    }
    list
}
