//! Several events that are accepted in one commit, with the notes of who sends them.

use std::sync::Arc;

use everstep_retry::Policy;
use everstep_store::{Behaviour, CrashingStore, Space};

use super::harness::{Harness, error, fails, fixed, locked, settings};
use crate::message::{Handling, Message, Mode};
use crate::{
    Acceptance, Accepted, Error, Filter, HomeId, Intake, InvocationId, Note, Target, intake,
};

fn home() -> HomeId {
    HomeId::named(&["orders"])
}

fn item(harness: &mut Harness, item: &str) -> Acceptance {
    let mut acceptance = harness.acceptance("f", "{}");
    acceptance.id = InvocationId::of_item(home(), item);
    acceptance.key = Some(item.to_owned());
    acceptance
}

fn note(key: &str, value: Option<&str>) -> Note {
    Note { key: key.into(), value: value.map(Into::into) }
}

/// Items by their names, each with a note that has its name.
fn send(harness: &mut Harness, items: &[&str], notes: Vec<Note>) -> crate::Result<Vec<Accepted>> {
    let items = items.iter().map(|name| (item(harness, name), vec![note(name, Some("in flight"))]));
    let intake = Intake { home: home(), items: items.collect(), notes };
    let answer = harness.ask(|reply| Message::AcceptAll { intake: Box::new(intake), reply });
    answer.try_recv().expect("an answer")
}

fn known(answer: crate::Result<Vec<Accepted>>) -> Vec<bool> {
    answer.expect("accepted").iter().map(|accepted| accepted.known).collect()
}

/// The keys of the notes.
fn noted(harness: &Harness) -> Vec<String> {
    let notes = intake::notes(&*harness.store, home()).expect("readable");
    notes.into_iter().map(|(key, _)| String::from_utf8(key).expect("text")).collect()
}

#[test]
fn what_was_accepted_before_is_found_again_and_not_noted_again() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let answer = send(&mut harness, &["a", "b", "a"], vec![note("cursor", Some("2"))]);
    assert_eq!(known(answer), [false, false, true]);
    assert_eq!(noted(&harness), ["a", "b", "cursor"]);
    harness.settle();
    assert_eq!(harness.starts("f").len(), 2);
    let removed = vec![note("a", None), note("b", None), note("cursor", Some("3"))];
    assert_eq!(known(send(&mut harness, &[], removed)), [false; 0]);
    harness.open();
    assert_eq!(known(send(&mut harness, &["b", "c"], Vec::new())), [true, false]);
    assert_eq!(noted(&harness), ["c", "cursor"]);
    harness.settle();
    assert_eq!(harness.starts("f").len(), 3);
    assert_eq!(harness.stands(InvocationId::of_item(home(), "c")), ("Succeeded", 1));
}

#[test]
fn nothing_is_accepted_if_something_cannot_be() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let good = (item(&mut harness, "a"), vec![note("a", Some(""))]);
    let mut bad = good.clone();
    (bad.0.id, bad.0.function) = (InvocationId::of_item(home(), "b"), "g".to_owned());
    let notes = vec![note("cursor", Some("2"))];
    let intake = Box::new(Intake { home: home(), items: vec![good, bad], notes });
    let answer = harness.ask(|reply| Message::AcceptAll { intake, reply });
    assert_eq!(answer.try_recv().expect("an answer"), Err(Error::NoSuchFunction("g".to_owned())));
    assert_eq!(noted(&harness), [""; 0]);
    assert!(harness.all(&Filter::default()).is_empty());
}

#[test]
fn what_cannot_be_an_event_is_a_dead_letter_of_the_same_commit() {
    let mut harness = Harness::new();
    let mut with_route = settings("f", fixed(0, 0));
    with_route.terms.on_failure = vec![Target::from("queue:q")];
    harness.script.set("f", with_route, fails(0));
    let mut acceptance = item(&mut harness, "a");
    (acceptance.mode, acceptance.payload) = (Mode::Unparseable, b"<xml/>".to_vec());
    let items = vec![(acceptance, Vec::new())];
    let intake = Box::new(Intake { home: home(), items, notes: vec![note("cursor", Some("1"))] });
    let answer = harness.ask(|reply| Message::AcceptAll { intake, reply });
    assert_eq!(known(answer.try_recv().expect("an answer")), [false]);
    harness.settle();
    let shown = harness.show(InvocationId::of_item(home(), "a"));
    assert!(shown.invocation.dead && shown.payload == b"<xml/>");
    assert_eq!(harness.starts("f").len(), 0);
    assert_eq!(locked(&harness.outside.deliveries).len(), 1);
}

#[test]
fn a_sender_may_say_what_is_done_about_failures() {
    let mut harness = Harness::new();
    harness.script.set("f", settings("f", fixed(5, 0)), Arc::new(|_| error("E")));
    let check = |harness: &mut Harness, name: &str, handling, expected: (u32, bool)| {
        let acceptance = Acceptance { handling, ..item(harness, name) };
        let items = vec![(acceptance, Vec::new())];
        let intake = Box::new(Intake { home: home(), items, notes: Vec::new() });
        let _ = harness.ask(|reply| Message::AcceptAll { intake, reply });
        harness.settle();
        let invocation = harness.invocation(InvocationId::of_item(home(), name));
        assert_eq!((invocation.attempts.started(), invocation.dead), expected, "{name}");
    };
    let own = |policy: Policy, dead_letters| {
        Some(Handling { policy, event_age_max_ms: None, dead_letters })
    };
    check(&mut harness, "as the function says", None, (6, true));
    check(&mut harness, "fewer", own(fixed(2, 0), true), (3, true));
    check(&mut harness, "forgotten", own(fixed(0, 0), false), (1, false));
}

#[test]
fn all_of_it_survives_a_crash_or_nothing() {
    for seed in 0..200 {
        let disk = Arc::new(CrashingStore::new(3, seed, Behaviour::default()));
        let mut harness = Harness::on(disk.clone());
        harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
        let items: Vec<_> =
            ["a", "b"].map(|name| (item(&mut harness, name), vec![note(name, Some(""))])).into();
        let notes = vec![note("cursor", Some("2"))];
        let intake = Box::new(Intake { home: home(), items, notes });
        let answer = harness.ask(|reply| Message::AcceptAll { intake, reply });
        disk.settle(usize::try_from(seed).expect("small") % 6);
        let answered = answer.try_recv().is_ok();
        disk.crash();
        harness.open();
        let rows = disk.durable();
        let stored = |wanted: Space| rows.keys().filter(|(_, space, _)| *space == wanted).count();
        let found = (stored(Space::Triggers), stored(Space::Invocations));
        assert!([(0, 0), (3, 4)].contains(&found), "seed {seed}: {found:?}");
        assert!(!answered || found == (3, 4), "seed {seed}: what was answered is lost");
    }
}
