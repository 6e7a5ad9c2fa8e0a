//! `everstep serve`: what its settings do, seen from outside.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::server::Server;

const DEFINITIONS: &str = "testdata/cli/remote";

fn create(server: &Server, file: &str, more: &[&str]) {
    let file = format!("{DEFINITIONS}/{file}");
    server.done(&[&["machines", "create", &file][..], more].concat());
}

/// The events of an execution that were logged, as `id type (what it follows)`.
fn logged(file: &Path, execution: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_it = |event: &Value| {
        let arn = event["execution_arn"].as_str().unwrap();
        arn.split(':').any(|part| part == execution)
    };
    let shown = |event: Value| {
        let text = |name: &str| event[name].as_str().unwrap().to_owned();
        assert!(text("event_timestamp").parse::<i64>().is_ok());
        format!("{} {} ({})", text("id"), text("type"), text("previous_event_id"))
    };
    events.filter(of_it).map(shown).collect()
}

#[test]
fn log_events_by_level() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("events.jsonl");
    let data = directory.path().join("data");
    let variables = [("EVERSTEP_LOG_EVENTS", log.to_str().unwrap()), ("WAIT_TIME_SCALE", "0")];
    let mut server = Server::start(&data, "127.0.0.1:0", &variables);
    for level in ["all", "error", "fatal", "off"] {
        create(&server, "refund.asl.yaml", &["--name", level, "--log", level]);
        let input = r#"{"amount":50}"#;
        server.run(&["executions", "start", level, "--input", input, "--name", level, "--wait"]);
    }
    create(&server, "hello.asl.json", &["--type", "express", "--log", "all"]);
    server.done(&["executions", "start", "hello", "--name", "quick", "--wait"]);
    server.stop();

    let all = logged(&log, "all");
    assert_eq!(all.len(), 21);
    assert_eq!(all[0], "1 ExecutionStarted (0)");
    assert_eq!(all[5], "6 ChoiceStateEntered (3)");
    let error = ["15 TaskFailed (14)", "18 TaskFailed (17)", "20 FailStateEntered (19)"];
    let fatal = "21 ExecutionFailed (20)";
    assert_eq!(logged(&log, "error"), [&error[..], &[fatal]].concat());
    assert_eq!(logged(&log, "fatal"), [fatal]);
    assert_eq!(logged(&log, "off"), [""; 0]);
    let quick = [
        "1 ExecutionStarted (0)",
        "2 PassStateEntered (0)",
        "3 PassStateExited (2)",
        "4 ExecutionSucceeded (3)",
    ];
    assert_eq!(logged(&log, "quick"), quick);
}

/// The numbers go on where they were.
#[test]
fn log_events_after_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("events.jsonl");
    let data = directory.path().join("data");
    let variables = [("EVERSTEP_LOG_EVENTS", log.to_str().unwrap())];
    let server = Server::start(&data, "127.0.0.1:0", &variables);
    server.done(&["activities", "create", "approve"]);
    create(&server, "approval.asl.json", &["--log", "all"]);
    server.done(&["executions", "start", "approval", "--name", "one"]);
    drop(server);
    let before = logged(&log, "one").len();
    let mut server = Server::start(&data, "127.0.0.1:0", &variables);
    server.done(&["executions", "stop", "one"]);
    server.stop();
    let after = logged(&log, "one").split_off(before);
    assert_eq!(after.last().map(String::as_str), Some("6 ExecutionAborted (0)"));
}

#[test]
fn time_is_scaled() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), "127.0.0.1:0", &[("WAIT_TIME_SCALE", "0.000001")]);
    // A wait of a day, and a retry after an hour.
    create(&server, "patient.asl.json", &[]);
    let output = server.run(&["executions", "start", "patient", "--wait"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn variables_of_step_functions_local() {
    let directory = tempfile::tempdir().unwrap();
    let variables = [
        ("SQS_ENDPOINT", "http://localhost:4566"),
        ("LAMBDA_ENDPOINT", "http://localhost:3001"),
        ("AWS_DEFAULT_REGION", "eu-west-1"),
        ("AWS_ACCOUNT_ID", "000000000000"),
    ];
    let server = Server::start(directory.path(), "127.0.0.1:0", &variables);
    assert_eq!(server.said, ["warning: these environment variables have no effect: SQS_ENDPOINT"]);
    let arn = server.done(&["activities", "create", "approve"]);
    assert_eq!(arn, "arn:aws:states:eu-west-1:000000000000:activity:approve\n");
}

#[test]
fn settings_that_are_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    for (name, variables) in [
        ("serve-bad-lambda-endpoint", ("LAMBDA_ENDPOINT", "localhost:3001")),
        ("serve-bad-scale", ("WAIT_TIME_SCALE", "-1")),
        ("serve-bad-log", ("EVERSTEP_LOG_EVENTS", "/nowhere/at/all")),
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_everstep"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data", data])
            .env(variables.0, variables.1)
            .output()
            .unwrap();
        let command = format!("{}={} everstep serve", variables.0, variables.1);
        support::pin(name, &command, &output);
    }
}

#[test]
fn data_that_cannot_be_kept() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_everstep"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data", "/dev/null"])
        .output()
        .unwrap();
    support::pin("serve-bad-data", "everstep serve --data /dev/null", &output);
}

#[test]
fn test_cases() {
    let directory = tempfile::tempdir().unwrap();
    let variables = [("SFN_MOCK_CONFIG", "examples/order/mocks.json"), ("WAIT_TIME_SCALE", "0")];
    let server = Server::start(directory.path(), "127.0.0.1:0", &variables);
    server.done(&["machines", "create", "examples/order/order.asl.json"]);
    let start = |case: &str, name: &str| {
        let machine = format!("order#{case}");
        let input = r#"{"orderId":"o-1"}"#;
        ["executions", "start", &machine, "--name", name, "--input", input, "--wait"]
            .map(str::to_owned)
    };
    let check = |pinned: &str, arguments: [String; 8]| {
        server.check(pinned, &arguments.each_ref().map(String::as_str));
    };
    check("test-case-happy", start("happy", "one"));
    check("test-case-rate-limit", start("rate-limit", "two"));
    check("test-case-refund-fails", start("refund-fails", "three"));
    check("test-case-unknown", start("hapy", "four"));
}

#[test]
fn a_mock_file_that_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("mocks.json"),
        r#"{"StateMachines": {"order": {"TestCases": {"happy": {"Charge": "Fine"}}}}, "MockedResponses": {}}"#,
    )
    .unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_everstep"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data", "data"])
        .env("SFN_MOCK_CONFIG", "mocks.json")
        .current_dir(directory.path())
        .output()
        .unwrap();
    support::pin("serve-bad-mocks", "SFN_MOCK_CONFIG=mocks.json everstep serve", &output);
}
