//! Time and memory of a Map by the number of its items: `cargo run --release --example map_memory
//! -p everstep-interpreter`. With a number as argument, runs the chain that often instead, for a
//! profiler.

use std::sync::Arc;
use std::time::Instant;

use everstep_asl::{Options, Source, parse};
use everstep_interpreter::{
    Dialect, Effect, Execution, Identity, Input, Limits, Occasion, Payload, Program, Status,
    TokenKey, effects,
};
use serde_json::{Value, json};

fn program(definition: &Value) -> Arc<Program> {
    let source = Source::new("definition.json", definition.to_string());
    let machine = parse(&source, &Options::default()).into_machine().expect("a valid definition");
    let limits = Limits { history_events: None, payload_bytes: usize::MAX, ..Limits::default() };
    Arc::new(Program { machine: Arc::new(machine), dialect: Dialect::Spec, limits })
}

fn execution(program: &Arc<Program>) -> Execution {
    let text = || Arc::from("run");
    let identity = Identity {
        execution_arn: text(),
        execution_name: text(),
        role_arn: text(),
        machine_arn: text(),
        machine_name: text(),
        token_key: TokenKey::default(),
    };
    Execution::new(program.clone(), identity)
}

/// Kibibytes this process holds now.
fn resident_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn map_of(count: usize) {
    let task = json!({ "Type": "Task", "Resource": "https://example.com/f", "End": true });
    let processor = json!({ "StartAt": "T", "States": { "T": task } });
    let state =
        json!({ "Type": "Map", "MaxConcurrency": 100, "ItemProcessor": processor, "End": true });
    let program = program(&json!({ "StartAt": "M", "States": { "M": state } }));
    let input = Payload::new((0..count).map(|n| json!({ "id": n })).collect());
    let (before, begin) = (resident_kib(), Instant::now());
    let mut execution = execution(&program);
    let occasion = Occasion::new(1_700_000_000_000, 1);
    let mut inputs = vec![Input::Start { input }];
    let (mut events, mut most) = (0, 0);
    while let Some(input) = inputs.pop() {
        let decided = execution.decide(input, occasion).expect("what is awaited");
        events += decided.len();
        for effect in effects(&execution, &decided) {
            if let Effect::ScheduleTask { attempt, parameters, .. } = effect {
                inputs.push(Input::TaskSucceeded { attempt, output: parameters });
            }
        }
        if events % 1024 < 4 {
            most = most.max(resident_kib() - before);
        }
    }
    assert!(matches!(execution.status(), Status::Succeeded { .. }));
    let (seconds, most) = (begin.elapsed().as_secs_f64(), most.max(resident_kib() - before));
    println!(
        "{count:>7} items  {events:>7} events  {:>8.1} ms  {:>6.2} µs/item  {most:>7} KiB  {:>4.0} bytes/item",
        seconds * 1e3,
        seconds * 1e6 / count as f64,
        most as f64 * 1024.0 / count as f64,
    );
}

fn chain(times: usize) {
    let states = (0..10).map(|at| {
        let next = format!("S{}", at + 1);
        let rule = json!({ "Variable": "$.order.total", "NumericGreaterThan": 100, "Next": next });
        let state = match at % 2 {
            0 => json!({ "Type": "Pass", "Next": next }),
            _ => json!({ "Type": "Choice", "Choices": [rule], "Default": next }),
        };
        (format!("S{at}"), state)
    });
    let mut states: Value = states.collect();
    states["S10"] = json!({ "Type": "Succeed" });
    let program = program(&json!({ "StartAt": "S0", "States": states }));
    let input = Payload::new(json!({ "order": { "total": 250, "text": "x".repeat(1000) } }));
    for _ in 0..times {
        let input = Input::Start { input: input.clone() };
        let mut execution = execution(&program);
        let events = execution.decide(input, Occasion::new(1_700_000_000_000, 1));
        let events = events.expect("it starts");
        assert_eq!(events.len(), 24);
    }
}

fn main() {
    if let Some(times) = std::env::args().nth(1).and_then(|text| text.parse().ok()) {
        return chain(times);
    }
    for count in [1_000, 10_000, 100_000] {
        map_of(count);
    }
}
