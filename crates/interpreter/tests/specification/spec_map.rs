//! "Map State" of the specification.

use everstep_interpreter::{Event, Limits};
use serde_json::{Value, json};

use crate::world::*;

fn iterator() -> Value {
    machine(json!({ "Validate": task(json!({})) }))
}

fn orders() -> Value {
    json!({
        "ship-date": "2016-03-14T01:59:00Z",
        "detail": {
            "delivery-partner": "UQS",
            "shipped": [
                { "prod": "R31", "dest-code": 9511, "quantity": 1344 },
                { "prod": "S39", "dest-code": 9511, "quantity": 40 }
            ]
        }
    })
}

fn validate_all(extra: Value) -> Value {
    let mut fields = json!({
        "InputPath": "$.detail", "ItemsPath": "$.shipped", "MaxConcurrency": 0,
        "ResultPath": "$.detail.shipped"
    });
    for (name, value) in extra.as_object().expect("fields") {
        fields[name] = value.clone();
    }
    machine(json!({ "Validate-All": map(iterator(), fields) }))
}

#[test]
fn the_example_runs_the_task_once_for_each_element() {
    let run = world(validate_all(json!({})))
        .input(orders())
        .task("Validate", [after(2.0, ok(json!("first"))), ok(json!("second"))])
        .run();
    let items = orders()["detail"]["shipped"].clone();
    assert_eq!(json!(run.parameters("Validate")), items);
    let mut expected = orders();
    expected["detail"]["shipped"] = json!(["first", "second"]);
    assert_eq!(run.output(), expected);
}

#[test]
fn parameters_construct_the_raw_input_of_each_iteration() {
    let parameters = json!({ "parcel.$": "$$.Map.Item.Value", "courier.$": "$.delivery-partner" });
    for field in ["Parameters", "ItemSelector"] {
        let run = world(validate_all(json!({ field: parameters }))).input(orders()).run();
        let first = json!({
            "parcel": { "prod": "R31", "dest-code": 9511, "quantity": 1344 }, "courier": "UQS"
        });
        assert_eq!(run.parameters("Validate")[0], first);
    }
}

#[test]
fn the_context_object_has_index_and_value_of_the_item() {
    let parameters = json!({ "i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value" });
    let definition = machine(json!({ "M": map(iterator(), json!({ "Parameters": parameters })) }));
    let run = world(definition).input(json!(["a", "b"])).run();
    assert_eq!(run.output(), json!([{ "i": 0, "v": "a" }, { "i": 1, "v": "b" }]));
}

#[test]
fn child_states_do_not_see_the_item_in_the_context_object() {
    let inner =
        machine(json!({ "T": pass(json!({ "Parameters": { "v.$": "$$.Map.Item.Value" } })) }));
    let definition = machine(json!({ "M": map(inner, json!({})) }));
    let run = world(definition.clone()).input(json!([1])).run();
    assert_eq!(run.error(), "States.ParameterPathFailure");
    let run = world(definition).aws().input(json!([1])).run();
    assert_eq!(run.output(), json!([{ "v": 1 }]));
}

#[test]
fn without_items_path_the_input_is_the_array() {
    let run = world(machine(json!({ "M": map(iterator(), json!({})) }))).input(json!([1, 2])).run();
    assert_eq!(run.output(), json!([1, 2]));
}

#[test]
fn what_items_path_names_must_be_an_array() {
    let definition = machine(json!({ "M": map(iterator(), json!({ "ItemsPath": "$.a" })) }));
    for input in [json!({ "a": {} }), json!({ "a": 1 }), json!({})] {
        assert_eq!(world(definition.clone()).input(input).run().error(), "States.Runtime");
    }
}

#[test]
fn an_empty_array_gives_an_empty_array() {
    let run = world(machine(json!({ "M": map(iterator(), json!({})) }))).input(json!([])).run();
    assert_eq!(run.output(), json!([]));
    assert!(run.calls.is_empty());
}

#[test]
fn the_results_are_in_the_order_of_the_items() {
    let script = (0..6).map(|n| after(f64::from(10 - n), ok(json!(n))));
    let run = world(machine(json!({ "M": map(iterator(), json!({})) })))
        .input(json!([0, 1, 2, 3, 4, 5]))
        .task("Validate", script)
        .run();
    assert_eq!(run.output(), json!([0, 1, 2, 3, 4, 5]));
}

fn concurrency(max: u64, items: usize) -> Run {
    let script = (0..items).map(|n| after(1.0 + n as f64 / 100.0, ok(json!(n))));
    world(machine(json!({ "M": map(iterator(), json!({ "MaxConcurrency": max })) })))
        .input(Value::from(vec![0; items]))
        .task("Validate", script)
        .run()
}

#[test]
fn a_max_concurrency_of_zero_places_no_limit() {
    let run = concurrency(0, 100);
    assert_eq!(run.running_max, 100);
    assert!(run.started("Validate").iter().all(|at| *at == 0.0));
}

#[test]
fn in_the_aws_dialect_no_limit_means_forty() {
    let script = vec![after(1.0, ok(json!(0))); 100];
    let run = world(machine(json!({ "M": map(iterator(), json!({})) })))
        .aws()
        .input(Value::from(vec![0; 100]))
        .task("Validate", script)
        .run();
    assert_eq!(run.running_max, 40);
}

#[test]
fn another_max_concurrency_is_never_exceeded() {
    for max in [2, 7] {
        let run = concurrency(max, 20);
        assert_eq!(run.running_max as u64, max);
        assert_eq!(run.calls.len(), 20);
    }
}

#[test]
fn a_max_concurrency_of_one_runs_the_items_one_after_the_other_in_order() {
    let script = [3.0, 1.0, 2.0].map(|seconds| after(seconds, ok(json!(seconds))));
    let definition = machine(json!({ "M": map(iterator(), json!({ "MaxConcurrency": 1 })) }));
    let run = world(definition).input(json!(["a", "b", "c"])).task("Validate", script).run();
    assert_eq!(run.running_max, 1);
    assert_eq!(run.parameters("Validate"), [json!("a"), json!("b"), json!("c")]);
    assert_eq!(run.started("Validate"), [0.0, 3.0, 4.0]);
}

#[test]
fn if_an_iteration_fails_the_state_fails_and_all_iterations_are_terminated() {
    let script = [after(9.0, ok(json!(1))), after(1.0, error("Broken")), Outcome::Hangs];
    let run = world(machine(json!({ "M": map(iterator(), json!({})) })))
        .input(json!([1, 2, 3]))
        .task("Validate", script)
        .run();
    assert_eq!(run.error(), "Broken");
    assert_eq!(run.cancelled.len(), 2);
    assert!(run.event_types().contains(&"MapStateFailed".to_owned()));
    let succeeded = |event: &&Event| matches!(event, Event::TaskSucceeded { .. });
    assert_eq!(run.events.iter().filter(succeeded).count(), 0, "the late result is ignored");
}

#[test]
fn a_failed_iteration_starts_no_further_one() {
    let definition = machine(json!({ "M": map(iterator(), json!({ "MaxConcurrency": 1 })) }));
    let run = world(definition).input(json!([1, 2, 3])).task("Validate", [error("Broken")]).run();
    assert_eq!(run.calls.len(), 1);
    assert_eq!(run.error(), "Broken");
}

#[test]
fn a_succeed_state_merely_terminates_its_own_iteration() {
    let inner = machine(json!({
        "C": { "Type": "Choice", "Choices": [{ "Variable": "$", "NumericEquals": 1, "Next": "S" }], "Default": "Validate" },
        "S": { "Type": "Succeed" },
        "Validate": task(json!({}))
    }));
    let run = world(machine(json!({ "M": map(inner, json!({})) })))
        .input(json!([1, 2]))
        .task("Validate", [after(2.0, ok(json!("two")))])
        .run();
    assert_eq!(run.output(), json!([1, "two"]));
}

/// Newer than the specification: tolerated failures.
#[test]
fn tolerated_failures_do_not_fail_the_state() {
    let inner = machine(json!({
        "C": { "Type": "Choice", "Choices": [{ "Variable": "$", "NumericEquals": 0, "Next": "F" }], "Default": "S" },
        "F": fail("Zero"),
        "S": { "Type": "Succeed" }
    }));
    let run = |extra: Value, input: Value| {
        world(machine(json!({ "M": map(inner.clone(), extra) }))).aws().input(input).run()
    };
    let two = json!({ "ToleratedFailureCount": 2 });
    assert_eq!(run(two.clone(), json!([0, 1, 0])).output(), json!([1]));
    let name = "States.ExceedToleratedFailureThreshold";
    assert_eq!(run(two, json!([0, 0, 0, 1])).error(), name);
    let half = json!({ "ToleratedFailurePercentage": 50 });
    assert_eq!(run(half.clone(), json!([0, 1])).output(), json!([1]));
    assert_eq!(run(half, json!([0, 0, 1])).error(), name);
}

#[test]
fn maps_nest() {
    let inner = machine(json!({ "I": map(iterator(), json!({})) }));
    let run = world(machine(json!({ "M": map(inner, json!({ "MaxConcurrency": 1 })) })))
        .input(json!([[1, 2], [], [3]]))
        .run();
    assert_eq!(run.output(), json!([[1, 2], [], [3]]));
}

#[test]
fn the_limit_of_the_service_can_be_lifted() {
    let limits = Limits { inline_concurrency: 3, ..Limits::default() };
    let run = world(machine(json!({ "M": map(iterator(), json!({})) })))
        .aws()
        .limits(limits)
        .input(Value::from(vec![0; 9]))
        .run();
    assert_eq!(run.running_max, 3);
}
