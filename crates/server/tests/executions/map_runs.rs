//! Distributed Maps: children, Map Runs, and how they end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use everstep_api::protocol::Operation;
use everstep_executions::Task;
use everstep_interpreter::{Failure, Payload};
use serde_json::{Value, json};

use crate::fixture::{Fixture, PLACE, function, text, types};

/// A Map over the input whose children each run one state.
fn map(express: bool, state: Value, more: Value) -> Value {
    let mut map = json!({
        "Type": "Map",
        "Label": "each",
        "ItemProcessor": {
            "ProcessorConfig": {
                "Mode": "DISTRIBUTED",
                "ExecutionType": if express { "EXPRESS" } else { "STANDARD" },
            },
            "StartAt": "S",
            "States": { "S": state },
        },
        "End": true,
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        map[name] = value.clone();
    }
    json!({ "StartAt": "M", "States": { "M": map } })
}

fn call(name: &str) -> Value {
    function(name)["States"]["T"].clone()
}

async fn run_arn(fixture: &Fixture, execution: &str) -> String {
    let runs = fixture.ok(Operation::ListMapRuns, json!({ "executionArn": execution })).await;
    text(&runs["mapRuns"][0], "mapRunArn").to_owned()
}

async fn described(fixture: &Fixture, run: &str) -> Value {
    fixture.ok(Operation::DescribeMapRun, json!({ "mapRunArn": run })).await
}

async fn children(fixture: &Fixture, run: &str, status: &str) -> Vec<Value> {
    let body = json!({ "mapRunArn": run, "statusFilter": status, "maxResults": 1000 });
    let listed = fixture.ok(Operation::ListExecutions, body).await;
    listed["executions"].as_array().expect("a list").clone()
}

/// Waits until something holds.
async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..30_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("in time: {what}");
}

fn waiting(fixture: &Fixture) -> Vec<Task> {
    fixture.functions.seen.lock().expect("no thread panics").clone()
}

#[tokio::test]
async fn each_item_is_a_child_execution() {
    for express in [false, true] {
        let fixture = Fixture::new();
        let machine = fixture.machine("m", map(express, call("echo"), json!({})), false).await;
        let arn = fixture.start(&machine, "e", json!([{ "n": 1 }, { "n": 2 }, { "n": 3 }])).await;
        let ended = fixture.when(&arn, "SUCCEEDED").await;
        assert_eq!(ended["output"], r#"[{"n":1},{"n":2},{"n":3}]"#);
        let history = fixture.history(&arn).await;
        assert_eq!(
            types(&history),
            [
                "ExecutionStarted",
                "MapStateEntered",
                "MapStateStarted",
                "MapRunStarted",
                "MapRunSucceeded",
                "MapStateSucceeded",
                "MapStateExited",
                "ExecutionSucceeded"
            ]
        );
        let run = run_arn(&fixture, &arn).await;
        let name = run.strip_prefix(&format!("{PLACE}:mapRun:m/each:")).expect("its label");
        assert!(uuid::Uuid::parse_str(name).is_ok(), "{run}");
        assert_eq!(history[3]["mapRunStartedEventDetails"]["mapRunArn"], run);
        let found = described(&fixture, &run).await;
        assert_eq!(found["status"], "SUCCEEDED");
        assert_eq!(found["executionArn"], arn);
        assert_eq!(found["executionCounts"]["succeeded"], 3);
        assert_eq!(found["itemCounts"]["total"], 3);
        let listed = children(&fixture, &run, "SUCCEEDED").await;
        assert_eq!(listed.len(), if express { 0 } else { 3 }, "nothing is stored of EXPRESS");
        let of_machine =
            fixture.ok(Operation::ListExecutions, json!({ "stateMachineArn": machine })).await;
        assert_eq!(of_machine["executions"].as_array().map(Vec::len), Some(1));
    }
}

#[tokio::test]
async fn a_child_knows_where_it_comes_from() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", map(false, call("echo"), json!({})), false).await;
    let arn = fixture.start(&machine, "e", json!([{ "n": 1 }])).await;
    fixture.when(&arn, "SUCCEEDED").await;
    let run = run_arn(&fixture, &arn).await;
    let listed = children(&fixture, &run, "SUCCEEDED").await;
    let child = text(&listed[0], "executionArn").to_owned();
    assert!(child.starts_with(&format!("{PLACE}:execution:m/each:")), "{child}");
    assert_eq!((&listed[0]["itemCount"], &listed[0]["mapRunArn"]), (&json!(1), &json!(run)));
    let found = fixture.describe(&child).await;
    assert_eq!(found["stateMachineArn"], format!("{machine}/each"));
    assert_eq!(found["input"], r#"{"n":1}"#);
    let body = json!({ "executionArn": child });
    let of = fixture.ok(Operation::DescribeStateMachineForExecution, body).await;
    assert_eq!((&of["label"], &of["mapRunArn"]), (&json!("each"), &json!(run)));
    let definition: Value = serde_json::from_str(text(&of, "definition")).expect("JSON");
    assert_eq!(definition["StartAt"], "S");
    assert_eq!(of["roleArn"], "arn:aws:iam::123456789012:role/r");
}

#[tokio::test]
async fn batches_hold_many_items() {
    let fixture = Fixture::new();
    let more = json!({ "ItemBatcher": { "MaxItemsPerBatch": 4, "BatchInput": { "b": 1 } } });
    let machine = fixture.machine("m", map(false, call("echo"), more), false).await;
    let items: Vec<u32> = (0..10).collect();
    let arn = fixture.start(&machine, "e", json!(items)).await;
    let output: Value =
        serde_json::from_str(text(&fixture.when(&arn, "SUCCEEDED").await, "output")).expect("JSON");
    assert_eq!(output[2], json!({ "BatchInput": { "b": 1 }, "Items": [8, 9] }));
    let found = described(&fixture, &run_arn(&fixture, &arn).await).await;
    assert_eq!(
        (&found["itemCounts"]["succeeded"], &found["executionCounts"]["total"]),
        (&json!(10), &json!(3))
    );
}

#[tokio::test]
async fn no_more_run_at_a_time_than_may_and_that_can_be_changed() {
    let fixture = Fixture::new();
    let more = json!({ "MaxConcurrency": 2 });
    let machine = fixture.machine("m", map(false, call("silent"), more), false).await;
    let items: Vec<u32> = (0..9).collect();
    let arn = fixture.start(&machine, "e", json!(items)).await;
    until("two run", async || waiting(&fixture).len() == 2).await;
    let run = run_arn(&fixture, &arn).await;
    let found = described(&fixture, &run).await;
    assert_eq!((&found["status"], &found["maxConcurrency"]), (&json!("RUNNING"), &json!(2)));
    let counts = &found["executionCounts"];
    assert_eq!((&counts["running"], &counts["pending"]), (&json!(2), &json!(7)));
    let update = json!({ "mapRunArn": run, "maxConcurrency": 5, "toleratedFailureCount": 9 });
    fixture.ok(Operation::UpdateMapRun, update).await;
    until("five run", async || waiting(&fixture).len() == 5).await;
    let found = described(&fixture, &run).await;
    assert_eq!((&found["maxConcurrency"], &found["toleratedFailureCount"]), (&json!(5), &json!(9)));
    let mut failed = 0;
    for done in 0..9 {
        until("the next one runs", async || waiting(&fixture).len() > done).await;
        let task = waiting(&fixture)[done].clone();
        if done % 2 == 0 {
            task.fail(Failure::new("Odd", "it is"));
            failed += 1;
        } else {
            task.succeed(Payload::new(json!(done)));
        }
    }
    fixture.when(&arn, "SUCCEEDED").await;
    let found = described(&fixture, &run).await;
    assert_eq!(found["itemCounts"]["failed"], failed);
    let gone = json!({ "mapRunArn": run, "maxConcurrency": 1 });
    fixture.refused(Operation::UpdateMapRun, gone, "ValidationException", "not running").await;
}

#[tokio::test]
async fn too_many_failures_end_the_run_and_its_children() {
    for express in [false, true] {
        let fixture = Fixture::new();
        let more = json!({ "ToleratedFailurePercentage": 20, "MaxConcurrency": 5 });
        let machine = fixture.machine("m", map(express, call("silent"), more), false).await;
        let items: Vec<u32> = (0..10).collect();
        let arn = fixture.start(&machine, "e", json!(items)).await;
        for done in 0..3 {
            until("the next one runs", async || waiting(&fixture).len() > done).await;
            waiting(&fixture)[done].fail(Failure::new("Odd", "it is"));
        }
        let ended = fixture.when(&arn, "FAILED").await;
        assert_eq!(ended["error"], "States.ExceedToleratedFailureThreshold");
        let found = described(&fixture, &run_arn(&fixture, &arn).await).await;
        assert_eq!(found["status"], "FAILED");
        let counts = &found["executionCounts"];
        assert_eq!(counts["failed"], 3);
        assert_eq!(counts["running"], 0, "{counts}");
        let aborted = counts["aborted"].as_u64().expect("a number");
        assert!((2..=4).contains(&aborted), "{counts}");
    }
}

#[tokio::test]
async fn a_stopped_execution_stops_its_children() {
    for express in [false, true] {
        let fixture = Fixture::new();
        let machine = fixture.machine("m", map(express, call("silent"), json!({})), false).await;
        let arn = fixture.start(&machine, "e", json!([1, 2, 3])).await;
        until("all run", async || waiting(&fixture).len() == 3).await;
        fixture.ok(Operation::StopExecution, json!({ "executionArn": arn })).await;
        let run = run_arn(&fixture, &arn).await;
        until("the run is over", async || described(&fixture, &run).await["status"] == "ABORTED")
            .await;
        assert_eq!(described(&fixture, &run).await["executionCounts"]["aborted"], 3);
        assert_eq!(children(&fixture, &run, "ABORTED").await.len(), if express { 0 } else { 3 });
    }
}

#[tokio::test]
async fn a_redrive_goes_on_with_those_that_did_not_succeed() {
    for express in [false, true] {
        let fixture = Fixture::new();
        let choice = json!({ "Type": "Choice", "Choices": [
            { "Variable": "$", "NumericGreaterThan": 2, "Next": "T" },
        ], "Default": "Good" });
        let mut definition = map(express, choice, json!({ "ToleratedFailureCount": 1 }));
        let states = &mut definition["States"]["M"]["ItemProcessor"]["States"];
        states["T"] = call("fail");
        states["Good"] = call("echo");
        let machine = fixture.machine("m", definition, false).await;
        let arn = fixture.start(&machine, "e", json!([1, 2, 3, 4])).await;
        fixture.when(&arn, "FAILED").await;
        let run = run_arn(&fixture, &arn).await;
        let before = waiting(&fixture).len();
        fixture.functions.healed.store(true, Ordering::SeqCst);
        fixture.pass(1000);
        fixture.ok(Operation::RedriveExecution, json!({ "executionArn": arn })).await;
        let ended = fixture.when(&arn, "SUCCEEDED").await;
        assert_eq!(ended["output"], "[1,2,3,4]");
        let found = described(&fixture, &run).await;
        assert_eq!((&found["status"], &found["redriveCount"]), (&json!("SUCCEEDED"), &json!(1)));
        assert_eq!(found["executionCounts"]["succeeded"], 4);
        let again = waiting(&fixture).len() - before;
        assert!(again <= 4 - 2 + 1, "only what had not succeeded ran again: {again}");
        let history = fixture.history(&arn).await;
        let redriven = history.iter().find(|event| event["type"] == "MapRunRedriven");
        let details = &redriven.expect("it is there")["mapRunRedrivenEventDetails"];
        assert_eq!(details, &json!({ "mapRunArn": run, "redriveCount": 1 }));
        let runs = fixture.ok(Operation::ListMapRuns, json!({ "executionArn": arn })).await;
        assert_eq!(runs["mapRuns"].as_array().map(Vec::len), Some(1));
    }
}

#[tokio::test]
async fn a_run_goes_on_after_a_restart() {
    for express in [false, true] {
        let fixture = Fixture::new();
        let machine = fixture.machine("m", map(express, call("silent"), json!({})), false).await;
        let arn = fixture.start(&machine, "e", json!([1, 2, 3, 4])).await;
        until("all run", async || waiting(&fixture).len() == 4).await;
        let task = waiting(&fixture)[0].clone();
        task.succeed(Payload::new(json!("first")));
        let run = run_arn(&fixture, &arn).await;
        until("one is over", async || {
            described(&fixture, &run).await["executionCounts"]["succeeded"] == 1
        })
        .await;
        let fixture = fixture.restarted();
        // Those of STANDARD children are asked for again, those of EXPRESS children are new.
        until("three run again", async || waiting(&fixture).len() == 7).await;
        for task in &waiting(&fixture)[4..] {
            task.succeed(Payload::new(json!("later")));
        }
        let ended = fixture.when(&arn, "SUCCEEDED").await;
        let output: Value = serde_json::from_str(text(&ended, "output")).expect("JSON");
        let firsts = output.as_array().expect("a list").iter().filter(|one| **one == "first");
        assert_eq!(firsts.count(), 1, "what was done is not done again");
        assert_eq!(described(&fixture, &run).await["executionCounts"]["succeeded"], 4);
    }
}

#[tokio::test]
async fn ten_thousand_items_leave_the_history_short() {
    let fixture = Fixture::new();
    let selector = json!({ "ItemSelector": {}, "ResultPath": null });
    let pass = json!({ "Type": "Pass", "End": true });
    let machine = fixture.machine("m", map(true, pass, selector), false).await;
    let items: Vec<u32> = (0..10_000).collect();
    let arn = fixture.start(&machine, "e", json!(items)).await;
    until("it is over", async || fixture.describe(&arn).await["status"] != "RUNNING").await;
    let found = described(&fixture, &run_arn(&fixture, &arn).await).await;
    assert_eq!(found["executionCounts"]["succeeded"], 10_000);
    fixture.when(&arn, "SUCCEEDED").await;
    assert_eq!(fixture.history(&arn).await.len(), 8);
}

/// 16 MiB are 76 results of this size and not 77.
const LARGE: usize = 220_000;

async fn run_of_large_results(express: bool, children: u32) -> (Fixture, String) {
    let fixture = Fixture::new();
    let pass = json!({ "Type": "Pass", "Result": "x".repeat(LARGE), "End": true });
    let machine = fixture.machine("m", map(express, pass, json!({ "ResultPath": null })), false);
    let items: Vec<u32> = (0..children).collect();
    let arn = fixture.start(&machine.await, "e", json!(items)).await;
    until("it is over", async || {
        // Who writes much waits for its next turn, by this clock.
        fixture.pass(1);
        fixture.describe(&arn).await["status"] != "RUNNING"
    })
    .await;
    (fixture, arn)
}

#[tokio::test]
async fn results_of_16_mib_are_what_a_map_takes() {
    for express in [false, true] {
        let (fixture, arn) = run_of_large_results(express, 76).await;
        fixture.when(&arn, "SUCCEEDED").await;
        let found = described(&fixture, &run_arn(&fixture, &arn).await).await;
        assert_eq!(found["status"], "SUCCEEDED");
        assert_eq!(found["executionCounts"]["succeeded"], 76);
    }
}

#[tokio::test]
async fn more_results_than_a_map_takes_fail_it_when_its_children_are_over() {
    for express in [false, true] {
        let (fixture, arn) = run_of_large_results(express, 77).await;
        let ended = fixture.when(&arn, "FAILED").await;
        assert_eq!(ended["error"], "States.DataLimitExceeded");
        assert_eq!(
            ended["cause"],
            "The state/task 'M' returned a result with a size exceeding the maximum number of \
             bytes service limit."
        );
        let found = described(&fixture, &run_arn(&fixture, &arn).await).await;
        assert_eq!(found["status"], "FAILED");
        assert_eq!(found["executionCounts"]["succeeded"], 77);
        let history = fixture.history(&arn).await;
        assert!(types(&history).contains(&"MapRunFailed"), "{:?}", types(&history));
    }
}

#[tokio::test]
async fn maps_within_children_have_runs_of_their_own() {
    let fixture = Fixture::new();
    let inner = map(false, call("echo"), json!({ "Label": "inner", "End": true }));
    let mut inner = inner["States"]["M"].clone();
    inner["ItemProcessor"]["StartAt"] = json!("I");
    inner["ItemProcessor"]["States"] = json!({ "I": call("echo") });
    let machine = fixture.machine("m", map(false, inner, json!({})), false).await;
    let arn = fixture.start(&machine, "e", json!([[1, 2], [3]])).await;
    assert_eq!(fixture.when(&arn, "SUCCEEDED").await["output"], "[[1,2],[3]]");
    let run = run_arn(&fixture, &arn).await;
    let child = text(&children(&fixture, &run, "SUCCEEDED").await[0], "executionArn").to_owned();
    let inner_run = run_arn(&fixture, &child).await;
    assert!(inner_run.starts_with(&format!("{PLACE}:mapRun:m/each/inner:")), "{inner_run}");
    assert_eq!(described(&fixture, &inner_run).await["status"], "SUCCEEDED");
}

#[tokio::test]
async fn what_is_no_map_run_is_refused() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", crate::fixture::pass(), false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    let runs = fixture.ok(Operation::ListMapRuns, json!({ "executionArn": arn })).await;
    assert_eq!(runs, json!({ "mapRuns": [] }));
    let missing = json!({ "mapRunArn": format!("{PLACE}:mapRun:m/l:e-0") });
    for operation in [Operation::DescribeMapRun, Operation::UpdateMapRun, Operation::ListExecutions]
    {
        fixture.refused(operation, missing.clone(), "ResourceNotFound", "e-0").await;
        let wrong = json!({ "mapRunArn": arn });
        fixture.refused(operation, wrong, "InvalidArn", "Invalid Arn").await;
    }
    let nothing = json!({ "executionArn": format!("{PLACE}:execution:m:x") });
    fixture.refused(Operation::ListMapRuns, nothing, "ExecutionDoesNotExist", "m:x").await;
    let token = json!({ "executionArn": arn, "nextToken": "x" });
    fixture.refused(Operation::ListMapRuns, token, "InvalidToken", "token").await;
}

#[tokio::test]
async fn a_deleted_machine_takes_the_children_with_it() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", map(false, call("echo"), json!({})), false).await;
    let arn = fixture.start(&machine, "e", json!([1, 2, 3])).await;
    fixture.when(&arn, "SUCCEEDED").await;
    let run = run_arn(&fixture, &arn).await;
    let child = children(&fixture, &run, "SUCCEEDED").await[0].clone();
    fixture.ok(Operation::DeleteStateMachine, json!({ "stateMachineArn": machine })).await;
    let body = json!({ "executionArn": child["executionArn"] });
    until("it is gone", async || {
        fixture.call(Operation::DescribeExecution, body.clone()).await.is_err()
    })
    .await;
    until("its parent is gone", async || {
        fixture.call(Operation::DescribeMapRun, json!({ "mapRunArn": run })).await.is_err()
    })
    .await;
}
