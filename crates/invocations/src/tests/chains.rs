//! Functions that follow from each other, catchers, sessions.

use super::harness::{Behaviour, Harness, fails, fixed, settings};
use crate::{Edge, EdgeInput, Filter, InvocationId, SessionStatus, reader};

fn next(edges: &[(&str, EdgeInput)]) -> Vec<Edge> {
    let edge = |(function, input): &(&str, EdgeInput)| Edge {
        function: (*function).to_owned(),
        input: *input,
    };
    edges.iter().map(edge).collect()
}

/// Three functions in a row; the second has so many retries and this behaviour.
fn chain(middle: Behaviour, catcher: bool) -> Harness {
    let harness = Harness::new();
    let mut first = settings("first", fixed(3, 0));
    first.terms.next = next(&[("second", EdgeInput::Scalar), ("abort", EdgeInput::Error)]);
    let mut second = settings("second", fixed(3, 0));
    second.terms.next = next(&[("third", EdgeInput::Scalar)]);
    if catcher {
        second.terms.next.extend(next(&[("abort", EdgeInput::Error)]));
    }
    harness.script.set("first", first, fails(0));
    harness.script.set("second", second, middle);
    harness.script.set("third", settings("third", fixed(3, 0)), fails(1));
    harness.script.set("abort", settings("abort", fixed(3, 0)), fails(0));
    harness
}

fn check(mut harness: Harness, starts: [usize; 4], status: &SessionStatus) {
    let id = harness.accept("first", "{\"a\":1}");
    harness.pass(10.0);
    let names = ["first", "second", "third", "abort"];
    assert_eq!(names.map(|name| harness.starts(name).len()), starts);
    let session = reader::session(&*harness.store, id).expect("readable").expect("a session");
    assert_eq!(session.status, *status);
    assert!(session.ended_ms.is_some());
    let shown = session.to_json();
    match status {
        SessionStatus::Failed { .. } => assert_eq!(shown["failedFunction"], "second"),
        _ => {
            assert_eq!((&shown["status"], &shown["output"]), (&"SUCCEEDED".into(), &"done".into()));
        }
    }
    let all = harness.all(&Filter::default());
    assert!(all.iter().all(|one| one.session == Some(id) && one.is_routed()));
}

#[test]
fn a_session_has_the_output_of_its_last_function() {
    let output = b"\"done\"".to_vec();
    check(chain(fails(2), false), [1, 3, 2, 0], &SessionStatus::Succeeded { output });
}

#[test]
fn what_follows_a_failure_never_runs_and_the_session_says_why() {
    let failed = SessionStatus::Failed {
        error: "E".to_owned(),
        cause: "{\"errorMessage\":\"E happened\",\"errorType\":\"E\"}".to_owned(),
        failed_function: "second".to_owned(),
    };
    check(chain(fails(9), false), [1, 4, 0, 0], &failed);
}

#[test]
fn a_catcher_runs_once_when_no_retry_is_left() {
    let output = b"\"done\"".to_vec();
    check(chain(fails(9), true), [1, 4, 0, 1], &SessionStatus::Succeeded { output });
}

#[test]
fn a_function_gets_the_output_of_the_one_before_it_and_a_catcher_its_error() {
    let mut harness = chain(fails(9), true);
    harness.accept("first", "{\"a\":1}");
    harness.pass(10.0);
    let event = |function: &str| {
        let function = Some(function.to_owned());
        let found = harness.all(&Filter { function, ..Filter::default() });
        assert_eq!(found.len(), 1);
        String::from_utf8(harness.show(found[0].id).payload).expect("text")
    };
    assert_eq!(event("second"), "\"done\"");
    let caught: serde_json::Value = serde_json::from_str(&event("abort")).expect("JSON");
    assert_eq!(caught["Error"], "E");
    assert_eq!(caught["Cause"], "{\"errorMessage\":\"E happened\",\"errorType\":\"E\"}");
    assert_eq!(caught["attempts"].as_array().map(Vec::len), Some(4));
    assert_eq!(caught["attempts"][3]["stackTrace"][0], "line 1");
}

#[test]
fn the_same_key_twice_is_one_session() {
    let mut harness = chain(fails(0), false);
    for _ in 0..2 {
        let mut acceptance = harness.acceptance("first", "{}");
        acceptance.id = InvocationId::of_key("first", "order-7");
        drop(harness.send(acceptance));
        harness.pass(5.0);
    }
    assert_eq!(harness.starts("first").len(), 1);
    assert_eq!(harness.all(&Filter::default()).len(), 3);
}

#[test]
fn functions_that_follow_without_an_end_are_parked() {
    let mut harness = Harness::new();
    harness.settings.session_steps_max = 30;
    harness.open();
    let mut looped = settings("f", fixed(0, 0));
    looped.terms.next = next(&[("f", EdgeInput::Scalar)]);
    harness.script.set("f", looped, fails(0));
    let id = harness.accept("f", "{}");
    harness.pass(10.0);
    assert_eq!(harness.starts("f").len(), 31);
    let session = reader::session(&*harness.store, id).expect("readable").expect("a session");
    assert!(matches!(session.status, SessionStatus::Failed { .. }));
}
