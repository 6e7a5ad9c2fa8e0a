//! Services behind a URL.

use std::sync::{Arc, Mutex};

use everstep_retry::Class;
use everstep_runners::{Function, Runtime};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::fixture::Fixture;

/// A server that gives every request the same answer, and keeps what was asked.
pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    /// `answer` is the status line and the headers of it, and its body.
    pub(crate) async fn serve(head: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let kept = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                kept.lock().unwrap().push(request);
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, asked }
    }
}

async fn read(stream: &mut tokio::net::TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header = |line: &str| {
                let line = line.to_ascii_lowercase();
                line.strip_prefix("content-length: ")?.parse::<usize>().ok()
            };
            let expected = head.lines().find_map(header).unwrap_or(0);
            if body.len() >= expected || length == 0 {
                return text;
            }
        }
    }
}

fn fixture(url: &str) -> Fixture {
    let headers = vec![("Authorization".to_owned(), "Bearer secret".to_owned())];
    let runtime =
        Runtime::Http { url: url.to_owned(), shown: "https://${env:URL}".to_owned(), headers };
    let mut function = Function::new("f", runtime, "/");
    function.timeout_ms = 10_000;
    Fixture::new(vec![function])
}

#[tokio::test(flavor = "multi_thread")]
async fn services_answer() {
    let stub = Stub::serve("200 OK", r#"{"b":2}"#).await;
    let fixture = fixture(&format!("{}/charge", stub.url));
    assert_eq!(fixture.result(json!({ "a": 1 })).await, json!({ "b": 2 }));
    let asked = stub.asked.lock().unwrap()[0].clone();
    assert!(asked.starts_with("POST /charge HTTP/1.1\r\n"), "{asked}");
    for header in [
        "content-type: application/json",
        "x-everstep-request-id: r-1",
        "x-everstep-attempt: 1",
        "authorization: Bearer secret",
    ] {
        assert!(asked.contains(header), "{header}: {asked}");
    }
    assert!(asked.ends_with(r#"{"a":1}"#), "{asked}");
    let empty = Stub::serve("204 No Content", "").await;
    assert_eq!(self::fixture(&empty.url).result(json!(1)).await, json!(null));
}

async fn check(head: &str, name: &str, class: Class, retry_after_ms: Option<u64>) {
    let stub = Stub::serve(head, r#"{"why":"full"}"#).await;
    let error = fixture(&stub.url).error(json!(1)).await;
    assert_eq!((&*error.error_type, error.class), (name, class));
    assert_eq!(error.retry_after_ms, retry_after_ms);
    assert_eq!(error.payload["body"], json!({ "why": "full" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn services_refuse() {
    let busy = "429 Too Many Requests\r\nRetry-After: 7";
    check(busy, "States.Http.StatusCode.429", Class::Runtime, Some(7_000)).await;
    let down = "503 Service Unavailable";
    check(down, "States.Http.StatusCode.503", Class::Runtime, None).await;
    check("404 Not Found", "States.Http.StatusCode.404", Class::User, None).await;
    check("302 Found\r\nLocation: /", "States.Http.StatusCode.302", Class::User, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_are_not_there_or_talk_nonsense() {
    let error = fixture("http://127.0.0.1:1").error(json!(1)).await;
    assert_eq!((&*error.error_type, error.class), ("States.Http.Socket", Class::Runtime));
    let stub = Stub::serve("200 OK", "hello").await;
    let error = fixture(&stub.url).error(json!(1)).await;
    assert_eq!(error.error_type, "Runtime.InvalidResponse");
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_do_not_answer_time_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut function =
        Function::new("f", Runtime::Http { shown: url.clone(), url, headers: Vec::new() }, "/");
    function.timeout_ms = 100;
    let error = Fixture::new(vec![function]).error(json!(1)).await;
    assert_eq!((&*error.error_type, error.class), ("Sandbox.Timedout", Class::Timeout));
}
