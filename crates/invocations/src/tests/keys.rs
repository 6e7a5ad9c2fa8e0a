//! Requests that are repeated.

use super::harness::{Harness, error, fails, fixed, holds, locked, settings, success};
use crate::message::{Acceptance, Message, Mode, Resend};
use crate::{Accepted, Filter, Finished, InvocationId, Target};
use std::sync::Arc;
use std::sync::mpsc;

fn keyed(harness: &mut Harness, mode: Mode) -> Acceptance {
    let mut acceptance = harness.acceptance("f", "{}");
    acceptance.id = InvocationId::of_key("f", "k");
    acceptance.key = Some("k".to_owned());
    acceptance.mode = mode;
    acceptance
}

fn invoke(harness: &mut Harness) -> mpsc::Receiver<crate::Result<Finished>> {
    let acceptance = Box::new(keyed(harness, Mode::Synchronous));
    let (sender, receiver) = mpsc::channel();
    let watcher = Some(Box::new(move |answer| drop(sender.send(answer))) as _);
    harness.handle(Message::Accept { acceptance, reply: Box::new(|_| {}), watcher });
    receiver
}

#[test]
fn the_same_key_runs_once_and_all_get_its_answer() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(3, 0)), holds());
    let mut waiting: Vec<_> = (0..99).map(|_| invoke(&mut harness)).collect();
    harness.settle();
    assert!(
        waiting.iter().all(|answer| answer.try_recv().is_err()),
        "no caller is answered too early"
    );
    harness.script.set("f", settings("f", fixed(3, 0)), fails(0));
    harness.settle();
    waiting.push(invoke(&mut harness));
    let answers: Vec<_> = waiting.iter().map(|answer| answer.try_recv()).collect();
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let first = answers[0].clone().expect("an answer").expect("finished");
    assert_eq!(first.response.as_deref(), Some(b"\"done\"".as_slice()));
    assert_eq!(harness.starts("f").len(), 1);
    harness.open();
    assert_eq!(invoke(&mut harness).try_recv(), Ok(Ok(first)), "after a restart too");
    assert_eq!(harness.starts("f").len(), 1);
}

#[test]
fn a_synchronous_call_is_never_retried_and_leaves_no_letter() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(3, 0)), Arc::new(|_| error("E")));
    let answer = invoke(&mut harness);
    harness.pass(100.0);
    let finished = answer.try_recv().expect("an answer").expect("finished");
    assert_eq!(finished.state.name(), "Exhausted");
    assert_eq!(harness.starts("f").len(), 1);
    assert!(!harness.invocation(finished.id).dead);
}

#[test]
fn a_failure_may_be_no_answer() {
    let mut harness = Harness::new();
    let only_success =
        crate::FunctionSettings { failures_answer: false, ..settings("f", fixed(0, 0)) };
    harness.script.set("f", only_success.clone(), Arc::new(|_| error("E")));
    let state = |answer: mpsc::Receiver<crate::Result<Finished>>| {
        answer.try_recv().expect("an answer").expect("finished").state.name()
    };
    for _ in 0..2 {
        let answer = invoke(&mut harness);
        harness.settle();
        assert_eq!(state(answer), "Exhausted");
    }
    harness.script.set("f", only_success, fails(0));
    for _ in 0..2 {
        let answer = invoke(&mut harness);
        harness.settle();
        assert_eq!(state(answer), "Succeeded");
    }
    assert_eq!(harness.starts("f").len(), 3);
    assert_eq!(harness.all(&Filter::default()).len(), 1, "nothing is left of those before it");
}

#[test]
fn a_call_that_died_with_the_engine_is_no_answer() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), holds());
    let _lost = invoke(&mut harness);
    harness.settle();
    harness.open();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    harness.settle();
    assert_eq!(harness.starts("f").len(), 1, "it is not repeated for a caller that is gone");
    let answer = invoke(&mut harness);
    harness.settle();
    assert_eq!(answer.try_recv().expect("an answer").expect("finished").state.name(), "Succeeded");
    assert_eq!(harness.starts("f").len(), 2);
}

#[test]
fn a_key_is_remembered_as_long_as_its_invocation_is_kept() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let send = |harness: &mut Harness| {
        let acceptance = keyed(harness, Mode::Asynchronous);
        harness.send(acceptance).try_recv().expect("an answer").expect("accepted")
    };
    let id = InvocationId::of_key("f", "k");
    assert_eq!(send(&mut harness), Accepted { id, known: false });
    assert_eq!(send(&mut harness), Accepted { id, known: true });
    harness.pass(60.0 * 60.0 * 24.0 * 6.0);
    assert_eq!(send(&mut harness), Accepted { id, known: true });
    harness.pass(60.0 * 60.0 * 24.0 * 2.0);
    assert_eq!(send(&mut harness), Accepted { id, known: false });
    harness.settle();
    assert_eq!(harness.starts("f").len(), 2);
}

#[test]
fn a_function_that_is_not_there_accepts_nothing() {
    let mut harness = Harness::new();
    let acceptance = harness.acceptance("nobody", "{}");
    let answer = harness.send(acceptance).try_recv();
    assert_eq!(answer, Ok(Err(crate::Error::NoSuchFunction("nobody".to_owned()))));
}

#[test]
fn an_end_is_waited_for_or_already_known() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(1, 60)), fails(1));
    let id = harness.accept("f", "{}");
    let before = harness.watch(id);
    harness.pass(30.0);
    assert!(before.try_recv().is_err());
    harness.pass(31.0);
    let after = harness.watch(id).try_recv();
    assert_eq!(before.try_recv(), after);
    assert_eq!(after.expect("an answer").expect("finished").state.name(), "Succeeded");
    assert_eq!(
        harness.watch(InvocationId::of_key("", "")).try_recv(),
        Ok(Err(crate::Error::NotFound))
    );
}

/// The dead letter that followed from the first invocation of a key is still there when the key is used again.
#[test]
fn what_follows_from_a_key_that_is_used_again_is_not_what_followed_before() {
    let mut harness = Harness::new();
    let mut first = settings("f", fixed(0, 0));
    first.terms.on_success = vec![Target::from("function:g")];
    harness.script.set("f", first, fails(0));
    harness.script.set("g", settings("g", fixed(0, 0)), fails(u32::MAX));
    for _ in 0..2 {
        let acceptance = keyed(&mut harness, Mode::Asynchronous);
        harness.send(acceptance);
        harness.pass(8.0 * 24.0 * 3600.0);
    }
    assert_eq!(harness.starts("g").len(), 2);
    assert_eq!(harness.all(&Filter { dead: true, ..Filter::default() }).len(), 2);
}

#[test]
fn a_letter_of_a_key_that_is_used_again_is_sent_back_as_another_invocation() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(u32::MAX));
    let mut sent = Vec::new();
    for _ in 0..2 {
        let acceptance = keyed(&mut harness, Mode::Asynchronous);
        let id = acceptance.id;
        harness.send(acceptance);
        harness.settle();
        let answer =
            harness.ask(|reply| Message::Redrive { id, redrive: Resend::default(), reply });
        sent.push(answer.try_recv().expect("an answer").expect("it is a letter"));
        harness.pass(8.0 * 24.0 * 3600.0);
    }
    assert_ne!(sent[0], sent[1]);
    assert_eq!(
        harness.all(&Filter { dead: true, ..Filter::default() }).len(),
        2,
        "both are letters"
    );
}

/// An event grows too old after an attempt has failed and a restart: its caller gets the attempt's answer.
#[test]
fn who_waits_is_given_what_the_last_attempt_said_before_a_restart() {
    let mut harness = Harness::new();
    let mut f = settings("f", fixed(3, 60));
    f.event_age_max_ms = Some(90_000);
    harness.script.set("f", f, Arc::new(|_| error("E")));
    let id = harness.accept("f", "{}");
    harness.settle();
    harness.open();
    let answer = harness.watch(id);
    harness.script.remove("f");
    harness.pass(100.0);
    let finished = answer.try_recv().expect("an answer").expect("finished");
    assert_eq!(finished.state.name(), "Expired");
    assert_eq!(finished.response, harness.show(id).response);
    assert!(finished.response.is_some());
}

/// Lets functions run and messages arrive, and answers no delivery.
fn run(harness: &mut Harness) {
    let script = harness.script.clone();
    while harness.handle_one() || script.take_one(0) || script.answer_one(0) {}
}

#[test]
fn a_delivery_of_a_purged_letter_confirms_nothing_of_the_next_invocation_with_its_key() {
    for first in [Ok(()), Err("it is down".to_owned())] {
        let mut harness = Harness::new();
        let mut f = settings("f", fixed(0, 0));
        f.terms.on_failure = vec![Target::from("queue:slow")];
        harness.script.set("f", f, fails(u32::MAX));
        let id = InvocationId::of_key("f", "k");
        let send = |harness: &mut Harness| {
            let acceptance = keyed(harness, Mode::Asynchronous);
            harness.send(acceptance);
            run(harness);
            locked(&harness.outside.waiting).pop_front().expect("a delivery")
        };
        let late = send(&mut harness);
        let purged = harness.ask(|reply| Message::Purge { id, undelivered: true, reply });
        assert_eq!(purged.try_recv(), Ok(Ok(())));
        harness.set_now(harness.now_ms() + 1);
        let second = send(&mut harness);
        late(first);
        run(&mut harness);
        assert!(!harness.invocation(id).is_routed(), "its own delivery is not confirmed");
        second(Ok(()));
        harness.pass(1000.0);
        assert!(harness.invocation(id).is_routed());
        assert_eq!(locked(&harness.outside.deliveries).len(), 2, "and not made again");
    }
}

#[test]
fn the_worker_of_a_cancelled_invocation_does_not_answer_for_the_next_one_with_its_key() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), holds());
    let id = InvocationId::of_key("f", "k");
    let send = |harness: &mut Harness| {
        let acceptance = keyed(harness, Mode::Asynchronous);
        harness.send(acceptance);
        harness.settle();
        locked(&harness.script.running).pop_front().expect("it runs")
    };
    let (first, late) = send(&mut harness);
    let cancelled = harness.ask(|reply| Message::Cancel { id, reply });
    assert_eq!(cancelled.try_recv(), Ok(Ok(())));
    harness.pass(8.0 * 24.0 * 3600.0);
    let (second, _running) = send(&mut harness);
    assert_ne!(first.id, second.id);
    late(success("\"late\"").expect("an outcome"), Box::new(|_| {}));
    harness.settle();
    assert_eq!(harness.stands(id), ("Running", 1));
}
