//! "Fallback states" and "Error output" of the specification.

use serde_json::{Value, json};

use crate::world::*;

fn catching(catchers: Value) -> Value {
    machine(json!({
        "X": task(json!({ "Catch": catchers, "Next": "Done" })),
        "Done": { "Type": "Succeed" },
        "RecoveryState": { "Type": "Succeed" },
        "EndMachine": { "Type": "Succeed" }
    }))
}

fn check(catchers: Value, error_name: &str, state: &str, output: Value) {
    let run =
        world(catching(catchers)).input(json!({ "order": 7 })).task("X", [error(error_name)]).run();
    assert_eq!(run.path(), ["X", state]);
    assert_eq!(run.output(), output);
}

#[test]
fn the_catchers_are_scanned_in_array_order() {
    let catchers = json!([
        { "ErrorEquals": ["A", "B"], "Next": "RecoveryState" },
        { "ErrorEquals": ["B", "C"], "Next": "EndMachine" }
    ]);
    let output = |name: &str| json!({ "Error": name, "Cause": "scripted" });
    check(catchers.clone(), "B", "RecoveryState", output("B"));
    check(catchers, "C", "EndMachine", output("C"));
}

#[test]
fn without_a_matching_catcher_the_machine_fails() {
    let catchers = json!([{ "ErrorEquals": ["A"], "Next": "RecoveryState" }]);
    let run = world(catching(catchers)).task("X", [error("B")]).run();
    assert_eq!(run.error(), "B");
    assert_eq!(run.cause(), "scripted");
}

#[test]
fn the_example_injects_the_error_output_for_the_first_catcher_and_replaces_the_input_for_the_second()
 {
    let catchers = json!([
        { "ErrorEquals": ["java.lang.Exception"], "ResultPath": "$.error-info", "Next": "RecoveryState" },
        { "ErrorEquals": ["States.ALL"], "Next": "EndMachine" }
    ]);
    let error = |name: &str| json!({ "Error": name, "Cause": "scripted" });
    let injected = json!({ "order": 7, "error-info": error("java.lang.Exception") });
    check(catchers.clone(), "java.lang.Exception", "RecoveryState", injected);
    check(catchers, "Other", "EndMachine", error("Other"));
}

#[test]
fn a_catchers_result_path_of_null_keeps_the_input() {
    let catchers = json!([{ "ErrorEquals": ["A"], "ResultPath": null, "Next": "EndMachine" }]);
    check(catchers, "A", "EndMachine", json!({ "order": 7 }));
}

#[test]
fn a_catchers_result_path_applies_to_the_states_raw_input() {
    let definition = machine(json!({
        "X": task(json!({
            "InputPath": "$.inner",
            "Parameters": { "only.$": "$.a" },
            "ResultPath": "$.result",
            "OutputPath": "$.result",
            "Catch": [{ "ErrorEquals": ["A"], "ResultPath": "$.error", "Next": "Y" }]
        })),
        "Y": { "Type": "Succeed" }
    }));
    let run = world(definition).input(json!({ "inner": { "a": 1 } })).task("X", [error("A")]).run();
    assert_eq!(run.parameters("X"), [json!({ "only": 1 })]);
    let error = json!({ "Error": "A", "Cause": "scripted" });
    assert_eq!(run.output(), json!({ "inner": { "a": 1 }, "error": error }));
}

#[test]
fn the_error_output_always_has_a_string_valued_error() {
    let catchers = json!([{ "ErrorEquals": ["States.ALL"], "Next": "EndMachine" }]);
    let unnamed = || Outcome::Fails(everstep_interpreter::Failure::default());
    let run = world(catching(catchers.clone())).task("X", [unnamed()]).run();
    assert_eq!(run.output(), json!({ "Error": "States.TaskFailed", "Cause": "" }));
    let run = world(catching(catchers)).aws().task("X", [unnamed()]).run();
    assert_eq!(run.output(), json!({ "Error": null, "Cause": null }));
}

#[test]
fn any_appropriate_retriers_are_used_before_a_catcher() {
    let definition = machine(json!({
        "X": task(json!({
            "Retry": [{ "ErrorEquals": ["States.ALL"], "MaxAttempts": 2 }],
            "Catch": [{ "ErrorEquals": ["A"], "Next": "Y" }]
        })),
        "Y": { "Type": "Succeed" }
    }));
    let run = world(definition).task("X", errors(&["B", "C", "A"])).run();
    assert_eq!(run.delays(), [1.0, 2.0]);
    assert_eq!(run.output(), json!({ "Error": "A", "Cause": "scripted" }));
}

#[test]
fn a_result_path_that_does_not_apply_to_the_input_fails_the_state_without_being_caught_by_it() {
    let definition = machine(json!({
        "X": task(json!({ "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Y" }] })),
        "Y": { "Type": "Succeed" }
    }));
    let run = world(definition).input(json!("foo")).task("X", [error("A")]).run();
    assert_eq!(run.error(), "States.ResultPathMatchFailure");
}

/// A caught failure leads to a Wait state: the transition must not cut the wait short.
#[test]
fn a_fallback_state_that_waits_waits_its_whole_time() {
    let definition = machine(json!({
        "X": task(json!({
            "Parameters": { "a.$": "$.missing" },
            "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "W" }]
        })),
        "W": { "Type": "Wait", "Seconds": 30, "Next": "Y" },
        "Y": { "Type": "Succeed" }
    }));
    let run = world(definition).run();
    let expected = [("X".to_owned(), 0.0), ("W".to_owned(), 0.0), ("Y".to_owned(), 30.0)];
    assert_eq!(run.timeline(), expected);
}

#[test]
fn parallel_and_map_states_may_have_catch() {
    let inner = machine(json!({ "T": task(json!({})) }));
    let catch = json!({ "Catch": [{ "ErrorEquals": ["A"], "ResultPath": "$[0]", "Next": "Y" }] });
    for state in [parallel(json!([inner.clone()]), catch.clone()), map(inner, catch)] {
        let definition = machine(json!({ "S": state, "Y": { "Type": "Succeed" } }));
        let run =
            world(definition).input(json!([1, 2])).task("T", [error("A"), Outcome::Hangs]).run();
        assert_eq!(run.path().last().map(String::as_str), Some("Y"));
        assert_eq!(run.output(), json!([{ "Error": "A", "Cause": "scripted" }, 2]));
    }
}

#[test]
fn the_caught_error_of_a_fail_state_in_a_branch_is_the_one_it_names() {
    let definition = machine(json!({
        "P": parallel(json!([machine(json!({ "F": fail("ErrorA") }))]),
            json!({ "Catch": [{ "ErrorEquals": ["ErrorA"], "Next": "Y" }] })),
        "Y": { "Type": "Succeed" }
    }));
    let run = world(definition).run();
    assert_eq!(run.output(), json!({ "Error": "ErrorA", "Cause": "on purpose" }));
}
