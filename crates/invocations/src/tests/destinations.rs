//! What is delivered to destinations, and that it is delivered.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::harness::{Harness, error, fails, fixed, locked, policy, settings, success};
use crate::layout;
use crate::message::Mode;
use crate::{Filter, FunctionSettings, Outcome, Reason, SourceKind, State, Target};
use everstep_retry::Delay;
use everstep_store::{Batch, Space};

fn routed(name: &str, policy: everstep_retry::Policy) -> FunctionSettings {
    let mut settings = settings(name, policy);
    settings.terms.on_success = vec![Target::from("queue:good")];
    settings.terms.on_failure = vec![Target::from("queue:bad")];
    settings
}

fn lambda() -> everstep_retry::Policy {
    policy(Some(2), Delay::Listed { ms: vec![60_000, 120_000] })
}

/// The record of an invocation that ends so, as `testdata/invocations` has it.
fn check(name: &str, settings: FunctionSettings, outcome: Option<Outcome>, target: &str) {
    let mut harness = Harness::new();
    harness.script.set("my-function", settings, Arc::new(move |_| outcome.clone()));
    harness
        .accept("my-function", "{\"ORDER_IDS\": [\"9e07af03-ce31-4ff3-xmpl-36dce652cb4f\", 1.50]}");
    harness.pass(1000.0);
    let deliveries = locked(&harness.outside.deliveries);
    assert_eq!(deliveries.iter().map(|it| it.target.to_string()).collect::<Vec<_>>(), [target]);
    let found = String::from_utf8(deliveries[0].record.to_vec()).expect("text");
    let value: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    assert!(value["everstep"]["attempts"].is_array(), "{name}");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/invocations");
    let file = folder.join(format!("{name}.json"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &found).expect("written");
    }
    let expected = fs::read_to_string(&file).expect("an expectation");
    assert_eq!(found, expected, "{name}");
}

#[test]
fn records_are_those_of_aws() {
    check("success", routed("my-function", lambda()), success("{\"total\": 3.0}"), "queue:good");
    check(
        "retries-exhausted",
        routed("my-function", lambda()),
        error("OutOfStockError"),
        "queue:bad",
    );
    let mut aged = routed("my-function", lambda());
    aged.event_age_max_ms = Some(60_000);
    check("event-age-exceeded", aged, error("E"), "queue:bad");
    let mut forbidden = routed("my-function", lambda());
    forbidden.concurrency = 0;
    check("zero-reserved-concurrency", forbidden, None, "queue:bad");
}

#[test]
fn a_record_is_no_larger_than_its_destination_can_take() {
    let mut harness = Harness::new();
    let mut settings = settings("f", fixed(0, 0));
    let targets = ["queue:narrow", "queue:wide", "function:f"].map(Target::from);
    settings.terms.on_success = targets.to_vec();
    harness.script.set("f", settings, Arc::new(|_| success(&format!("\"{}\"", "x".repeat(600)))));
    harness.accept("f", "{}");
    harness.pass(1000.0);
    for (target, left_out) in [("queue:narrow", true), ("queue:wide", false)] {
        let deliveries = locked(&harness.outside.deliveries);
        let found =
            deliveries.iter().find(|it| it.target.to_string() == target).expect("it was delivered");
        let record: serde_json::Value = serde_json::from_slice(&found.record).expect("JSON");
        assert_eq!(record["responsePayload"].is_null(), left_out, "{target}");
        let expected = if left_out {
            serde_json::json!(["requestPayload", "responsePayload"])
        } else {
            serde_json::Value::Null
        };
        assert_eq!(record["everstep"]["leftOut"], expected, "{target}");
    }
}

#[test]
fn who_is_told_is_shown() {
    let mut harness = Harness::new();
    let mut settings = routed("f", fixed(0, 0));
    let edge = crate::Edge { function: "g".to_owned(), input: crate::EdgeInput::Error };
    settings.terms.next = vec![edge];
    harness.script.set("f", settings, fails(9));
    *locked(&harness.outside.down) = true;
    let id = harness.accept("f", "{}");
    let to = |on: &str, kind: &str, target: &str| serde_json::json!({ "on": on, "kind": kind, "target": target });
    let before = crate::Invocation { state: State::Running, ..harness.invocation(id) };
    let expected = [
        to("Success", "destination", "queue:good"),
        to("Failure", "destination", "queue:bad"),
        to("Failure", "next", "function:g"),
    ];
    assert_eq!(before.to_json()["destinations"], serde_json::json!(expected));

    let route = |target: &str, kind: &str, delivered: bool| {
        let mut route = to("Failure", kind, target);
        route["delivered"] = delivered.into();
        route
    };
    harness.script.set("g", self::settings("g", fixed(0, 0)), fails(0));
    harness.pass(1.0);
    let expected = [route("queue:bad", "destination", false), route("function:g", "next", true)];
    assert_eq!(harness.invocation(id).to_json()["destinations"], serde_json::json!(expected));
}

#[test]
fn without_concurrency_nothing_runs() {
    let mut harness = Harness::new();
    let mut forbidden = routed("my-function", lambda());
    forbidden.concurrency = 0;
    harness.script.set("f", forbidden, fails(0));
    let id = harness.accept("f", "{}");
    harness.settle();
    assert_eq!(harness.starts("f").len(), 0);
    assert_eq!(locked(&harness.outside.deliveries).len(), 1);
    let reason = Reason::ZeroReservedConcurrency;
    assert_eq!(harness.invocation(id).state, State::Exhausted { reason });
    assert!(harness.invocation(id).is_routed() && harness.invocation(id).dead);
}

#[test]
fn a_destination_that_was_down_is_told_later_and_once() {
    let mut harness = Harness::new();
    harness.script.set("f", routed("f", fixed(0, 0)), fails(9));
    *locked(&harness.outside.down) = true;
    let id = harness.accept("f", "{}");
    harness.pass(600.0);
    assert!(!harness.invocation(id).is_routed());
    let tries = locked(&harness.outside.deliveries).len();
    assert!((8..20).contains(&tries), "{tries} tries in ten minutes: it backs off");
    *locked(&harness.outside.down) = false;
    harness.pass(600.0);
    assert!(harness.invocation(id).is_routed());
    let deliveries = locked(&harness.outside.deliveries);
    assert!(deliveries.iter().all(|delivery| *delivery == deliveries[0]), "the same each time");
    let count = deliveries.len();
    drop(deliveries);
    harness.open();
    harness.pass(600.0);
    assert_eq!(locked(&harness.outside.deliveries).len(), count, "nothing after it was confirmed");
}

#[test]
fn more_deliveries_than_there_is_room_for_wait_in_the_store() {
    let mut harness = Harness::new();
    harness.settings.shards.deliveries_max = 4;
    harness.open();
    harness.script.set("f", routed("f", fixed(0, 0)), fails(0));
    *locked(&harness.outside.down) = true;
    for _ in 0..50 {
        harness.accept("f", "{}");
    }
    harness.settle();
    assert!(locked(&harness.outside.deliveries).len() <= 16, "four for each shard");
    *locked(&harness.outside.down) = false;
    harness.pass(600.0);
    assert!(harness.all(&Filter::default()).iter().all(|one| one.is_routed()));
}

#[test]
fn a_destination_that_is_down_delays_no_other() {
    let mut harness = Harness::new();
    harness.settings.shards.deliveries_max = 4;
    harness.open();
    harness.script.set("f", routed("f", fixed(0, 0)), fails(0));
    let mut chained = settings("first", fixed(0, 0));
    let edge = crate::Edge { function: "second".to_owned(), input: crate::EdgeInput::Scalar };
    chained.terms.next = vec![edge];
    harness.script.set("first", chained, fails(0));
    harness.script.set("second", settings("second", fixed(0, 0)), fails(0));
    *locked(&harness.outside.down) = true;
    for _ in 0..100 {
        harness.accept("f", "{}");
    }
    harness.settle();
    for _ in 0..20 {
        harness.accept("first", "{}");
    }
    harness.settle();
    assert_eq!(harness.starts("second").len(), 20);
}

/// Puts the first delivery of an invocation where it was once kept.
fn unsort(harness: &Harness, id: crate::InvocationId) {
    let mut batch = Batch::new(id.shard(harness.store.shards()));
    let sorted = layout::delivery(harness.invocation(id).recipient(0), id, 0);
    batch.remove(Space::InvocationOrders, sorted);
    let unsorted = [&[layout::Order::Unsorted as u8], id.bytes().as_slice(), &[0; 4]].concat();
    batch.put(Space::InvocationOrders, unsorted, Vec::new());
    harness.store.commit(batch, Box::new(|done| done.expect("it is written")));
}

#[test]
fn deliveries_of_an_older_version_are_made() {
    let mut harness = Harness::new();
    harness.script.set("f", routed("f", fixed(0, 0)), fails(0));
    *locked(&harness.outside.down) = true;
    let id = harness.accept("f", "{}");
    harness.settle();
    unsort(&harness, id);
    locked(&harness.outside.deliveries).clear();
    *locked(&harness.outside.down) = false;
    harness.open();
    harness.settle();
    assert_eq!(locked(&harness.outside.deliveries).len(), 1);
    assert!(harness.invocation(id).is_routed());
    harness.open();
    harness.settle();
    assert_eq!(locked(&harness.outside.deliveries).len(), 1, "no row was left");
}

#[test]
fn destinations_that_are_functions_run_with_the_record() {
    let mut harness = Harness::new();
    let mut first = settings("f", fixed(0, 0));
    first.terms.on_failure = vec![Target::from("function:handler")];
    harness.script.set("f", first, fails(9));
    harness.script.set("handler", settings("handler", fixed(0, 0)), fails(0));
    let id = harness.accept("f", "{\"a\":1}");
    harness.settle();
    let handled =
        harness.all(&Filter { function: Some("handler".to_owned()), ..Filter::default() });
    assert_eq!(handled.len(), 1);
    let source = &handled[0].source;
    assert_eq!((source.kind, source.depth), (SourceKind::Destination, 1));
    assert_eq!(source.message_id, Some(id.to_string()));
    let event: serde_json::Value =
        serde_json::from_slice(&harness.show(handled[0].id).payload).expect("JSON");
    assert_eq!(event["requestContext"]["condition"], "RetriesExhausted");
    assert_eq!(event["requestPayload"], serde_json::json!({ "a": 1 }));
}

#[test]
fn a_function_that_is_its_own_destination_is_parked() {
    let mut harness = Harness::new();
    let mut looped = settings("f", fixed(0, 0));
    looped.terms.on_failure = vec![Target::from("function:f")];
    harness.script.set("f", looped, fails(9));
    harness.accept("f", "{}");
    harness.pass(10.0);
    assert_eq!(harness.starts("f").len(), 17, "the first, and sixteen that followed");
    let all = harness.all(&Filter::default());
    let parked: Vec<_> = all.iter().filter(|one| one.state == State::Parked).collect();
    assert_eq!((all.len(), parked.len()), (18, 1));
    assert!(parked[0].dead && parked[0].is_routed());
}

#[test]
fn what_cannot_be_an_event_is_a_dead_letter_at_once() {
    let mut harness = Harness::new();
    harness.script.set("f", routed("f", fixed(3, 0)), fails(0));
    let mut acceptance = harness.acceptance("f", "{not json");
    acceptance.mode = Mode::Unparseable;
    let id = acceptance.id;
    drop(harness.send(acceptance));
    harness.settle();
    assert_eq!(harness.stands(id), ("Exhausted", 0));
    assert_eq!(harness.show(id).payload, b"{not json", "byte for byte");
    let record = locked(&harness.outside.deliveries)[0].record.clone();
    let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(record["requestPayload"], "{not json");
    assert_eq!(record["everstep"]["reason"], "Unparseable");
}
