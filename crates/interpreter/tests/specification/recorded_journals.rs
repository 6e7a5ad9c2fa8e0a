//! Records journals for `testdata/journals/`, which `everstep-history` must be able to read for
//! ever. To add one, for example of a new kind of event, write its run below and call
//! `cargo test -p everstep-interpreter --test specification -- --ignored record_journals`.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use everstep_history::journal;
use everstep_interpreter::{Attempt, Event, Failure, FailureStage, Input, Payload, Refusal};
use serde_json::{Value, json};

use crate::world::*;

/// Files that are there are left as they are: they stand for what users have on their disks.
#[test]
#[ignore = "writes into testdata/"]
fn record_journals() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/journals/v1");
    fs::create_dir_all(&folder).unwrap();
    for (name, run) in runs() {
        let file = folder.join(name).with_extension("cbor");
        if !file.exists() {
            let records: Vec<_> = run.records.iter().filter(|record| !is_empty(record)).collect();
            fs::write(
                &file,
                records.iter().flat_map(|record| byte_string(record)).collect::<Vec<u8>>(),
            )
            .unwrap();
            let shown: Vec<String> = records.iter().map(|record| shown(record)).collect();
            fs::write(file.with_extension("txt"), shown.join("\n")).unwrap();
        }
    }
}

fn is_empty(record: &[u8]) -> bool {
    journal::decode(record).expect("a good record").is_empty()
}

/// CBOR, with a length of four bytes.
fn byte_string(record: &[u8]) -> Vec<u8> {
    let length = u32::try_from(record.len()).expect("a short record");
    [&[0x5a], &length.to_be_bytes()[..], record].concat()
}

fn shown(record: &[u8]) -> String {
    journal::decode(record)
        .expect("a good record")
        .iter()
        .map(|event| format!("{event:?}\n"))
        .collect()
}

fn runs() -> Vec<(&'static str, Run)> {
    vec![
        ("chain", chain()),
        ("order", order()),
        ("worker", worker()),
        ("branches", branches()),
        ("items", items()),
        ("items-failed", items_failed()),
        ("map-run", map_run()),
        ("map-run-redriven", map_run_redriven()),
        ("map-inputs", map_inputs()),
        ("time-out", time_out()),
        ("stopped", stopped()),
    ]
}

fn chain() -> Run {
    let definition = machine(json!({
        "First": pass(json!({ "Next": "Second" })),
        "Second": pass(json!({ "Result": { "größe": 1.5 }, "ResultPath": "$.more", "Next": "Third" })),
        "Third": pass(json!({ "Assign": { "kept.$": "$.more", "zero": -0.0 }, "Next": "Rest" })),
        "Rest": { "Type": "Wait", "Seconds": 86400, "Next": "Done" },
        "Done": { "Type": "Succeed" }
    }));
    world(definition)
        .input(json!({ "text": "a\"b\\c\n\u{1}😀", "list": [null, true, -1, u64::MAX] }))
        .run()
}

/// A retry, a catcher, an expression without a value.
fn order() -> Run {
    let retry = json!([{ "ErrorEquals": ["Busy"], "IntervalSeconds": 2, "MaxAttempts": 1 }]);
    let catch = json!([{ "ErrorEquals": ["Other"], "Next": "Repair" },
                       { "ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Repair" }]);
    let definition = machine(json!({
        "Charge": task(json!({
            "TimeoutSeconds": 30,
            "HeartbeatSeconds": 5,
            "Credentials": { "RoleArn": "arn:aws:iam::123456789012:role/charge" },
            "Retry": retry,
            "Catch": catch,
            "Next": "Repair"
        })),
        "Repair": task(json!({ "Next": "Compute" })),
        "Compute": {
            "Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $nothing.at.all + 'text' %}", "End": true
        }
    }));
    let charge = [error("Busy"), beats(4, 2, error("Busy"))];
    world(definition).input(json!({ "total": 250 })).task("Charge", charge).run()
}

fn attempts(run: &Run) -> impl Iterator<Item = Attempt> {
    run.calls.iter().map(|call| call.attempt)
}

/// What workers and services report, and a failure at each stage.
fn worker() -> Run {
    let work = task(json!({
        "Resource": "arn:aws:states:::ecs:runTask.sync",
        "Parameters": { "TaskDefinition": "work" },
        "Retry": [{ "ErrorEquals": ["States.ALL"], "IntervalSeconds": 1 }]
    }));
    let hangs = [Outcome::Hangs, Outcome::Hangs, Outcome::Hangs, Outcome::Hangs];
    let mut run = world(machine(json!({ "Work": work }))).aws().task("Work", hangs).run();
    for stage in [FailureStage::Schedule, FailureStage::Start, FailureStage::Submit] {
        let attempt = attempts(&run).last().expect("a task");
        let failure = Failure { error: None, cause: Some(Arc::from("not ready")) };
        run.give(Input::TaskFailed { attempt, failure, stage }).expect("it is awaited");
        run.go_on();
    }
    let attempt = attempts(&run).last().expect("a task");
    let text = |text| Payload::from_text(text).expect("valid JSON");
    run.give(Input::TaskStarted { attempt, worker: Some(Arc::from("worker-1")) })
        .expect("it is awaited");
    run.give(Input::TaskSubmitted { attempt, output: text("{ \"id\": 1e3 }") })
        .expect("it is awaited");
    run.give(Input::TaskSucceeded { attempt, output: text("{\"a\": 1,\n \"a\": \"\\u00e9\"}") })
        .expect("it is awaited");
    run.output();
    run
}

/// Branches of which one fails, and a redrive with which all succeed.
fn branches() -> Run {
    let branches = json!([
        machine(json!({ "Good": task(json!({})) })),
        machine(json!({ "Bad": task(json!({})) })),
        machine(json!({ "Slow": task(json!({})) }))
    ]);
    let definition = machine(json!({ "All": parallel(branches, json!({})) }));
    let slow = [Outcome::Hangs, ok(json!("slow"))];
    let bad = [after(1.0, error("Boom")), ok(json!("better"))];
    let mut run = world(definition).task("Bad", bad).task("Slow", slow).run();
    run.redrive();
    run.output();
    run
}

/// Items of which one fails while another runs, in a Map that is retried.
fn items() -> Run {
    let each = machine(json!({ "Each": task(json!({})) }));
    let extra =
        json!({ "MaxConcurrency": 2, "Retry": [{ "ErrorEquals": ["Boom"], "MaxAttempts": 1 }] });
    let outcomes = [ok(json!(1)), error("Boom"), Outcome::Hangs];
    let again = (0..3).map(|n| ok(json!({ "done": n })));
    let run = world(machine(json!({ "Map": map(each, extra) })))
        .input(json!([{ "id": 1 }, { "id": 2 }, { "id": 3 }]))
        .task("Each", outcomes.into_iter().chain(again))
        .run();
    run.output();
    run
}

fn items_failed() -> Run {
    let each = machine(json!({ "Each": task(json!({})) }));
    let catch = json!({ "Catch": [{ "ErrorEquals": ["Boom"], "Next": "After" }] });
    let definition = machine(json!({ "Map": map(each, catch), "After": fail("Wrong") }));
    world(definition).input(json!([1])).task("Each", [error("Boom")]).run()
}

/// Children of a distributed Map: the dataset cannot be read, then all is well.
fn map_run() -> Run {
    let mut processor = machine(json!({ "Each": pass(json!({})) }));
    processor["ProcessorConfig"] = json!({ "Mode": "DISTRIBUTED", "ExecutionType": "STANDARD" });
    let retry = json!([{ "ErrorEquals": ["States.ALL"], "MaxAttempts": 1 }]);
    let map = json!({ "Type": "Map", "ItemProcessor": processor, "Retry": retry, "End": true });
    let mut run = world(machine(json!({ "Map": map }))).input(json!([10, 20])).run();
    let attempt = |run: &Run| run.events.iter().rev().find_map(map_run_of).expect("a Map run");
    let failure = Failure::new("States.ItemReaderFailed", "no such object");
    let first = attempt(&run);
    run.give(Input::MapRunFailed { attempt: first, failure }).expect("it is awaited");
    run.go_on();
    let children = vec![Ok(Payload::new(json!("ten"))), Ok(Payload::new(json!("twenty")))];
    let second = attempt(&run);
    run.give(Input::MapRunFinished { attempt: second, children }).expect("it is awaited");
    run.output();
    run
}

/// The inputs of the children are selected in several turns.
fn map_inputs() -> Run {
    let mut processor = machine(json!({ "Each": pass(json!({})) }));
    processor["ProcessorConfig"] = json!({ "Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS" });
    let map = json!({ "Type": "Map", "ItemProcessor": processor, "End": true });
    let definition = machine(json!({ "Map": map }));
    let mut run = world(definition).input(json!([1, 2, 3])).turns_of(1).run();
    let attempt = run.events.iter().rev().find_map(map_run_of).expect("a Map run");
    let children = [10, 20, 30].map(|output| Ok(Payload::new(json!(output)))).into();
    run.give(Input::MapRunFinished { attempt, children }).expect("it is awaited");
    assert_eq!(run.output(), json!([10, 20, 30]));
    run
}

/// More items fail than may; a redrive continues the same Map Run.
fn map_run_redriven() -> Run {
    let mut processor = machine(json!({ "Each": pass(json!({})) }));
    processor["ProcessorConfig"] = json!({ "Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS" });
    let map = json!({
        "Type": "Map",
        "ItemProcessor": processor,
        "MaxConcurrency": 3,
        "ToleratedFailureCount": 1,
        "ToleratedFailurePercentage": 12.5,
        "End": true,
    });
    let mut run = world(machine(json!({ "Map": map }))).input(json!([10, 20])).run();
    let attempt = |run: &Run| run.events.iter().rev().find_map(map_run_of).expect("a Map run");
    let (first, failure) = (attempt(&run), everstep_interpreter::map_run::too_many_failures());
    run.give(Input::MapRunFailed { attempt: first, failure }).expect("it is awaited");
    run.give(Input::Redrive).expect("it failed");
    let second = attempt(&run);
    let children = vec![Ok(Payload::new(json!("ten"))), Ok(Payload::new(json!("twenty")))];
    assert_eq!(
        run.give(Input::MapRunFinished { attempt: first, children: Vec::new() }),
        Err(Refusal::StaleAttempt)
    );
    run.give(Input::MapRunFinished { attempt: second, children }).expect("it is awaited");
    assert_eq!(run.output(), json!(["ten", "twenty"]), "what the first one says counts no more");
    run
}

fn map_run_of(event: &Event) -> Option<Attempt> {
    match event {
        Event::MapRunStarted { attempt, .. } | Event::MapRunRedriven { attempt, .. } => {
            Some(*attempt)
        }
        _ => None,
    }
}

/// A missed heartbeat, then no more time.
fn time_out() -> Run {
    let retry = json!([{ "ErrorEquals": ["States.Timeout"], "MaxAttempts": 1 }]);
    let state = task(json!({ "TimeoutSeconds": 600, "HeartbeatSeconds": 10, "Retry": retry }));
    let mut definition: Value = machine(json!({ "Slow": state }));
    definition["TimeoutSeconds"] = json!(15);
    world(definition).task("Slow", [Outcome::Hangs, Outcome::Hangs]).run()
}

fn stopped() -> Run {
    let definition = machine(json!({ "Slow": task(json!({})) }));
    world(definition).task("Slow", [Outcome::Hangs]).stop_after(3).run()
}
