//! What is read back from an execution's history is what the execution's own events tell.

use std::sync::{Arc, mpsc};

use everstep_asl::{Machine, Source};
use everstep_interpreter::{Dialect, Identity, Limits, Payload, Program, TokenKey};
use everstep_local::mock::{Choice, Mocks};
use everstep_local::{Answers, Clock, Driver};
use everstep_story::history::HistoryReader;
use everstep_story::{Entry, RunId, Story};
use serde_json::{Value, json};

fn read(file: &str) -> Source {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Source::new(file, std::fs::read_to_string(root.join(file)).expect("a file of the repository"))
}

fn machine(definition: &Source) -> Machine {
    everstep_asl::parse(definition, &everstep_asl::Options::default())
        .into_machine()
        .expect("a definition without errors")
}

/// Sorted, because a history lists what is stopped before what stops it; and without what is drawn at random.
fn comparable(entries: &[Entry]) -> Vec<String> {
    let texts = entries.iter().map(|entry| {
        let mut entry = json!(entry);
        if let Some(retrier) = entry.get_mut("retrier").and_then(Value::as_object_mut) {
            retrier.remove("delayMs");
        }
        entry.to_string()
    });
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    texts
}

fn check(definition: &str, mocks: &str, test_case: &str, input: Value) {
    check_text(&read(definition), &read(mocks), test_case, input);
}

fn check_text(definition: &Source, mocks: &Source, test_case: &str, input: Value) {
    let model = machine(definition);
    let choice = Choice { machine: None, test_case: Some(test_case), own_name: "" };
    let mocks = Mocks::read(mocks, choice, &model).expect("a mock file without errors");
    let answers = Answers { mocks: Some(mocks), functions: Vec::new() };
    let machine = Arc::new(model);
    let (dialect, limits) = (Dialect::Spec, Limits::default());
    let program = Arc::new(Program { machine: machine.clone(), dialect, limits });
    let identity = Identity {
        execution_arn: "arn:aws:states:r:1:execution:m:e".into(),
        execution_name: "e".into(),
        role_arn: "role".into(),
        machine_arn: "arn:aws:states:r:1:stateMachine:m".into(),
        machine_name: "m".into(),
        token_key: TokenKey::default(),
    };
    let clock = Clock::skipping(Some(0));
    let mut driver = Driver::new(answers, clock, (), 1, mpsc::channel());
    let ended = driver.run(program, identity, Payload::new(input)).expect("every task is answered");

    let mut read_back = Story::from_history(dialect);
    read_back.begin(RunId(0), machine.clone(), None);
    let mut reader = HistoryReader::new(machine, dialect);
    // The API has times in seconds.
    let seconds = |mut event: Value| {
        event["timestamp"] = json!(event["timestamp"].as_f64().expect("a number") / 1000.0);
        event
    };
    let history: Vec<Value> = ended.history.into_iter().map(seconds).collect();
    for batch in reader.take(&history) {
        read_back.observe(RunId(0), &batch);
    }
    let (all, last) = (read_back.entries(), read_back.last_entries());
    assert_eq!(
        comparable(all),
        comparable(driver.story.entries()),
        "{} {test_case}",
        definition.name()
    );
    assert_eq!(
        comparable(last),
        comparable(driver.story.last_entries()),
        "{} {test_case}",
        definition.name()
    );
    assert_eq!(read_back.states(), driver.story.states());
    assert_eq!(read_back.retries(), driver.story.retries());
}

#[test]
fn the_order() {
    let (order, mocks) = ("examples/order/order.asl.json", "examples/order/mocks.json");
    for case in [
        "happy",
        "out-of-stock",
        "reservation-error",
        "reservation-recovers",
        "rate-limit",
        "rate-limit-lasts",
        "payment-error",
        "charge-unexpected",
        "fulfilment-fails",
        "release-fails",
        "refund-fails",
    ] {
        check(order, mocks, case, json!({ "orderId": "o-1" }));
    }
}

/// A crash is `Lambda.Unknown`, and is taken by its own name all the same; around a branch too.
#[test]
fn the_crash() {
    let (crash, mocks) = ("testdata/cli/run/crash.asl.yaml", "testdata/cli/run/crash-mocks.json");
    for case in ["recovers", "lasts"] {
        check(crash, mocks, case, json!({}));
    }
}

/// Waits, choices, branches and items.
#[test]
fn the_shipping() {
    let (shipping, mocks) =
        ("testdata/cli/run/shipping.asl.yaml", "testdata/cli/run/shipping-mocks.json");
    for case in ["packed", "set-aside", "jammed"] {
        check(shipping, mocks, case, json!({ "parcels": [{ "id": 1 }, { "id": 2 }] }));
    }
    check(shipping, mocks, "packed", json!({ "parcels": [] }));
}

/// `States.BranchFailed` stands for whatever fails in a branch.
#[test]
fn branches_that_fail() {
    let text = json!({ "StartAt": "Both", "States": {
        "Both": {
            "Type": "Parallel", "End": true,
            "Branches": [{ "StartAt": "A", "States": { "A": {
                "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:a",
                "TimeoutSeconds": 5, "End": true } } }],
            "Retry": [{ "ErrorEquals": ["States.BranchFailed"], "MaxAttempts": 1 }],
            "Catch": [
                { "ErrorEquals": ["Other"], "Next": "Wrong" },
                { "ErrorEquals": ["States.BranchFailed"], "Next": "Caught" }],
        },
        "Caught": { "Type": "Succeed" },
        "Wrong": { "Type": "Fail", "Error": "Wrong" },
    } });
    let mocks = json!({
        "StateMachines": { "m": { "TestCases": { "fails": { "A": "fails" } } } },
        "MockedResponses": { "fails": { "0-1": { "Throw": { "Error": "E", "Cause": "why" } } } },
    });
    let source = |name: &str, value: Value| Source::new(name, value.to_string());
    check_text(&source("m.json", text), &source("mocks.json", mocks), "fails", json!({}));
}
