//! Requests that are repeated.

use super::house::{House, error, fails, fixed, holds, settings};
use crate::message::{Acceptance, Manner, Message, Resend};
use crate::{Accepted, Filter, Finished, InvocationId, Target};
use std::sync::Arc;
use std::sync::mpsc;

fn keyed(house: &mut House, manner: Manner) -> Acceptance {
    let mut acceptance = house.acceptance("f", "{}");
    acceptance.id = InvocationId::of_key("f", "k");
    acceptance.key = Some("k".to_owned());
    acceptance.manner = manner;
    acceptance
}

fn invoke(house: &mut House) -> mpsc::Receiver<crate::Result<Finished>> {
    let acceptance = Box::new(keyed(house, Manner::Synchronous));
    let (sender, receiver) = mpsc::channel();
    let watcher = Some(Box::new(move |answer| drop(sender.send(answer))) as _);
    house.handle(Message::Accept { acceptance, reply: Box::new(|_| {}), watcher });
    receiver
}

#[test]
fn the_same_key_runs_once_and_all_get_its_answer() {
    let mut house = House::new();
    house.script.set("f", settings("f", fixed(3, 0)), holds());
    let mut waiting: Vec<_> = (0..99).map(|_| invoke(&mut house)).collect();
    house.settle();
    assert!(waiting.iter().all(|answer| answer.try_recv().is_err()), "nobody is told too early");
    house.script.set("f", settings("f", fixed(3, 0)), fails(0));
    house.settle();
    waiting.push(invoke(&mut house));
    let answers: Vec<_> = waiting.iter().map(|answer| answer.try_recv()).collect();
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let first = answers[0].clone().expect("an answer").expect("finished");
    assert_eq!(first.response.as_deref(), Some(b"\"done\"".as_slice()));
    assert_eq!(house.starts("f").len(), 1);
    house.open();
    assert_eq!(invoke(&mut house).try_recv(), Ok(Ok(first)), "after a restart too");
    assert_eq!(house.starts("f").len(), 1);
}

#[test]
fn what_somebody_waits_for_is_never_retried_and_leaves_no_letter() {
    let mut house = House::new();
    house.script.set("f", settings("f", fixed(3, 0)), Arc::new(|_| error("E")));
    let answer = invoke(&mut house);
    house.pass(100.0);
    let finished = answer.try_recv().expect("an answer").expect("finished");
    assert_eq!(finished.state.name(), "Exhausted");
    assert_eq!(house.starts("f").len(), 1);
    assert!(!house.invocation(finished.id).dead);
}

#[test]
fn a_failure_may_be_no_answer() {
    let mut house = House::new();
    let only_success =
        crate::FunctionSettings { failures_answer: false, ..settings("f", fixed(0, 0)) };
    house.script.set("f", only_success.clone(), Arc::new(|_| error("E")));
    let state = |answer: mpsc::Receiver<crate::Result<Finished>>| {
        answer.try_recv().expect("an answer").expect("finished").state.name()
    };
    for _ in 0..2 {
        let answer = invoke(&mut house);
        house.settle();
        assert_eq!(state(answer), "Exhausted");
    }
    house.script.set("f", only_success, fails(0));
    for _ in 0..2 {
        let answer = invoke(&mut house);
        house.settle();
        assert_eq!(state(answer), "Succeeded");
    }
    assert_eq!(house.starts("f").len(), 3);
    assert_eq!(house.all(&Filter::default()).len(), 1, "nothing is left of those before it");
}

#[test]
fn a_call_that_died_with_the_engine_is_no_answer() {
    let mut house = House::new();
    house.script.set("f", settings("f", fixed(0, 0)), holds());
    let _lost = invoke(&mut house);
    house.open();
    house.script.set("f", settings("f", fixed(0, 0)), fails(0));
    house.settle();
    let answer = invoke(&mut house);
    house.settle();
    assert_eq!(answer.try_recv().expect("an answer").expect("finished").state.name(), "Succeeded");
    assert_eq!(house.starts("f").len(), 2);
}

#[test]
fn a_key_is_remembered_as_long_as_its_invocation_is_kept() {
    let mut house = House::new();
    house.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let send = |house: &mut House| {
        let acceptance = keyed(house, Manner::Asynchronous);
        house.send(acceptance).try_recv().expect("an answer").expect("accepted")
    };
    let id = InvocationId::of_key("f", "k");
    assert_eq!(send(&mut house), Accepted { id, known: false });
    assert_eq!(send(&mut house), Accepted { id, known: true });
    house.pass(60.0 * 60.0 * 24.0 * 6.0);
    assert_eq!(send(&mut house), Accepted { id, known: true });
    house.pass(60.0 * 60.0 * 24.0 * 2.0);
    assert_eq!(send(&mut house), Accepted { id, known: false });
    house.settle();
    assert_eq!(house.starts("f").len(), 2);
}

#[test]
fn a_function_that_is_not_there_accepts_nothing() {
    let mut house = House::new();
    let acceptance = house.acceptance("nobody", "{}");
    let answer = house.send(acceptance).try_recv();
    assert_eq!(answer, Ok(Err(crate::Error::NoSuchFunction("nobody".to_owned()))));
}

#[test]
fn an_end_is_waited_for_or_already_known() {
    let mut house = House::new();
    house.script.set("f", settings("f", fixed(1, 60)), fails(1));
    let id = house.accept("f", "{}");
    let before = house.watch(id);
    house.pass(30.0);
    assert!(before.try_recv().is_err());
    house.pass(31.0);
    let after = house.watch(id).try_recv();
    assert_eq!(before.try_recv(), after);
    assert_eq!(after.expect("an answer").expect("finished").state.name(), "Succeeded");
    assert_eq!(
        house.watch(InvocationId::of_key("", "")).try_recv(),
        Ok(Err(crate::Error::NotFound))
    );
}

/// The dead letter that followed from the first invocation of a key is still there when the key is used again.
#[test]
fn what_follows_from_a_key_that_is_used_again_is_not_what_followed_before() {
    let mut house = House::new();
    let mut first = settings("f", fixed(0, 0));
    first.terms.on_success = vec![Target::from("function:g")];
    house.script.set("f", first, fails(0));
    house.script.set("g", settings("g", fixed(0, 0)), fails(u32::MAX));
    for _ in 0..2 {
        let acceptance = keyed(&mut house, Manner::Asynchronous);
        house.send(acceptance);
        house.pass(8.0 * 24.0 * 3600.0);
    }
    assert_eq!(house.starts("g").len(), 2);
    assert_eq!(house.all(&Filter { dead: true, ..Filter::default() }).len(), 2);
}

#[test]
fn a_letter_of_a_key_that_is_used_again_is_sent_back_as_another_invocation() {
    let mut house = House::new();
    house.script.set("f", settings("f", fixed(0, 0)), fails(u32::MAX));
    let mut sent = Vec::new();
    for _ in 0..2 {
        let acceptance = keyed(&mut house, Manner::Asynchronous);
        let id = acceptance.id;
        house.send(acceptance);
        house.settle();
        let answer = house.ask(|reply| Message::Redrive { id, redrive: Resend::default(), reply });
        sent.push(answer.try_recv().expect("an answer").expect("it is a letter"));
        house.pass(8.0 * 24.0 * 3600.0);
    }
    assert_ne!(sent[0], sent[1]);
    assert_eq!(house.all(&Filter { dead: true, ..Filter::default() }).len(), 2, "both are letters");
}

/// An event grows too old after an attempt has failed and a restart: who waits for it is given what the attempt said.
#[test]
fn who_waits_is_given_what_the_last_attempt_said_before_a_restart() {
    let mut house = House::new();
    let mut f = settings("f", fixed(3, 60));
    f.event_age_max_ms = Some(90_000);
    house.script.set("f", f, Arc::new(|_| error("E")));
    let id = house.accept("f", "{}");
    house.settle();
    house.open();
    let answer = house.watch(id);
    house.script.remove("f");
    house.pass(100.0);
    let finished = answer.try_recv().expect("an answer").expect("finished");
    assert_eq!(finished.state.name(), "Expired");
    assert_eq!(finished.response, house.show(id).response);
    assert!(finished.response.is_some());
}
