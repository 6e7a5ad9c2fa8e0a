//! "Payload Template" of the specification.

use serde_json::{Value, json};

use crate::world::*;

/// What a Task is given by these `Parameters`.
fn check(parameters: Value, input: Value, payload: Value) {
    let run = world(machine(json!({ "X": task(json!({ "Parameters": parameters })) })))
        .input(input)
        .run();
    run.output();
    assert_eq!(run.parameters("X"), [payload]);
}

#[test]
fn without_such_fields_the_payload_is_the_template() {
    let template = json!({ "first": 88, "second": 99 });
    check(template.clone(), json!({ "other": 1 }), template);
}

#[test]
fn a_field_that_ends_with_dot_dollar_is_transformed_and_renamed_however_deep() {
    let template = json!({ "a": { "b": [{ "c.$": "$.x" }] } });
    check(template, json!({ "x": 5 }), json!({ "a": { "b": [{ "c": 5 }] } }));
}

#[test]
fn a_value_with_one_dollar_is_a_path_into_the_templates_input() {
    check(json!({ "a.$": "$" }), json!({ "x": 5 }), json!({ "a": { "x": 5 } }));
}

#[test]
fn a_value_with_two_dollars_is_a_path_into_the_context_object() {
    check(
        json!({ "a.$": "$$.StateMachine.Name", "b.$": "$$.State.Name", "c.$": "$$.Execution.Input.x" }),
        json!({ "x": 5 }),
        json!({ "a": "machine", "b": "X", "c": 5 }),
    );
}

#[test]
fn any_other_value_is_an_intrinsic_function() {
    check(json!({ "a.$": "States.Format('n={}', $.x)" }), json!({ "x": 5 }), json!({ "a": "n=5" }));
}

/// The specification's own example; its context object is its own, so the weekday comes with the
/// input here.
#[test]
fn the_example_is_reshaped() {
    let template = json!({
        "flagged": true,
        "parts": { "first.$": "$.vals[0]", "last3.$": "$.vals[-3:]" },
        "weekday.$": "$.DayOfWeek",
        "formattedOutput.$": "States.Format('Today is {}', $.DayOfWeek)"
    });
    let input = json!({ "flagged": 7, "vals": [0, 10, 20, 30, 40, 50], "DayOfWeek": "TUESDAY" });
    let payload = json!({
        "flagged": true,
        "parts": { "first": 0, "last3": [30, 40, 50] },
        "weekday": "TUESDAY",
        "formattedOutput": "Today is TUESDAY"
    });
    check(template, input, payload);
}

#[test]
fn parameters_of_a_parallel_state_are_the_input_of_each_branch() {
    let branch = |name: &str| machine(json!({ name: pass(json!({})) }));
    let state =
        parallel(json!([branch("L"), branch("R")]), json!({ "Parameters": { "v.$": "$.x" } }));
    let run = world(machine(json!({ "P": state }))).input(json!({ "x": 5 })).run();
    assert_eq!(run.output(), json!([{ "v": 5 }, { "v": 5 }]));
}

#[test]
fn result_selector_works_on_the_result_of_task_parallel_and_map() {
    let inner = machine(json!({ "T": task(json!({})) }));
    let selector = json!({ "ResultSelector": { "first.$": "$[0]" } });
    for state in [
        task(selector.clone()),
        parallel(json!([inner.clone()]), selector.clone()),
        map(inner, selector),
    ] {
        let run = world(machine(json!({ "X": state }))).input(json!([4])).run();
        let first = run.output()["first"].clone();
        assert!(first == json!(4) || first == json!([4]), "{first}");
    }
}
