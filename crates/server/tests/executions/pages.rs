//! Lists and histories, page by page.

use everstep_api::protocol::Operation;
use serde_json::{Value, json};

use crate::fixture::{DAY_MS, Fixture, PLACE, function, pass, text, types};

#[tokio::test]
async fn executions_are_listed_page_by_page() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", pass(), false).await;
    for number in 0..5 {
        let arn = fixture.start(&machine, &format!("e{number}"), json!({})).await;
        fixture.when(&arn, "SUCCEEDED").await;
        fixture.pass(1000);
    }
    let list = Operation::ListExecutions;
    let mut body = json!({ "stateMachineArn": machine, "maxResults": 2 });
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let page = fixture.ok(list, body.clone()).await;
        found.extend(page["executions"].as_array().expect("a list").clone());
        pages += 1;
        let Some(token) = page.get("nextToken") else { break };
        body["nextToken"] = token.clone();
    }
    assert_eq!((found.len(), pages), (5, 3));
    let names: Vec<&str> = found.iter().map(|one| text(one, "name")).collect();
    assert_eq!(names, ["e4", "e3", "e2", "e1", "e0"]);
    let token = text(&body, "nextToken").to_owned();
    let check = async |changed: Value, name: &str| {
        let mut body = json!({ "stateMachineArn": machine, "nextToken": token });
        for (member, value) in changed.as_object().expect("members") {
            body[member] = value.clone();
        }
        fixture.refused(list, body, name, "").await;
    };
    check(json!({ "nextToken": format!("{token}x") }), "InvalidToken").await;
    let other = if token.starts_with('A') { "B" } else { "A" };
    check(json!({ "nextToken": format!("{other}{}", &token[1..]) }), "InvalidToken").await;
    check(json!({ "statusFilter": "RUNNING" }), "InvalidToken").await;
    check(json!({ "statusFilter": "PENDING_REDRIVE" }), "ValidationException").await;
    check(json!({ "mapRunArn": "x" }), "ValidationException").await;
    check(json!({ "stateMachineArn": null }), "ValidationException").await;
    check(
        json!({ "stateMachineArn": format!("{PLACE}:stateMachine:no") }),
        "StateMachineDoesNotExist",
    )
    .await;
    check(json!({ "stateMachineArn": "m" }), "InvalidArn").await;
    let run = format!("{PLACE}:mapRun:m/l:r");
    fixture.refused(list, json!({ "mapRunArn": run }), "ResourceNotFound", &run).await;
    fixture.refused(list, json!({ "mapRunArn": machine }), "InvalidArn", "stateMachine").await;
    for (status, count) in [("SUCCEEDED", 5), ("RUNNING", 0)] {
        let body = json!({ "stateMachineArn": machine, "statusFilter": status });
        let listed = fixture.ok(list, body).await;
        assert_eq!(listed["executions"].as_array().map(Vec::len), Some(count));
    }
    fixture.pass(DAY_MS);
    check(json!({}), "InvalidToken").await;
}

#[tokio::test]
async fn histories_are_read_page_by_page() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", function("echo"), false).await;
    let arn = fixture.start(&machine, "e", json!({ "a": 1 })).await;
    fixture.when(&arn, "SUCCEEDED").await;
    let whole = fixture.history(&arn).await;
    let expected = [
        "ExecutionStarted",
        "TaskStateEntered",
        "LambdaFunctionScheduled",
        "LambdaFunctionStarted",
        "LambdaFunctionSucceeded",
        "TaskStateExited",
        "ExecutionSucceeded",
    ];
    assert_eq!(types(&whole), expected);
    assert_eq!(whole[0]["timestamp"], json!(1_700_000_000.123));
    for reversed in [false, true] {
        let mut body = json!({ "executionArn": arn, "maxResults": 3, "reverseOrder": reversed });
        let mut found = Vec::new();
        loop {
            let page = fixture.ok(Operation::GetExecutionHistory, body.clone()).await;
            found.extend(page["events"].as_array().expect("a list").clone());
            let Some(token) = page.get("nextToken") else { break };
            body["nextToken"] = token.clone();
        }
        if reversed {
            found.reverse();
        }
        assert_eq!(found, whole);
        body["reverseOrder"] = (!reversed).into();
        fixture
            .refused(Operation::GetExecutionHistory, body, "InvalidToken", "Invalid Token")
            .await;
    }
    let body = json!({ "executionArn": arn, "includeExecutionData": false });
    let bare = fixture.ok(Operation::GetExecutionHistory, body).await.to_string();
    assert!(!bare.contains("\"input") && !bare.contains("\"output"), "{bare}");
    let missing = json!({ "executionArn": format!("{PLACE}:execution:m:no") });
    fixture.refused(Operation::GetExecutionHistory, missing, "ExecutionDoesNotExist", "").await;
}

/// However a long history is read, it is the same history.
#[tokio::test]
async fn pages_of_a_long_history() {
    let fixture = Fixture::new();
    let item = json!({ "StartAt": "P", "States": { "P": { "Type": "Pass", "End": true } } });
    let definition = json!({ "StartAt": "M", "States": {
        "M": { "Type": "Map", "ItemProcessor": item, "MaxConcurrency": 1, "End": true }
    } });
    let machine = fixture.machine("m", definition, false).await;
    let items: Vec<u32> = (0..900).collect();
    let arn = fixture.start(&machine, "e", json!(items)).await;
    fixture.when(&arn, "SUCCEEDED").await;
    let all = async |fixture: &Fixture, reversed: bool, max: usize| {
        let mut body = json!({ "executionArn": arn, "maxResults": max, "reverseOrder": reversed });
        let mut events = Vec::new();
        loop {
            let mut page = fixture.ok(Operation::GetExecutionHistory, body.clone()).await;
            events.append(page["events"].as_array_mut().expect("a list"));
            match page["nextToken"].take() {
                Value::Null => return events,
                token => body["nextToken"] = token,
            }
        }
    };
    let forwards = all(&fixture, false, 1000).await;
    assert_eq!(forwards.len(), 2 + 2 + 2 + 4 * items.len());
    let ids: Vec<u64> = forwards.iter().filter_map(|event| event["id"].as_u64()).collect();
    assert!(ids.iter().copied().eq(1..=forwards.len() as u64));
    let mut backwards = all(&fixture, true, 333).await;
    backwards.reverse();
    assert_eq!(backwards, forwards);
    // Also if nothing of it has been read before.
    let fixture = fixture.restarted();
    let mut backwards = all(&fixture, true, 700).await;
    backwards.reverse();
    assert_eq!(backwards, forwards);
}
