//! How fast executions move on, in memory: `cargo bench -p everstep-interpreter`.
//!
//! Figures are state transitions: states entered and left again.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use everstep_asl::{Options, Source, parse};
use everstep_interpreter::{
    Dialect, Event, Execution, Identity, Input, Limits, Occasion, Payload, Program, Status,
    TokenKey,
};
use serde_json::{Value, json};

fn program(definition: &Value) -> Arc<Program> {
    let source = Source::new("definition.json", definition.to_string());
    let machine = parse(&source, &Options::default()).into_machine().expect("a valid definition");
    let limits = Limits { history_events: None, payload_bytes: usize::MAX, ..Limits::default() };
    Arc::new(Program { machine: Arc::new(machine), dialect: Dialect::Spec, limits })
}

fn identity() -> Identity {
    let text = || Arc::from("arn:aws:states:us-east-1:123456789012:execution:machine:run");
    Identity {
        execution_arn: text(),
        execution_name: text(),
        role_arn: text(),
        machine_arn: text(),
        machine_name: text(),
        token_key: TokenKey::default(),
    }
}

fn run(program: &Arc<Program>, identity: &Identity, input: Payload) -> Vec<Event> {
    let mut execution = Execution::new(program.clone(), identity.clone());
    let events = execution.decide(Input::Start { input }, Occasion::new(1_700_000_000_000, 1));
    let events = events.expect("it starts");
    assert!(matches!(execution.status(), Status::Succeeded { .. }));
    events
}

/// Five Pass and five Choice states.
fn chain() -> Value {
    let mut states = json!({});
    for at in (0..10).step_by(2) {
        let (choice, next) = (format!("S{}", at + 1), format!("S{}", at + 2));
        states[format!("S{at}")] = json!({ "Type": "Pass", "Next": choice });
        let rule = json!({ "Variable": "$.order.total", "NumericGreaterThan": 100, "Next": next });
        let rare = json!({ "Variable": "$.order.state", "StringEquals": "rare", "Next": next });
        states[choice] = json!({ "Type": "Choice", "Choices": [rare, rule], "Default": next });
    }
    states["S10"] = json!({ "Type": "Succeed" });
    json!({ "StartAt": "S0", "States": states })
}

/// About 1 KiB.
fn order() -> Payload {
    let lines: Vec<Value> = (0..14)
        .map(|n| json!({ "id": n, "name": "a thing of some kind", "price": 9.5, "count": n }))
        .collect();
    Payload::new(
        json!({ "order": { "total": 250, "state": "new", "lines": lines }, "customer": "c-1" }),
    )
}

fn map_definition(selector: bool) -> Value {
    let processor = json!({ "StartAt": "P", "States": { "P": { "Type": "Pass", "End": true } } });
    let mut map = json!({ "Type": "Map", "ItemProcessor": processor, "End": true });
    if selector {
        map["ItemSelector"] = json!({ "item.$": "$$.Map.Item.Value", "at.$": "$$.Map.Item.Index" });
    }
    json!({ "StartAt": "M", "States": { "M": map } })
}

fn items(count: usize) -> Payload {
    Payload::new((0..count).map(|n| json!({ "id": n })).collect())
}

fn transitions(c: &mut Criterion) {
    let identity = identity();
    let mut group = c.benchmark_group("transitions");
    let (program_of_chain, input) = (program(&chain()), order());
    group.throughput(Throughput::Elements(11));
    group.bench_function("ten-state chain, 1 KiB", |b| {
        b.iter(|| black_box(run(&program_of_chain, &identity, input.clone())));
    });
    group.sample_size(10);
    for (count, selector) in
        [(1_000, false), (10_000, false), (100_000, false), (1_000, true), (10_000, true)]
    {
        let (program, input) = (program(&map_definition(selector)), items(count));
        let name = if selector { "map with ItemSelector" } else { "map" };
        group.throughput(Throughput::Elements(count as u64 + 1));
        group.bench_function(format!("{name} of {count}"), |b| {
            let run = |input| run(&program, &identity, input);
            b.iter_batched(
                || input.clone(),
                |input| black_box(run(input)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, transitions);
criterion_main!(benches);
