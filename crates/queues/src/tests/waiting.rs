//! Receives that wait.

use std::sync::mpsc::{Receiver, TryRecvError};

use super::harness::{Harness, bodies, content_based};
use crate::error::{Error, Result};
use crate::request::{Cancelled, Receive, Received, Request};

fn wait(
    harness: &mut Harness,
    queue: &str,
    seconds: i64,
    cancelled: &Cancelled,
) -> Receiver<Result<Vec<Received>>> {
    let cancelled = cancelled.clone();
    let receive =
        Receive { max: 10, wait_ms: Some(seconds * 1000), cancelled, ..Receive::default() };
    let queue = queue.to_owned();
    harness.ask(|reply| Request::Receive { queue, receive, reply })
}

#[test]
fn those_that_wait_are_answered_in_their_order() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    let never = Cancelled::default();
    let [first, second] = [20, 20].map(|seconds| wait(&mut harness, "q", seconds, &never));
    harness.send("q", "a");
    assert_eq!(bodies(&first.try_recv().expect("an answer").expect("received")), ["a"]);
    assert_eq!(second.try_recv(), Err(TryRecvError::Empty));
    harness.send("q", "b");
    assert_eq!(bodies(&second.try_recv().expect("an answer").expect("received")), ["b"]);
}

#[test]
fn one_that_has_waited_long_enough_is_answered_that_there_is_none() {
    let mut harness = Harness::new();
    harness.create("q", |attributes| attributes.wait_ms = 5000);
    let never = Cancelled::default();
    let longer = wait(&mut harness, "q", 20, &never);
    let receive = Receive { max: 1, ..Receive::default() };
    let queue = "q".to_owned();
    let usual = harness.ask(|reply| Request::Receive { queue, receive, reply });
    harness.pass(4);
    assert_eq!(usual.try_recv(), Err(TryRecvError::Empty));
    harness.pass(1);
    assert_eq!(usual.try_recv(), Ok(Ok(Vec::new())));
    assert_eq!(longer.try_recv(), Err(TryRecvError::Empty));
    harness.pass(15);
    assert_eq!(longer.try_recv(), Ok(Ok(Vec::new())));
}

#[test]
fn one_that_has_gone_is_given_nothing() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    let gone = Cancelled::default();
    let _first = wait(&mut harness, "q", 20, &gone);
    gone.set();
    let second = wait(&mut harness, "q", 20, &Cancelled::default());
    harness.send("q", "a");
    assert_eq!(bodies(&second.try_recv().expect("an answer").expect("received")), ["a"]);
}

#[test]
fn what_becomes_visible_is_handed_to_those_that_wait() {
    let mut harness = Harness::new();
    harness.create("q.fifo", |attributes| attributes.fifo = content_based());
    for body in ["a1", "a2"] {
        harness.send_fifo("q.fifo", "a", "", body);
    }
    let first = harness.receive("q.fifo", 1).remove(0);
    let waiting = wait(&mut harness, "q.fifo", 20, &Cancelled::default());
    assert_eq!(waiting.try_recv(), Err(TryRecvError::Empty), "the group is closed");
    harness.remove("q.fifo", first.receipt).expect("deleted");
    let received = waiting.try_recv().expect("an answer").expect("received");
    assert_eq!(bodies(&received), ["a2"]);
    let waiting = wait(&mut harness, "q.fifo", 60, &Cancelled::default());
    harness.pass(30);
    assert_eq!(bodies(&waiting.try_recv().expect("an answer").expect("received")), ["a2"]);
}

#[test]
fn only_so_many_wait() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    harness.settings.waiters_max = 1;
    harness.open();
    let never = Cancelled::default();
    let _first = wait(&mut harness, "q", 20, &never);
    assert_eq!(wait(&mut harness, "q", 20, &never).try_recv(), Ok(Err(Error::Busy)));
}

#[test]
fn nobody_waits_for_a_queue_that_is_deleted_or_an_engine_that_stops() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    harness.create("r", |_| {});
    let never = Cancelled::default();
    let deleted = wait(&mut harness, "q", 20, &never);
    harness.get(|reply| Request::Delete { queue: "q".to_owned(), reply }).expect("deleted");
    assert_eq!(deleted.try_recv(), Ok(Err(Error::NoSuchQueue("q".to_owned()))));
    let stopped = wait(&mut harness, "r", 20, &never);
    (0..3).for_each(|shard| harness.handle(Request::StopWaiting { shard }));
    assert_eq!(stopped.try_recv(), Ok(Ok(Vec::new())));
    assert_eq!(wait(&mut harness, "r", 20, &never).try_recv(), Ok(Ok(Vec::new())));
    harness.open();
    let dropped = wait(&mut harness, "r", 20, &never);
    harness.shards.clear();
    assert_eq!(dropped.try_recv(), Ok(Err(Error::Stopped)));
}
