//! Definitions that are judged and not kept.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use everstep_api::protocol::Operation;
use serde_json::{Value, json};

use crate::fixture::{Fixture, pass, with};

#[tokio::test]
async fn definitions_are_validated() {
    let fixture = Fixture::new();
    let operation = "ValidateStateMachineDefinition";
    let good = json!({ "result": "OK", "diagnostics": [], "truncated": false });
    fixture.check(operation, json!({ "definition": pass() }), good.clone()).await;
    let mute = json!({ "StartAt": "A", "States": { "A": { "Type": "Fail" } } }).to_string();
    fixture.check(operation, json!({ "definition": mute }), good.clone()).await;
    let errors = json!({ "definition": mute, "severity": "ERROR" });
    fixture.check(operation, errors, good).await;
    let warnings = json!({ "definition": mute, "severity": "WARNING" });
    let advised = fixture.call(operation, warnings).await;
    assert_eq!(advised["result"], "OK");
    assert_eq!(advised["diagnostics"][0]["severity"], "WARNING");
    assert_eq!(advised["diagnostics"][0]["code"], "FAIL_WITHOUT_ERROR");
    assert_eq!(advised["diagnostics"][0]["location"], "/States/A");
}

#[tokio::test]
async fn as_many_diagnostics_are_given_as_are_asked_for() {
    let fixture = Fixture::new();
    let state = json!({ "Type": "Pass", "Unknown": 1, "End": true });
    let states: serde_json::Map<String, Value> =
        (0..150).map(|number| (format!("S{number}"), state.clone())).collect();
    let definition = json!({ "StartAt": "S0", "States": states }).to_string();
    let body = json!({ "definition": definition });
    for (most, expected) in [(None, 100), (Some(0), 100), (Some(1), 1), (Some(100), 100)] {
        let body = with(body.clone(), json!({ "maxResults": most }));
        let answer = fixture.call("ValidateStateMachineDefinition", body).await;
        assert_eq!(answer["diagnostics"].as_array().map(Vec::len), Some(expected));
        assert_eq!((&answer["result"], &answer["truncated"]), (&json!("FAIL"), &json!(true)));
    }
}

#[tokio::test]
async fn the_type_matters() {
    let fixture = Fixture::new();
    let resource = "arn:aws:states:us-east-1:123456789012:activity:a";
    let state = json!({ "Type": "Task", "Resource": resource, "End": true });
    let definition = json!({ "StartAt": "T", "States": { "T": state } }).to_string();
    for (kind, expected) in [("STANDARD", "OK"), ("EXPRESS", "FAIL")] {
        let body = json!({ "definition": definition, "type": kind });
        let answer = fixture.call("ValidateStateMachineDefinition", body).await;
        assert_eq!(answer["result"], expected);
    }
}

/// On the threads that answer requests it would keep others waiting.
#[tokio::test]
async fn definitions_are_checked_elsewhere() {
    let fixture = Fixture::new();
    let state = r#"{"Type":"Pass","End":true}"#;
    let machine = r#"{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}"#;
    for (operation, definition) in
        [(Operation::TestState, state), (Operation::ValidateStateMachineDefinition, machine)]
    {
        let body = json!({ "definition": definition });
        let mut call = pin!(fixture.service.call(operation, &body));
        let first = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        assert!(first.is_pending(), "{}", operation.name());
        call.await.expect("it is answered");
    }
}
