//! Items that are fetched or offered: A3 and A4 of the specification, as far as they need no broker.

use super::harness::{World, items, plan};
use crate::driver::{Input, Refusal};
use crate::item::{Item, Outcome, Refused, Settled};
use crate::plan::{Ack, OnExhausted, Origin, Plan};
use crate::standing::State;

const START: &str = "2026-01-01T00:00:00Z";

fn queue() -> Plan {
    plan(Origin::Fetched { idle_ms: 1000 })
}

fn stream() -> Plan {
    Plan { in_order: true, partition: Some("0".to_owned()), ..queue() }
}

fn world(plan: Plan, count: u64) -> World {
    let mut world = World::new(plan, START);
    world.source = items(count);
    world
}

fn failed() -> Outcome {
    Outcome::Failed { error: "E".to_owned() }
}

fn numbers(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[test]
fn items_are_accepted_and_then_acknowledged() {
    let mut world = world(queue(), 25);
    world.pass(1);
    assert_eq!(world.accepted(), numbers(0..25));
    assert!(world.source.is_empty());
    assert!(
        world
            .settled
            .iter()
            .all(|(_, settled)| matches!(settled, Settled::Accepted { known: false, .. }))
    );
    let standing = world.standing();
    assert_eq!((standing.accepted, standing.in_flight, standing.counters.succeeded), (25, 0, 25));
    assert_eq!(
        (standing.position, standing.cursor),
        (Some("24".to_owned()), Some("24".to_owned()))
    );
}

/// A3.6: no retry is the source's business, however long it takes.
#[test]
fn a_source_is_rid_of_what_is_retried_for_hours() {
    let mut world = world(queue(), 3);
    world.runs = Box::new(|_| (45 * 60_000, Outcome::Succeeded));
    world.pass(1);
    assert!(world.source.is_empty());
    assert_eq!(world.standing().in_flight, 3);
}

/// A3.6, §0.3: killed between the acceptance and its acknowledgement.
#[test]
fn what_was_accepted_and_not_acknowledged_is_absorbed() {
    let mut world = world(queue(), 1);
    while world.accepted().is_empty() {
        assert!(world.perform(0) || world.happen());
    }
    assert_eq!(world.source.len(), 1, "it is not acknowledged");
    // A source without positions brings it again.
    world.source[0].position = None;
    world.source[0].handle = 7;
    world.is_away(0);
    world.pass(1);
    assert_eq!(world.accepted(), ["0"]);
    assert!(world.source.is_empty());
    let standing = world.standing();
    assert_eq!((standing.accepted, standing.counters.duplicates), (1, 1));
}

#[test]
fn what_is_brought_twice_is_accepted_once() {
    let mut world = world(queue(), 2);
    let again = Item { handle: 5, ..world.source[0].clone() };
    world.source.push(again);
    world.pass(1);
    assert_eq!(world.accepted(), ["0", "1"]);
    let settled: Vec<bool> = world
        .settled
        .iter()
        .map(|(_, settled)| matches!(settled, Settled::Accepted { known: true, .. }))
        .collect();
    assert_eq!(settled, [false, false, true]);
}

/// Back-pressure: no more are asked for than may be in flight.
#[test]
fn a_slow_function_holds_the_source_back() {
    let mut world = world(queue(), 100);
    world.runs = Box::new(|_| (60_000, Outcome::Succeeded));
    world.pass(30);
    assert_eq!(world.accepted().len(), 10);
    assert_eq!(world.source.len(), 90);
    world.pass(31);
    assert_eq!(world.accepted().len(), 20);
}

#[test]
fn a_source_may_keep_items_until_they_are_over() {
    let mut world = world(Plan { ack: Ack::OnComplete, ..queue() }, 2);
    world.runs = Box::new(|item| (60_000, if item == "0" { failed() } else { Outcome::Succeeded }));
    world.pass(30);
    assert_eq!((world.source.len(), world.settled.len()), (2, 0));
    world.pass(31);
    assert_eq!(
        world.settled,
        [(0, Settled::Completed(failed())), (1, Settled::Completed(Outcome::Succeeded))]
    );
    assert_eq!(world.flight_rows(), 0);
}

#[test]
fn a_source_that_keeps_items_hears_of_their_ends_after_a_crash() {
    for away_ms in [0, 30_000, 120_000] {
        let mut world = world(Plan { ack: Ack::OnComplete, ..queue() }, 1);
        world.source[0].position = None;
        world.runs = Box::new(|_| (60_000, failed()));
        world.pass(1);
        world.is_away(away_ms);
        world.pass(90);
        assert_eq!(world.settled, [(0, Settled::Completed(failed()))], "{away_ms}");
        assert_eq!(world.standing().counters.failed, 1, "{away_ms}");
    }
}

/// The end was noted, and the source has not heard of it.
#[test]
fn what_ended_before_a_crash_is_settled_after_it() {
    let mut world = world(Plan { ack: Ack::OnComplete, ..queue() }, 1);
    world.source[0].position = None;
    world.runs = Box::new(|_| (0, failed()));
    let waiting = world.source.clone();
    world.pass(1);
    // The acknowledgement was lost.
    world.source = waiting;
    world.settled.clear();
    world.is_away(0);
    world.pass(1);
    assert_eq!(world.accepted(), ["0"]);
    assert_eq!(world.settled, [(0, Settled::Completed(failed()))]);
    let counters = world.standing().counters;
    assert_eq!((counters.failed, counters.duplicates), (1, 1));
}

/// A4.1
#[test]
fn a_partition_waits_for_each_of_its_items() {
    let mut world = world(stream(), 3);
    world.runs = Box::new(|_| (5000, Outcome::Succeeded));
    world.pass(20);
    assert_eq!(world.starts(START), [0, 5, 10]);
    assert_eq!(world.accepted(), ["0", "1", "2"]);
    let cursors: Vec<&str> =
        world.cursors.iter().map(|cursor| cursor.as_deref().unwrap_or("-")).collect();
    assert!(cursors.is_sorted(), "{cursors:?}");
    assert_eq!(cursors.last(), Some(&"2"));
}

/// A4.1: the cursor does not pass an item whose retries have not ended, whatever is killed.
#[test]
fn the_cursor_waits_for_the_outcome() {
    let mut world = world(stream(), 2);
    world.runs = Box::new(|_| (60_000, Outcome::Succeeded));
    world.pass(30);
    let standing = world.standing();
    assert_eq!((standing.position.as_deref(), standing.cursor), (Some("0"), None));
    world.is_away(1000);
    world.pass(1);
    assert_eq!(world.accepted(), ["0"]);
    world.pass(40);
    assert_eq!(world.standing().cursor.as_deref(), Some("0"));
    assert_eq!(world.accepted(), ["0", "1"]);
}

/// A4.2
#[test]
fn three_of_a_hundred_are_poison() {
    for on_exhausted in [OnExhausted::DeadLetter, OnExhausted::Skip] {
        let mut world = world(Plan { on_exhausted, ..stream() }, 100);
        world.runs = Box::new(|item| {
            let poison = ["7", "50", "99"].contains(&item);
            (10, if poison { failed() } else { Outcome::Succeeded })
        });
        world.pass(10);
        let standing = world.standing();
        assert_eq!((standing.counters.succeeded, standing.counters.failed), (97, 3));
        let kept = if on_exhausted == OnExhausted::Skip { 0 } else { 3 };
        assert_eq!(standing.counters.dead_lettered, kept);
        assert_eq!(standing.cursor.as_deref(), Some("99"));
    }
}

/// A4.2
#[test]
fn a_partition_is_blocked_by_poison_until_it_is_resumed() {
    let mut world = world(Plan { on_exhausted: OnExhausted::Block, ..stream() }, 4);
    world.runs = Box::new(|item| (10, if item == "1" { failed() } else { Outcome::Succeeded }));
    world.pass(10);
    let standing = world.standing();
    assert_eq!((standing.state, standing.cursor.as_deref()), (State::Blocked, Some("0")));
    assert_eq!(standing.blocked_by.len(), 1);
    assert_eq!(world.accepted(), ["0", "1"]);
    world.is_away(1000);
    world.pass(10);
    assert_eq!(world.standing().state, State::Blocked, "also after a crash");
    assert_eq!(world.accepted(), ["0", "1"]);
    world.runs = Box::new(|_| (10, Outcome::Succeeded));
    world.input(Input::Resume { handle: 1 });
    world.pass(10);
    assert_eq!(world.confirmed, [1]);
    assert_eq!(world.accepted(), ["0", "1", "1", "2", "3"]);
    let standing = world.standing();
    assert_eq!((standing.state, standing.cursor.as_deref()), (State::Running, Some("3")));
    assert_eq!((standing.accepted, standing.counters.succeeded), (4, 4));
    assert_eq!(world.flight_rows(), 0);
}

#[test]
fn what_is_sent_back_and_fails_blocks_again() {
    let mut world = world(Plan { on_exhausted: OnExhausted::Block, ..stream() }, 2);
    world.runs = Box::new(|_| (10, failed()));
    world.pass(1);
    for _ in 0..3 {
        world.input(Input::Resume { handle: 1 });
        world.pass(1);
        assert_eq!(world.standing().state, State::Blocked);
        assert_eq!(world.flight_rows(), 1);
    }
    assert_eq!(world.accepted(), ["0"; 4]);
    world.runs = Box::new(|_| (10, Outcome::Succeeded));
    world.input(Input::Resume { handle: 1 });
    world.is_away(0);
    // Whoever has resumed it was not answered.
    world.input(Input::Resume { handle: 2 });
    world.pass(1);
    assert_eq!(world.standing().counters.ended(), 2);
    assert_eq!(world.flight_rows(), 0);
}

/// A3.10
#[test]
fn what_cannot_be_an_event_is_a_dead_letter_at_once() {
    let mut world = world(queue(), 2);
    world.source[0].unparseable = true;
    world.runs = Box::new(|_| (10, Outcome::Succeeded));
    world.pass(1);
    let counters = world.standing().counters;
    assert_eq!((counters.succeeded, counters.dead_lettered), (1, 1));
    let modes: Vec<_> = world.invocations.values().map(|started| started.acceptance.mode).collect();
    assert_eq!(
        modes.iter().filter(|mode| **mode == everstep_invocations::Mode::Unparseable).count(),
        1
    );
}

#[test]
fn what_is_too_large_is_refused_and_others_follow() {
    let mut world = world(queue(), 2);
    world.source[0].payload = vec![b' '; 1001];
    world.pass(1);
    assert_eq!(world.accepted(), ["1"]);
    let too_large = Settled::Refused(Refused::TooLarge { bytes: 1001, most: 1000 });
    assert!(world.settled.contains(&(0, too_large)));
    assert_eq!(world.standing().counters.refused, 1);
}

#[test]
fn many_items_share_a_write() {
    let mut world = World::new(plan(Origin::Offered), START);
    world.runs = Box::new(|_| (1000, Outcome::Succeeded));
    world.settle();
    for item in items(10) {
        world.input(Input::Offered(item));
    }
    world.settle();
    assert_eq!(world.sizes, [0, 1, 9]);
}

#[test]
fn who_offers_is_refused_when_there_is_no_room() {
    let mut world = World::new(plan(Origin::Offered), START);
    world.runs = Box::new(|_| (60_000, Outcome::Succeeded));
    for item in items(12) {
        world.input(Input::Offered(item));
    }
    world.settle();
    assert_eq!(world.accepted().len(), 10);
    let full =
        world.settled.iter().filter(|(_, settled)| *settled == Settled::Refused(Refused::Full));
    assert_eq!(full.count(), 2);
}

#[test]
fn a_busy_engine_is_asked_again() {
    let mut world = world(stream(), 5);
    world.busy = 3;
    world.pass(1);
    assert_eq!(world.accepted(), numbers(0..5));
}

#[test]
fn who_offers_is_told_when_the_engine_refuses() {
    let mut world = World::new(plan(Origin::Offered), START);
    world.settle();
    world.input(Input::Offered(items(1).remove(0)));
    let why = "there is no function 'f'".to_owned();
    // The write is not performed.
    let answer = Input::Written(Err(Refusal::Because(why.clone())));
    let driver = world.driver.as_mut().expect("it is open");
    let requests = driver.handle(answer, world.now_ms);
    let told = requests.iter().any(|request| {
        matches!(request, crate::Request::Settle(0, Settled::Refused(Refused::ByEngine(said))) if *said == why)
    });
    assert!(told, "{requests:?}");
    assert_eq!(driver.standing().trouble, Some(why));
}

#[test]
fn a_source_that_cannot_be_read_is_read_later() {
    let mut world = world(queue(), 0);
    world.settle();
    let mut pauses = Vec::new();
    for number in 1..=8 {
        world.input(Input::Fetched(number, Err("it is down".to_owned())));
        let due_ms = world.driver.as_ref().and_then(crate::Driver::next_due_ms).expect("a pause");
        pauses.push((due_ms - world.now_ms) / 1000);
        world.now_ms = due_ms;
        world.input(Input::TimePassed);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(world.standing().trouble.as_deref(), Some("it is down"));
    world.input(Input::Fetched(9, Ok(Vec::new())));
    assert_eq!(world.standing().trouble, None);
}

#[test]
fn items_name_the_executions_that_they_start() {
    let template = everstep_target::ExecutionName::parse("pay-{messageId}").expect("a template");
    let mut world = world(Plan { execution_name: Some(template), ..queue() }, 1);
    world.pass(1);
    let started = world.invocations.values().next().expect("one");
    assert_eq!(started.acceptance.key.as_deref(), Some("pay-0"));
    assert_eq!(started.acceptance.source.offset.as_deref(), Some("0"));
}
