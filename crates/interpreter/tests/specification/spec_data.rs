//! "Structure of a State Machine", "Transitions", "Data" and top-level fields of the specification.

use everstep_interpreter::Status;
use serde_json::json;

use crate::world::*;

#[test]
fn the_machine_of_the_example_terminates_with_the_result_of_its_task() {
    let definition = json!({
        "Comment": "A simple minimal example of the States language",
        "StartAt": "Hello World",
        "States": { "Hello World": {
            "Type": "Task",
            "Resource": "arn:aws:lambda:us-east-1:123456789012:function:HelloWorld",
            "End": true
        } }
    });
    let run = world(definition).task("Hello World", [ok(json!("hi"))]).run();
    assert_eq!(run.output(), json!("hi"));
}

#[test]
fn the_interpreter_starts_at_the_named_state_and_follows_next() {
    let definition = json!({ "StartAt": "B", "States": {
        "A": pass(json!({ "Next": "C" })), "B": pass(json!({ "Next": "A" })), "C": pass(json!({}))
    } });
    assert_eq!(world(definition).run().path(), ["B", "A", "C"]);
}

#[test]
fn states_can_have_several_incoming_transitions() {
    let definition = machine(json!({
        "C": {
            "Type": "Choice",
            "Choices": [{ "Variable": "$.n", "NumericEquals": 1, "Next": "End" }],
            "Default": "One"
        },
        "One": pass(json!({ "Result": { "n": 1 }, "Next": "C" })),
        "End": { "Type": "Succeed" }
    }));
    let run = world(definition).input(json!({ "n": 0 })).run();
    assert_eq!(run.path(), ["C", "One", "C", "End"]);
}

#[test]
fn the_output_of_a_state_is_the_input_of_the_next() {
    let definition = machine(json!({ "A": task(json!({ "Next": "B" })), "B": task(json!({})) }));
    let run = world(definition).task("A", [ok(json!([1]))]).task("B", [ok(json!(2))]).run();
    assert_eq!(run.parameters("B"), [json!([1])]);
    assert_eq!(run.output(), json!(2));
}

#[test]
fn numbers_strings_and_booleans_are_json_texts() {
    for value in [json!(7), json!("text"), json!(true), json!(null), json!([])] {
        let run = world(machine(json!({ "X": pass(json!({})) }))).input(value.clone()).run();
        assert_eq!(run.output(), value);
    }
}

#[test]
fn the_example_adds_three_and_four() {
    let run = world(machine(json!({ "Add": task(json!({})) })))
        .input(json!({ "val1": 3, "val2": 4 }))
        .task("Add", [ok(json!(7))])
        .run();
    assert_eq!(run.output(), json!(7));
}

#[test]
fn a_machine_that_runs_longer_than_its_timeout_fails_with_states_timeout() {
    let catch = json!({ "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "Y" }] });
    let inner = machine(json!({ "T": task(json!({ "TimeoutSeconds": 100 })) }));
    let mut definition = machine(json!({
        "P": parallel(json!([inner]), catch), "Y": { "Type": "Succeed" }
    }));
    definition["TimeoutSeconds"] = json!(10);
    let run = world(definition).task("T", [Outcome::Hangs]).run();
    assert_eq!(*run.execution.status(), Status::TimedOut);
    assert_eq!(run.seconds(), 10.0);
    assert_eq!(run.path(), ["P", "T"]);
    let history = run.history();
    let last = history.last().expect("events");
    assert_eq!(last["executionTimedOutEventDetails"]["error"], "States.Timeout");
    assert_eq!(run.cancelled.len(), 1, "the task is not left running");
    check_history(&run);
}
