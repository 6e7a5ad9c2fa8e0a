//! The examples of the error-handling guide.

use serde_json::{Value, json};

use crate::world::*;

fn hello_world(resource: &str, extra: Value) -> Value {
    let mut state = task(extra);
    state["Resource"] = json!(format!("arn:aws:lambda:us-east-1:123456789012:function:{resource}"));
    let mut states = json!({ "HelloWorld": state });
    if states["HelloWorld"].get("Catch").is_some() {
        states["fallback"] =
            json!({ "Type": "Pass", "Result": "Hello, AWS Step Functions!", "End": true });
    }
    machine(states)
}

fn retry(error: &str) -> Value {
    json!([{ "ErrorEquals": [error], "IntervalSeconds": 1, "MaxAttempts": 2, "BackoffRate": 2.0 }])
}

fn catch(error: &str) -> Value {
    json!([{ "ErrorEquals": [error], "Next": "fallback" }])
}

#[test]
fn handling_a_failure_using_retry() {
    for pattern in ["HandledError", "States.TaskFailed"] {
        let definition = hello_world("FailFunction", json!({ "Retry": retry(pattern) }));
        let run = world(definition).task("HelloWorld", errors(&["HandledError"; 3])).run();
        assert_eq!(run.delays(), [1.0, 2.0]);
        assert_eq!(run.error(), "HandledError");
    }
}

#[test]
fn handling_a_failure_using_catch() {
    for pattern in ["HandledError", "States.TaskFailed"] {
        let definition = hello_world("FailFunction", json!({ "Catch": catch(pattern) }));
        let run = world(definition).task("HelloWorld", [error("HandledError")]).run();
        assert_eq!(run.path(), ["HelloWorld", "fallback"]);
        assert_eq!(run.output(), json!("Hello, AWS Step Functions!"));
    }
}

#[test]
fn handling_a_timeout_using_retry() {
    let fields = json!({ "TimeoutSeconds": 2, "Retry": retry("States.Timeout") });
    let script = vec![after(10.0, ok(json!("too late"))); 3];
    let run = world(hello_world("sleep10", fields)).task("HelloWorld", script).run();
    assert_eq!(run.started("HelloWorld"), [0.0, 3.0, 7.0]);
    assert_eq!(run.error(), "States.Timeout");
}

#[test]
fn handling_a_timeout_using_catch() {
    let fields = json!({ "TimeoutSeconds": 2, "Catch": catch("States.Timeout") });
    let script = [after(10.0, ok(json!("too late")))];
    let run = world(hello_world("sleep10", fields)).task("HelloWorld", script).run();
    assert_eq!(run.timeline().last(), Some(&("fallback".to_owned(), 2.0)));
    assert_eq!(run.output(), json!("Hello, AWS Step Functions!"));
}

#[test]
fn a_cause_that_is_json_can_be_converted() {
    let definition = machine(json!({
        "X": task(json!({ "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "Handle" }] })),
        "Handle": pass(json!({ "Parameters": { "Cause.$": "States.StringToJson($.Cause)" } }))
    }));
    let failure = everstep_interpreter::Failure::new("E", r#"{"build":{"id":7}}"#);
    let run = world(definition).task("X", [Outcome::Fails(failure)]).run();
    assert_eq!(run.output(), json!({ "Cause": { "build": { "id": 7 } } }));
}
