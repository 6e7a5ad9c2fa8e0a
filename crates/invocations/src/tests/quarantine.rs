//! What ends the engine again and again is left alone, until somebody releases or cancels it.

use std::sync::Arc;

use everstep_shards::{FAILURES_MAX, record_deaths};

use super::harness::{Harness, START_MS, fixed, settings, success};
use crate::message::Message;
use crate::{Error, InvocationId};

/// An invocation that waits for its next attempt while the engine dies again and again, each time because of it.
fn after_deaths(deaths: u32) -> (Harness, InvocationId) {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(3, 60)), super::harness::fails(1));
    let id = harness.accept("f", "{}");
    harness.settle();
    assert_eq!(harness.stands(id), ("Waiting", 1));
    for _ in 0..deaths {
        record_deaths(&*harness.store, &[id.subject()], START_MS).expect("written");
        harness.open();
    }
    harness.pass(61.0);
    (harness, id)
}

#[test]
fn an_invocation_that_ends_the_engine_three_times_in_a_row_does_not_run() {
    let (harness, id) = after_deaths(FAILURES_MAX - 1);
    assert_eq!(harness.stands(id), ("Succeeded", 2));
    let (mut harness, id) = after_deaths(FAILURES_MAX);
    harness.pass(3600.0);
    assert_eq!(harness.stands(id), ("Waiting", 1));
    let released = harness.ask(|reply| Message::Release { id, reply });
    assert_eq!(released.try_recv(), Ok(Ok(true)));
    harness.settle();
    assert_eq!(harness.stands(id), ("Succeeded", 2));
    let again = harness.ask(|reply| Message::Release { id, reply });
    assert_eq!(again.try_recv(), Ok(Ok(false)));
}

#[test]
fn an_invocation_in_quarantine_can_be_cancelled() {
    let (mut harness, id) = after_deaths(FAILURES_MAX);
    let cancelled = harness.ask(|reply| Message::Cancel { id, reply });
    assert_eq!(cancelled.try_recv(), Ok(Ok(())));
    harness.open();
    harness.pass(3600.0);
    assert_eq!(harness.stands(id), ("Cancelled", 1));
    let released = harness.ask(|reply| Message::Release { id, reply });
    assert_eq!(released.try_recv(), Ok(Ok(false)), "it has left the quarantine");
}

#[test]
fn a_key_of_an_invocation_in_quarantine_is_refused() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 1)), Arc::new(|_| success("1")));
    let mut acceptance = harness.acceptance("f", "{}");
    acceptance.key = Some("k".to_owned());
    for _ in 0..FAILURES_MAX {
        record_deaths(&*harness.store, &[acceptance.id.subject()], START_MS).expect("written");
    }
    harness.open();
    let answer = harness.send(acceptance).try_recv().expect("an answer");
    assert!(matches!(answer, Err(Error::Quarantined(_))), "{answer:?}");
}

#[test]
fn deliveries_of_an_invocation_in_quarantine_wait_for_its_release() {
    let mut harness = Harness::new();
    let mut function = settings("f", fixed(0, 1));
    function.terms.on_success = vec![crate::Target::from("queue:q")];
    harness.script.set("f", function, Arc::new(|_| success("1")));
    *super::harness::locked(&harness.outside.down) = true;
    let id = harness.accept("f", "{}");
    harness.settle();
    for _ in 0..FAILURES_MAX {
        record_deaths(&*harness.store, &[id.subject()], START_MS).expect("written");
    }
    *super::harness::locked(&harness.outside.down) = false;
    harness.open();
    harness.pass(3600.0);
    assert!(!harness.invocation(id).is_routed());
    let released = harness.ask(|reply| Message::Release { id, reply });
    assert_eq!(released.try_recv(), Ok(Ok(true)));
    harness.settle();
    assert!(harness.invocation(id).is_routed());
}
