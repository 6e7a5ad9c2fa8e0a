//! What every AWS history has in common.

use std::collections::HashMap;

use everstep_interpreter::Status;
use serde_json::Value;

use super::Run;

/// Ids without gaps, links that point back, every entered state left unless it failed or was
/// stopped, and an end at the end.
#[track_caller]
pub(crate) fn check_history(run: &Run) {
    let history = run.history();
    let running = *run.execution.status() == Status::Running;
    check_events(&history, running);
}

#[track_caller]
pub(crate) fn check_events(history: &[Value], running: bool) {
    let mut open: HashMap<String, i64> = HashMap::new();
    for (at, event) in history.iter().enumerate() {
        let kind = event["type"].as_str().expect("a type");
        assert!(!kind.is_empty(), "an event without a type: {event}");
        assert_eq!(event["id"], at as u64 + 1, "ids have a gap");
        let previous = event["previousEventId"].as_u64().expect("a link");
        assert!(previous < at as u64 + 1, "a link points forward: {event}");
        if kind.ends_with("StateEntered") {
            *open.entry(name(event, "stateEnteredEventDetails")).or_default() += 1;
        }
        if kind.ends_with("StateExited") {
            let left = open.entry(name(event, "stateExitedEventDetails")).or_default();
            *left -= 1;
            assert!(*left >= 0, "a state is left that was not entered: {event}");
        }
    }
    let types: Vec<&str> = history.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(types.first(), Some(&"ExecutionStarted"));
    let ends = |kind: &&str| {
        matches!(
            *kind,
            "ExecutionSucceeded" | "ExecutionFailed" | "ExecutionTimedOut" | "ExecutionAborted"
        )
    };
    if running {
        return;
    }
    assert!(types.last().is_some_and(ends), "the last event is not an end: {types:?}");
    let redrives = types.iter().filter(|kind| **kind == "ExecutionRedriven").count();
    assert_eq!(types.iter().filter(|kind| ends(kind)).count(), redrives + 1, "{types:?}");
    let failed =
        |kind: &str| ["Failed", "Aborted", "TimedOut"].iter().any(|end| kind.ends_with(end));
    if !types.iter().any(|kind| failed(kind)) {
        assert!(open.values().all(|left| *left == 0), "states were not left: {open:?}");
    }
}

fn name(event: &Value, details: &str) -> String {
    event[details]["name"].as_str().expect("a state's name").to_owned()
}
