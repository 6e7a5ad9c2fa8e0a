//! The commands that speak to a server, with a real one: exit code, standard output and standard error
//! together, in `testdata/cli`. What is never the same twice is replaced.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::lines::Lines;
use support::server::Server;

const DEFINITIONS: &str = "testdata/cli/remote";

fn server() -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), "127.0.0.1:0", &[]);
    (directory, server)
}

fn file(name: &str) -> String {
    format!("{DEFINITIONS}/{name}")
}

#[test]
fn machines() {
    let (_directory, server) = server();
    let (hello, broken) = (file("hello.asl.json"), file("broken.asl.json"));
    server.check("machines-list-none", &["machines", "list"]);
    server.check("machines-create", &["machines", "create", &hello]);
    server.check("machines-create-broken", &["machines", "create", &broken]);
    let refund = file("refund.asl.yaml");
    server.check("machines-create-other", &["machines", "create", &refund, "--name", "hello"]);
    server.check("machines-create-json", &["machines", "create", &refund, "--json"]);
    server.check("machines-list", &["machines", "list"]);
    server.check("machines-show", &["machines", "show", "refund"]);
    server.check("machines-show-definition", &["machines", "show", "hello", "--definition"]);
    server.check("machines-show-json", &["machines", "show", "hello", "--json"]);
    server.check("machines-show-unknown", &["machines", "show", "helo"]);
    server.check("machines-update-nothing", &["machines", "update", "hello"]);
    server.check("machines-update", &["machines", "update", "hello", &refund, "--log", "error"]);
    server.check("machines-show-updated", &["machines", "show", "hello"]);
    server.check("machines-delete", &["machines", "delete", "hello"]);
    server.check("machines-delete-unknown", &["machines", "delete", "something-else"]);
}

#[test]
fn activities() {
    let (_directory, server) = server();
    server.check("activities-list-none", &["activities", "list"]);
    server.check("activities-create", &["activities", "create", "approve"]);
    server.check("activities-list", &["activities", "list"]);
    server.check("activities-delete-unknown", &["activities", "delete", "aprove"]);
    server.check("activities-delete", &["activities", "delete", "approve"]);
    server.check("activities-create-bad-name", &["activities", "create", "a b"]);
}

#[test]
fn executions_that_succeed() {
    let (_directory, server) = server();
    server.done(&["machines", "create", &file("hello.asl.json")]);
    let start = ["executions", "start", "hello", "--input", r#"{"n":1}"#, "--name", "one"];
    server.check("executions-start", &start);
    server.check("executions-watch-succeeded", &["executions", "watch", "one"]);
    let wait = ["executions", "start", "hello", "--input", r#"{"n":2}"#, "--name", "two", "--wait"];
    server.check("executions-start-wait", &wait);
    let json = ["executions", "start", "hello", "--name", "three", "--wait", "--json"];
    server.check("executions-start-wait-json", &json);
    let again = ["executions", "start", "hello", "--input", "[]", "--name", "one"];
    server.check("executions-start-again", &again);
    server
        .check("executions-start-not-json", &["executions", "start", "hello", "--input", "{n:1}"]);
    server.check("executions-list", &["executions", "list", "--limit", "2"]);
    let failed = ["executions", "list", "--machine", "hello", "--status", "failed"];
    server.check("executions-list-failed", &failed);
    server.check("executions-show", &["executions", "show", "one"]);
    server.check("executions-history", &["executions", "history", "one"]);
    let last = ["executions", "history", "one", "--reverse", "--limit", "1", "--full"];
    server.check("executions-history-last", &last);
    server.check("executions-show-unknown", &["executions", "show", "four"]);
    server.check("executions-redrive-succeeded", &["executions", "redrive", "one"]);

    // Another machine has one of that name too.
    server.done(&["machines", "create", &file("hello.asl.json"), "--name", "hi"]);
    server.done(&["executions", "start", "hi", "--name", "one", "--wait"]);
    server.check("executions-show-ambiguous", &["executions", "show", "one"]);
    server.done(&["executions", "show", "one", "--machine", "hi"]);
}

#[test]
fn an_execution_that_fails() {
    let (_directory, server) = server();
    server.done(&["machines", "create", &file("refund.asl.yaml")]);
    let input = r#"{"amount":50}"#;
    let start = ["executions", "start", "refund", "--input", input, "--name", "one", "--wait"];
    server.check("executions-start-failed", &start);
    server.check("executions-watch-failed", &["executions", "watch", "one"]);
    server.check("executions-show-failed", &["executions", "show", "one"]);
    server.check("executions-history-failed", &["executions", "history", "one"]);
    server.check("executions-redrive", &["executions", "redrive", "one"]);
}

/// What failed, why, how often it was tried, who takes it and who does not, and what follows.
#[test]
fn an_execution_that_is_retried() {
    let (_directory, server) = server();
    server.done(&["machines", "create", &file("retrying.asl.yaml")]);
    server.done(&["executions", "start", "retrying", "--name", "one"]);
    let story = ["executions", "show", "one", "--json"];
    let deadline = Instant::now() + Duration::from_secs(20);
    while !server.done(&story).contains("\"doing\": \"retrying\"") {
        assert!(Instant::now() < deadline, "it is not retried in time");
    }
    server.check("executions-show-retrying", &["executions", "show", "one"]);
}

#[test]
fn an_express_execution() {
    let (_directory, server) = server();
    server.done(&["machines", "create", &file("hello.asl.json"), "--type", "express"]);
    let fails = ["machines", "create", &file("refund.asl.yaml"), "--type", "express"];
    server.done(&fails);
    server.check("executions-express", &["executions", "start", "hello", "--wait"]);
    let input = r#"{"amount":50}"#;
    let fails = ["executions", "start", "refund", "--input", input, "--wait"];
    server.check("executions-express-failed", &fails);
}

/// Watched while it runs, while the server is killed and restarted, and until it is stopped.
#[test]
fn an_execution_that_is_watched() {
    let (directory, server) = server();
    server.done(&["activities", "create", "approve"]);
    server.done(&["machines", "create", &file("approval.asl.json")]);
    server.done(&["executions", "start", "approval", "--name", "one"]);
    server.check("executions-show-running", &["executions", "show", "one", "--json"]);
    let watch = ["executions", "watch", "one"];
    let mut watching =
        server.command(&watch).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = Lines::of(watching.stderr.take().unwrap());
    progress.next();

    let listen = server.url.strip_prefix("http://").unwrap().to_owned();
    drop(server);
    let server = Server::start(directory.path(), &listen, &[]);
    let why = ["--error", "Enough", "--cause", "nobody approves"];
    server.check("executions-stop", &[&["executions", "stop", "one"][..], &why].concat());
    let progress = progress.rest();
    let mut output = watching.wait_with_output().unwrap();
    // It may or may not poll while the server is away.
    let missed = "no connection to the server; retrying";
    let lines = progress.lines().filter(|line| !line.contains(missed));
    output.stderr = lines.map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    server.pin("executions-watch-stopped", &watch, &output);
}

#[test]
fn nothing_answers() {
    let (_directory, server) = server();
    let gone = Server {
        url: server.url.clone(),
        child: spawned(),
        announced: server.announced.clone(),
        said: Vec::new(),
    };
    drop(server);
    gone.check("remote-nothing-answers", &["machines", "list"]);
    gone.check("remote-not-a-url", &["machines", "list", "--endpoint", "localhost"]);
}

fn spawned() -> Child {
    Command::new("true").spawn().unwrap()
}

#[test]
fn signed() {
    let directory = tempfile::tempdir().unwrap();
    let keys = [("EVERSTEP_ACCESS_KEYS", "ME:secret")];
    let server = Server::start(directory.path(), "127.0.0.1:0", &keys);
    let list = ["machines", "list"];
    let with = |variables: &[(&str, &str)]| {
        server.command(&list).envs(variables.iter().copied()).output().unwrap()
    };
    server.pin("remote-unsigned", &list, &with(&[]));
    server.pin("remote-signed-wrong", &list, &with(&[("EVERSTEP_ACCESS_KEYS", "ME:guess")]));
    assert!(with(&keys).status.success());
    let aws = [("AWS_ACCESS_KEY_ID", "ME"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    assert!(with(&aws).status.success());
    server.pin("remote-half-a-key", &list, &with(&aws[..1]));
}
