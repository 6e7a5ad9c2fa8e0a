//! What a machine's tags say of how it runs: its dialect, and the target of its failures.

use everstep_api::protocol::Operation;
use everstep_executions::Notification;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PLACE, fail, function, pass, wait};

async fn tag(fixture: &Fixture, machine: &str, key: &str, value: &str) {
    let tags = json!([{ "key": format!("everstep:{key}"), "value": value }]);
    fixture.ok(Operation::TagResource, json!({ "resourceArn": machine, "tags": tags })).await;
}

/// The notifications since the last call. They may come a little after the execution is over.
async fn notified(fixture: &Fixture, expected: usize) -> Vec<Notification> {
    for _ in 0..5000 {
        let found = fixture.functions.notifications.lock().expect("no thread panics").len();
        if found >= expected {
            assert_eq!(found, expected);
            return std::mem::take(
                &mut *fixture.functions.notifications.lock().expect("no thread panics"),
            );
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("{expected} failures were not notified in time");
}

#[tokio::test]
async fn a_failure_is_told_as_eventbridge_tells_it() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", fail(), false).await;
    tag(&fixture, &machine, "onFailure", "function:f").await;
    let arn = fixture.start(&format!("{machine}:1"), "e", json!({ "a": 1 })).await;
    let notification = notified(&fixture, 1).await.remove(0);
    assert_eq!(notification.ending.target, "function:f");
    fixture.pass(5000);
    let event =
        fixture.service.status_change(&notification).expect("readable").expect("it is there");
    let expected = include_str!("status_change.json");
    assert_eq!(format!("{event:#}\n"), expected.replace("{id}", &notification.id()));
    // Redriven, it fails again: another event, and the first is what it was.
    fixture.ok(Operation::RedriveExecution, json!({ "executionArn": arn })).await;
    let second = notified(&fixture, 1).await.remove(0);
    let again = fixture.service.status_change(&second).expect("readable").expect("it is there");
    assert_ne!(again["id"], event["id"]);
    let detail = &again["detail"];
    let redriven = (&detail["redriveCount"], &detail["redriveDate"], &detail["stopDate"]);
    let now = json!(1_700_000_005_123_i64);
    assert_eq!(redriven, (&json!(1), &now, &now));
    let first = fixture.service.status_change(&notification).expect("readable");
    assert_eq!(first.expect("it is there"), event);
}

#[tokio::test]
async fn what_was_not_told_is_told_after_a_restart() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", wait(), false).await;
    tag(&fixture, &machine, "onFailure", "https://example.com/x?y=1").await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    let stop = json!({ "executionArn": arn, "error": "Enough", "cause": "of this" });
    fixture.ok(Operation::StopExecution, stop).await;
    let before = notified(&fixture, 1).await.remove(0);
    let fixture = fixture.restarted();
    let notification = notified(&fixture, 1).await.remove(0);
    assert_eq!(notification.id(), before.id());
    let event =
        fixture.service.status_change(&notification).expect("readable").expect("it is there");
    let detail = &event["detail"];
    let found = (&detail["status"], &detail["error"], &detail["cause"]);
    assert_eq!(found, (&json!("ABORTED"), &json!("Enough"), &json!("of this")));
    notification.delivered();
    fixture.service.shut_down();
    let fixture = fixture.restarted();
    let bystander = fixture.start(&machine, "f", json!({})).await;
    fixture.ok(Operation::StopExecution, json!({ "executionArn": bystander })).await;
    assert_eq!(&*notified(&fixture, 1).await[0].execution_arn, bystander);
}

#[tokio::test]
async fn successes_and_the_children_of_a_map_are_not_notified() {
    let fixture = Fixture::new();
    let processor = with_mode(fail());
    let map = json!({ "StartAt": "M", "States": { "M": {
        "Type": "Map", "ItemsPath": "$.items", "ItemProcessor": processor, "End": true,
    } } });
    for (name, definition) in [("map", map), ("good", pass())] {
        let machine = fixture.machine(name, definition, false).await;
        tag(&fixture, &machine, "onFailure", "function:f").await;
    }
    let good = fixture.start(&format!("{PLACE}:stateMachine:good"), "e", json!({})).await;
    fixture.when(&good, "SUCCEEDED").await;
    let machine = format!("{PLACE}:stateMachine:map");
    let parent = fixture.start(&machine, "e", json!({ "items": [1, 2] })).await;
    fixture.when(&parent, "FAILED").await;
    assert_eq!(&*notified(&fixture, 1).await[0].execution_arn, parent);
}

fn with_mode(mut definition: Value) -> Value {
    definition["ProcessorConfig"] = json!({ "Mode": "DISTRIBUTED", "ExecutionType": "STANDARD" });
    definition
}

#[tokio::test]
async fn a_machine_has_a_dialect_of_its_own() {
    let fixture = Fixture::new();
    let choice = json!({ "StartAt": "C", "States": {
        "C": { "Type": "Choice", "Choices": [{ "Variable": "$.a", "IsPresent": true, "Next": "D" }] },
        "D": { "Type": "Succeed" },
    } });
    let machine = fixture.machine("m", choice, false).await;
    let check = async |name: &str, expected: &str| {
        let arn = fixture.start(&machine, name, json!({})).await;
        assert_eq!(fixture.when(&arn, "FAILED").await["error"], expected, "{name}");
    };
    check("server", "States.Runtime").await;
    tag(&fixture, &machine, "dialect", "spec").await;
    check("spec", "States.NoChoiceMatched").await;
    tag(&fixture, &machine, "dialect", "aws").await;
    check("aws", "States.Runtime").await;
    let keys = json!({ "resourceArn": machine, "tagKeys": ["everstep:dialect"] });
    tag(&fixture, &machine, "dialect", "spec").await;
    fixture.ok(Operation::UntagResource, keys).await;
    check("server-again", "States.Runtime").await;
}

#[tokio::test]
async fn an_execution_keeps_what_it_was_started_with() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", function("silent"), false).await;
    let before = fixture.start(&machine, "before", json!({})).await;
    tag(&fixture, &machine, "onFailure", "function:f").await;
    let after = fixture.start(&machine, "after", json!({})).await;
    for arn in [before, after.clone()] {
        fixture.ok(Operation::StopExecution, json!({ "executionArn": arn })).await;
    }
    assert_eq!(&*notified(&fixture, 1).await[0].execution_arn, after);
}
