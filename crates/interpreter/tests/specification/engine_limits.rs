//! The limits of the history.

use std::sync::Arc;

use everstep_interpreter::{Dialect, Execution, Input, Limits, Occasion, Payload, Program, Status};
use serde_json::{Value, json};

use crate::world::*;

fn endless() -> Value {
    machine(json!({ "A": pass(json!({ "Next": "B" })), "B": pass(json!({ "Next": "A" })) }))
}

fn limited(events: u32) -> Limits {
    Limits { history_events: Some(events), ..Limits::default() }
}

#[track_caller]
fn check_full(run: &Run, events: usize) {
    let history = run.history();
    assert_eq!(history.len(), events);
    assert_eq!(history[events - 1]["type"], "ExecutionFailed");
    assert_eq!(run.error(), "States.Runtime");
    let cause = format!("The execution reached the maximum number of history events ({events}).");
    assert_eq!(run.cause(), cause);
}

#[test]
fn event_25000_is_execution_failed_and_24999_the_last_real_one() {
    let run = world(endless()).run();
    check_full(&run, 25_000);
    assert_eq!(run.history()[24_998]["type"], "PassStateExited");
}

#[test]
fn the_limit_holds_wherever_it_is_reached() {
    let t = || {
        machine(
            json!({ "T": task(json!({ "Next": "U" })), "U": { "Type": "Wait", "Seconds": 1, "Next": "T" } }),
        )
    };
    let retry = json!({ "TimeoutSeconds": 1, "Retry": [{ "ErrorEquals": ["States.ALL"], "MaxAttempts": 999, "BackoffRate": 1 }] });
    let machines = [
        endless(),
        t(),
        machine(json!({ "T": task(retry.clone()) })),
        machine(
            json!({ "P": parallel(json!([t(), t()].map(|mut m| { m["States"]["T"]["Comment"] = json!(""); m })[..1].to_vec()), json!({})) }),
        ),
        machine(json!({ "M": map(t(), json!({ "ItemsPath": "$.items" })) })),
        machine(
            json!({ "M": map(machine(json!({ "T": task(retry) })), json!({ "ItemsPath": "$.items" })) }),
        ),
    ];
    for definition in machines {
        for limit in 3..40 {
            let hangs = definition.to_string().contains("TimeoutSeconds");
            let world = world(definition.clone())
                .limits(limited(limit))
                .input(json!({ "items": [1, 2, 3] }));
            let run = if hangs { world.task("T", vec![Outcome::Hangs; 200]) } else { world }.run();
            check_full(&run, limit as usize);
            assert_eq!(run.execution.next_due_ms(), None);
        }
    }
}

#[test]
fn an_execution_that_just_fits_succeeds() {
    let definition = machine(json!({ "A": pass(json!({ "Next": "B" })), "B": pass(json!({})) }));
    for (limit, fits) in [(5, false), (6, true), (7, true)] {
        let run = world(definition.clone()).limits(limited(limit)).run();
        assert_eq!(matches!(run.execution.status(), Status::Succeeded { .. }), fits, "{limit}");
    }
}

#[test]
fn a_workflow_without_history_limit_runs_on() {
    let definition = machine(json!({
        "A": pass(json!({ "Parameters": { "n.$": "States.MathAdd($.n, 1)" }, "Next": "C" })),
        "C": {
            "Type": "Choice",
            "Choices": [{ "Variable": "$.n", "NumericLessThan": 7000, "Next": "A" }],
            "Default": "S"
        },
        "S": { "Type": "Succeed" }
    }));
    let limits = Limits { history_events: None, ..Limits::default() };
    let run = world(definition).limits(limits).input(json!({ "n": 0 })).run();
    assert_eq!(run.output(), json!({ "n": 7000 }));
    assert!(run.history().len() > 25_000);
}

#[test]
fn a_loop_that_never_waits_ends_even_without_a_history_limit() {
    let limits = Limits { history_events: None, ..Limits::default() };
    let program = Program { machine: compile(&endless()), dialect: Dialect::Spec, limits };
    let mut execution = Execution::new(Arc::new(program), identity());
    let start = Input::Start { input: Payload::new(json!({})) };
    let events = execution.decide(start, Occasion::new(START_MS, 1)).expect("it starts");
    assert_eq!(events.len(), 1_000_001);
    let Status::Failed { failure } = execution.status() else { panic!("it failed") };
    assert_eq!(failure.name(), "States.Runtime");
}
