//! What the HTTP server answers by itself, over a real connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use everstep_api::protocol::Operation;
use everstep_server::{HttpOptions, serve};
use serde_json::json;
use tokio::net::TcpListener;

use crate::fixture::Fixture;

/// Sends a request; its answer begins and ends so.
async fn check(fixture: &Fixture, request: &str, status: &str, end: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let sent = format!("{request}\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let exchange = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(sent.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = serve(listener, fixture.service.clone(), HttpOptions::default(), async {
        let _ = stopped.await;
    });
    let asking = async {
        let answer = exchange.await.expect("an answer");
        drop(stop);
        answer
    };
    let (answer, ()) = tokio::join!(asking, serving);
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
    assert!(answer.ends_with(end), "{request}: {answer}");
}

#[tokio::test]
async fn health_is_that_of_the_engine() {
    let request = "GET /health HTTP/1.1";
    let fixture = Fixture::new();
    let machine = fixture.machine("m").await;
    check(&fixture, request, "200", "{\"status\":\"ok\"}\n").await;
    let start = json!({ "stateMachineArn": machine });
    fixture.call("StartExecution", start.clone()).await;
    fixture.store.break_down();
    fixture.service.call(Operation::StartExecution, &start).await.expect_err("nothing is stored");
    check(&fixture, request, "503", "the disk is full\n").await;
}

#[tokio::test]
async fn web_pages_are_refused_wherever_they_call() {
    let fixture = Fixture::new();
    for line in ["POST / HTTP/1.1", "GET /health HTTP/1.1", "OPTIONS /elsewhere HTTP/1.1"] {
        let request = format!("{line}\r\nOrigin: http://evil.example");
        let end = "the host of the header 'Origin' is not that of 'Host'\"}";
        check(&fixture, &request, "403", end).await;
    }
}
