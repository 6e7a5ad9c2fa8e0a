//! `Everstep.DescribeStory`: what happened and why, from the journal.

use serde_json::{Value, json};

use crate::fixture::{Fixture, function};

/// A task that fails, is retried twice after an hour, and is then caught.
fn failing() -> Value {
    let mut definition = function("fail");
    let task = &mut definition["States"]["T"];
    task["Retry"] = json!([{
        "ErrorEquals": ["Broken"], "IntervalSeconds": 3600, "BackoffRate": 2, "MaxAttempts": 2
    }]);
    task["Catch"] = json!([{ "ErrorEquals": ["States.ALL"], "Next": "Undo" }]);
    definition["States"]["Undo"] = json!({ "Type": "Fail", "Error": "Undone" });
    definition
}

async fn story(fixture: &Fixture, arn: &str, from: usize) -> Value {
    let body = json!({ "executionArn": arn, "from": from });
    fixture.service.describe_story(&body).await.unwrap_or_else(|error| panic!("{error}"))
}

/// The story once so many entries are durable.
async fn when(fixture: &Fixture, arn: &str, entries: u64) -> Value {
    for _ in 0..5000 {
        let story = story(fixture, arn, 0).await;
        if story["entriesTotal"] == entries {
            return story;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("{arn} has not {entries} entries in time");
}

fn kinds(story: &Value) -> Vec<&str> {
    let entries = story["entries"].as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["event"].as_str()).collect()
}

const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn a_failure_is_explained_while_it_is_retried_and_after() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", failing(), false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    let told = when(&fixture, &arn, 1).await;
    assert_eq!((&told["status"], &told["retries"]), (&json!("RUNNING"), &json!(1)));
    let open = &told["open"]["shown"][0];
    assert_eq!(open["problem"], json!({ "error": "Broken", "cause": "on purpose" }));
    assert_eq!(open["retrier"]["nextDelayMs"], 2 * HOUR_MS);
    assert_eq!(open["finally"]["next"], "Undo");
    let activity = json!({ "scope": [], "state": "T", "doing": "retrying", "dueMs": HOUR_MS });
    assert_eq!(told["activities"]["shown"], json!([activity]));
    let stop = "everstep executions stop e --machine m";
    assert_eq!(told["actions"][1]["command"], stop);

    // A clock that is asked later only changes how long it has taken.
    fixture.pass(1000);
    let later = story(&fixture, &arn, 0).await;
    assert_eq!(later["elapsedMs"], 1000);
    assert_eq!(later["entries"], told["entries"]);

    let fixture = fixture.restarted();
    fixture.pass(HOUR_MS);
    when(&fixture, &arn, 2).await;
    fixture.pass(2 * HOUR_MS);
    fixture.when(&arn, "FAILED").await;
    let told = story(&fixture, &arn, 0).await;
    assert_eq!(kinds(&told), ["retried", "retried", "failed", "failed"]);
    assert_eq!(told["open"]["shown"], json!([]));
    assert_eq!(told["ending"]["shown"][0]["state"], "Undo");
    assert_eq!(told["earlier"]["shown"][0]["state"], "T");
    assert_eq!(told["actions"][0]["action"], "redrive");

    // What was read before a restart is what is read after it.
    let restarted = fixture.restarted();
    assert_eq!(story(&restarted, &arn, 0).await, told);
}

#[tokio::test]
async fn a_redrive_continues_the_story() {
    let fixture = Fixture::new();
    let machine = fixture.machine("m", function("fail"), false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    fixture.when(&arn, "FAILED").await;
    assert_eq!(kinds(&story(&fixture, &arn, 0).await), ["failed"]);
    fixture.functions.healed.store(true, std::sync::atomic::Ordering::SeqCst);
    let redrive = everstep_api::protocol::Operation::RedriveExecution;
    fixture.ok(redrive, json!({ "executionArn": arn })).await;
    let told = when(&fixture, &arn, 3).await;
    assert_eq!(kinds(&told), ["failed", "redriven", "succeeded"]);
    assert_eq!(told["status"], "SUCCEEDED");
    assert_eq!(told["ending"]["shown"], json!([]));
    assert_eq!(told["entries"][2]["attempts"], 2);
}

#[tokio::test]
async fn entries_come_in_pages() {
    let fixture = Fixture::new();
    let states: serde_json::Map<String, Value> = (0..9)
        .map(|n| (format!("P{n}"), json!({ "Type": "Pass", "Next": format!("P{}", n + 1) })))
        .chain([("P9".to_owned(), json!({ "Type": "Succeed" }))])
        .collect();
    let definition = json!({ "StartAt": "P0", "States": states });
    let machine = fixture.machine("m", definition, false).await;
    let arn = fixture.start(&machine, "e", json!({})).await;
    fixture.when(&arn, "SUCCEEDED").await;
    let page = async |from: usize, max: usize| {
        let body = json!({ "executionArn": arn, "from": from, "maxResults": max });
        let page = fixture.service.describe_story(&body).await.expect("a page");
        (page["entries"].as_array().map_or(0, Vec::len), page["nextFrom"].as_u64())
    };
    assert_eq!(page(0, 4).await, (4, Some(4)));
    assert_eq!(page(4, 6).await, (6, None));
    assert_eq!(page(10, 4).await, (0, None));
    assert_eq!(page(99, 4).await, (0, None));
}

#[tokio::test]
async fn requests_are_checked() {
    let fixture = Fixture::new();
    let check = async |body: Value, name: &str, message: &str| {
        let error = fixture.service.describe_story(&body).await.expect_err("it is refused");
        assert_eq!(error.name(), name, "{body}");
        assert!(error.message().contains(message), "{}", error.message());
    };
    let arn = "arn:aws:states:us-east-1:123456789012:execution:m:none";
    check(json!({}), "ValidationException", "executionArn").await;
    check(json!({ "executionArn": 1 }), "ValidationException", "executionArn").await;
    check(json!({ "executionArn": "x" }), "InvalidArn", "").await;
    check(json!({ "executionArn": arn }), "ExecutionDoesNotExist", arn).await;
    check(json!({ "executionArn": arn, "from": -1 }), "ValidationException", "from").await;
    check(json!({ "executionArn": arn, "maxResults": "1" }), "ValidationException", "maxResults")
        .await;
}
