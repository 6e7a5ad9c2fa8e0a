//! Activities and callbacks: tasks that wait for workers and tokens.

use std::sync::Arc;
use std::time::Duration;

use everstep_api::protocol::Operation;
use serde_json::json;

use crate::fixture::{Fixture, PLACE, task, text, types};

#[tokio::test]
async fn activities_wait_for_workers_and_workers_for_activities() {
    let fixture = Arc::new(Fixture::new());
    let activity = fixture.activity("a");
    let machine = fixture.machine("m", task(&activity), false).await;
    let waiting = tokio::spawn({
        let (fixture, activity) = (fixture.clone(), activity.clone());
        async move { fixture.poll(&activity).await }
    });
    tokio::task::yield_now().await;
    let arn = fixture.start(&machine, "e", json!({ "n": 1 })).await;
    let taken = waiting.await.expect("it is answered");
    assert_eq!(taken["input"], "{\"n\":1}");
    let token = text(&taken, "taskToken").to_owned();
    let started = fixture.history(&arn).await.pop().expect("an event");
    assert_eq!(started["activityStartedEventDetails"], json!({ "workerName": "w" }));
    fixture.ok(Operation::SendTaskHeartbeat, json!({ "taskToken": token })).await;
    let success = |output: &str| json!({ "taskToken": token, "output": output });
    let send = Operation::SendTaskSuccess;
    fixture.refused(send, success("{"), "InvalidOutput", "Invalid Output: '").await;
    let both = json!({ "taskToken": "NoSuchTaskToken", "output": "{" });
    fixture.refused(send, both, "InvalidToken", "Invalid Token: 'Invalid token'").await;
    assert_eq!(fixture.ok(send, success("[2]")).await, json!({}));
    assert_eq!(fixture.when(&arn, "SUCCEEDED").await["output"], "[2]");
    let late = "Task Timed Out: 'Provided task does not exist anymore'";
    fixture.refused(send, success("[2]"), "TaskTimedOut", late).await;
    let body = json!({ "taskToken": token });
    fixture.refused(Operation::SendTaskHeartbeat, body.clone(), "TaskTimedOut", late).await;
    fixture.refused(Operation::SendTaskFailure, body, "TaskTimedOut", late).await;
    for operation in [Operation::SendTaskFailure, Operation::SendTaskHeartbeat] {
        let body = json!({ "taskToken": "NoSuchTaskToken" });
        fixture.refused(operation, body, "InvalidToken", "Invalid Token: 'Invalid token'").await;
    }
    let attempt =
        everstep_interpreter::Attempt { frame: everstep_interpreter::FrameId(0), number: 9 };
    for arn in [arn.clone(), format!("{PLACE}:execution:m:other")] {
        let token = everstep_interpreter::TokenKey::default().token(&arn, attempt);
        let body = json!({ "taskToken": token });
        fixture.refused(Operation::SendTaskFailure, body, "TaskDoesNotExist", "").await;
        // Anybody knows its name; only the server can make its token.
        let forged = json!({ "taskToken": everstep_interpreter::attempt_name(&arn, attempt) });
        fixture.refused(Operation::SendTaskFailure, forged, "InvalidToken", "").await;
    }
    let get = Operation::GetActivityTask;
    let body = json!({ "activityArn": format!("{PLACE}:activity:no") });
    fixture.refused(get, body, "ActivityDoesNotExist", "Activity Does Not Exist: '").await;
    fixture.refused(get, json!({ "activityArn": machine }), "InvalidArn", "stateMachine").await;
}

#[tokio::test]
async fn a_failed_activity_fails_its_execution() {
    let fixture = Fixture::new();
    let activity = fixture.activity("a");
    let machine = fixture.machine("m", task(&activity), false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    let taken = fixture.poll(&activity).await;
    let body = json!({ "taskToken": taken["taskToken"], "error": "Oh", "cause": "no" });
    fixture.ok(Operation::SendTaskFailure, body).await;
    let failed = fixture.when(&arn, "FAILED").await;
    assert_eq!((&failed["error"], &failed["cause"]), (&json!("Oh"), &json!("no")));
}

#[tokio::test]
async fn a_worker_cannot_make_its_failure_uncatchable() {
    let fixture = Fixture::new();
    let activity = fixture.activity("a");
    let mut definition = task(&activity);
    definition["States"]["T"]["Catch"] = json!([{ "ErrorEquals": ["States.ALL"], "Next": "N" }]);
    definition["States"]["N"] = json!({ "Type": "Pass", "End": true });
    let machine = fixture.machine("m", definition, false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    let taken = fixture.poll(&activity).await;
    let body = json!({ "taskToken": taken["taskToken"], "error": "States.Runtime", "cause": "no" });
    fixture.ok(Operation::SendTaskFailure, body).await;
    let output = fixture.when(&arn, "SUCCEEDED").await["output"].clone();
    let caught = json!({ "Error": "States.TaskFailed", "Cause": "States.Runtime: no" });
    assert_eq!(output, caught.to_string());
}

#[tokio::test]
async fn a_worker_that_goes_away_takes_no_task_with_it() {
    let fixture = Arc::new(Fixture::new());
    let activity = fixture.activity("a");
    let machine = fixture.machine("m", task(&activity), false).await;
    for number in 0..20 {
        let leaving = tokio::spawn({
            let (fixture, activity) = (fixture.clone(), activity.clone());
            async move { fixture.poll(&activity).await }
        });
        tokio::task::yield_now().await;
        let arn = fixture.start(&machine, &format!("e{number}"), json!({})).await;
        // Somewhere between being given the task and being told that its start is durable.
        for _ in 0..number {
            tokio::task::yield_now().await;
        }
        leaving.abort();
        let taken = match leaving.await {
            Ok(taken) => taken,
            Err(_) => fixture.poll(&activity).await,
        };
        let body = json!({ "taskToken": taken["taskToken"], "output": "1" });
        fixture.ok(Operation::SendTaskSuccess, body).await;
        fixture.when(&arn, "SUCCEEDED").await;
    }
}

#[tokio::test]
async fn a_poll_ends_without_a_task() {
    let fixture = Fixture::new();
    let activity = fixture.activity("a");
    let machine = fixture.machine("m", task(&activity), false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    fixture.ok(Operation::StopExecution, json!({ "executionArn": arn })).await;
    fixture.when(&arn, "ABORTED").await;
    // From here on time passes by itself whenever there is nothing to do.
    tokio::time::pause();
    assert_eq!(fixture.poll(&activity).await, json!({}));
}

#[tokio::test]
async fn workers_that_wait_are_bounded() {
    let fixture = Arc::new(Fixture::new());
    let activity = fixture.activity("a");
    let workers: Vec<_> = (0..1000)
        .map(|_| {
            let (fixture, activity) = (fixture.clone(), activity.clone());
            tokio::spawn(async move { fixture.poll(&activity).await })
        })
        .collect();
    // Each has been polled by then: a turn of the runtime takes a few dozen of them.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let body = json!({ "activityArn": activity });
    let get = Operation::GetActivityTask;
    fixture
        .refused(get, body, "ActivityWorkerLimitExceeded", "The maximum number of workers")
        .await;
    for worker in &workers[1..] {
        worker.abort();
    }
    let machine = fixture.machine("m", task(&activity), false).await;
    fixture.start(&machine, "e", json!(1)).await;
    let mut workers = workers.into_iter();
    let taken = workers.next().expect("the first one").await.expect("it is answered");
    assert_eq!(taken["input"], "1", "who waits longest is the first to be served");
}

#[tokio::test]
async fn activities_survive_a_restart() {
    let fixture = Fixture::new();
    let activity = fixture.activity("a");
    let machine = fixture.machine("m", task(&activity), false).await;
    let (one, other) = (
        fixture.start(&machine, "one", json!(1)).await,
        fixture.start(&machine, "other", json!(2)).await,
    );
    let taken = fixture.poll(&activity).await;
    let fixture = fixture.restarted();
    let again = fixture.poll(&activity).await;
    assert_ne!(
        again["taskToken"], taken["taskToken"],
        "a task that was taken is not handed out again"
    );
    for (taken, output) in [(&taken, "10"), (&again, "20")] {
        let body = json!({ "taskToken": taken["taskToken"], "output": output });
        fixture.ok(Operation::SendTaskSuccess, body).await;
    }
    for arn in [one, other] {
        fixture.when(&arn, "SUCCEEDED").await;
    }
}

#[tokio::test]
async fn a_callback_ends_when_its_token_comes_back() {
    let fixture = Fixture::new();
    let machine = json!({ "StartAt": "T", "States": { "T": {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": { "FunctionName": "f", "Payload": { "token.$": "$$.Task.Token" } },
        "End": true,
    } } });
    let machine = fixture.machine("m", machine, false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    let submitted = async {
        loop {
            let events = fixture.history(&arn).await;
            if types(&events).contains(&"TaskSubmitted") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), submitted).await.expect("the call is made");
    let task = fixture.functions.seen.lock().expect("no panic")[0].clone();
    let key = everstep_interpreter::TokenKey::default();
    let token = key.token(&task.execution_arn, task.attempt);
    let body = json!({ "taskToken": token, "output": "\"done\"" });
    fixture.ok(Operation::SendTaskSuccess, body).await;
    assert_eq!(fixture.when(&arn, "SUCCEEDED").await["output"], "\"done\"");
}
