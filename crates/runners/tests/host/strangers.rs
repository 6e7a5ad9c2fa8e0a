//! Others on the same machine: the Runtime API of a worker is for that worker alone.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use everstep_runners::Outcome;
use serde_json::json;

use crate::fixture::{Fixture, call, doing, until};

const NEXT: &str = "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n";
const RESPONSE: &str = "POST /2018-06-01/runtime/invocation/r-1/response HTTP/1.1\r\nHost: x\r\n\
                        Content-Length: 8\r\n\r\n\"stolen\"";
/// As `nobody`, whom Debian gives this number.
const OTHER_USER: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

async fn address(fixture: &Fixture) -> String {
    let environment = fixture.result(doing("environment", 0)).await;
    environment["AWS_LAMBDA_RUNTIME_API"].as_str().unwrap().to_owned()
}

/// What a request of this process is answered. One that is taken seriously is not answered in time, or with
/// somebody else's event.
fn asked_here(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // It may be closed already.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("it is waiting"),
        _ => String::from_utf8(answer).unwrap(),
    }
}

/// The same as another user; nothing if this one may not become one.
fn asked_by_another_user(address: &str, request: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return None;
    }
    let (host, port) = address.split_once(':').unwrap();
    let script =
        format!("exec 3<>/dev/tcp/{host}/{port}; printf '%b' \"$1\" >&3; timeout 10 cat <&3");
    let asked = Command::new("setpriv")
        .args(OTHER_USER)
        .args(["bash", "-c", &script, "bash", request])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert_ne!(asked.status.code(), Some(124), "it is waiting");
    Some(String::from_utf8(asked.stdout).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_process_gets_a_workers_events() {
    let fixture = Fixture::python(|function| function.concurrency_max = Some(1));
    let address = address(&fixture).await;
    assert_eq!(asked_here(&address, NEXT), "");
    if let Some(answer) = asked_by_another_user(&address, NEXT) {
        assert_eq!(answer, "");
    }
    let expected = "f: refused a connection to its Runtime API: it comes from another process";
    until("the event", || fixture.events.misdeeds() == [expected]).await;
    assert_eq!(fixture.result(json!("still mine")).await, "still mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_process_answers_for_a_worker() {
    let fixture = Fixture::python(|function| function.concurrency_max = Some(1));
    let address = address(&fixture).await;
    let directory = tempfile::tempdir().unwrap();
    let (begun, gate) = (directory.path().join("begun"), directory.path().join("gate"));
    let event = doing("wait for", json!([&begun, &gate]));
    let host = fixture.host.clone();
    let running = tokio::spawn(async move { host.invoke("f", call("r-1", &event)).await.outcome });
    until("the call", || begun.exists()).await;
    assert_eq!(asked_here(&address, RESPONSE), "");
    if let Some(answer) = asked_by_another_user(&address, RESPONSE) {
        assert_eq!(answer, "");
    }
    std::fs::write(gate, "").unwrap();
    let outcome = running.await.unwrap();
    let Outcome::Succeeded { payload } = outcome else { panic!("{outcome:?}") };
    assert_eq!(payload, "\"waited\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_user_is_named() {
    let fixture = Fixture::python(|_| {});
    let address = address(&fixture).await;
    if asked_by_another_user(&address, NEXT).is_some() {
        let expected = "f: refused a connection to its Runtime API: it comes from user 65534";
        until("the event", || fixture.events.misdeeds() == [expected]).await;
    }
}

/// A client that is started by a script, for example, or by a supervisor.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_has_started_may_use_its_runtime_api() {
    let fixture = Fixture::python(|_| {});
    let answer = fixture.result(doing("answer for, as a child", "r-2")).await;
    assert_eq!(answer, "HTTP/1.1 400 Bad Request");
}
