//! Dead letters: kept, sent back, thrown away.

use super::harness::{Harness, error, fails, fixed, locked, settings};
use crate::message::{Message, Resend};
use crate::{Error, Filter, InvocationId, Reason, SourceKind};
use std::sync::Arc;
use std::sync::mpsc;

fn redrive(harness: &mut Harness, id: InvocationId, resend: Resend) -> crate::Result<InvocationId> {
    let answer: mpsc::Receiver<_> =
        harness.ask(|reply| Message::Redrive { id, redrive: resend, reply });
    answer.try_recv().expect("an answer")
}

/// A function that has failed for good, and then was repaired.
fn failed() -> (Harness, InvocationId) {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(2, 1)), Arc::new(|_| error("RateLimitError")));
    let id = harness.accept("f", "{\"order\":7}");
    harness.pass(10.0);
    (harness, id)
}

#[test]
fn a_letter_says_why_and_keeps_every_error() {
    let (harness, id) = failed();
    let letters = harness.all(&Filter { dead: true, ..Filter::default() });
    assert_eq!(letters.iter().map(|letter| letter.id).collect::<Vec<_>>(), [id]);
    assert_eq!(letters[0].state.reason(), Some(Reason::RetriesExhausted));
    let errors: Vec<_> = letters[0]
        .attempts
        .kept()
        .map(|attempt| attempt.failure.clone().expect("a failure"))
        .collect();
    assert_eq!(errors.len(), 3);
    assert!(errors.iter().all(|failure| failure.stack == ["line 1"]));
    assert_eq!(harness.show(id).payload, b"{\"order\":7}");
}

#[test]
fn letters_are_found_by_what_is_asked() {
    let (mut harness, id) = failed();
    harness.script.set("g", settings("g", fixed(0, 0)), fails(9));
    harness.pass(100.0);
    let later = harness.now_ms();
    let other = harness.accept("g", "{}");
    harness.pass(1.0);
    let dead = Filter { dead: true, ..Filter::default() };
    let check = |filter: Filter, expected: &[InvocationId]| {
        let found: Vec<_> = harness.all(&filter).iter().map(|letter| letter.id).collect();
        assert_eq!(found, expected, "{filter:?}");
    };
    check(dead.clone(), &[other, id]);
    check(Filter { error: Some("RateLimitError".to_owned()), ..dead.clone() }, &[id]);
    check(Filter { function: Some("g".to_owned()), ..dead.clone() }, &[other]);
    check(Filter { since_ms: Some(later), ..dead.clone() }, &[other]);
    check(Filter { ids: vec![id], ..dead.clone() }, &[id]);
    check(Filter { reason: Some("NonRetryable".to_owned()), ..dead }, &[]);
}

#[test]
fn a_letter_that_is_sent_back_has_a_fresh_budget_and_a_link() {
    let (mut harness, id) = failed();
    harness.script.set("f", settings("f", fixed(2, 1)), fails(2));
    let into = redrive(&mut harness, id, Resend::default()).expect("redriven");
    harness.pass(10.0);
    assert_eq!(harness.stands(into), ("Succeeded", 3));
    let invocation = harness.invocation(into);
    assert_eq!(invocation.source.kind, SourceKind::Redrive);
    assert_eq!(invocation.redriven_from, Some(id));
    assert_eq!(harness.show(into).payload, b"{\"order\":7}");
    let letter = harness.invocation(id);
    assert_eq!((letter.dead, letter.redriven_as), (false, Some(into)));
    assert_eq!(redrive(&mut harness, id, Resend::default()), Err(Error::WrongState), "only once");
    let unknown = InvocationId::of_key("", "");
    assert_eq!(redrive(&mut harness, unknown, Resend::default()), Err(Error::NotFound));
}

#[test]
fn a_letter_is_sent_back_as_it_was_or_to_the_function_as_it_is() {
    for latest in [false, true] {
        let (mut harness, id) = failed();
        let mut changed = settings("f", fixed(0, 0));
        changed.version = "2".to_owned();
        harness.script.set("f", changed, Arc::new(|_| error("RateLimitError")));
        let resend = Resend { latest, payload: Some(b"{}".to_vec()), ..Resend::default() };
        let into = redrive(&mut harness, id, resend).expect("redriven");
        harness.pass(10.0);
        let version = harness.invocation(into).version;
        let found = (version.as_str(), harness.invocation(into).attempts.started());
        assert_eq!(found, if latest { ("2", 1) } else { ("1", 3) });
        assert_eq!(harness.show(into).payload, b"{}", "with another event");
    }
}

#[test]
fn letters_can_be_sent_back_one_after_the_other() {
    let (mut harness, id) = failed();
    let not_before_ms = Some(harness.now_ms() + 3_600_000);
    let resend = Resend { not_before_ms, ..Resend::default() };
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let into = redrive(&mut harness, id, resend).expect("redriven");
    harness.pass(3599.0);
    assert_eq!(harness.stands(into), ("Waiting", 0));
    harness.open();
    harness.pass(2.0);
    assert_eq!(harness.stands(into), ("Succeeded", 1));
}

#[test]
fn letters_can_be_thrown_away() {
    let (mut harness, id) = failed();
    let purge = |harness: &mut Harness| {
        let answer: mpsc::Receiver<_> =
            harness.ask(|reply| Message::Purge { id, undelivered: false, reply });
        answer.try_recv().expect("an answer")
    };
    assert_eq!(purge(&mut harness), Ok(()));
    assert_eq!(purge(&mut harness), Err(Error::NotFound));
    harness.settle();
    assert_eq!(harness.all(&Filter::default()), []);
    assert_eq!(purge(&mut harness), Err(Error::NotFound));
}

#[test]
fn letters_that_never_arrive_can_be_given_up() {
    let mut harness = Harness::new();
    let mut settings = settings("f", fixed(0, 0));
    settings.terms.on_failure = vec![crate::Target::from("queue:gone")];
    harness.script.set("f", settings, fails(9));
    *locked(&harness.outside.down) = true;
    let id = harness.accept("f", "{}");
    harness.settle();
    let purge = |harness: &mut Harness, undelivered| {
        let answer: mpsc::Receiver<_> =
            harness.ask(|reply| Message::Purge { id, undelivered, reply });
        answer.try_recv().expect("an answer")
    };
    assert_eq!(purge(&mut harness, false), Err(Error::WrongState));
    assert_eq!(purge(&mut harness, true), Ok(()));
    let tries = locked(&harness.outside.deliveries).len();
    harness.pass(1000.0);
    harness.open();
    harness.pass(1000.0);
    assert_eq!(locked(&harness.outside.deliveries).len(), tries, "nothing is delivered any more");
    assert_eq!(harness.all(&Filter::default()), []);
}

#[test]
fn a_letter_can_be_shown() {
    let (harness, id) = failed();
    let shown = harness.invocation(id).to_json();
    let expected = serde_json::json!({
        "invocationId": id.to_string(),
        "function": "f",
        "version": "1",
        "source": { "kind": "invoke", "name": "f" },
        "state": "Exhausted",
        "reason": "RetriesExhausted",
        "acceptedAt": "2019-11-14T18:16:05.568Z",
        "endedAt": "2019-11-14T18:16:07.568Z",
        "policy": shown["policy"],
        "attemptCount": 3,
        "attempts": shown["attempts"],
        "throttledCount": 0,
        "routed": true,
        "deadLetter": true,
    });
    assert_eq!(shown, expected);
    assert_eq!(shown["attempts"][2]["errorType"], "RateLimitError");
    assert_eq!(shown["attempts"][2]["startedAt"], "2019-11-14T18:16:07.568Z");
}

#[test]
fn lists_come_in_pages() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let mut ids: Vec<_> = (0..250)
        .map(|_| {
            harness.set_now(harness.now_ms() + 1);
            harness.accept("f", "{}")
        })
        .collect();
    ids.reverse();
    let found: Vec<_> = harness.all(&Filter::default()).iter().map(|one| one.id).collect();
    assert_eq!(found, ids, "latest first");
}
