//! What a record costs: `cargo bench -p everstep-history`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use everstep_history::{Event, FrameId, Payload, journal};

const STATES: u32 = 10;

/// Ten Pass states, one after the other, with the same payload.
fn run(payload: &Payload) -> Vec<Event> {
    let at_ms = 1_700_000_000_000;
    let (frame, payload) = (FrameId::ROOT, || payload.clone());
    let mut events = vec![Event::ExecutionStarted { at_ms, input: payload() }];
    for state in 0..STATES {
        let next = (state + 1 < STATES).then_some(state + 1);
        events.push(Event::StateEntered { frame, at_ms, state, input: payload() });
        events.push(Event::StateExited { frame, at_ms, output: payload(), assigned: vec![], next });
    }
    events.push(Event::ExecutionSucceeded { at_ms, output: payload() });
    events
}

/// About 1 KiB.
fn order() -> Payload {
    let line = r#"{"id":7,"name":"a thing of some kind","price":9.5,"count":4}"#;
    let lines = vec![line; 16].join(",");
    Payload::from_text(&format!(r#"{{"total":250,"state":"new","lines":[{lines}]}}"#))
        .expect("valid JSON")
}

fn records(c: &mut Criterion) {
    let mut group = c.benchmark_group("journal");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(1));
    let payload = order();
    let events = run(&payload);
    let record = journal::encode(&events);
    let (text, bytes) = (payload.as_text().len(), record.len());
    println!("{} events, payload of {text} bytes: a record of {bytes} bytes", events.len());
    group.throughput(Throughput::Elements(events.len() as u64));
    group.bench_function("encode ten states, 1 KiB", |b| {
        b.iter(|| journal::encode(black_box(&events)));
    });
    let value = payload.value().clone();
    group.bench_function("encode ten states, 1 KiB, text not made yet", |b| {
        b.iter_batched(
            || run(&Payload::new(value.clone())),
            |events| (journal::encode(&events), events),
            criterion::BatchSize::SmallInput,
        );
    });
    group.bench_function("decode ten states, 1 KiB", |b| {
        b.iter(|| journal::decode(black_box(&record)).expect("a good record"));
    });
    group.bench_function("only check the payload", |b| {
        b.iter(|| Payload::from_text(black_box(payload.as_text())).expect("valid JSON"));
    });
    group.bench_function("only parse the payload", |b| {
        b.iter(|| serde_json::from_str::<serde_json::Value>(black_box(payload.as_text())));
    });
    group.finish();
}

criterion_group!(benches, records);
criterion_main!(benches);
