//! "Input and Output Processing" of the specification.

use serde_json::{Value, json};

use crate::world::*;

/// A Task with these fields: what its work is given, and what it passes on.
fn check(fields: Value, input: Value, result: Value, given: Value, output: Value) {
    let run =
        world(machine(json!({ "X": task(fields) }))).input(input).task("X", [ok(result)]).run();
    assert_eq!(run.output(), output);
    assert_eq!(run.parameters("X"), [given]);
}

fn check_output(fields: Value, input: Value, result: Value, output: Value) {
    let run =
        world(machine(json!({ "X": task(fields) }))).input(input).task("X", [ok(result)]).run();
    assert_eq!(run.output(), output);
}

#[test]
fn without_any_of_the_fields_a_state_consumes_its_input_and_passes_its_result() {
    check(json!({}), json!({ "a": 1 }), json!(7), json!({ "a": 1 }), json!(7));
}

#[test]
fn input_path_selects_what_the_state_uses() {
    check(json!({ "InputPath": "$.a" }), json!({ "a": [1] }), json!(7), json!([1]), json!(7));
}

#[test]
fn parameters_become_the_effective_input_and_see_what_input_path_selected() {
    let fields = json!({ "InputPath": "$.a", "Parameters": { "x.$": "$.b", "y": 2 } });
    check(fields, json!({ "a": { "b": 1 } }), json!(7), json!({ "x": 1, "y": 2 }), json!(7));
}

#[test]
fn result_selector_replaces_the_result() {
    let fields = json!({ "ResultSelector": { "n.$": "$.number" }, "ResultPath": "$.r" });
    let output = json!({ "a": 1, "r": { "n": 7 } });
    check_output(fields, json!({ "a": 1 }), json!({ "number": 7, "other": 8 }), output);
}

#[test]
fn output_path_selects_from_what_result_path_made() {
    let fields = json!({ "ResultPath": "$.r", "OutputPath": "$.r.x" });
    check_output(fields, json!({ "a": 1 }), json!({ "x": 7 }), json!(7));
}

#[test]
fn result_path_combines_with_the_raw_input_not_with_the_effective_input() {
    let fields = json!({ "InputPath": "$.a", "Parameters": { "p": 1 }, "ResultPath": "$.r" });
    check_output(fields, json!({ "a": {} }), json!(7), json!({ "a": {}, "r": 7 }));
}

#[test]
fn several_values_of_an_input_path_are_gathered_into_an_array() {
    let fields = json!({ "InputPath": "$.a[0,1]" });
    check(fields, json!({ "a": [1, 2, 3, 4] }), json!(0), json!([1, 2]), json!(0));
}

#[test]
fn several_values_of_an_output_path_are_gathered_into_an_array() {
    let fields = json!({ "OutputPath": "$.a[0,1]" });
    check_output(fields, json!({}), json!({ "a": [1, 2, 3, 4] }), json!([1, 2]));
}

#[test]
fn a_field_at_the_result_path_is_overwritten() {
    let input = json!({ "master": { "detail": [1, 2, 3] } });
    let fields = json!({ "ResultPath": "$.master.detail" });
    check_output(fields, input, json!(6), json!({ "master": { "detail": 6 } }));
}

#[test]
fn otherwise_intervening_fields_are_constructed() {
    let input = json!({ "master": { "detail": [1, 2, 3] } });
    let output = json!({ "master": { "detail": [1, 2, 3], "result": { "sum": 6 } } });
    check_output(json!({ "ResultPath": "$.master.result.sum" }), input, json!(6), output);
    let output = json!({ "a": 1, "b": { "greeting": "Hi!" } });
    check_output(json!({ "ResultPath": "$.b.greeting" }), json!({ "a": 1 }), json!("Hi!"), output);
}

#[test]
fn an_input_path_of_null_gives_an_empty_object() {
    check(json!({ "InputPath": null }), json!({ "a": 1 }), json!(7), json!({}), json!(7));
}

#[test]
fn a_result_path_of_null_discards_the_result() {
    check_output(json!({ "ResultPath": null }), json!({ "a": 1 }), json!(7), json!({ "a": 1 }));
}

#[test]
fn an_output_path_of_null_gives_an_empty_object() {
    check_output(json!({ "OutputPath": null }), json!({ "a": 1 }), json!(7), json!({}));
}

#[test]
fn the_example_adds_the_sum_to_the_input() {
    let input = json!({ "title": "Numbers to add", "numbers": { "val1": 3, "val2": 4 } });
    let fields = json!({ "InputPath": "$.numbers", "ResultPath": "$.sum" });
    let mut output = input.clone();
    output["sum"] = json!(7);
    check(fields, input, json!(7), json!({ "val1": 3, "val2": 4 }), output);
}

#[test]
fn the_fields_of_a_reference_path_are_found() {
    let input = json!({ "foo": 123, "bar": ["a", "b", "c"], "car": { "cdr": true } });
    for (path, found) in
        [("$.foo", json!(123)), ("$.bar", json!(["a", "b", "c"])), ("$.car.cdr", json!(true))]
    {
        check(json!({ "InputPath": path }), input.clone(), json!(0), found, json!(0));
    }
}

#[test]
fn a_path_with_two_dollar_signs_is_applied_to_the_context_object() {
    let fields = json!({ "InputPath": "$$.Execution.Name" });
    check(fields, json!({}), json!(0), json!("run"), json!(0));
}

#[test]
fn choice_wait_and_succeed_states_have_input_path_and_output_path() {
    let definition = machine(json!({
        "C": {
            "Type": "Choice", "InputPath": "$.a", "OutputPath": "$.b",
            "Choices": [{ "Variable": "$.n", "NumericEquals": 1, "Next": "W" }]
        },
        "W": { "Type": "Wait", "Seconds": 1, "InputPath": "$.c", "OutputPath": "$.d", "Next": "S" },
        "S": { "Type": "Succeed", "InputPath": "$.e", "OutputPath": "$.f" }
    }));
    let input = json!({ "a": { "n": 1, "b": { "c": { "d": { "e": { "f": "end" } } } } } });
    assert_eq!(world(definition).input(input).run().output(), json!("end"));
}

#[test]
fn an_input_or_output_path_that_does_not_apply_is_a_runtime_error_that_nothing_catches() {
    let catch = json!([{ "ErrorEquals": ["States.ALL"], "Next": "Y" }]);
    for field in ["InputPath", "OutputPath"] {
        let mut state =
            task(json!({ "Catch": catch, "Retry": [{ "ErrorEquals": ["States.ALL"] }] }));
        state[field] = json!("$.missing");
        let definition = machine(json!({ "X": state, "Y": { "Type": "Succeed" } }));
        let run = world(definition).task("X", [ok(json!({}))]).run();
        assert_eq!(run.error(), "States.Runtime");
        assert_eq!(run.delays(), [0.0; 0]);
    }
}
