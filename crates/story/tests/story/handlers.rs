//! Which retrier or catcher took an error: the story says what the engine did, in both dialects.

use everstep_asl::Dialect;
use everstep_story::{Entry, Happened, Otherwise, Verdict};
use serde_json::{Value, json};

use crate::harness::{Tasks, parallel, story, task};

fn told(states: &Value, dialect: Dialect, tasks: Tasks) -> Vec<Entry> {
    story(states, dialect, tasks).entries().to_vec()
}

/// Which catcher of a state took over, from 0.
fn catcher(entries: &[Entry], state: &str) -> Option<usize> {
    let of_state = entries.iter().filter(|entry| entry.state == state);
    let took = |entry: &Entry| match &entry.happened {
        Happened::Failed { catchers, .. } => {
            catchers.iter().position(|catcher| catcher.verdict == Verdict::TookOver)
        }
        _ => None,
    };
    of_state.filter_map(took).next()
}

fn reasons(entries: &[Entry], state: &str) -> Vec<String> {
    let of_state = entries.iter().filter(|entry| entry.state == state);
    let reasons = of_state.flat_map(|entry| match &entry.happened {
        Happened::Failed { retriers, catchers, .. } => {
            retriers.iter().chain(catchers).filter_map(|one| one.reason.clone()).collect()
        }
        _ => Vec::new(),
    });
    reasons.collect()
}

fn catching(pattern: &str) -> Value {
    json!([{ "ErrorEquals": [pattern], "Next": "Done" }])
}

#[test]
fn branch_failed_is_of_the_specification_alone() {
    let states = parallel(
        task(json!({})),
        json!({
            "Retry": [{ "ErrorEquals": ["States.BranchFailed"], "MaxAttempts": 1 }],
            "Catch": catching("States.BranchFailed")
        }),
    );
    let entries = told(&states, Dialect::Spec, Tasks::FailWith("OutOfStock"));
    assert_eq!(catcher(&entries, "Ship"), Some(0));
    let retried = entries.iter().find_map(|entry| match &entry.happened {
        Happened::Retried { retrier, otherwise, .. } => Some((retrier.clone(), otherwise.clone())),
        _ => None,
    });
    let (retrier, otherwise) = retried.expect("it is retried");
    assert_eq!(retrier.matched, "States.BranchFailed");
    assert!(matches!(otherwise, Some(Otherwise::Caught { number: 1, .. })), "{otherwise:?}");
    let entries = told(&states, Dialect::Aws, Tasks::FailWith("OutOfStock"));
    assert_eq!(catcher(&entries, "Ship"), None);
}

/// A history has no event of its own for that.
#[test]
fn a_map_is_retried() {
    let item = json!({ "StartAt": "Pack", "States": { "Pack": task(json!({})) } });
    let retry = json!([{ "ErrorEquals": ["OutOfStock"], "MaxAttempts": 2 }]);
    let states = json!({ "Ship": {
        "Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 1, "ItemProcessor": item,
        "Retry": retry, "End": true
    } });
    for dialect in Dialect::EACH {
        let entries = told(&states, dialect, Tasks::FailWith("OutOfStock"));
        let retried = |entry: &&Entry| matches!(entry.happened, Happened::Retried { .. });
        assert_eq!(entries.iter().filter(retried).count(), 2);
    }
}

/// A missed heartbeat is a timeout too, at the task and around it.
#[test]
fn a_missed_heartbeat_has_two_names() {
    for pattern in ["States.HeartbeatTimeout", "States.Timeout"] {
        let heartbeat = json!({
            "HeartbeatSeconds": 3,
            "Retry": [{ "ErrorEquals": [pattern], "MaxAttempts": 1 }]
        });
        let states = parallel(task(heartbeat), json!({ "Catch": catching(pattern) }));
        for dialect in Dialect::EACH {
            let entries = told(&states, dialect, Tasks::Hang);
            assert_eq!(catcher(&entries, "Ship"), Some(0), "{pattern} {dialect:?}");
            let retried = entries.iter().find_map(|entry| match &entry.happened {
                Happened::Retried { retrier, .. } => Some(retrier.matched.clone()),
                _ => None,
            });
            assert_eq!(retried.as_deref(), Some(pattern));
        }
    }
}

/// One that ran out of time has only one.
#[test]
fn a_timeout_is_no_missed_heartbeat() {
    let states = parallel(task(json!({})), json!({ "Catch": catching("States.HeartbeatTimeout") }));
    for dialect in Dialect::EACH {
        assert_eq!(catcher(&told(&states, dialect, Tasks::Hang), "Ship"), None);
    }
}

#[test]
fn a_wildcard_around_does_not_catch_a_result_that_is_too_large() {
    let tasks = Tasks::FailWith("States.DataLimitExceeded");
    let states = parallel(task(json!({})), json!({ "Catch": catching("States.ALL") }));
    for dialect in Dialect::EACH {
        let entries = told(&states, dialect, tasks);
        assert_eq!(catcher(&entries, "Ship"), None, "{dialect:?}");
        let expected = ["States.ALL excludes States.DataLimitExceeded"];
        assert_eq!(reasons(&entries, "Ship"), expected, "{dialect:?}");
    }
    let states = json!({
        "Pack": task(json!({ "Catch": catching("States.ALL") })), "Done": { "Type": "Succeed" }
    });
    assert_eq!(catcher(&told(&states, Dialect::Spec, tasks), "Pack"), None);
    assert_eq!(catcher(&told(&states, Dialect::Aws, tasks), "Pack"), Some(0));
}

#[test]
fn nothing_takes_what_always_ends_the_execution() {
    let states = parallel(task(json!({})), json!({ "Catch": catching("States.ALL") }));
    let entries = told(&states, Dialect::Spec, Tasks::FailWith("States.Runtime"));
    assert_eq!(reasons(&entries, "Ship"), ["nothing can retry or catch this error"]);
}

#[test]
fn a_map_that_tolerates_failures_fails_by_a_name_of_its_own() {
    let item = json!({ "StartAt": "Pack", "States": { "Pack": task(json!({})) } });
    let states = json!({
        "Ship": {
            "Type": "Map", "ItemsPath": "$.items", "ItemProcessor": item, "End": true,
            "ToleratedFailureCount": 1,
            "Catch": catching("States.ExceedToleratedFailureThreshold")
        },
        "Done": { "Type": "Succeed" }
    });
    for dialect in Dialect::EACH {
        let entries = told(&states, dialect, Tasks::FailWith("OutOfStock"));
        assert_eq!(catcher(&entries, "Ship"), Some(0), "{dialect:?}");
    }
}
