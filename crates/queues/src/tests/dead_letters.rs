//! Messages that were received too often, and how they are sent back.

use super::harness::{Harness, bodies, locked, redrive};
use crate::error::Error;
use crate::move_task::{MoveStatus, MoveTaskId};
use crate::request::Request;

fn harness() -> Harness {
    let mut harness = Harness::new();
    harness.create("q", |attributes| attributes.redrive = redrive("dead", 2));
    harness.create("dead", |_| {});
    harness
}

fn fail_twice(harness: &mut Harness) {
    for _ in 0..2 {
        assert!(!harness.receive("q", 10).is_empty());
        harness.pass(30);
    }
}

fn start(
    harness: &mut Harness,
    destination: Option<&str>,
    per_second: Option<u32>,
) -> crate::Result<MoveTaskId> {
    let (queue, destination) = ("dead".to_owned(), destination.map(str::to_owned));
    harness.get(|reply| Request::StartMove { queue, destination, per_second, reply })
}

#[test]
fn a_message_moves_after_the_last_receive() {
    let mut harness = harness();
    let sent = harness.send("q", "poison");
    fail_twice(&mut harness);
    assert_eq!((harness.counts("q"), harness.counts("dead")), ([0, 0, 0], [1, 0, 0]));
    let dead = harness.receive("dead", 10).remove(0);
    assert_eq!((dead.message.id, dead.receives), (sent.id, 3));
    assert_eq!(dead.message.dead_letter_of.as_deref(), Some("q"));
    harness.remove("dead", dead.receipt).expect("deleted");
    assert_eq!(harness.rows(), 2 * 2, "two queues, and their counts");
}

#[test]
fn a_message_that_is_shown_again_moves_too() {
    let mut harness = harness();
    harness.send("q", "poison");
    for _ in 0..2 {
        let receipt = harness.receive("q", 1).remove(0).receipt;
        harness.hide("q", receipt, 0).expect("shown");
    }
    harness.settle();
    assert_eq!(harness.receive("q", 1), []);
    assert_eq!(harness.counts("dead"), [1, 0, 0]);
}

#[test]
fn what_is_ready_moves_when_the_limit_is_lowered() {
    let mut harness = harness();
    harness.send("q", "a");
    harness.receive("q", 1);
    harness.pass(30);
    assert_eq!(harness.counts("q"), [1, 0, 0]);
    let change = crate::Change::Attributes(Box::new(|attributes| crate::Attributes {
        redrive: redrive("dead", 1),
        ..attributes
    }));
    harness.get(|reply| Request::Change { queue: "q".to_owned(), change, reply }).expect("changed");
    assert_eq!(harness.receive("q", 10), []);
    harness.settle();
    assert_eq!(harness.counts("dead"), [1, 0, 0]);
}

#[test]
fn a_message_waits_for_a_dead_letter_queue_that_does_not_exist() {
    let mut harness = Harness::new();
    harness.create("q", |attributes| attributes.redrive = redrive("dead", 2));
    harness.send("q", "poison");
    fail_twice(&mut harness);
    assert_eq!(harness.counts("q"), [0, 0, 0]);
    let missing = "dead: the queue 'dead' does not exist";
    assert!(locked(&harness.notes.0).contains(&missing.to_owned()));
    harness.open();
    harness.create("dead", |_| {});
    harness.pass(1);
    assert_eq!(bodies(&harness.receive("dead", 10)), ["poison"]);
}

#[test]
fn dead_letters_go_back_to_where_they_came_from() {
    let mut harness = harness();
    let sent = harness.send("q", "poison");
    fail_twice(&mut harness);
    let task = start(&mut harness, None, None).expect("started");
    assert_eq!(start(&mut harness, None, None), Err(Error::TaskRuns));
    harness.settle();
    let back = harness.receive("q", 10).remove(0);
    assert_ne!(back.message.id, sent.id, "it is a new message");
    assert_eq!((back.receives, back.message.dead_letter_of.as_deref()), (1, None));
    let standing = harness.standing("dead");
    let done = &standing.move_tasks()[0];
    assert_eq!((done.id, done.moved, done.to_move), (task, 1, 1));
    assert_eq!(done.status, MoveStatus::Completed);
    harness.remove("q", back.receipt).expect("deleted");
    assert_eq!(harness.rows(), 2 * 2);
}

#[test]
fn a_task_moves_at_its_rate_and_can_be_cancelled() {
    let mut harness = harness();
    harness.send_numbers("dead", 10);
    harness.create("elsewhere", |_| {});
    let task = start(&mut harness, Some("elsewhere"), Some(2)).expect("started");
    harness.pass(2);
    assert_eq!(harness.counts("elsewhere"), [6, 0, 0]);
    harness.open();
    let queue = "dead".to_owned();
    let moved = harness.get(|reply| Request::CancelMove { queue, task, reply });
    assert_eq!(moved, Ok(6));
    harness.pass(10);
    assert_eq!(harness.counts("elsewhere"), [6, 0, 0]);
    assert_eq!(harness.standing("dead").move_tasks()[0].status, MoveStatus::Cancelled);
    let queue = "dead".to_owned();
    let again = harness.get(|reply| Request::CancelMove { queue, task, reply });
    assert_eq!(again, Err(Error::NoSuchTask));
}

#[test]
fn many_dead_letters_are_moved() {
    let mut harness = harness();
    harness.send_numbers("dead", 2500);
    start(&mut harness, Some("q"), None).expect("started");
    harness.pass(60);
    assert_eq!((harness.counts("dead"), harness.counts("q")), ([0, 0, 0], [2500, 0, 0]));
}

#[test]
fn a_task_that_cannot_continue_says_why() {
    let mut harness = harness();
    harness.send("dead", "sent here");
    start(&mut harness, None, None).expect("started");
    harness.settle();
    let status = |harness: &mut Harness| harness.standing("dead").move_tasks()[0].status.clone();
    let failed = |reason: &str| MoveStatus::Failed(reason.to_owned());
    assert_eq!(status(&mut harness), failed("CouldNotDetermineMessageSource"));
    start(&mut harness, Some("nowhere"), None).expect("started");
    harness.settle();
    assert_eq!(status(&mut harness), failed("AWS.SimpleQueueService.NonExistentQueue"));
    assert_eq!(harness.counts("dead"), [1, 0, 0]);
}
