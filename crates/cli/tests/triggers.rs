//! The commands for triggers, with a real server that runs those of `testdata/cli/triggers`: exit code, standard output
//! and standard error together, in `testdata/cli`. What is never the same twice is replaced.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use support::check;
use support::server::Server;

fn server() -> (tempfile::TempDir, Server) {
    let directory = tempfile::tempdir().unwrap();
    let triggers = ("EVERSTEP_FUNCTIONS", "testdata/cli/triggers");
    let server = Server::start(directory.path(), "127.0.0.1:0", &[triggers]);
    (directory, server)
}

fn shown(server: &Server, name: &str) -> Value {
    serde_json::from_str(&server.done(&["triggers", "show", name, "--json"])).unwrap()
}

#[test]
fn explain() {
    let example = "--config examples/triggers --after 2026-03-27T12:00:00Z";
    check("explain-trigger", &format!("explain nightly {example}"));
    check("explain-trigger-every", &format!("explain often {example}"));
    check("explain-trigger-http", &format!("explain orders {example}"));
    check("explain-trigger-file", &format!("explain inbox {example}"));
    check("explain-trigger-json", &format!("explain nightly --json {example}"));
    check("explain-trigger-unknown", &format!("explain nigthly {example}"));
    check(
        "explain-trigger-both",
        "explain Timed --config testdata/cli/triggers --after 2026-01-01T00:00:00Z",
    );
    check("explain-trigger-not-a-time", "explain nightly --after noon");
}

#[test]
fn check_triggers() {
    check("check-triggers", "check examples/triggers");
}

#[test]
fn help() {
    check("help-triggers", "triggers --help");
    check("help-triggers-fire", "triggers fire --help");
}

#[test]
fn list_pause_and_resume() {
    let (_directory, server) = server();
    server.check("triggers-list", &["triggers", "list"]);
    server.check("triggers-pause", &["triggers", "pause", "yearly"]);
    assert_eq!(shown(&server, "yearly")["state"], "Paused");
    server.check("triggers-list-paused", &["triggers", "list"]);
    server.check("triggers-resume", &["triggers", "resume", "yearly"]);
    server.check("triggers-resume-disabled", &["triggers", "resume", "off"]);
    assert_eq!(shown(&server, "yearly")["state"], "Running");
    server.check("triggers-unknown", &["triggers", "pause", "yearli"]);
}

#[test]
fn fire_and_show() {
    let (_directory, server) = server();
    server.check("triggers-show-new", &["triggers", "show", "yearly"]);
    let id = server.done(&["triggers", "fire", "yearly"]);
    support::until("it has not run", || shown(&server, "yearly")["counters"]["succeeded"] == 1);
    let invocation = server.done(&["invocations", "show", id.trim(), "--json"]);
    let invocation: Value = serde_json::from_str(&invocation).unwrap();
    assert_eq!(invocation["payload"]["scheduledFor"], Value::Null);
    server.done(&["triggers", "fire", "broken", "--payload", r#"{"n":1}"#]);
    support::until("it has not failed", || shown(&server, "broken")["counters"]["failed"] == 1);
    server.check("triggers-show-failed", &["triggers", "show", "broken"]);
    server.check("triggers-letters", &["deadletters", "list", "--source", "broken"]);
    server.check("triggers-fire-empty", &["triggers", "fire", "broken"]);
    server.check("triggers-fire-not-json", &["triggers", "fire", "broken", "--payload", "{"]);
}

#[test]
fn a_server_without_triggers() {
    let directory = tempfile::tempdir().unwrap();
    let functions = ("EVERSTEP_FUNCTIONS", "testdata/cli/functions");
    let server = Server::start(directory.path(), "127.0.0.1:0", &[functions]);
    server.check("triggers-none", &["triggers", "list"]);
    server.check("triggers-none-show", &["triggers", "show", "x"]);
}
