//! What the API costs through HTTP on loopback: `cargo build --release -p everstep-cli`, then
//! `cargo run --release -p everstep-crash --example http -- target/release/everstep [what]`.
//!
//! The server is a process of its own with a fresh directory; the clients are threads of this one, each
//! with one connection. docs/benchmarks.md keeps the figures.

mod client;
mod functions;
mod server;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::Client;
use serde_json::{Value, json};
use server::Server;

const USAGE: &str = "usage: http <everstep binary> [start|latency|activities|map|functions|idle]

  start        StartExecution of ten Pass states, 64 clients: executions a second, each durable
  latency      one client: from StartExecution to SUCCEEDED
  activities   chains of five activity tasks, 64 workflows and 64 workers
  map          a distributed Map of 10,000 items, STANDARD and EXPRESS children
  functions    a Python handler that does nothing: called, handed over, failing
  idle         time from the start of the process to the first answer, memory when idle

Without an argument, all of them. EVERSTEP_BENCH_DIR names the directory to write to.";

const CLIENTS: usize = 64;

/// Given the server's binary, prints what it finds.
type Measurement = fn(&str);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(binary) = arguments.first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let known: [(&str, Measurement); 6] = [
        ("idle", idle),
        ("start", start),
        ("latency", latency),
        ("activities", activities),
        ("map", map),
        ("functions", functions::run),
    ];
    let wanted = arguments.get(1).map(String::as_str);
    if wanted.is_some_and(|wanted| known.iter().all(|(name, _)| *name != wanted)) {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    for (name, run) in known {
        if wanted.is_none_or(|wanted| wanted == name) {
            run(binary);
        }
    }
    ExitCode::SUCCESS
}

fn idle(binary: &str) {
    let mut millis: Vec<f64> = (0..9).map(|_| Server::start(binary).answered_after_ms).collect();
    millis.sort_by(f64::total_cmp);
    let server = Server::start(binary);
    println!(
        "idle: first answer after {:.1} ms (median of 9, {:.1} to {:.1}); {:.1} MiB resident",
        millis[4],
        millis[0],
        millis[8],
        server.resident_mib()
    );
}

fn ten_passes() -> Value {
    let states = (0..10).map(|number| {
        let mut state = json!({ "Type": "Pass" });
        match number {
            9 => state["End"] = json!(true),
            _ => state["Next"] = json!(format!("S{}", number + 1)),
        }
        (format!("S{number}"), state)
    });
    json!({ "StartAt": "S0", "States": states.collect::<serde_json::Map<_, _>>() })
}

fn start(binary: &str) {
    const EACH: usize = 2000;
    let server = Server::start(binary);
    let machine = server.client().machine("bench", &ten_passes());
    let round = |name: &str, each: usize| {
        let (before, begun) = (server.cpu_seconds(), Instant::now());
        in_parallel(CLIENTS, |number| {
            let mut client = server.client();
            for count in 0..each {
                client.start(&machine, &format!("{name}-{number}-{count}"), &json!({ "n": count }));
            }
        });
        (begun.elapsed().as_secs_f64(), server.cpu_seconds() - before)
    };
    round("warm", 50);
    let mut rates = Vec::new();
    for number in 0..3 {
        let (seconds, cpu) = round(&format!("r{number}"), EACH);
        let count = (CLIENTS * EACH) as f64;
        rates.push((count / seconds, cpu * 1e6 / count));
    }
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let running = json!({ "stateMachineArn": machine, "statusFilter": "RUNNING" });
    let left = server.client().call("ListExecutions", &running);
    assert_eq!(left["executions"], json!([]), "each is over when its start is answered");
    println!(
        "start: {:.0} executions/s ({:.0} to {:.0}), {:.0} transitions/s, {:.0} µs of the server's CPU each; {CLIENTS} clients, \
         every one durable and over when it is answered",
        rates[1].0,
        rates[0].0,
        rates[2].0,
        rates[1].0 * 10.0,
        rates[1].1,
    );
}

fn latency(binary: &str) {
    let server = Server::start(binary);
    let mut client = server.client();
    let machine = client.machine("bench", &ten_passes());
    let mut micros: Vec<u128> = (0..2200)
        .map(|count| {
            let begun = Instant::now();
            let arn = client.start(&machine, &format!("e{count}"), &json!({}));
            client.wait(&arn, "SUCCEEDED", Duration::ZERO);
            begun.elapsed().as_micros()
        })
        .skip(200)
        .collect();
    micros.sort_unstable();
    println!(
        "latency: p50 {} µs, p99 {} µs from StartExecution to SUCCEEDED (DescribeExecution), one client",
        micros[micros.len() / 2],
        micros[micros.len() * 99 / 100]
    );
}

fn activities(binary: &str) {
    const WORKFLOWS: usize = 5000;
    const TASKS: usize = 5;
    let server = Server::start(binary);
    let mut client = server.client();
    let created = client.call("CreateActivity", &json!({ "name": "work" }));
    let activity = created["activityArn"].as_str().expect("an ARN").to_owned();
    let states = (0..TASKS).map(|number| {
        let mut state = json!({ "Type": "Task", "Resource": activity });
        match number == TASKS - 1 {
            true => state["End"] = json!(true),
            false => state["Next"] = json!(format!("T{}", number + 1)),
        }
        (format!("T{number}"), state)
    });
    let states: serde_json::Map<_, _> = states.collect();
    let machine = client.machine("chain", &json!({ "StartAt": "T0", "States": states }));
    // The worker of a workflow's last task starts the next one, so the same number is always open, without
    // polling.
    let (begun, over) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = |client: &mut Client| {
        let number = begun.fetch_add(1, Ordering::Relaxed);
        client.start(&machine, &format!("w{number}"), &json!({ "task": 1 }));
    };
    let (before, moment) = (server.cpu_seconds(), Instant::now());
    in_parallel(CLIENTS, |_| {
        let mut client = server.client();
        start(&mut client);
        while over.load(Ordering::Relaxed) < WORKFLOWS {
            let task = client.call("GetActivityTask", &json!({ "activityArn": activity }));
            let Some(token) = task["taskToken"].as_str() else { continue };
            let input: Value = serde_json::from_str(task["input"].as_str().unwrap_or("{}"))
                .expect("the input is JSON");
            let number = input["task"].as_u64().unwrap_or(0);
            let output = json!({ "task": number + 1 }).to_string();
            client.call("SendTaskSuccess", &json!({ "taskToken": token, "output": output }));
            if number == TASKS as u64 {
                over.fetch_add(1, Ordering::Relaxed);
                start(&mut client);
            }
        }
    });
    let (seconds, cpu) = (moment.elapsed().as_secs_f64(), server.cpu_seconds() - before);
    let tasks = (over.load(Ordering::Relaxed) * TASKS) as f64;
    println!(
        "activities: {:.0} chains of {TASKS} a second, {:.0} tasks/s, {:.0} µs of the server's CPU for each task; {CLIENTS} in flight",
        tasks / TASKS as f64 / seconds,
        tasks / seconds,
        cpu * 1e6 / tasks
    );
}

fn map(binary: &str) {
    const ITEMS: u32 = 10_000;
    for kind in ["STANDARD", "EXPRESS"] {
        let server = Server::start(binary);
        let mut client = server.client();
        let definition = json!({ "StartAt": "M", "States": { "M": {
            "Type": "Map",
            "ItemProcessor": {
                "ProcessorConfig": { "Mode": "DISTRIBUTED", "ExecutionType": kind },
                "StartAt": "P",
                "States": { "P": { "Type": "Pass", "End": true } },
            },
            "ResultPath": null,
            "End": true,
        } } });
        let machine = client.machine("map", &definition);
        let items: Vec<u32> = (0..ITEMS).collect();
        let (before, begun) = (server.cpu_seconds(), Instant::now());
        let arn = client.start(&machine, "m", &json!(items));
        client.wait(&arn, "SUCCEEDED", Duration::from_millis(2));
        let (seconds, cpu) = (begun.elapsed().as_secs_f64(), server.cpu_seconds() - before);
        println!(
            "map: {ITEMS} {kind} children in {:.2} s, {:.0} µs of the server's CPU each",
            seconds,
            cpu * 1e6 / f64::from(ITEMS)
        );
    }
}

pub(crate) fn in_parallel(threads: usize, work: impl Fn(usize) + Sync) {
    std::thread::scope(|scope| {
        for number in 0..threads {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
}

/// How long a client keeps asking.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);
