//! "Pass State", "Succeed State" and "Fail State" of the specification.

use serde_json::json;

use crate::world::*;

#[test]
fn a_pass_state_passes_its_input_to_its_output() {
    let run = world(machine(json!({ "X": pass(json!({})) }))).input(json!({ "a": 1 })).run();
    assert_eq!(run.output(), json!({ "a": 1 }));
}

#[test]
fn its_result_is_the_output_of_a_virtual_task() {
    let run = world(machine(json!({ "X": pass(json!({ "Result": [1] })) }))).run();
    assert_eq!(run.output(), json!([1]));
}

#[test]
fn the_example_injects_fixed_data() {
    let definition = machine(json!({
        "No-op": {
            "Type": "Pass",
            "Result": { "x-datum": 0.381018, "y-datum": 622.2269926397355 },
            "ResultPath": "$.coords",
            "Next": "End"
        },
        "End": { "Type": "Succeed" }
    }));
    let run = world(definition).input(json!({ "georefOf": "Home" })).run();
    let coords = json!({ "x-datum": 0.381018, "y-datum": 622.2269926397355 });
    assert_eq!(run.output(), json!({ "georefOf": "Home", "coords": coords }));
}

#[test]
fn without_result_the_output_is_the_input_placed_by_result_path() {
    let definition = machine(json!({ "X": pass(json!({
        "Parameters": { "v.$": "$.a" }, "ResultPath": "$.copy"
    })) }));
    let run = world(definition).input(json!({ "a": 1 })).run();
    assert_eq!(run.output(), json!({ "a": 1, "copy": { "v": 1 } }));
}

#[test]
fn a_succeed_state_terminates_the_machine_with_its_input() {
    let definition = machine(json!({ "S": { "Type": "Succeed" } }));
    assert_eq!(world(definition).input(json!([1, 2])).run().output(), json!([1, 2]));
}

#[test]
fn a_fail_state_terminates_the_machine_as_a_failure() {
    let definition = machine(json!({
        "FailState": { "Type": "Fail", "Error": "ErrorA", "Cause": "Kaiju attack" }
    }));
    let run = world(definition).run();
    assert_eq!((run.error(), run.cause()), ("ErrorA".to_owned(), "Kaiju attack".to_owned()));
    assert_eq!(run.event_types(), ["ExecutionStarted", "FailStateEntered", "ExecutionFailed"]);
}
