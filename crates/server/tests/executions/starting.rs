//! Starting executions, and what is refused.

use everstep_api::protocol::Operation;
use everstep_store::{Shard, Space, Store};
use serde_json::{Value, json};

use crate::fixture::{Fixture, PLACE, fail, pass, text, wait};

#[tokio::test]
async fn an_execution_is_started_and_described() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", pass(), false).await;
    let arn = fixture.start(&machine, "e", json!({ "a": 1 })).await;
    assert_eq!(arn, format!("{PLACE}:execution:m:e"));
    let expected = json!({
        "executionArn": arn,
        "stateMachineArn": machine,
        "name": "e",
        "status": "SUCCEEDED",
        "startDate": 1_700_000_000.123,
        "redriveCount": 0,
        "stopDate": 1_700_000_000.123,
        "inputDetails": { "included": true },
        "input": "{\"a\":1}",
        "outputDetails": { "included": true },
        "output": "{\"a\":1}",
        "redriveStatus": "NOT_REDRIVABLE",
        "redriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
    });
    assert_eq!(fixture.when(&arn, "SUCCEEDED").await, expected);
    let body = json!({ "executionArn": arn, "includedData": "METADATA_ONLY" });
    let bare = fixture.ok(Operation::DescribeExecution, body).await;
    assert_eq!((&bare["input"], &bare["output"]), (&Value::Null, &Value::Null));
    assert_eq!(bare["inputDetails"], json!({ "included": false }));
    let body = json!({ "stateMachineArn": machine, "traceHeader": "Root=1" });
    let named = fixture.ok(Operation::StartExecution, body).await;
    let described = fixture.when(text(&named, "executionArn"), "SUCCEEDED").await;
    assert_eq!(described["traceHeader"], "Root=1");
    assert_eq!(described["input"], "{}");
    assert_eq!(text(&described, "name").len(), 36);
}

#[tokio::test]
async fn a_start_is_idempotent_while_the_execution_runs() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", wait(), false).await;
    let body = |input: &str| json!({ "stateMachineArn": machine, "name": "e", "input": input });
    let first = fixture.ok(Operation::StartExecution, body("{}")).await;
    fixture.pass(5000);
    assert_eq!(fixture.ok(Operation::StartExecution, body("{}")).await, first);
    assert_eq!(fixture.ok(Operation::StartExecution, body("{ }")).await, first);
    let exists = format!("Execution Already Exists: '{PLACE}:execution:m:e'");
    fixture.refused(Operation::StartExecution, body("[]"), "ExecutionAlreadyExists", &exists).await;
    let versioned =
        json!({ "stateMachineArn": format!("{machine}:1"), "name": "e", "input": "{}" });
    assert_eq!(fixture.ok(Operation::StartExecution, versioned).await, first);
    let stop = json!({ "executionArn": first["executionArn"] });
    fixture.ok(Operation::StopExecution, stop).await;
    fixture.refused(Operation::StartExecution, body("{}"), "ExecutionAlreadyExists", &exists).await;
}

#[tokio::test]
async fn starts_that_are_refused() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", pass(), false).await;
    let start = Operation::StartExecution;
    let check = async |member: &str, value: &str, name: &str, message: &str| {
        let mut body = json!({ "stateMachineArn": machine });
        body[member] = value.into();
        fixture.refused(start, body, name, message).await;
    };
    check("name", "a b", "InvalidName", "Invalid Name: 'a b'").await;
    check("name", &"x".repeat(81), "ValidationException", "less than or equal to 80").await;
    let input = "Invalid State Machine Execution Input: '";
    check("input", "{", "InvalidExecutionInput", input).await;
    check("input", "", "InvalidExecutionInput", input).await;
    check("input", &"1".repeat(262_145), "ValidationException", "262144").await;
    let other = format!("{PLACE}:stateMachine:other");
    let missing = format!("State Machine Does Not Exist: '{other}'");
    check("stateMachineArn", &other, "StateMachineDoesNotExist", &missing).await;
    let version = format!("{machine}:7");
    check("stateMachineArn", &version, "StateMachineDoesNotExist", &version).await;
    check("stateMachineArn", "m", "InvalidArn", "Invalid Arn: 'Invalid ARN prefix: m'").await;
    let execution = format!("{PLACE}:execution:m:e");
    let kind = "Invalid Arn: 'Resource type not valid in this context: execution'";
    check("stateMachineArn", &execution, "InvalidArn", kind).await;
    check("stateMachineArn", &format!("{machine}/label"), "ValidationException", "Map state").await;
    let describe = json!({ "executionArn": execution });
    let missing = format!("Execution Does Not Exist: '{execution}'");
    fixture
        .refused(Operation::DescribeExecution, describe, "ExecutionDoesNotExist", &missing)
        .await;
}

#[tokio::test]
async fn nothing_is_started_of_a_machine_that_goes() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", fail(), false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    fixture.when(&arn, "FAILED").await;
    let key = format!("machine/{machine}");
    let row =
        fixture.store.get(Shard::CATALOG, Space::Catalog, key.as_bytes()).expect("it is read");
    let mut row: Value = serde_json::from_slice(&row.expect("a row")).expect("JSON");
    row["deleting"] = true.into();
    fixture.put(&key, &row);
    let body = json!({ "stateMachineArn": machine });
    fixture.refused(Operation::StartExecution, body, "StateMachineDeleting", &machine).await;
    let reason = "State machine is in DELETING status";
    let body = json!({ "executionArn": arn });
    fixture.refused(Operation::RedriveExecution, body, "ExecutionNotRedrivable", reason).await;
    assert_eq!(fixture.describe(&arn).await["redriveStatusReason"], reason);
}

#[tokio::test]
async fn versions_and_aliases_are_remembered() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", pass(), false).await;
    let (version, alias) = (format!("{machine}:1"), format!("{machine}:PROD"));
    let row = json!({
        "arn": alias, "name": "PROD", "description": null, "created_ms": 0, "updated_ms": 0,
        "routes": [{ "version_arn": version, "weight": 100 }],
    });
    fixture.put(&format!("alias/{machine}/PROD"), &row);
    fixture.start(&machine, "plain", json!({})).await;
    fixture.start(&version, "versioned", json!({})).await;
    let arn = fixture.start(&alias, "aliased", json!({})).await;
    assert_eq!(arn, format!("{PLACE}:execution:m:aliased"));
    let described = fixture.when(&arn, "SUCCEEDED").await;
    assert_eq!(described["stateMachineArn"], *machine);
    assert_eq!(described["stateMachineVersionArn"], *version);
    assert_eq!(described["stateMachineAliasArn"], *alias);
    for (list, count) in [(&machine, 3), (&version, 2), (&alias, 1)] {
        let listed =
            fixture.ok(Operation::ListExecutions, json!({ "stateMachineArn": list })).await;
        assert_eq!(listed["executions"].as_array().map(Vec::len), Some(count), "{list}");
    }
}
