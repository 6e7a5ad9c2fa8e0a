//! Scopes inside scopes, as deep as a definition may be.

use std::sync::Arc;

use everstep_interpreter::{Dialect, Execution, Input, Limits, Occasion, Payload, Program, Status};
use serde_json::{Value, json};

use crate::world::*;

/// About as many Parallel states inside each other as a definition may have: each takes four levels
/// of JSON.
const DEPTH: usize = 48;

/// A Map takes three.
const MAPS_DEPTH: usize = 64;

fn nested(innermost: Value, extra: impl Fn(usize) -> Value) -> Value {
    let mut inner = machine(json!({ "Innermost": innermost }));
    for depth in 0..DEPTH {
        let name = format!("P{depth}");
        inner = machine(json!({ name: parallel(json!([inner]), extra(depth)) }));
    }
    inner
}

#[test]
fn deeply_nested_branches_succeed() {
    let run = world(nested(task(json!({})), |_| json!({}))).run();
    let mut output = run.output();
    for _ in 0..DEPTH {
        output = output[0].take();
    }
    assert_eq!(output, json!({}));
}

#[test]
fn a_failure_travels_all_the_way_up_and_a_redrive_all_the_way_down() {
    let definition = nested(task(json!({})), |_| json!({}));
    let mut run = world(definition).task("Innermost", [error("Deep")]).run();
    assert_eq!(run.error(), "Deep");
    run.then("Innermost", [ok(json!(1))]).redrive();
    run.output();
    assert_eq!(run.calls.len(), 2);
}

#[test]
fn retries_at_every_level_reset_those_inside() {
    let retry = |depth: usize| {
        if depth < 3 {
            json!({ "Retry": [{ "ErrorEquals": ["Deep"], "MaxAttempts": 1 }] })
        } else {
            json!({})
        }
    };
    let run = world(nested(task(json!({})), retry)).task("Innermost", errors(&["Deep"; 8])).run();
    assert_eq!(run.error(), "Deep");
    assert_eq!(run.calls.len(), 8, "twice at each of three levels");
}

#[test]
fn maps_as_deep_as_that_fail_and_are_redriven() {
    let mut inner = machine(json!({ "Innermost": task(json!({})) }));
    let mut input = json!([1]);
    for depth in 0..MAPS_DEPTH {
        let name = format!("M{depth}");
        inner = machine(json!({ name: map(inner, json!({})) }));
        input = json!([input]);
    }
    let mut run = world(inner).input(input).task("Innermost", [error("Deep")]).run();
    assert_eq!(run.error(), "Deep");
    run.then("Innermost", [ok(json!(1))]).redrive();
    run.output();
}

/// A state that wraps its own output for ever.
#[track_caller]
fn check_endless(state: Value) {
    let run = world(machine(json!({ "Again": state }))).run();
    assert_eq!(run.error(), "States.DataLimitExceeded");
    assert_eq!(run.cause(), "The result of a state is nested more than 900 levels deep.");
}

#[test]
fn data_that_a_loop_nests_deeper_and_deeper_ends_it() {
    check_endless(pass(json!({ "Parameters": { "a.$": "$" }, "Next": "Again" })));
    check_endless(pass(json!({ "ResultPath": "$.a.b.c", "Next": "Again" })));
    check_endless(pass(
        json!({ "Assign": { "kept.$": "$" }, "ResultPath": "$.a", "Next": "Again" }),
    ));
    let jsonata = |more: Value| {
        let mut state = pass(json!({ "QueryLanguage": "JSONata", "Next": "Again" }));
        state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        state
    };
    check_endless(jsonata(json!({ "Output": "{% [[$states.input]] %}" })));
    check_endless(jsonata(
        json!({ "Assign": { "kept": "{% $exists($kept) ? {'a': $kept} : {} %}" } }),
    ));
    check_endless(parallel(
        json!([machine(json!({ "P": pass(json!({})) }))]),
        json!({ "Next": "Again" }),
    ));
}

#[test]
fn texts_that_a_loop_nests_deeper_and_deeper_end_it_too() {
    let branch = machine(json!({ "P": pass(json!({})) }));
    let again = parallel(json!([branch]), json!({ "Next": "Again" }));
    let program = Program {
        machine: compile(&machine(json!({ "Again": again }))),
        dialect: Dialect::Spec,
        limits: Limits::default(),
    };
    let mut execution = Execution::new(Arc::new(program), identity());
    let input = Payload::from_text("{ }").unwrap();
    execution.decide(Input::Start { input }, Occasion::new(START_MS, 1)).expect("it starts");
    while let Some(due_ms) = execution.next_due_ms() {
        execution.decide(Input::TimePassed, Occasion::new(due_ms, 1)).expect("it is due");
    }
    let Status::Failed { failure } = execution.status() else { panic!("{:?}", execution.status()) };
    assert_eq!(failure.name(), "States.DataLimitExceeded");
}
