//! FIFO queues: order within a group, one receiver of a group at a time, deduplication.

use super::harness::{Harness, bodies, content_based, fifo_content};
use crate::error::Error;
use crate::request::Receive;

const Q: &str = "q.fifo";

fn harness() -> Harness {
    let mut harness = Harness::new();
    harness.create(Q, |_| {});
    harness
}

fn fill(harness: &mut Harness, messages: &[(&str, &str)]) {
    for (group, body) in messages {
        harness.send_fifo(Q, group, body, body);
    }
}

#[test]
fn a_group_is_closed_while_one_of_its_messages_is_in_flight() {
    let mut harness = harness();
    fill(&mut harness, &[("a", "a1"), ("b", "b1"), ("a", "a2"), ("b", "b2")]);
    let first = harness.receive(Q, 1);
    assert_eq!(bodies(&first), ["a1"]);
    let second = harness.receive(Q, 1);
    assert_eq!(bodies(&second), ["b1"]);
    assert_eq!(harness.receive(Q, 10), []);
    harness.remove(Q, second[0].receipt).expect("deleted");
    assert_eq!(bodies(&harness.receive(Q, 10)), ["b2"]);
    harness.pass(30);
    assert_eq!(bodies(&harness.receive(Q, 10)), ["a1", "a2", "b2"]);
}

#[test]
fn one_receive_takes_as_many_of_a_group_as_it_can() {
    let mut harness = harness();
    fill(&mut harness, &[("a", "a1"), ("b", "b1"), ("a", "a2"), ("a", "a3")]);
    let received = harness.receive(Q, 3);
    assert_eq!(bodies(&received), ["a1", "a2", "a3"]);
    assert_eq!(harness.hide(Q, received[0].receipt, 0), Ok(()));
    assert_eq!(bodies(&harness.receive(Q, 10)), ["b1"], "others of the group are in flight");
    for received in &received[1..] {
        harness.remove(Q, received.receipt).expect("deleted");
    }
    assert_eq!(bodies(&harness.receive(Q, 10)), ["a1"]);
}

#[test]
fn groups_stay_closed_after_a_restart() {
    let mut harness = harness();
    fill(&mut harness, &[("a", "a1"), ("a", "a2"), ("b", "b1")]);
    assert_eq!(bodies(&harness.receive(Q, 1)), ["a1"]);
    harness.open();
    assert_eq!(bodies(&harness.receive(Q, 10)), ["b1"]);
    harness.pass(30);
    assert_eq!(bodies(&harness.receive(Q, 2)), ["a1", "a2"]);
}

#[test]
fn a_receipt_is_valid_while_its_message_is_hidden() {
    let mut harness = harness();
    fill(&mut harness, &[("a", "a1")]);
    let receipt = harness.receive(Q, 1).remove(0).receipt;
    harness.pass(30);
    assert_eq!(harness.remove(Q, receipt), Err(Error::ReceiptExpired));
    assert_eq!(harness.hide(Q, receipt, 10), Err(Error::ReceiptExpired));
    let again = harness.receive(Q, 1).remove(0).receipt;
    assert_eq!(harness.remove(Q, receipt), Err(Error::ReceiptExpired));
    assert_eq!(harness.remove(Q, again), Ok(()));
    assert_eq!(harness.remove(Q, again), Ok(()));
}

#[test]
fn an_id_counts_once_in_five_minutes() {
    let mut harness = harness();
    let first = harness.send_fifo(Q, "a", "id", "one");
    let again = harness.send_fifo(Q, "b", "id", "two");
    assert_eq!((again.known, again.id, again.sequence), (true, first.id, first.sequence));
    let received = harness.receive(Q, 10);
    assert_eq!(bodies(&received), ["one"]);
    harness.remove(Q, received[0].receipt).expect("deleted");
    harness.pass(299);
    harness.open();
    assert!(harness.send_fifo(Q, "a", "id", "three").known, "also after it was deleted");
    harness.pass(1);
    assert!(!harness.send_fifo(Q, "a", "id", "four").known);
}

#[test]
fn the_scope_of_ids_may_be_the_group() {
    let mut harness = Harness::new();
    harness.create(Q, |attributes| {
        attributes.fifo = content_based().map(|fifo| crate::Fifo { by_group: true, ..fifo });
    });
    assert!(!harness.send_fifo(Q, "a", "id", "x").known);
    assert!(!harness.send_fifo(Q, "b", "id", "x").known);
    assert!(harness.send_fifo(Q, "b", "id", "x").known);
}

#[test]
fn the_content_may_be_the_id() {
    let mut harness = Harness::new();
    harness.create(Q, |attributes| attributes.fifo = content_based());
    assert!(!harness.send_fifo(Q, "a", "", "same").known);
    assert!(harness.send_fifo(Q, "a", "", "same").known);
    assert!(!harness.send_fifo(Q, "a", "own", "same").known);
    let received = harness.receive(Q, 1).remove(0);
    let digest = crate::id::content_digest("same");
    assert_eq!(received.message.content.deduplication_id, Some(digest));
}

#[test]
fn groups_and_ids_are_required() {
    let mut harness = harness();
    let ask = |harness: &mut Harness, name: &str, content| {
        let (queue, sendings) = (name.to_owned(), vec![harness.sending(content)]);
        harness.get(|reply| crate::Request::Send { queue, sendings, reply }).map(|_| ())
    };
    let no_id = ask(&mut harness, Q, fifo_content("g", "", "x"));
    assert_eq!(no_id, Err(Error::NoDeduplicationId));
    let no_group = ask(&mut harness, Q, crate::Content::text("x"));
    assert_eq!(no_group, Err(Error::NoGroup));
    harness.create("standard", |_| {});
    let id = ask(&mut harness, "standard", fifo_content("g", "id", "x"));
    assert_eq!(id, Err(Error::NotFifo));
    let group = ask(&mut harness, "standard", fifo_content("g", "", "x"));
    assert_eq!(group, Ok(()), "a group is allowed");
}

#[test]
fn none_of_a_batch_is_sent_if_one_is_of_the_wrong_kind() {
    let mut harness = harness();
    let good = harness.sending(fifo_content("g", "id", "x"));
    let bad = harness.sending(crate::Content::text("x"));
    let (queue, sendings) = (Q.to_owned(), vec![good, bad]);
    let refused = harness.get(|reply| crate::Request::Send { queue, sendings, reply });
    assert_eq!(refused, Err(Error::NoGroup));
    assert_eq!(harness.counts(Q), [0, 0, 0]);
}

#[test]
fn a_repeated_receive_gets_the_same_messages() {
    let mut harness = harness();
    fill(&mut harness, &[("a", "a1"), ("a", "a2"), ("b", "b1")]);
    let attempt = |id: &str| Receive { max: 2, attempt: Some(id.into()), ..Receive::default() };
    let first = harness.receive_by(Q, attempt("x"));
    assert_eq!(bodies(&first), ["a1", "a2"]);
    harness.pass(20);
    let again = harness.receive_by(Q, attempt("x"));
    let receipts = |received: &[crate::Received]| -> Vec<_> {
        received.iter().map(|one| (one.receipt, one.receives)).collect()
    };
    assert_eq!(receipts(&again), receipts(&first));
    harness.pass(20);
    assert_eq!(bodies(&harness.receive_by(Q, attempt("y"))), ["b1"], "hidden for longer");
    harness.remove(Q, first[0].receipt).expect("deleted");
    assert_eq!(harness.receive_by(Q, attempt("x")), [], "one of them has changed");
}
