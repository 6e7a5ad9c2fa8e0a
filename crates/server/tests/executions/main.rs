//! Executions through the service: every operation on them, on a store in memory.

mod house;
mod map_runs;
mod own_settings;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use everstep_api::protocol::Operation;
use everstep_store::{Shard, Space, Store};
use house::{DAY_MS, House, PLACE, fail, function, pass, starts, task, text, types, wait};
use serde_json::{Value, json};

#[tokio::test]
async fn an_execution_is_started_and_described() {
    let house = House::new();
    let machine = house.machine("m", pass(), false).await;
    let arn = house.start(&machine, "e", json!({ "a": 1 })).await;
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
    assert_eq!(house.when(&arn, "SUCCEEDED").await, expected);
    let body = json!({ "executionArn": arn, "includedData": "METADATA_ONLY" });
    let bare = house.ok(Operation::DescribeExecution, body).await;
    assert_eq!((&bare["input"], &bare["output"]), (&Value::Null, &Value::Null));
    assert_eq!(bare["inputDetails"], json!({ "included": false }));
    let body = json!({ "stateMachineArn": machine, "traceHeader": "Root=1" });
    let named = house.ok(Operation::StartExecution, body).await;
    let described = house.when(text(&named, "executionArn"), "SUCCEEDED").await;
    assert_eq!(described["traceHeader"], "Root=1");
    assert_eq!(described["input"], "{}");
    assert_eq!(text(&described, "name").len(), 36);
}

#[tokio::test]
async fn a_start_is_idempotent_while_the_execution_runs() {
    let house = House::new();
    let machine = house.machine("m", wait(), false).await;
    let body = |input: &str| json!({ "stateMachineArn": machine, "name": "e", "input": input });
    let first = house.ok(Operation::StartExecution, body("{}")).await;
    house.pass(5000);
    assert_eq!(house.ok(Operation::StartExecution, body("{}")).await, first);
    assert_eq!(house.ok(Operation::StartExecution, body("{ }")).await, first);
    let exists = format!("Execution Already Exists: '{PLACE}:execution:m:e'");
    house.refused(Operation::StartExecution, body("[]"), "ExecutionAlreadyExists", &exists).await;
    let versioned =
        json!({ "stateMachineArn": format!("{machine}:1"), "name": "e", "input": "{}" });
    assert_eq!(house.ok(Operation::StartExecution, versioned).await, first);
    let stop = json!({ "executionArn": first["executionArn"] });
    house.ok(Operation::StopExecution, stop).await;
    house.refused(Operation::StartExecution, body("{}"), "ExecutionAlreadyExists", &exists).await;
}

#[tokio::test]
async fn starts_that_are_refused() {
    let house = House::new();
    let machine = house.machine("m", pass(), false).await;
    let start = Operation::StartExecution;
    let check = async |member: &str, value: &str, name: &str, message: &str| {
        let mut body = json!({ "stateMachineArn": machine });
        body[member] = value.into();
        house.refused(start, body, name, message).await;
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
    house.refused(Operation::DescribeExecution, describe, "ExecutionDoesNotExist", &missing).await;
}

#[tokio::test]
async fn nothing_is_started_of_a_machine_that_goes() {
    let house = House::new();
    let machine = house.machine("m", fail(), false).await;
    let arn = house.start(&machine, "e", json!({})).await;
    house.when(&arn, "FAILED").await;
    let key = format!("machine/{machine}");
    let row = house.store.get(Shard::CATALOG, Space::Catalog, key.as_bytes()).expect("it is read");
    let mut row: Value = serde_json::from_slice(&row.expect("a row")).expect("JSON");
    row["deleting"] = true.into();
    house.put(&key, &row);
    let body = json!({ "stateMachineArn": machine });
    house.refused(Operation::StartExecution, body, "StateMachineDeleting", &machine).await;
    let reason = "State machine is in DELETING status";
    let body = json!({ "executionArn": arn });
    house.refused(Operation::RedriveExecution, body, "ExecutionNotRedrivable", reason).await;
    assert_eq!(house.describe(&arn).await["redriveStatusReason"], reason);
}

#[tokio::test]
async fn versions_and_aliases_are_remembered() {
    let house = House::new();
    let machine = house.machine("m", pass(), false).await;
    let (version, alias) = (format!("{machine}:1"), format!("{machine}:PROD"));
    let row = json!({
        "arn": alias, "name": "PROD", "description": null, "created_ms": 0, "updated_ms": 0,
        "routes": [{ "version_arn": version, "weight": 100 }],
    });
    house.put(&format!("alias/{machine}/PROD"), &row);
    house.start(&machine, "plain", json!({})).await;
    house.start(&version, "versioned", json!({})).await;
    let arn = house.start(&alias, "aliased", json!({})).await;
    assert_eq!(arn, format!("{PLACE}:execution:m:aliased"));
    let described = house.when(&arn, "SUCCEEDED").await;
    assert_eq!(described["stateMachineArn"], *machine);
    assert_eq!(described["stateMachineVersionArn"], *version);
    assert_eq!(described["stateMachineAliasArn"], *alias);
    for (list, count) in [(&machine, 3), (&version, 2), (&alias, 1)] {
        let listed = house.ok(Operation::ListExecutions, json!({ "stateMachineArn": list })).await;
        assert_eq!(listed["executions"].as_array().map(Vec::len), Some(count), "{list}");
    }
}

#[tokio::test]
async fn express_executions() {
    let house = House::new();
    let machine = house.machine("x", pass(), true).await;
    let standard = house.machine("s", pass(), false).await;
    let sync = Operation::StartSyncExecution;
    let body =
        json!({ "stateMachineArn": machine, "name": "e", "input": "[1]", "traceHeader": "t" });
    let mut answer = house.ok(sync, body.clone()).await;
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
    house.refused(sync, body, "StateMachineTypeNotSupported", kind).await;
    let failing = house.machine("f", fail(), true).await;
    let answer = house.ok(sync, json!({ "stateMachineArn": failing })).await;
    assert_eq!(answer["status"], "FAILED");
    assert_eq!((&answer["error"], &answer["cause"]), (&json!("E"), &json!("c")));
    let arn = house.start(&machine, "e", json!({})).await;
    assert_ne!(arn, house.start(&machine, "e", json!({})).await);
    let context = "Resource type not valid in this context: express";
    let body = json!({ "executionArn": arn });
    for operation in [
        Operation::DescribeExecution,
        Operation::GetExecutionHistory,
        Operation::StopExecution,
        Operation::RedriveExecution,
    ] {
        house.refused(operation, body.clone(), "InvalidArn", context).await;
    }
    let body = json!({ "stateMachineArn": machine });
    house.refused(Operation::ListExecutions, body, "StateMachineTypeNotSupported", kind).await;
}

#[tokio::test]
async fn an_express_execution_has_five_minutes() {
    let house = Arc::new(House::new());
    let machine = house.machine("x", wait(), true).await;
    let waiting = tokio::spawn({
        let house = house.clone();
        async move {
            house.ok(Operation::StartSyncExecution, json!({ "stateMachineArn": machine })).await
        }
    });
    // The clock is only seen to move when the execution has been started.
    while !waiting.is_finished() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        house.pass(60_000);
    }
    let answer = waiting.await.expect("it is answered");
    assert_eq!(answer["status"], "TIMED_OUT");
    assert_eq!(answer["error"], "States.Timeout");
}

#[tokio::test]
async fn executions_are_stopped() {
    let house = House::new();
    let machine = house.machine("m", wait(), false).await;
    let arn = house.start(&machine, "e", json!({})).await;
    house.pass(1000);
    let stop = Operation::StopExecution;
    let body = json!({ "executionArn": arn, "error": "Enough", "cause": "said so" });
    let stopped = house.ok(stop, body).await;
    assert_eq!(stopped, json!({ "stopDate": 1_700_000_001.123 }));
    let described = house.when(&arn, "ABORTED").await;
    assert_eq!((&described["error"], &described["cause"]), (&json!("Enough"), &json!("said so")));
    assert_eq!(described["redriveStatus"], "REDRIVABLE");
    house.pass(1000);
    assert_eq!(house.ok(stop, json!({ "executionArn": arn })).await, stopped);
    let plain = house.start(&machine, "plain", json!({})).await;
    house.ok(stop, json!({ "executionArn": plain })).await;
    let described = house.when(&plain, "ABORTED").await;
    assert!(described.get("error").is_none() && described.get("cause").is_none());
    let missing = json!({ "executionArn": format!("{PLACE}:execution:m:other") });
    house.refused(stop, missing, "ExecutionDoesNotExist", "Execution Does Not Exist").await;
    let long = json!({ "executionArn": arn, "error": "x".repeat(257) });
    house.refused(stop, long, "ValidationException", "256").await;
}

#[tokio::test]
async fn executions_are_redriven() {
    let house = House::new();
    let machine = house.machine("m", function("fail"), false).await;
    let arn = house.start(&machine, "e", json!({ "a": 1 })).await;
    let failed = house.when(&arn, "FAILED").await;
    assert_eq!(
        (&failed["error"], &failed["redriveStatus"]),
        (&json!("Broken"), &json!("REDRIVABLE"))
    );
    assert!(failed.get("redriveStatusReason").is_none());
    house.pass(5000);
    house.functions.healed.store(true, Ordering::SeqCst);
    let redrive = Operation::RedriveExecution;
    let body = json!({ "executionArn": arn, "clientToken": "t" });
    let redriven = house.ok(redrive, body.clone()).await;
    assert_eq!(redriven, json!({ "redriveDate": 1_700_000_005.123 }));
    let described = house.when(&arn, "SUCCEEDED").await;
    assert_eq!(
        (&described["redriveCount"], &described["redriveDate"]),
        (&json!(1), &json!(1_700_000_005.123))
    );
    assert!(described.get("error").is_none());
    house.pass(5000);
    let house = house.restarted();
    assert_eq!(house.ok(redrive, body).await, redriven, "the same token, the same answer");
    let refusal = "Execution is SUCCEEDED and cannot be redriven";
    let check = async |arn: &str, reason: &str| {
        let body = json!({ "executionArn": arn, "clientToken": "u" });
        house.refused(redrive, body, "ExecutionNotRedrivable", reason).await;
    };
    check(&arn, refusal).await;
    let waiting = house.machine("w", wait(), false).await;
    let running = house.start(&waiting, "e", json!({})).await;
    check(&running, "Execution is RUNNING and cannot be redriven").await;
    house.ok(Operation::StopExecution, json!({ "executionArn": running })).await;
    house.pass(14 * DAY_MS);
    check(&running, "Execution redrivable period exceeded").await;
    let described = house.describe(&running).await;
    assert_eq!(described["redriveStatusReason"], "Execution redrivable period exceeded");
    let missing = json!({ "executionArn": format!("{PLACE}:execution:m:other") });
    house.refused(redrive, missing, "ExecutionDoesNotExist", "").await;
    for (filter, count) in [("REDRIVEN", 1), ("NOT_REDRIVEN", 0)] {
        let body = json!({ "stateMachineArn": machine, "redriveFilter": filter });
        let listed = house.ok(Operation::ListExecutions, body).await;
        assert_eq!(listed["executions"].as_array().map(Vec::len), Some(count), "{filter}");
    }
}

#[tokio::test]
async fn an_execution_that_times_out_shows_no_error() {
    let house = House::new();
    let mut definition = wait();
    definition["TimeoutSeconds"] = 5.into();
    let machine = house.machine("m", definition, false).await;
    let arn = house.start(&machine, "e", json!({})).await;
    house.pass(6000);
    let described = house.when(&arn, "TIMED_OUT").await;
    assert!(described.get("error").is_none() && described.get("cause").is_none());
    assert_eq!(described["redriveStatus"], "REDRIVABLE");
}

#[tokio::test]
async fn executions_are_listed_page_by_page() {
    let house = House::new();
    let machine = house.machine("m", pass(), false).await;
    for number in 0..5 {
        let arn = house.start(&machine, &format!("e{number}"), json!({})).await;
        house.when(&arn, "SUCCEEDED").await;
        house.pass(1000);
    }
    let list = Operation::ListExecutions;
    let mut body = json!({ "stateMachineArn": machine, "maxResults": 2 });
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let page = house.ok(list, body.clone()).await;
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
        house.refused(list, body, name, "").await;
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
    house.refused(list, json!({ "mapRunArn": run }), "ResourceNotFound", &run).await;
    house.refused(list, json!({ "mapRunArn": machine }), "InvalidArn", "stateMachine").await;
    for (status, count) in [("SUCCEEDED", 5), ("RUNNING", 0)] {
        let body = json!({ "stateMachineArn": machine, "statusFilter": status });
        let listed = house.ok(list, body).await;
        assert_eq!(listed["executions"].as_array().map(Vec::len), Some(count));
    }
    house.pass(DAY_MS);
    check(json!({}), "InvalidToken").await;
}

#[tokio::test]
async fn histories_are_read_page_by_page() {
    let house = House::new();
    let machine = house.machine("m", function("echo"), false).await;
    let arn = house.start(&machine, "e", json!({ "a": 1 })).await;
    house.when(&arn, "SUCCEEDED").await;
    let whole = house.history(&arn).await;
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
            let page = house.ok(Operation::GetExecutionHistory, body.clone()).await;
            found.extend(page["events"].as_array().expect("a list").clone());
            let Some(token) = page.get("nextToken") else { break };
            body["nextToken"] = token.clone();
        }
        if reversed {
            found.reverse();
        }
        assert_eq!(found, whole);
        body["reverseOrder"] = (!reversed).into();
        house.refused(Operation::GetExecutionHistory, body, "InvalidToken", "Invalid Token").await;
    }
    let body = json!({ "executionArn": arn, "includeExecutionData": false });
    let bare = house.ok(Operation::GetExecutionHistory, body).await.to_string();
    assert!(!bare.contains("\"input") && !bare.contains("\"output"), "{bare}");
    let missing = json!({ "executionArn": format!("{PLACE}:execution:m:no") });
    house.refused(Operation::GetExecutionHistory, missing, "ExecutionDoesNotExist", "").await;
}

#[tokio::test]
async fn activities_wait_for_workers_and_workers_for_activities() {
    let house = Arc::new(House::new());
    let activity = house.activity("a");
    let machine = house.machine("m", task(&activity), false).await;
    let waiting = tokio::spawn({
        let (house, activity) = (house.clone(), activity.clone());
        async move { house.poll(&activity).await }
    });
    tokio::task::yield_now().await;
    let arn = house.start(&machine, "e", json!({ "n": 1 })).await;
    let taken = waiting.await.expect("it is answered");
    assert_eq!(taken["input"], "{\"n\":1}");
    let token = text(&taken, "taskToken").to_owned();
    let started = house.history(&arn).await.pop().expect("an event");
    assert_eq!(started["activityStartedEventDetails"], json!({ "workerName": "w" }));
    house.ok(Operation::SendTaskHeartbeat, json!({ "taskToken": token })).await;
    let success = |output: &str| json!({ "taskToken": token, "output": output });
    let send = Operation::SendTaskSuccess;
    house.refused(send, success("{"), "InvalidOutput", "Invalid Output: '").await;
    assert_eq!(house.ok(send, success("[2]")).await, json!({}));
    assert_eq!(house.when(&arn, "SUCCEEDED").await["output"], "[2]");
    let late = "Task Timed Out: 'Provided task does not exist anymore'";
    house.refused(send, success("[2]"), "TaskTimedOut", late).await;
    let body = json!({ "taskToken": token });
    house.refused(Operation::SendTaskHeartbeat, body.clone(), "TaskTimedOut", late).await;
    house.refused(Operation::SendTaskFailure, body, "TaskTimedOut", late).await;
    for operation in [Operation::SendTaskFailure, Operation::SendTaskHeartbeat] {
        let body = json!({ "taskToken": "NoSuchTaskToken" });
        house.refused(operation, body, "InvalidToken", "Invalid Token: 'Invalid token'").await;
    }
    let attempt =
        everstep_interpreter::Attempt { frame: everstep_interpreter::FrameId(0), number: 9 };
    for arn in [arn.clone(), format!("{PLACE}:execution:m:other")] {
        let body = json!({ "taskToken": everstep_interpreter::task_token(&arn, attempt) });
        house.refused(Operation::SendTaskFailure, body, "TaskDoesNotExist", "").await;
    }
    let get = Operation::GetActivityTask;
    let body = json!({ "activityArn": format!("{PLACE}:activity:no") });
    house.refused(get, body, "ActivityDoesNotExist", "Activity Does Not Exist: '").await;
    house.refused(get, json!({ "activityArn": machine }), "InvalidArn", "stateMachine").await;
}

#[tokio::test]
async fn a_failed_activity_fails_its_execution() {
    let house = House::new();
    let activity = house.activity("a");
    let machine = house.machine("m", task(&activity), false).await;
    let arn = house.start(&machine, "e", json!({})).await;
    let taken = house.poll(&activity).await;
    let body = json!({ "taskToken": taken["taskToken"], "error": "Oh", "cause": "no" });
    house.ok(Operation::SendTaskFailure, body).await;
    let failed = house.when(&arn, "FAILED").await;
    assert_eq!((&failed["error"], &failed["cause"]), (&json!("Oh"), &json!("no")));
}

#[tokio::test]
async fn a_worker_that_goes_away_takes_no_task_with_it() {
    let house = Arc::new(House::new());
    let activity = house.activity("a");
    let machine = house.machine("m", task(&activity), false).await;
    for number in 0..20 {
        let leaving = tokio::spawn({
            let (house, activity) = (house.clone(), activity.clone());
            async move { house.poll(&activity).await }
        });
        tokio::task::yield_now().await;
        let arn = house.start(&machine, &format!("e{number}"), json!({})).await;
        // Somewhere between being given the task and being told that its start is durable.
        for _ in 0..number {
            tokio::task::yield_now().await;
        }
        leaving.abort();
        let taken = match leaving.await {
            Ok(taken) => taken,
            Err(_) => house.poll(&activity).await,
        };
        let body = json!({ "taskToken": taken["taskToken"], "output": "1" });
        house.ok(Operation::SendTaskSuccess, body).await;
        house.when(&arn, "SUCCEEDED").await;
    }
}

#[tokio::test]
async fn a_poll_ends_without_a_task() {
    let house = House::new();
    let activity = house.activity("a");
    let machine = house.machine("m", task(&activity), false).await;
    let arn = house.start(&machine, "e", json!({})).await;
    house.ok(Operation::StopExecution, json!({ "executionArn": arn })).await;
    house.when(&arn, "ABORTED").await;
    // From here on time passes by itself whenever there is nothing to do.
    tokio::time::pause();
    assert_eq!(house.poll(&activity).await, json!({}));
}

#[tokio::test]
async fn workers_that_wait_are_bounded() {
    let house = Arc::new(House::new());
    let activity = house.activity("a");
    let workers: Vec<_> = (0..1000)
        .map(|_| {
            let (house, activity) = (house.clone(), activity.clone());
            tokio::spawn(async move { house.poll(&activity).await })
        })
        .collect();
    // Each has been polled by then: a turn of the runtime takes a few dozen of them.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let body = json!({ "activityArn": activity });
    let get = Operation::GetActivityTask;
    house.refused(get, body, "ActivityWorkerLimitExceeded", "The maximum number of workers").await;
    for worker in &workers[1..] {
        worker.abort();
    }
    let machine = house.machine("m", task(&activity), false).await;
    house.start(&machine, "e", json!(1)).await;
    let mut workers = workers.into_iter();
    let taken = workers.next().expect("the first one").await.expect("it is answered");
    assert_eq!(taken["input"], "1", "who waits longest is the first to be served");
}

#[tokio::test]
async fn activities_survive_a_restart() {
    let house = House::new();
    let activity = house.activity("a");
    let machine = house.machine("m", task(&activity), false).await;
    let (one, other) = (
        house.start(&machine, "one", json!(1)).await,
        house.start(&machine, "other", json!(2)).await,
    );
    let taken = house.poll(&activity).await;
    let house = house.restarted();
    let again = house.poll(&activity).await;
    assert_ne!(
        again["taskToken"], taken["taskToken"],
        "a task that was taken is not handed out again"
    );
    for (taken, output) in [(&taken, "10"), (&again, "20")] {
        let body = json!({ "taskToken": taken["taskToken"], "output": output });
        house.ok(Operation::SendTaskSuccess, body).await;
    }
    for arn in [one, other] {
        house.when(&arn, "SUCCEEDED").await;
    }
}

#[tokio::test]
async fn a_callback_ends_when_its_token_comes_back() {
    let house = House::new();
    let machine = json!({ "StartAt": "T", "States": { "T": {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": { "FunctionName": "f", "Payload": { "token.$": "$$.Task.Token" } },
        "End": true,
    } } });
    let machine = house.machine("m", machine, false).await;
    let arn = house.start(&machine, "e", json!({})).await;
    let submitted = async {
        loop {
            let events = house.history(&arn).await;
            if types(&events).contains(&"TaskSubmitted") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), submitted).await.expect("the call is made");
    let token = house.functions.seen.lock().expect("no panic")[0].token();
    let body = json!({ "taskToken": token, "output": "\"done\"" });
    house.ok(Operation::SendTaskSuccess, body).await;
    assert_eq!(house.when(&arn, "SUCCEEDED").await["output"], "\"done\"");
}

#[tokio::test]
async fn executions_start_executions() {
    let house = House::new();
    let child = house.machine("child", pass(), false).await;
    let failing = house.machine("failing", fail(), false).await;
    let express = house.machine("express", pass(), true).await;
    for (number, resource) in
        ["states:startExecution", "aws-sdk:sfn:startExecution"].into_iter().enumerate()
    {
        let parent = house.machine(&format!("plain{number}"), starts(resource), false).await;
        let input = json!({ "StateMachineArn": child, "Input": { "a": 1 } });
        let arn = house.start(&parent, "e", input).await;
        let output: Value =
            serde_json::from_str(text(&house.when(&arn, "SUCCEEDED").await, "output"))
                .expect("JSON");
        assert_eq!(output["StartDate"], "2023-11-14T22:13:20.123Z");
        let described = house.when(text(&output, "ExecutionArn"), "SUCCEEDED").await;
        assert_eq!(described["output"], "{\"a\":1}");
    }
    for (number, (resource, input, output)) in [
        ("states:startExecution.sync", json!("{\"a\":1}"), json!("{\"a\":1}")),
        ("states:startExecution.sync:2", json!({ "a": 1 }), json!({ "a": 1 })),
    ]
    .into_iter()
    .enumerate()
    {
        let parent = house.machine(&format!("sync{number}"), starts(resource), false).await;
        let name = format!("c{number}");
        let given = json!({ "StateMachineArn": child, "Input": { "a": 1 }, "Name": name });
        let arn = house.start(&parent, "e", given.clone()).await;
        let found: Value =
            serde_json::from_str(text(&house.when(&arn, "SUCCEEDED").await, "output"))
                .expect("JSON");
        let expected = json!({
            "ExecutionArn": format!("{PLACE}:execution:child:{name}"),
            "Input": input,
            "InputDetails": { "Included": true },
            "Name": name,
            "Output": output,
            "OutputDetails": { "Included": true },
            "RedriveCount": 0,
            "RedriveStatus": "NOT_REDRIVABLE",
            "RedriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
            "StartDate": "2023-11-14T22:13:20.123Z",
            "StateMachineArn": child,
            "Status": "SUCCEEDED",
            "StopDate": "2023-11-14T22:13:20.123Z",
        });
        assert_eq!(found.to_string(), expected.to_string());
        let events = house.history(&arn).await;
        assert_eq!(
            types(&events)[2..6],
            ["TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded"]
        );
        let arn = house.start(&parent, "again", given).await;
        let failed = house.when(&arn, "FAILED").await;
        assert_eq!(failed["error"], "StepFunctions.ExecutionAlreadyExistsException");
        let arn = house.start(&parent, "failing", json!({ "StateMachineArn": failing })).await;
        let failed = house.when(&arn, "FAILED").await;
        assert_eq!(failed["error"], "States.TaskFailed");
        let cause: Value = serde_json::from_str(text(&failed, "cause")).expect("JSON");
        assert_eq!((&cause["Error"], &cause["Cause"]), (&json!("E"), &json!("c")));
        assert_eq!((&cause["Input"], &cause["Status"]), (&json!("{}"), &json!("FAILED")));
        let arn = house.start(&parent, "express", json!({ "StateMachineArn": express })).await;
        assert_eq!(house.when(&arn, "FAILED").await["error"], "StepFunctions.ValidationException");
        let arn =
            house.start(&parent, "no", json!({ "StateMachineArn": format!("{child}x") })).await;
        let failed = house.when(&arn, "FAILED").await;
        assert_eq!(failed["error"], "StepFunctions.StateMachineDoesNotExistException");
        let arn = house.start(&parent, "odd", json!({ "StateMachineArn": child, "Odd": 1 })).await;
        assert_eq!(house.when(&arn, "FAILED").await["error"], "States.Runtime");
    }
}

#[tokio::test]
async fn operations_are_tasks_too() {
    let house = House::new();
    let express = house.machine("express", pass(), true).await;
    let parent = house.machine("p", starts("aws-sdk:sfn:sendTaskFailure"), false).await;
    let arn = house.start(&parent, "e", json!({ "TaskToken": "NoSuchTaskToken" })).await;
    let failed = house.when(&arn, "FAILED").await;
    assert_eq!(failed["error"], "Sfn.InvalidTokenException");
    let cause = text(&failed, "cause");
    assert!(
        cause.starts_with("Invalid Token: 'Invalid token' (Service: Sfn, Status Code: 400,"),
        "{cause}"
    );
    let parent = house.machine("q", starts("aws-sdk:sfn:startSyncExecution"), false).await;
    let arn = house.start(&parent, "e", json!({ "StateMachineArn": express, "Input": [1] })).await;
    let output: Value =
        serde_json::from_str(text(&house.when(&arn, "SUCCEEDED").await, "output")).expect("JSON");
    assert_eq!((&output["Status"], &output["Output"]), (&json!("SUCCEEDED"), &json!("[1]")));
}

#[tokio::test]
async fn a_task_that_ends_stops_the_execution_it_waits_for() {
    let house = House::new();
    let child = house.machine("child", wait(), false).await;
    let parent = house.machine("parent", starts("states:startExecution.sync"), false).await;
    for (name, given) in [("named", json!("c")), ("unnamed", Value::Null)] {
        let input = json!({ "StateMachineArn": child, "Name": given });
        let arn = house.start(&parent, name, input).await;
        let nested = nested_of(&house, &arn).await;
        house.ok(Operation::StopExecution, json!({ "executionArn": arn })).await;
        house.when(&arn, "ABORTED").await;
        house.when(&nested, "ABORTED").await;
    }
}

/// The execution that the task of a parent waits for.
async fn nested_of(house: &House, parent: &str) -> String {
    for _ in 0..5000 {
        let events = house.history(parent).await;
        if let Some(event) = events.iter().find(|event| event["type"] == "TaskSubmitted") {
            let output = text(&event["taskSubmittedEventDetails"], "output");
            let output: Value = serde_json::from_str(output).expect("JSON");
            return text(&output, "ExecutionArn").to_owned();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("{parent} has started nothing");
}

#[tokio::test]
async fn a_running_child_survives_a_restart() {
    let house = House::new();
    let activity = house.activity("a");
    let child = house.machine("child", task(&activity), false).await;
    let parent = house.machine("parent", starts("states:startExecution.sync:2"), false).await;
    let arn = house.start(&parent, "e", json!({ "StateMachineArn": child })).await;
    let nested = nested_of(&house, &arn).await;
    let house = house.restarted();
    let taken = house.poll(&activity).await;
    let body = json!({ "taskToken": taken["taskToken"], "output": "7" });
    house.ok(Operation::SendTaskSuccess, body).await;
    house.when(&nested, "SUCCEEDED").await;
    let output: Value =
        serde_json::from_str(text(&house.when(&arn, "SUCCEEDED").await, "output")).expect("JSON");
    assert_eq!((&output["ExecutionArn"], &output["Output"]), (&json!(nested), &json!(7)));
    let events = house.history(&arn).await;
    assert_eq!(types(&events).iter().filter(|kind| **kind == "TaskSubmitted").count(), 1);
    let listed = house.ok(Operation::ListExecutions, json!({ "stateMachineArn": child })).await;
    assert_eq!(listed["executions"].as_array().map(Vec::len), Some(1), "it was started once");
}

#[tokio::test]
async fn what_nobody_can_run_is_refused_by_name() {
    let house = House::new();
    let machine = house.machine("m", starts("sns:publish"), false).await;
    let input = json!({ "TopicArn": "t", "Message": "m" });
    let arn = house.start(&machine, "e", input).await;
    let failed = house.when(&arn, "FAILED").await;
    assert_eq!(failed["error"], "States.Runtime");
    assert!(text(&failed, "cause").contains("'arn:aws:states:::sns:publish' is not supported"));
}

#[tokio::test]
async fn states_are_tested_alone() {
    let house = House::new();
    let test = Operation::TestState;
    let body = json!({ "definition": r#"{"Type":"Pass","Next":"N"}"#, "input": "[1]" });
    let expected = json!({ "status": "SUCCEEDED", "output": "[1]", "nextState": "N" });
    assert_eq!(house.ok(test, body).await, expected);
    for (name, expected) in [
        ("echo", json!({ "status": "SUCCEEDED", "output": "{\"a\":1}" })),
        ("fail", json!({ "status": "FAILED", "error": "Broken", "cause": "as it was told" })),
    ] {
        let definition = function(name)["States"]["T"].to_string();
        let body = json!({ "definition": definition, "input": "{\"a\":1}", "roleArn": "arn:aws:iam::1:role/r" });
        assert_eq!(house.ok(test, body).await, expected, "{name}");
    }
    let definition = function("echo")["States"]["T"].to_string();
    let mock = json!({ "errorOutput": { "error": "E", "cause": "c" } });
    let body = json!({ "definition": definition, "mock": mock, "inspectionLevel": "DEBUG" });
    let answer = house.ok(test, body).await;
    assert_eq!((&answer["status"], &answer["error"]), (&json!("FAILED"), &json!("E")));
    assert_eq!(answer["inspectionData"]["input"], "{}");
    let body = json!({ "definition": "{}" });
    house.refused(test, body, "InvalidDefinition", "").await;
    let body = json!({ "definition": definition, "input": "{" });
    house
        .refused(test, body, "InvalidExecutionInput", "Invalid State Machine Execution Input")
        .await;
    let body = json!({ "definition": definition, "context": "{}" });
    house.refused(test, body, "ValidationException", "Context can only").await;
    let child = house.machine("child", pass(), false).await;
    let mut definition = starts("states:startExecution")["States"]["T"].clone();
    definition["QueryLanguage"] = "JSONata".into();
    let definition = definition.to_string();
    let body = json!({ "definition": definition, "input": json!({ "StateMachineArn": child }).to_string() });
    assert_eq!(house.ok(test, body).await["status"], "SUCCEEDED");
}
