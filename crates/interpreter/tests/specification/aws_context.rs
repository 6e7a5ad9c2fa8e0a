//! The context object, as the service has it.

use serde_json::{Value, json};

use crate::world::*;

/// The context object that a task's parameters see.
fn seen(resource: &str) -> Value {
    let definition = machine(json!({ "T": task(json!({
        "Resource": resource,
        "Parameters": { "Context.$": "$$", "Input": { "token": 1 }, "StateMachineArn": "a" },
        "ResultSelector": { "context.$": "$$" }
    })) }));
    world(definition).task("T", [ok(json!({}))]).run().output()["context"].clone()
}

#[test]
fn only_tasks_that_something_else_finishes_have_a_token() {
    let check = |resource: &str, expected: bool| {
        assert_eq!(seen(resource)["Task"]["Token"].is_string(), expected, "{resource}");
    };
    check("arn:aws:lambda:us-east-1:123456789012:function:f", false);
    check("arn:aws:states:us-east-1:123456789012:activity:a", false);
    check("arn:aws:states:::states:startExecution", false);
    check("arn:aws:states:::states:startExecution.sync", true);
    check("arn:aws:states:::states:startExecution.sync:2", true);
    check("arn:aws:states:::states:startExecution.waitForTaskToken", true);
}

#[test]
fn a_token_that_is_not_there_is_not_found() {
    let definition = machine(json!({ "T": task(json!({
        "Parameters": { "token.$": "$$.Task.Token" }
    })) }));
    let run = world(definition).run();
    assert_eq!(run.error(), "States.ParameterPathFailure");
}
