//! "Complex retry scenarios" of the specification.

use crate::world::*;
use serde_json::{Value, json};

fn example() -> Value {
    machine(json!({
        "X": {
            "Type": "Task",
            "Resource": "arn:aws:states:us-east-1:123456789012:task:X",
            "Next": "Y",
            "Retry": [
                { "ErrorEquals": ["ErrorA", "ErrorB"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxAttempts": 2 },
                { "ErrorEquals": ["ErrorC"], "IntervalSeconds": 5 }
            ],
            "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "Z" }]
        },
        "Y": { "Type": "Succeed" },
        "Z": { "Type": "Succeed" }
    }))
}

#[test]
fn the_example_waits_one_two_and_five_seconds_and_is_then_caught() {
    let run = world(example()).task("X", errors(&["ErrorA", "ErrorB", "ErrorC", "ErrorB"])).run();
    assert_eq!(run.delays(), [1.0, 2.0, 5.0]);
    assert_eq!(run.started("X"), [0.0, 1.0, 3.0, 8.0]);
    assert_eq!(run.timeline(), [("X".to_owned(), 0.0), ("Z".to_owned(), 8.0)]);
    assert_eq!(run.output(), json!({ "Error": "ErrorB", "Cause": "scripted" }));
}

/// The guide counts per error and gives the fourth error four more seconds; the specification counts
/// per retrier, and comes first.
#[test]
fn a_retriers_parameters_apply_across_all_visits_to_that_retrier() {
    let run = world(example()).task("X", errors(&["ErrorB", "ErrorA", "ErrorA"])).run();
    assert_eq!(run.delays(), [1.0, 2.0]);
    assert_eq!(run.path(), ["X", "Z"]);
}

#[test]
fn another_retrier_keeps_its_own_count() {
    let names = ["ErrorC", "ErrorA", "ErrorC", "ErrorA", "ErrorC"];
    let script = errors(&names).into_iter().chain([ok(json!(1))]);
    let run = world(example()).task("X", script).run();
    assert_eq!(run.delays(), [5.0, 1.0, 10.0, 2.0, 20.0]);
    assert_eq!(run.path(), ["X", "Y"]);
}

#[test]
fn an_exhausted_retrier_does_not_hand_over_to_a_later_one() {
    let definition = machine(json!({ "X": task(json!({ "Retry": [
        { "ErrorEquals": ["A"], "MaxAttempts": 1 },
        { "ErrorEquals": ["States.ALL"], "MaxAttempts": 9 }
    ] })) }));
    let run = world(definition).task("X", errors(&["A", "A"])).run();
    assert_eq!(run.delays(), [1.0]);
    assert_eq!(run.error(), "A");
}

#[test]
fn once_the_interpreter_transitions_to_another_state_all_retrier_parameters_reset() {
    let definition = machine(json!({
        "X": task(json!({ "Next": "Again", "Retry": [
            { "ErrorEquals": ["A"], "MaxAttempts": 2 }, { "ErrorEquals": ["B"], "IntervalSeconds": 7, "MaxAttempts": 1 }
        ] })),
        "Again": {
            "Type": "Choice",
            "Choices": [{ "Variable": "$.again", "BooleanEquals": true, "Next": "X" }],
            "Default": "Done"
        },
        "Done": { "Type": "Succeed" }
    }));
    let once =
        |again: bool| errors(&["A", "B", "A"]).into_iter().chain([ok(json!({ "again": again }))]);
    let run = world(definition).task("X", once(true).chain(once(false))).run();
    assert_eq!(run.delays(), [1.0, 7.0, 2.0, 1.0, 7.0, 2.0]);
    assert_eq!(run.output(), json!({ "again": false }));
}

#[test]
fn a_transition_by_a_catcher_resets_them_too() {
    let definition = machine(json!({
        "X": task(json!({
            "Retry": [{ "ErrorEquals": ["A"], "MaxAttempts": 1 }],
            "Catch": [{ "ErrorEquals": ["A"], "Next": "X" }]
        }))
    }));
    let script = errors(&["A", "A", "A"]).into_iter().chain([ok(json!("done"))]);
    let run = world(definition).task("X", script).run();
    assert_eq!(run.delays(), [1.0, 1.0]);
    assert_eq!(run.path(), ["X", "X"]);
}
