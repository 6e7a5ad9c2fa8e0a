//! Tasks that cannot be run, and states that are tested alone.

use everstep_api::protocol::Operation;
use serde_json::json;

use crate::fixture::{Fixture, ROLE, function, pass, starts, text};

#[tokio::test]
async fn what_cannot_be_run_is_refused_by_name() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", starts("sns:publish"), false).await;
    let input = json!({ "TopicArn": "t", "Message": "m" });
    let arn = fixture.start(&machine, "e", input).await;
    let failed = fixture.when(&arn, "FAILED").await;
    assert_eq!(failed["error"], "States.Runtime");
    assert!(text(&failed, "cause").contains("'arn:aws:states:::sns:publish' is not supported"));
}

#[tokio::test]
async fn states_are_tested_alone() {
    let fixture = Fixture::new();
    let test = Operation::TestState;
    let body = json!({ "definition": r#"{"Type":"Pass","Next":"N"}"#, "input": "[1]" });
    let expected = json!({ "status": "SUCCEEDED", "output": "[1]", "nextState": "N" });
    assert_eq!(fixture.ok(test, body).await, expected);
    for (name, expected) in [
        ("echo", json!({ "status": "SUCCEEDED", "output": "{\"a\":1}" })),
        ("fail", json!({ "status": "FAILED", "error": "Broken", "cause": "on purpose" })),
    ] {
        let definition = function(name)["States"]["T"].to_string();
        let body = json!({ "definition": definition, "input": "{\"a\":1}", "roleArn": ROLE });
        assert_eq!(fixture.ok(test, body).await, expected, "{name}");
    }
    let definition = function("echo")["States"]["T"].to_string();
    let mock = json!({ "errorOutput": { "error": "E", "cause": "c" } });
    let body = json!({ "definition": definition, "mock": mock, "inspectionLevel": "DEBUG" });
    let answer = fixture.ok(test, body).await;
    assert_eq!((&answer["status"], &answer["error"]), (&json!("FAILED"), &json!("E")));
    assert_eq!(answer["inspectionData"]["input"], "{}");
    let body = json!({ "definition": "{}" });
    fixture.refused(test, body, "InvalidDefinition", "").await;
    let body = json!({ "definition": definition, "input": "{", "roleArn": ROLE });
    fixture
        .refused(test, body, "InvalidExecutionInput", "Invalid State Machine Execution Input")
        .await;
    let body = json!({ "definition": definition, "context": "{}" });
    fixture.refused(test, body, "ValidationException", "Context can only").await;
    let child = fixture.machine("child", pass(), false).await;
    let mut definition = starts("states:startExecution")["States"]["T"].clone();
    definition["QueryLanguage"] = "JSONata".into();
    let definition = definition.to_string();
    let input = json!({ "StateMachineArn": child }).to_string();
    let body = json!({ "definition": definition, "input": input, "roleArn": ROLE });
    assert_eq!(fixture.ok(test, body).await["status"], "SUCCEEDED");
}
