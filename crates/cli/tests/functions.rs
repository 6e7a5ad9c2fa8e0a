//! The commands for functions, with a real server that runs the functions of `testdata/cli/functions`: exit
//! code, standard output and standard error together, in `testdata/cli`. What is never the same twice is replaced.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;
use support::lines::Lines;
use support::server::Server;

const FUNCTIONS: (&str, &str) = ("EVERSTEP_FUNCTIONS", "testdata/cli/functions");

fn server() -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), "127.0.0.1:0", &[FUNCTIONS]);
    (directory, server)
}

fn invocation(server: &Server, id: &str) -> Value {
    serde_json::from_str(&server.done(&["invocations", "show", id, "--json"])).unwrap()
}

/// Waits until it is in this state and, if that is an end, until its destinations have been notified.
fn until(server: &Server, id: &str, state: &str) {
    support::until(&format!("{id} is not {state}"), || {
        let found = invocation(server, id);
        found["state"] == state && (state == "Waiting" || found["routed"] == true)
    });
}

/// The ids of those that a list has.
fn ids(server: &Server, list: &[&str]) -> Vec<String> {
    let list: Value = serde_json::from_str(&server.done(list)).unwrap();
    let of = |invocation: &Value| invocation["invocationId"].as_str().unwrap().to_owned();
    list["invocations"].as_array().unwrap().iter().map(of).collect()
}

fn accepted(server: &Server, arguments: &[&str]) -> String {
    server.done(&[&["invoke", "--async"], arguments].concat()).trim().to_owned()
}

#[test]
fn invoke() {
    let (_directory, server) = server();
    server.check("invoke", &["invoke", "greet", "--payload", r#"{"price": 1.50}"#]);
    server.check("invoke-json", &["invoke", "greet", "--json"]);
    let arn = "arn:aws:lambda:us-east-1:123456789012:function:greet";
    server.check("invoke-arn", &["invoke", arn, "--payload", "17"]);
    server.check("invoke-dry-run", &["invoke", "greet", "--dry-run"]);
    server.check("invoke-failed", &["invoke", "charge"]);
    server.check("invoke-failed-json", &["invoke", "charge", "--json"]);
    server.check("invoke-failed-key", &["invoke", "charge", "--key", "order-17"]);
    server.check("invoke-unknown", &["invoke", "gret"]);
    server.check("invoke-unknown-other", &["invoke", "something-else"]);
    server.check("invoke-not-json", &["invoke", "greet", "--payload", "{n:1}"]);
    server.check("invoke-both", &["invoke", "greet", "--async", "--dry-run"]);

    let from_stdin = ["invoke", "greet", "--payload", "-"];
    let mut child = server
        .command(&from_stdin)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"[1,\n2]").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"greeted\":[1,\n2]}\n");
}

#[test]
fn list() {
    let (_directory, server) = server();
    server.check("functions-list", &["functions", "list"]);
    server.check("functions-list-json", &["functions", "list", "--json"]);
    server.done(&["invoke", "greet"]);
    let standing = server.done(&["functions", "list", "--json"]);
    let standing: Value = serde_json::from_str(&standing).unwrap();
    assert_eq!(standing["functions"][1]["name"], "greet");
    assert_eq!(standing["functions"][1]["workers"], 0, "a command ends with its call");
}

#[test]
fn invoke_and_wait_for_all_retries() {
    let (_directory, server) = server();
    let wait = |function| ["invoke", function, "--async", "--wait", "--payload", r#"{"n":1}"#];
    server.check("invoke-wait", &wait("greet"));
    server.check("invoke-wait-failed", &wait("charge"));
    let as_json = [&wait("charge")[..], &["--json"]].concat();
    let output = server.run(&as_json);
    let ended: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &ended["state"]), (Some(1), &"Exhausted".into()));
    server.check("invoke-wait-not-async", &["invoke", "greet", "--wait"]);
}

/// A retry after an hour, twice.
#[test]
fn time_is_scaled_for_functions_too() {
    let directory = tempfile::tempdir().unwrap();
    let scale = ("WAIT_TIME_SCALE", "0.000001");
    let server = Server::start(directory.path(), "127.0.0.1:0", &[FUNCTIONS, scale]);
    let output = server.run(&["invoke", "patient", "--async", "--wait"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// Ctrl-C ends the waiting, and nothing else.
#[test]
fn a_wait_that_is_left() {
    let (_directory, server) = server();
    let arguments = ["invoke", "patient", "--async", "--wait"];
    let mut command = server.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = Lines::of(child.stderr.take().unwrap());
    progress.until("attempt 1 failed");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let progress = progress.rest();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = progress.into_bytes();
    server.pin("invoke-wait-left", &arguments, &output);
    let id = &ids(&server, &["invocations", "list", "--json"])[0];
    assert_eq!(invocation(&server, id)["state"], "Waiting");
}

/// The invocation is on disk, and the command keeps waiting for it.
#[test]
fn a_wait_outlives_the_server() {
    let (directory, mut server) = server();
    let listen = server.url.trim_start_matches("http://").to_owned();
    let wait = ["invoke", "later", "--async", "--wait", "--payload", "17"];
    let mut command = server.command(&wait);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = Lines::of(child.stderr.take().unwrap());
    progress.until("attempt 1 failed: Command.Failed: not yet; next retry in 6 s");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    progress.until("no connection to the server; retrying");
    let _again = Server::start(directory.path(), &listen, &[FUNCTIONS]);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"17\n"[..]));
}

#[test]
fn a_key_runs_once() {
    let (_directory, server) = server();
    let first = ["invoke", "greet", "--key", "one", "--payload", "1"];
    let again = ["invoke", "greet", "--key", "one", "--payload", "2"];
    assert_eq!(server.done(&first), server.done(&again));
    let first = accepted(&server, &["greet", "--key", "two"]);
    assert_eq!(first, accepted(&server, &["greet", "--key", "two"]));
    assert_eq!(ids(&server, &["invocations", "list", "--json"]).len(), 2);
}

#[test]
fn a_dead_letter() {
    let (_directory, server) = server();
    server.check("invocations-list-none", &["invocations", "list"]);
    server.check("deadletters-list-none", &["deadletters", "list"]);
    server.check("deadletters-purge-none", &["deadletters", "purge"]);
    let invoke = ["invoke", "charge", "--async", "--payload", r#"{"orderId":17}"#];
    let output = server.run(&invoke);
    server.pin("invoke-async", &invoke, &output);
    let id = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    until(&server, &id, "Exhausted");
    let told = ["invocations", "list", "--function", "greet", "--json"];
    until(&server, &ids(&server, &told)[0], "Succeeded");

    server.check("invocations-list", &["invocations", "list"]);
    server.check("invocations-list-limit", &["invocations", "list", "--limit", "1"]);
    let some =
        ["invocations", "list", "--state", "exhausted", "--error", "NoFunds", "--since", "1h"];
    assert_eq!(ids(&server, &[&some[..], &["--json"]].concat()), [&*id]);
    for none in [["--function", "patient"], ["--error", "Other"], ["--source", "orders"]] {
        let list = [&["invocations", "list", "--json"][..], &none].concat();
        assert_eq!(ids(&server, &list), [""; 0], "{none:?}");
    }
    server.check("invocations-list-since", &["invocations", "list", "--since", "soon"]);
    server.check("deadletters-list", &["deadletters", "list"]);
    pin_with(&server, "deadletters-show", &["deadletters", "show"], &id);
    pin_with(&server, "deadletters-show-json", &["deadletters", "show", "--json"], &id);

    server.check("deadletters-redrive-what", &["deadletters", "redrive"]);
    let dry = ["deadletters", "redrive", "--error", "NoFunds", "--dry-run"];
    server.check("deadletters-redrive-dry-run", &dry);
    let none = ["deadletters", "redrive", "--reason", "non-retryable"];
    server.check("deadletters-redrive-none", &none);
    let redrive = ["deadletters", "redrive", "--error", "NoFunds", "--since", "2h"];
    let how = ["--latest", "--spacing", "1s", "--payload", r#"{"orderId":18}"#];
    server.check("deadletters-redrive", &[&redrive[..], &how].concat());
    pin_with(&server, "deadletters-redrive-again", &["deadletters", "redrive"], &id);
    pin_with(&server, "invocations-show-redriven", &["invocations", "show"], &id);

    let into = invocation(&server, &id)["redrivenAs"].as_str().unwrap().to_owned();
    until(&server, &into, "Exhausted");
    assert_eq!(invocation(&server, &into)["payload"]["orderId"], 18);
    server.check("deadletters-purge-what", &["deadletters", "purge"]);
    let purge = ["deadletters", "purge", "--function", "charge"];
    server.check("deadletters-purge-dry-run", &[&purge[..], &["--dry-run"]].concat());
    assert_eq!(ids(&server, &["deadletters", "list", "--json"]), [&*into]);
    server.check("deadletters-purge", &purge);
    assert_eq!(ids(&server, &["deadletters", "list", "--json"]), [""; 0]);
    pin_with(&server, "invocations-show-purged", &["invocations", "show"], &into);
}

#[test]
fn all_dead_letters() {
    let (_directory, server) = server();
    for id in [accepted(&server, &["charge"]), accepted(&server, &["charge"])] {
        until(&server, &id, "Exhausted");
    }
    server.check("deadletters-redrive-limit", &["deadletters", "redrive", "--limit", "1"]);
    let into = &ids(&server, &["invocations", "list", "--function", "charge", "--json"])[0];
    until(&server, into, "Exhausted");
    server.check("deadletters-purge-all", &["deadletters", "purge", "--yes"]);
}

#[test]
fn an_invocation_that_waits() {
    let (_directory, server) = server();
    let id = accepted(&server, &["patient", "--key", "order-17"]);
    until(&server, &id, "Waiting");
    pin_with(&server, "invocations-show-waiting", &["invocations", "show"], &id);
    pin_with(&server, "deadletters-redrive-waiting", &["deadletters", "redrive"], &id);
    pin_with(&server, "invocations-cancel", &["invocations", "cancel"], &id);
    pin_with(&server, "invocations-cancel-again", &["invocations", "cancel"], &id);
    pin_with(&server, "invocations-show-cancelled", &["invocations", "show"], &id);
    server.check("invocations-show-no-id", &["invocations", "show", "17"]);
}

#[test]
fn a_function_that_never_runs() {
    let (_directory, server) = server();
    server.check("invoke-never", &["invoke", "never"]);
    server.check("invoke-never-dry-run", &["invoke", "never", "--dry-run"]);
    let output = server.run(&["invoke", "never", "--async", "--wait"]);
    server.pin("invoke-never-wait", &["invoke", "never", "--async", "--wait"], &output);
    let dry = server.done(&["invoke", "greet", "--dry-run", "--json"]);
    let dry: Value = serde_json::from_str(&dry).unwrap();
    assert_ne!(dry["RequestId"], "00000000-0000-4000-8000-000000000000");
}

/// What has not been delivered must stay, or it never would be.
#[test]
fn an_undelivered_dead_letter() {
    let (_directory, server) = server();
    let id = accepted(&server, &["lost"]);
    support::until("it is not a dead letter", || invocation(&server, &id)["deadLetter"] == true);
    pin_with(&server, "deadletters-purge-undelivered", &["deadletters", "purge"], &id);
    pin_with(&server, "deadletters-show-undelivered", &["deadletters", "show"], &id);
}

#[test]
fn an_invocation_without_its_function() {
    let (directory, mut server) = server();
    let id = accepted(&server, &["patient"]);
    until(&server, &id, "Waiting");
    server.stop();
    let fewer = ("EVERSTEP_FUNCTIONS", "testdata/cli/fewer");
    let server = Server::start(directory.path(), "127.0.0.1:0", &[fewer]);
    let list = server.done(&["invocations", "list"]);
    assert!(list.contains("Waiting") && list.contains("(function"), "{list}");
    pin_with(&server, "invocations-show-missing", &["invocations", "show"], &id);
}

/// Compares a command with an id, for which there is a placeholder.
fn pin_with(server: &Server, name: &str, arguments: &[&str], id: &str) {
    let output = server.run(&[arguments, &[id]].concat());
    server.pin(name, &[arguments, &["ID"]].concat(), &output);
}

#[test]
fn disagreements_are_reported_at_the_start() {
    let told = |more: &[(&str, &str)]| {
        let directory = tempfile::tempdir().unwrap();
        let saga = ("EVERSTEP_FUNCTIONS", "testdata/cli/config/saga");
        let server = Server::start(directory.path(), "127.0.0.1:0", &[&[saga], more].concat());
        let rules = server.said.iter().filter_map(|line| line.strip_prefix("warning["));
        rules.map(|line| line.split(']').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (unknown, missing) = ("unknown-function", "missing-compensation");
    assert_eq!(told(&[]), [unknown, missing, unknown, missing]);
    assert_eq!(told(&[("LAMBDA_ENDPOINT", "http://127.0.0.1:9")]), [missing, missing]);
}

#[test]
fn a_server_without_functions() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), "127.0.0.1:0", &[]);
    server.check("invoke-no-functions", &["invoke", "greet"]);
    server.check("invocations-no-functions", &["invocations", "list"]);
}

#[test]
fn signed() {
    let directory = tempfile::tempdir().unwrap();
    let keys = ("EVERSTEP_ACCESS_KEYS", "ME:secret");
    let server = Server::start(directory.path(), "127.0.0.1:0", &[FUNCTIONS, keys]);
    let invoke = ["invoke", "greet:$LATEST"];
    server.pin("invoke-unsigned", &invoke, &server.run(&invoke));
    let with = |arguments: &[&str]| server.command(arguments).envs([keys]).output().unwrap();
    assert!(with(&invoke).status.success());
    assert!(with(&["invocations", "list"]).status.success());
}
