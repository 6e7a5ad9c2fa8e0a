//! Functions through the API: a Python handler that does nothing, called and handed over.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::Server;
use crate::{DEADLINE, in_parallel};

const CONFIGURATION: &str = r#"
version: 1
functions:
  nothing: { runtime: python3.11, handler: app.nothing, codeUri: ., concurrency: 8 }
  failing:
    runtime: python3.11
    handler: app.failing
    codeUri: .
    retry: { strategy: fixedDelay, maxRetryCount: 0, delayInterval: "00:00:00" }
    onFailure: function:sink
  sink: { runtime: python3.11, handler: app.sink, codeUri: . }
  idle: { runtime: python3.11, handler: app.nothing, codeUri: ., concurrency: 1 }
"#;

const HANDLERS: &str = r#"
import json, os, time

def nothing(event, context):
    return event

def failing(event, context):
    raise ValueError(repr(time.time()))

def sink(event, context):
    seconds = time.time() - float(event["responsePayload"]["errorMessage"])
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "seconds.txt"), "a") as file:
        file.write(f"{seconds}\n")
"#;

pub(crate) fn run(binary: &str) {
    let project = crate::server::directory();
    fs::write(project.path().join("everstep.yaml"), CONFIGURATION).expect("it can be written");
    fs::write(project.path().join("app.py"), HANDLERS).expect("it can be written");
    let server = Server::with_functions(binary, Some(project.path()));
    cold(&server);
    warm(&server, 1, 3000);
    warm(&server, 8, 1000);
    accepted(&server);
    to_destination(&server, project.path());
}

fn cold(server: &Server) {
    let begun = Instant::now();
    let (status, _) =
        server.client().invoke("nothing", "RequestResponse", "{}").expect("it answers");
    assert_eq!(status, 200);
    println!(
        "functions: the first call of a Python handler takes {:.0} ms",
        millis(begun.elapsed())
    );
}

fn warm(server: &Server, clients: usize, each: usize) {
    let times = std::sync::Mutex::new(Vec::new());
    // Every client's process is there before the clock runs.
    in_parallel(clients, |_| {
        server.client().invoke("nothing", "RequestResponse", "{}").expect("it answers");
    });
    let (before, begun) = (server.cpu_seconds(), Instant::now());
    in_parallel(clients, |_| {
        let mut client = server.client();
        let mut own = Vec::with_capacity(each);
        for _ in 0..each {
            let moment = Instant::now();
            let answer = client.invoke("nothing", "RequestResponse", "{}").expect("it answers");
            assert_eq!(answer.0, 200, "{}", answer.1);
            own.push(moment.elapsed());
        }
        times.lock().expect("no client panics").extend(own);
    });
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), server.cpu_seconds() - before);
    let mut times = times.into_inner().expect("no client panics");
    times.sort_unstable();
    let count = times.len() as f64;
    println!(
        "functions: {clients} at a time, warm: {:.0} calls/s, p50 {:.2} ms, p99 {:.2} ms, {:.0} µs of the server's CPU each",
        count / seconds,
        millis(times[times.len() / 2]),
        millis(times[times.len() * 99 / 100]),
        cpu * 1e6 / count
    );
}

fn accepted(server: &Server) {
    const CLIENTS: usize = 64;
    const EACH: usize = 200;
    let begun = Instant::now();
    in_parallel(CLIENTS, |_| {
        let mut client = server.client();
        for _ in 0..EACH {
            let (status, body) = client.invoke("idle", "Event", "{}").expect("it answers");
            assert_eq!(status, 202, "{body}");
        }
    });
    let rate = (CLIENTS * EACH) as f64 / begun.elapsed().as_secs_f64();
    println!(
        "functions: {rate:.0} asynchronous invocations/s accepted, each durable; {CLIENTS} clients"
    );
}

fn to_destination(server: &Server, project: &Path) {
    const COUNT: usize = 200;
    let mut client = server.client();
    let begun = Instant::now();
    let file = project.join("seconds.txt");
    let lines = || fs::read_to_string(&file).unwrap_or_default().lines().count();
    for number in 0..COUNT {
        let (status, body) = client.invoke("failing", "Event", "{}").expect("it answers");
        assert_eq!(status, 202, "{body}");
        while lines() <= number {
            assert!(begun.elapsed() < DEADLINE, "destinations are not reached in time");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let text = fs::read_to_string(&file).unwrap_or_default();
    let mut seconds: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |share: usize| seconds[(seconds.len() * share / 100).min(seconds.len() - 1)] * 1000.0;
    println!(
        "functions: from the exception to the first line of its destination p50 {:.1} ms, p99 {:.1} ms",
        at(50),
        at(99)
    );
    let dead = client.call_own("ListInvocations", &json!({ "deadLetters": true, "maxResults": 1 }));
    assert_eq!(dead["invocations"].as_array().map(Vec::len), Some(1));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
