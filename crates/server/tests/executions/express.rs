//! EXPRESS executions.

use std::sync::Arc;
use std::time::Duration;

use everstep_api::protocol::Operation;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PLACE, fail, pass, text, wait};

#[tokio::test]
async fn express_executions() {
    let fixture = Fixture::new();
    let machine = fixture.machine("x", pass(), true).await;
    let standard = fixture.machine("s", pass(), false).await;
    let sync = Operation::StartSyncExecution;
    let body =
        json!({ "stateMachineArn": machine, "name": "e", "input": "[1]", "traceHeader": "t" });
    let mut answer = fixture.ok(sync, body.clone()).await;
    assert!(text(&answer, "executionArn").starts_with(&format!("{PLACE}:express:x:e:")));
    answer["executionArn"] = "arn".into();
    let expected = json!({
        "executionArn": "arn", "stateMachineArn": machine, "name": "e",
        "startDate": 1_700_000_000.123, "stopDate": 1_700_000_000.123,
        "inputDetails": { "included": true },
        "billingDetails": { "billedMemoryUsedInMB": 64, "billedDurationInMilliseconds": 100 },
        "input": "[1]", "traceHeader": "t", "status": "SUCCEEDED",
        "outputDetails": { "included": true }, "output": "[1]",
    });
    assert_eq!(answer, expected);
    let kind = "This operation is not supported by this type of state machine";
    let body = json!({ "stateMachineArn": standard });
    fixture.refused(sync, body, "StateMachineTypeNotSupported", kind).await;
    let failing = fixture.machine("f", fail(), true).await;
    let answer = fixture.ok(sync, json!({ "stateMachineArn": failing })).await;
    assert_eq!(answer["status"], "FAILED");
    assert_eq!((&answer["error"], &answer["cause"]), (&json!("E"), &json!("c")));
    let arn = fixture.start(&machine, "e", json!({})).await;
    assert_ne!(arn, fixture.start(&machine, "e", json!({})).await);
    let context = "Resource type not valid in this context: express";
    let body = json!({ "executionArn": arn });
    for operation in [
        Operation::DescribeExecution,
        Operation::GetExecutionHistory,
        Operation::StopExecution,
        Operation::RedriveExecution,
    ] {
        fixture.refused(operation, body.clone(), "InvalidArn", context).await;
    }
    let body = json!({ "stateMachineArn": machine });
    fixture.refused(Operation::ListExecutions, body, "StateMachineTypeNotSupported", kind).await;
}

/// Recorded: the name is without the id behind it, and there is no `RedriveCount`.
#[tokio::test]
async fn the_context_of_an_express_execution() {
    let fixture = Fixture::new();
    let mut definition = pass();
    definition["States"]["P"]["Parameters"] = json!({ "execution.$": "$$.Execution" });
    let machine = fixture.machine("x", definition, true).await;
    let body = json!({ "stateMachineArn": machine, "name": "e", "input": "[1]" });
    let answer = fixture.ok(Operation::StartSyncExecution, body).await;
    let output: Value = serde_json::from_str(text(&answer, "output")).unwrap();
    let expected = json!({
        "Id": answer["executionArn"],
        "Input": [1],
        "Name": "e",
        "RoleArn": output["execution"]["RoleArn"],
        "StartTime": "2023-11-14T22:13:20.123Z",
    });
    assert_eq!(output["execution"], expected);
}

#[tokio::test]
async fn an_express_execution_has_five_minutes() {
    let fixture = Arc::new(Fixture::new());
    let machine = fixture.machine("x", wait(), true).await;
    let waiting = tokio::spawn({
        let fixture = fixture.clone();
        async move {
            fixture.ok(Operation::StartSyncExecution, json!({ "stateMachineArn": machine })).await
        }
    });
    // The clock is only seen to move when the execution has been started.
    while !waiting.is_finished() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        fixture.pass(60_000);
    }
    let answer = waiting.await.expect("it is answered");
    assert_eq!(answer["status"], "TIMED_OUT");
    assert_eq!(answer["error"], "States.Timeout");
}
