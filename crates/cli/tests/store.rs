//! `everstep store`: the data directory of a server that does not run.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use support::server::Server;
use support::{everstep, pin_scrubbed};

const DEFINITIONS: &str = "testdata/cli/remote";

/// Runs a command on a data directory, and compares what it does with the recorded output.
fn check(name: &str, data: &Path, arguments: &[&str]) -> Output {
    let [action, others @ ..] = arguments else { panic!("an action") };
    let data = data.to_str().unwrap();
    let output = everstep(&[&["store", action, data][..], others].concat()).output().unwrap();
    let shown = format!("everstep store {action} DIR {}", others.join(" "));
    let replace = |text: &str, pattern: &str, with: &str| {
        regex::Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
    };
    pin_scrubbed(name, shown.trim_end(), &output, |text| {
        let text = replace(&text.replace(data, "DIR"), r"process \d+", "process PID");
        replace(&text, r"\d+ rows of the catalog", "N rows of the catalog")
    });
    output
}

/// A directory with an execution that waits for approval, another one that does, and one that has ended.
fn used(data: &Path) -> Server {
    let server = Server::start(data, "127.0.0.1:0", &[]);
    server.done(&["activities", "create", "approve"]);
    server.done(&["machines", "create", &format!("{DEFINITIONS}/approval.asl.json")]);
    server.done(&["machines", "create", &format!("{DEFINITIONS}/hello.asl.json")]);
    server.done(&["executions", "start", "approval", "--name", "one"]);
    server.done(&["executions", "start", "approval", "--name", "two"]);
    server.done(&["executions", "start", "hello", "--name", "three", "--wait"]);
    server
}

fn described(server: &Server, name: &str) -> Value {
    serde_json::from_str(&server.done(&["executions", "show", name, "--json"])).unwrap()
}

#[test]
fn a_directory_is_verified() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    check("store-verify-none", &data, &["verify"]);
    assert!(!data.exists(), "nothing is made");
    let server = used(&data);
    check("store-verify-in-use", &data, &["verify"]);
    drop(server);
    check("store-verify", &data, &["verify"]);
    check("store-accept-loss-nothing", &data, &["accept-loss"]);
}

#[test]
fn an_execution_is_stopped_without_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let server = used(data);
    drop(server);
    let arn = |name| format!("arn:aws:states:us-east-1:123456789012:execution:approval:{name}");
    let why = ["--error", "Enough", "--cause", "it ends the server"];
    let stop = |name, arn: &str, why: &[&str]| {
        check(name, data, &[&["stop-execution", arn], why].concat());
    };
    stop("store-stop-execution", &arn("one"), &why);
    stop("store-stop-execution-again", &arn("one"), &[]);
    stop("store-stop-execution-unknown", &arn("four"), &[]);
    let server = Server::start(data, "127.0.0.1:0", &[]);
    let one = described(&server, "one");
    let found = (&one["status"], &one["error"], &one["cause"]);
    assert_eq!(found, (&"ABORTED".into(), &"Enough".into(), &"it ends the server".into()));
    assert_eq!(described(&server, "two")["status"], "RUNNING");
    let history = server.done(&["executions", "history", "one"]);
    assert!(history.contains("ExecutionAborted"), "{history}");
}

#[test]
fn a_loss_is_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    drop(used(data));
    // What says how far the store had come.
    fs::remove_file(data.join("high-water")).unwrap();
    check("store-verify-lost", data, &["verify"]);
    check("store-accept-loss", data, &["accept-loss"]);
    check("store-verify", data, &["verify"]);
    let server = Server::start(data, "127.0.0.1:0", &[]);
    assert_eq!(described(&server, "three")["status"], "SUCCEEDED");
}
