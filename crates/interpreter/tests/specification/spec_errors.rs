//! "Errors", "Error representation", "Runtime Errors" and Appendix A of the specification.

use serde_json::{Value, json};

use crate::world::*;

/// The failing state with this catcher, or inside a Parallel with it.
fn caught_by(pattern: &str, state: Value, input: Value) -> Option<Value> {
    let catch = json!([{ "ErrorEquals": [pattern], "Next": "Y" }]);
    let own = matches!(state["Type"].as_str(), Some("Task" | "Parallel" | "Map"));
    let mut failing = state;
    if own {
        failing["Catch"] = catch.clone();
    }
    let definition = if own {
        machine(json!({ "X": failing, "Y": { "Type": "Succeed" } }))
    } else {
        let branch = machine(json!({ "X": failing, "Never": { "Type": "Succeed" } }));
        machine(
            json!({ "P": parallel(json!([branch]), json!({ "Catch": catch })), "Y": { "Type": "Succeed" } }),
        )
    };
    let run = world(definition).input(input).task("X", [ok(json!("result"))]).run();
    run.path().contains(&"Y".to_owned()).then(|| run.output()["Error"].clone())
}

fn check_catchable(name: &str, state: Value, input: Value) {
    let found = caught_by(name, state.clone(), input.clone());
    assert_eq!(found, Some(json!(name)), "{name} by its name");
    let found = caught_by("States.ALL", state.clone(), input.clone());
    assert_eq!(found, Some(json!(name)), "{name} by States.ALL");
    assert_eq!(caught_by("Another", state, input), None, "{name} by another name");
}

#[test]
fn when_a_state_reports_an_error_the_default_is_to_fail_the_whole_machine() {
    let definition = machine(json!({ "X": task(json!({ "Next": "Y" })), "Y": pass(json!({})) }));
    let run = world(definition).task("X", [error("CustomError")]).run();
    assert_eq!((run.error(), run.cause()), ("CustomError".to_owned(), "scripted".to_owned()));
    assert_eq!(run.path(), ["X"]);
}

/// "Suppose a state's input is the string "foo", and its ResultPath field has the value $.x."
#[test]
fn a_result_path_that_cannot_apply_is_a_result_path_match_failure() {
    let definition = machine(json!({ "X": pass(json!({ "Result": 1, "ResultPath": "$.x" })) }));
    let run = world(definition).input(json!("foo")).run();
    assert_eq!(run.error(), "States.ResultPathMatchFailure");
    check_catchable(
        "States.ResultPathMatchFailure",
        task(json!({ "ResultPath": "$.x" })),
        json!("foo"),
    );
    let state = pass(json!({ "Result": 1, "ResultPath": "$.x" }));
    check_catchable("States.ResultPathMatchFailure", state, json!("foo"));
}

#[test]
fn a_path_in_parameters_that_cannot_apply_is_a_parameter_path_failure() {
    for state in [
        task(json!({ "Parameters": { "a": { "b.$": "$.missing" } } })),
        pass(json!({ "Parameters": { "b.$": "$.missing" } })),
        task(json!({ "ResultSelector": { "b.$": "$.missing" } })),
        pass(json!({ "Parameters": { "b.$": "$$.Missing" } })),
    ] {
        check_catchable("States.ParameterPathFailure", state, json!({}));
    }
}

#[test]
fn an_intrinsic_function_that_fails_is_an_intrinsic_failure() {
    for call in ["States.StringToJson($.text)", "States.ArrayGetItem($.list, 9)"] {
        let state = task(json!({ "Parameters": { "a.$": call } }));
        check_catchable("States.IntrinsicFailure", state, json!({ "text": "{", "list": [1] }));
    }
}

#[test]
fn a_choice_without_match_and_default_is_no_choice_matched() {
    let choice = json!({
        "Type": "Choice",
        "Choices": [{ "Variable": "$.a", "NumericEquals": 1, "Next": "Never" }]
    });
    check_catchable("States.NoChoiceMatched", choice.clone(), json!({ "a": 2 }));
    let definition = machine(json!({ "C": choice, "Never": { "Type": "Succeed" } }));
    assert_eq!(world(definition).input(json!({ "a": 2 })).run().error(), "States.NoChoiceMatched");
}

#[test]
fn branch_failed_matches_a_parallel_state_of_which_a_branch_failed() {
    let state = parallel(json!([machine(json!({ "F": fail("ErrorA") }))]), json!({}));
    assert_eq!(caught_by("States.BranchFailed", state.clone(), json!({})), Some(json!("ErrorA")));
    assert_eq!(caught_by("ErrorA", state.clone(), json!({})), Some(json!("ErrorA")));
    let definition = machine(json!({ "P": {
        "Type": "Parallel", "End": true, "Branches": state["Branches"],
        "Retry": [{ "ErrorEquals": ["States.BranchFailed"], "MaxAttempts": 1 }]
    } }));
    assert_eq!(world(definition).run().delays(), [1.0]);
}

#[test]
fn branch_failed_matches_no_other_state() {
    assert_eq!(
        caught_by("States.BranchFailed", task(json!({ "ResultPath": "$.x" })), json!("s")),
        None
    );
    let state = map(machine(json!({ "F": fail("A") })), json!({ "ItemsPath": "$.list" }));
    assert_eq!(caught_by("States.BranchFailed", state, json!({ "list": [1] })), None);
}

/// What the specification names, the service calls States.Runtime, which nothing catches.
#[test]
fn in_the_aws_dialect_all_these_are_states_runtime() {
    let choice = json!({ "Type": "Choice", "Choices": [{ "Variable": "$.a", "IsNull": true, "Next": "Y" }] });
    let catch = json!([{ "ErrorEquals": ["States.ALL"], "Next": "Y" }]);
    for state in [
        task(json!({ "ResultPath": "$.x", "Catch": catch })),
        task(json!({ "Parameters": { "b.$": "$.missing" }, "Catch": catch })),
        task(json!({ "Parameters": { "b.$": "States.StringToJson('{')" }, "Catch": catch })),
        choice,
    ] {
        let is_choice = state["Type"] == "Choice";
        let input = if is_choice { json!({ "a": 1 }) } else { json!("foo") };
        let definition = machine(json!({ "X": state, "Y": { "Type": "Succeed" } }));
        let run = world(definition).aws().input(input).task("X", [ok(json!(1))]).run();
        assert_eq!(run.error(), "States.Runtime");
    }
    let state = parallel(
        json!([machine(json!({ "F": fail("A") }))]),
        json!({ "Catch": [{ "ErrorEquals": ["States.BranchFailed"], "Next": "Y" }] }),
    );
    let definition = machine(json!({ "P": state, "Y": { "Type": "Succeed" } }));
    assert_eq!(world(definition).aws().run().error(), "A");
}

#[test]
fn a_task_without_privileges_reports_permissions() {
    let definition = machine(json!({
        "X": task(json!({ "Catch": [{ "ErrorEquals": ["States.Permissions"], "Next": "Y" }] })),
        "Y": { "Type": "Succeed" }
    }));
    let run = world(definition).task("X", [error("States.Permissions")]).run();
    assert_eq!(run.path(), ["X", "Y"]);
}

#[test]
fn a_failure_inside_nested_scopes_is_caught_where_it_can_be() {
    let mut inner = machine(json!({ "T": task(json!({})) }));
    for depth in 0..5 {
        let state = if depth % 2 == 0 {
            parallel(json!([inner]), json!({}))
        } else {
            map(inner, json!({ "ItemsPath": "$.list" }))
        };
        let name = format!("S{depth}");
        inner = machine(json!({ name: state }));
    }
    let definition = machine(json!({
        "Outer": parallel(json!([inner]), json!({ "Catch": [{ "ErrorEquals": ["Deep"], "Next": "Y" }] })),
        "Y": { "Type": "Succeed" }
    }));
    let item = json!({ "list": [{ "list": [] }] });
    let run = world(definition).input(json!({ "list": [item] })).task("T", [error("Deep")]).run();
    assert_eq!(run.output()["Error"], "Deep");
}
