//! Stopping, redriving and timing out.

use std::sync::atomic::Ordering;

use everstep_api::protocol::Operation;
use serde_json::json;

use crate::fixture::{DAY_MS, Fixture, PLACE, function, wait};

#[tokio::test]
async fn executions_are_stopped() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", wait(), false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    fixture.pass(1000);
    let stop = Operation::StopExecution;
    let body = json!({ "executionArn": arn, "error": "Enough", "cause": "said so" });
    let stopped = fixture.ok(stop, body).await;
    assert_eq!(stopped, json!({ "stopDate": 1_700_000_001.123 }));
    let described = fixture.when(&arn, "ABORTED").await;
    assert_eq!((&described["error"], &described["cause"]), (&json!("Enough"), &json!("said so")));
    assert_eq!(described["redriveStatus"], "REDRIVABLE");
    fixture.pass(1000);
    assert_eq!(fixture.ok(stop, json!({ "executionArn": arn })).await, stopped);
    let plain = fixture.start(&machine, "plain", json!({})).await;
    fixture.ok(stop, json!({ "executionArn": plain })).await;
    let described = fixture.when(&plain, "ABORTED").await;
    assert!(described.get("error").is_none() && described.get("cause").is_none());
    let missing = json!({ "executionArn": format!("{PLACE}:execution:m:other") });
    fixture.refused(stop, missing, "ExecutionDoesNotExist", "Execution Does Not Exist").await;
    let long = json!({ "executionArn": arn, "error": "x".repeat(257) });
    fixture.refused(stop, long, "ValidationException", "256").await;
}

#[tokio::test]
async fn executions_are_redriven() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", function("fail"), false).await;
    let arn = fixture.start(&machine, "e", json!({ "a": 1 })).await;
    let failed = fixture.when(&arn, "FAILED").await;
    assert_eq!(
        (&failed["error"], &failed["redriveStatus"]),
        (&json!("Broken"), &json!("REDRIVABLE"))
    );
    assert!(failed.get("redriveStatusReason").is_none());
    fixture.pass(5000);
    fixture.functions.healed.store(true, Ordering::SeqCst);
    let redrive = Operation::RedriveExecution;
    let body = json!({ "executionArn": arn, "clientToken": "t" });
    let redriven = fixture.ok(redrive, body.clone()).await;
    assert_eq!(redriven, json!({ "redriveDate": 1_700_000_005.123 }));
    let described = fixture.when(&arn, "SUCCEEDED").await;
    assert_eq!(
        (&described["redriveCount"], &described["redriveDate"]),
        (&json!(1), &json!(1_700_000_005.123))
    );
    assert!(described.get("error").is_none());
    fixture.pass(5000);
    let fixture = fixture.restarted();
    assert_eq!(fixture.ok(redrive, body).await, redriven, "the same token, the same answer");
    let refusal = "Execution is SUCCEEDED and cannot be redriven";
    let check = async |arn: &str, reason: &str| {
        let body = json!({ "executionArn": arn, "clientToken": "u" });
        fixture.refused(redrive, body, "ExecutionNotRedrivable", reason).await;
    };
    check(&arn, refusal).await;
    let waiting = fixture.machine("w", wait(), false).await;
    let running = fixture.start(&waiting, "e", json!({})).await;
    check(&running, "Execution is RUNNING and cannot be redriven").await;
    fixture.ok(Operation::StopExecution, json!({ "executionArn": running })).await;
    fixture.pass(14 * DAY_MS);
    check(&running, "Execution redrivable period exceeded").await;
    let described = fixture.describe(&running).await;
    assert_eq!(described["redriveStatusReason"], "Execution redrivable period exceeded");
    let missing = json!({ "executionArn": format!("{PLACE}:execution:m:other") });
    fixture.refused(redrive, missing, "ExecutionDoesNotExist", "").await;
    for (filter, count) in [("REDRIVEN", 1), ("NOT_REDRIVEN", 0)] {
        let body = json!({ "stateMachineArn": machine, "redriveFilter": filter });
        let listed = fixture.ok(Operation::ListExecutions, body).await;
        assert_eq!(listed["executions"].as_array().map(Vec::len), Some(count), "{filter}");
    }
}

#[tokio::test]
async fn an_execution_that_times_out_shows_an_error_in_spec_alone() {
    let fixture = Fixture::new();
    let mut definition = wait();
    definition["TimeoutSeconds"] = 5.into();
    let machine = fixture.machine("m", definition, false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    fixture.pass(6000);
    let described = fixture.when(&arn, "TIMED_OUT").await;
    assert!(described.get("error").is_none() && described.get("cause").is_none());
    assert_eq!(described["redriveStatus"], "REDRIVABLE");
    let tags = json!([{ "key": "everstep:dialect", "value": "spec" }]);
    let body = json!({ "resourceArn": machine, "tags": tags });
    fixture.ok(Operation::TagResource, body).await;
    let arn = fixture.start(&machine, "spec", json!({})).await;
    fixture.pass(6000);
    let described = fixture.when(&arn, "TIMED_OUT").await;
    assert_eq!(described["error"], "States.Timeout");
    assert_eq!(described["cause"], "The execution ran longer than its TimeoutSeconds (5 s).");
}
