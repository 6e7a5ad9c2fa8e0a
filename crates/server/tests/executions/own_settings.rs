//! What a machine's tags say of how it runs: its dialect, and who is told of its failures.

use everstep_api::protocol::Operation;
use everstep_executions::Failed;
use serde_json::{Value, json};

use crate::house::{House, PLACE, fail, function, pass, wait};

async fn tag(house: &House, machine: &str, key: &str, value: &str) {
    let tags = json!([{ "key": format!("everstep:{key}"), "value": value }]);
    house.ok(Operation::TagResource, json!({ "resourceArn": machine, "tags": tags })).await;
}

/// What was to be told since this was last asked. It may come a little after the execution is over.
async fn told(house: &House, expected: usize) -> Vec<Failed> {
    for _ in 0..5000 {
        let found = house.functions.failed.lock().expect("no thread panics").len();
        if found >= expected {
            assert_eq!(found, expected);
            return std::mem::take(&mut *house.functions.failed.lock().expect("no thread panics"));
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("{expected} failures are not told in time");
}

#[tokio::test]
async fn a_failure_is_told_as_eventbridge_tells_it() {
    let house = House::new();
    let machine = house.machine("m", fail(), false).await;
    tag(&house, &machine, "onFailure", "function:f").await;
    let arn = house.start(&format!("{machine}:1"), "e", json!({ "a": 1 })).await;
    let failed = told(&house, 1).await.remove(0);
    assert_eq!(failed.ending.target, "function:f");
    house.pass(5000);
    let event = house.service.status_change(&failed).expect("readable").expect("it is there");
    let expected = include_str!("status_change.json");
    assert_eq!(format!("{event:#}\n"), expected.replace("{id}", &failed.id()));
    // Redriven, it fails again: another event, and the first is what it was.
    house.ok(Operation::RedriveExecution, json!({ "executionArn": arn })).await;
    let second = told(&house, 1).await.remove(0);
    let again = house.service.status_change(&second).expect("readable").expect("it is there");
    assert_ne!(again["id"], event["id"]);
    let detail = &again["detail"];
    let redriven = (&detail["redriveCount"], &detail["redriveDate"], &detail["stopDate"]);
    let now = json!(1_700_000_005_123_i64);
    assert_eq!(redriven, (&json!(1), &now, &now));
    let first = house.service.status_change(&failed).expect("readable");
    assert_eq!(first.expect("it is there"), event);
}

#[tokio::test]
async fn what_was_not_told_is_told_after_a_restart() {
    let house = House::new();
    let machine = house.machine("m", wait(), false).await;
    tag(&house, &machine, "onFailure", "https://example.com/x?y=1").await;
    let arn = house.start(&machine, "e", json!({})).await;
    let stop = json!({ "executionArn": arn, "error": "Enough", "cause": "of this" });
    house.ok(Operation::StopExecution, stop).await;
    let before = told(&house, 1).await.remove(0);
    let house = house.restarted();
    let failed = told(&house, 1).await.remove(0);
    assert_eq!(failed.id(), before.id());
    let event = house.service.status_change(&failed).expect("readable").expect("it is there");
    let detail = &event["detail"];
    let said = (&detail["status"], &detail["error"], &detail["cause"]);
    assert_eq!(said, (&json!("ABORTED"), &json!("Enough"), &json!("of this")));
    failed.told();
    house.service.shut_down();
    let house = house.restarted();
    let bystander = house.start(&machine, "f", json!({})).await;
    house.ok(Operation::StopExecution, json!({ "executionArn": bystander })).await;
    assert_eq!(&*told(&house, 1).await[0].execution_arn, bystander);
}

#[tokio::test]
async fn successes_and_the_children_of_a_map_are_not_told() {
    let house = House::new();
    let processor = with_mode(fail());
    let map = json!({ "StartAt": "M", "States": { "M": {
        "Type": "Map", "ItemsPath": "$.items", "ItemProcessor": processor, "End": true,
    } } });
    for (name, definition) in [("map", map), ("good", pass())] {
        let machine = house.machine(name, definition, false).await;
        tag(&house, &machine, "onFailure", "function:f").await;
    }
    let good = house.start(&format!("{PLACE}:stateMachine:good"), "e", json!({})).await;
    house.when(&good, "SUCCEEDED").await;
    let machine = format!("{PLACE}:stateMachine:map");
    let parent = house.start(&machine, "e", json!({ "items": [1, 2] })).await;
    house.when(&parent, "FAILED").await;
    assert_eq!(&*told(&house, 1).await[0].execution_arn, parent);
}

fn with_mode(mut definition: Value) -> Value {
    definition["ProcessorConfig"] = json!({ "Mode": "DISTRIBUTED", "ExecutionType": "STANDARD" });
    definition
}

#[tokio::test]
async fn a_machine_has_a_dialect_of_its_own() {
    let house = House::new();
    let choice = json!({ "StartAt": "C", "States": {
        "C": { "Type": "Choice", "Choices": [{ "Variable": "$.a", "IsPresent": true, "Next": "D" }] },
        "D": { "Type": "Succeed" },
    } });
    let machine = house.machine("m", choice, false).await;
    let check = async |name: &str, expected: &str| {
        let arn = house.start(&machine, name, json!({})).await;
        assert_eq!(house.when(&arn, "FAILED").await["error"], expected, "{name}");
    };
    check("server", "States.Runtime").await;
    tag(&house, &machine, "dialect", "spec").await;
    check("spec", "States.NoChoiceMatched").await;
    tag(&house, &machine, "dialect", "aws").await;
    check("aws", "States.Runtime").await;
    let keys = json!({ "resourceArn": machine, "tagKeys": ["everstep:dialect"] });
    tag(&house, &machine, "dialect", "spec").await;
    house.ok(Operation::UntagResource, keys).await;
    check("server-again", "States.Runtime").await;
}

#[tokio::test]
async fn an_execution_keeps_what_it_was_started_with() {
    let house = House::new();
    let machine = house.machine("m", function("silent"), false).await;
    let before = house.start(&machine, "before", json!({})).await;
    tag(&house, &machine, "onFailure", "function:f").await;
    let after = house.start(&machine, "after", json!({})).await;
    for arn in [before, after.clone()] {
        house.ok(Operation::StopExecution, json!({ "executionArn": arn })).await;
    }
    assert_eq!(&*told(&house, 1).await[0].execution_arn, after);
}
