//! Tasks that call the service itself.

use std::time::Duration;

use everstep_api::protocol::Operation;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PLACE, fail, pass, starts, task, text, types, wait};

#[tokio::test]
async fn executions_start_executions() {
    let fixture = Fixture::new();
    let child = fixture.machine("child", pass(), false).await;
    let failing = fixture.machine("failing", fail(), false).await;
    let express = fixture.machine("express", pass(), true).await;
    for (number, resource) in
        ["states:startExecution", "aws-sdk:sfn:startExecution"].into_iter().enumerate()
    {
        let parent = fixture.machine(&format!("plain{number}"), starts(resource), false).await;
        let input = json!({ "StateMachineArn": child, "Input": { "a": 1 } });
        let arn = fixture.start(&parent, "e", input).await;
        let output: Value =
            serde_json::from_str(text(&fixture.when(&arn, "SUCCEEDED").await, "output"))
                .expect("JSON");
        assert_eq!(output["StartDate"], "2023-11-14T22:13:20.123Z");
        let described = fixture.when(text(&output, "ExecutionArn"), "SUCCEEDED").await;
        assert_eq!(described["output"], "{\"a\":1}");
    }
    for (number, (resource, input, output)) in [
        ("states:startExecution.sync", json!("{\"a\":1}"), json!("{\"a\":1}")),
        ("states:startExecution.sync:2", json!({ "a": 1 }), json!({ "a": 1 })),
    ]
    .into_iter()
    .enumerate()
    {
        let parent = fixture.machine(&format!("sync{number}"), starts(resource), false).await;
        let name = format!("c{number}");
        let given = json!({ "StateMachineArn": child, "Input": { "a": 1 }, "Name": name });
        let arn = fixture.start(&parent, "e", given.clone()).await;
        let found: Value =
            serde_json::from_str(text(&fixture.when(&arn, "SUCCEEDED").await, "output"))
                .expect("JSON");
        let expected = json!({
            "ExecutionArn": format!("{PLACE}:execution:child:{name}"),
            "Input": input,
            "InputDetails": { "Included": true },
            "Name": name,
            "Output": output,
            "OutputDetails": { "Included": true },
            "RedriveCount": 0,
            "RedriveStatus": "NOT_REDRIVABLE",
            "RedriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
            "StartDate": "2023-11-14T22:13:20.123Z",
            "StateMachineArn": child,
            "Status": "SUCCEEDED",
            "StopDate": "2023-11-14T22:13:20.123Z",
        });
        assert_eq!(found.to_string(), expected.to_string());
        let events = fixture.history(&arn).await;
        assert_eq!(
            types(&events)[2..6],
            ["TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded"]
        );
        let arn = fixture.start(&parent, "again", given).await;
        let failed = fixture.when(&arn, "FAILED").await;
        assert_eq!(failed["error"], "StepFunctions.ExecutionAlreadyExistsException");
        let arn = fixture.start(&parent, "failing", json!({ "StateMachineArn": failing })).await;
        let failed = fixture.when(&arn, "FAILED").await;
        assert_eq!(failed["error"], "States.TaskFailed");
        let cause: Value = serde_json::from_str(text(&failed, "cause")).expect("JSON");
        assert_eq!((&cause["Error"], &cause["Cause"]), (&json!("E"), &json!("c")));
        assert_eq!((&cause["Input"], &cause["Status"]), (&json!("{}"), &json!("FAILED")));
        let arn = fixture.start(&parent, "express", json!({ "StateMachineArn": express })).await;
        assert_eq!(
            fixture.when(&arn, "FAILED").await["error"],
            "StepFunctions.ValidationException"
        );
        let arn =
            fixture.start(&parent, "no", json!({ "StateMachineArn": format!("{child}x") })).await;
        let failed = fixture.when(&arn, "FAILED").await;
        assert_eq!(failed["error"], "StepFunctions.StateMachineDoesNotExistException");
        let arn =
            fixture.start(&parent, "odd", json!({ "StateMachineArn": child, "Odd": 1 })).await;
        assert_eq!(fixture.when(&arn, "FAILED").await["error"], "States.Runtime");
    }
}

#[tokio::test]
async fn operations_are_tasks_too() {
    let fixture = Fixture::new();
    let express = fixture.machine("express", pass(), true).await;
    let parent = fixture.machine("p", starts("aws-sdk:sfn:sendTaskFailure"), false).await;
    let arn = fixture.start(&parent, "e", json!({ "TaskToken": "NoSuchTaskToken" })).await;
    let failed = fixture.when(&arn, "FAILED").await;
    assert_eq!(failed["error"], "Sfn.InvalidTokenException");
    let cause = text(&failed, "cause");
    assert!(
        cause.starts_with("Invalid Token: 'Invalid token' (Service: Sfn, Status Code: 400,"),
        "{cause}"
    );
    let parent = fixture.machine("q", starts("aws-sdk:sfn:startSyncExecution"), false).await;
    let arn =
        fixture.start(&parent, "e", json!({ "StateMachineArn": express, "Input": [1] })).await;
    let output: Value =
        serde_json::from_str(text(&fixture.when(&arn, "SUCCEEDED").await, "output")).expect("JSON");
    assert_eq!((&output["Status"], &output["Output"]), (&json!("SUCCEEDED"), &json!("[1]")));
}

#[tokio::test]
async fn a_task_that_ends_stops_the_execution_it_waits_for() {
    let fixture = Fixture::new();
    let child = fixture.machine("child", wait(), false).await;
    let parent = fixture.machine("parent", starts("states:startExecution.sync"), false).await;
    for (name, given) in [("named", json!("c")), ("unnamed", Value::Null)] {
        let input = json!({ "StateMachineArn": child, "Name": given });
        let arn = fixture.start(&parent, name, input).await;
        let nested = nested_of(&fixture, &arn).await;
        fixture.ok(Operation::StopExecution, json!({ "executionArn": arn })).await;
        fixture.when(&arn, "ABORTED").await;
        fixture.when(&nested, "ABORTED").await;
    }
}

/// The execution that the task of a parent waits for.
async fn nested_of(fixture: &Fixture, parent: &str) -> String {
    for _ in 0..5000 {
        let events = fixture.history(parent).await;
        if let Some(event) = events.iter().find(|event| event["type"] == "TaskSubmitted") {
            let output = text(&event["taskSubmittedEventDetails"], "output");
            let output: Value = serde_json::from_str(output).expect("JSON");
            return text(&output, "ExecutionArn").to_owned();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("{parent} has started nothing");
}

#[tokio::test]
async fn a_running_child_survives_a_restart() {
    let fixture = Fixture::new();
    let activity = fixture.activity("a");
    let child = fixture.machine("child", task(&activity), false).await;
    let parent = fixture.machine("parent", starts("states:startExecution.sync:2"), false).await;
    let arn = fixture.start(&parent, "e", json!({ "StateMachineArn": child })).await;
    let nested = nested_of(&fixture, &arn).await;
    let fixture = fixture.restarted();
    let taken = fixture.poll(&activity).await;
    let body = json!({ "taskToken": taken["taskToken"], "output": "7" });
    fixture.ok(Operation::SendTaskSuccess, body).await;
    fixture.when(&nested, "SUCCEEDED").await;
    let output: Value =
        serde_json::from_str(text(&fixture.when(&arn, "SUCCEEDED").await, "output")).expect("JSON");
    assert_eq!((&output["ExecutionArn"], &output["Output"]), (&json!(nested), &json!(7)));
    let events = fixture.history(&arn).await;
    assert_eq!(types(&events).iter().filter(|kind| **kind == "TaskSubmitted").count(), 1);
    let listed = fixture.ok(Operation::ListExecutions, json!({ "stateMachineArn": child })).await;
    assert_eq!(listed["executions"].as_array().map(Vec::len), Some(1), "it was started once");
}
