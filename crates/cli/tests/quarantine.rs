//! An execution that ends the server again and again is left alone, and the server serves the others.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};
use support::server::Server;
use support::until;

/// Waits, and evaluates an expression for a second or two.
fn slow() -> String {
    let expression = "{% $sum($map([1..400000], function($v) { $v % 7 })) %}";
    json!({"QueryLanguage": "JSONata", "StartAt": "Wait", "States": {
        "Wait": {"Type": "Wait", "Seconds": 1, "Next": "Slow"},
        "Slow": {"Type": "Pass", "Output": expression, "End": true},
    }})
    .to_string()
}

/// Kills the server while it decides on something.
fn kill_while_it_decides(server: Server, data: &Path) {
    let is_noted =
        || fs::read(data.join("in-flight")).is_ok_and(|notes| notes.iter().any(|byte| *byte != 0));
    until("nothing is decided", is_noted);
    drop(server);
}

fn quarantined(server: &Server) -> Vec<Value> {
    let answer = server.done(&["executions", "quarantined", "--json"]);
    let mut answer: Value = serde_json::from_str(&answer).unwrap();
    serde_json::from_value(answer["executions"].take()).unwrap()
}

fn get(server: &Server, path: &str) -> (u16, Value) {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn status(server: &Server, name: &str) -> String {
    let described: Value =
        serde_json::from_str(&server.done(&["executions", "show", name, "--json"])).unwrap();
    described["status"].as_str().unwrap().to_owned()
}

#[test]
fn an_execution_that_ends_the_server_three_times_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let definition = directory.path().join("slow.asl.json");
    fs::write(&definition, slow()).unwrap();
    let server = Server::start(&data, "127.0.0.1:0", &[]);
    server.done(&["machines", "create", definition.to_str().unwrap()]);
    server.done(&["executions", "start", "slow", "--name", "one"]);
    assert_eq!(quarantined(&server), [] as [Value; 0]);
    assert_eq!(get(&server, "/ready").1["quarantined"]["executions"], 0);
    kill_while_it_decides(server, &data);
    let mut kills = 1;
    let server = loop {
        let server = Server::start(&data, "127.0.0.1:0", &[]);
        if !quarantined(&server).is_empty() {
            break server;
        }
        assert!(kills < 10, "it is continued for ever");
        kill_while_it_decides(server, &data);
        kills += 1;
    };
    assert!(kills >= 3, "quarantined after {kills}");

    // It is named everywhere, and can be looked at.
    let arn = "arn:aws:states:us-east-1:123456789012:execution:slow:one";
    assert_eq!(quarantined(&server)[0]["executionArn"], arn);
    assert!(server.said[0].starts_with(&format!("warning: execution {arn} is quarantined: ")));
    assert_eq!(get(&server, "/health"), (200, json!({"status": "ok"})));
    let ready = json!({"status": "ready", "quarantined": {"executions": 1, "invocations": 0, "first": [arn]}});
    assert_eq!(get(&server, "/ready"), (200, ready));
    server.check("executions-quarantined", &["executions", "quarantined"]);
    server.check("executions-quarantined-history", &["executions", "history", "one"]);

    // The others run.
    let hello = "testdata/cli/remote/hello.asl.json";
    server.done(&["machines", "create", hello]);
    server.done(&["executions", "start", "hello", "--name", "other", "--wait"]);
    assert_eq!(
        (status(&server, "one"), status(&server, "other")),
        ("RUNNING".into(), "SUCCEEDED".into())
    );

    // Nothing has changed after a clean stop. Strangers learn no names.
    let mut server = server;
    server.stop();
    let mut server = Server::start(&data, "127.0.0.1:0", &[("EVERSTEP_ACCESS_KEYS", "key:secret")]);
    let counts = json!({"executions": 1, "invocations": 0});
    assert_eq!(get(&server, "/ready").1["quarantined"], counts);
    server.stop();
    let server = Server::start(&data, "127.0.0.1:0", &[]);
    assert_eq!(quarantined(&server).len(), 1);
    server.check("executions-release", &["executions", "release", "one"]);
    until("it does not continue", || status(&server, "one") != "RUNNING");
    assert_eq!(quarantined(&server), [] as [Value; 0]);
    server.check("executions-release-again", &["executions", "release", "one"]);
    server.check(
        "executions-release-unknown",
        &["executions", "release", "arn:aws:states:us-east-1:123456789012:execution:slow:two"],
    );
}
