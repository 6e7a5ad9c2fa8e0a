//! Messages of a standard queue: sent, received, hidden, deleted.

use super::harness::{Harness, START_MS, bodies};
use crate::content::Content;
use crate::error::Error;
use crate::request::Receive;

fn harness() -> Harness {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    harness
}

#[test]
fn what_is_sent_is_received_until_it_is_deleted() {
    let mut harness = harness();
    let sent = ["a", "b", "c"].map(|body| harness.send("q", body));
    assert_eq!(harness.counts("q"), [3, 0, 0]);
    let received = harness.receive("q", 2);
    assert_eq!(bodies(&received), ["a", "b"]);
    assert_eq!(received[0].message.id, sent[0].id);
    assert_eq!((received[0].receives, received[0].first_received_ms), (1, START_MS));
    assert_eq!(harness.counts("q"), [1, 0, 2]);
    assert_eq!(harness.remove("q", received[0].receipt), Ok(()));
    harness.pass(29);
    assert_eq!(bodies(&harness.receive("q", 10)), ["c"]);
    harness.pass(1);
    let again = harness.receive("q", 10);
    assert_eq!((bodies(&again), again[0].receives), (vec!["b"], 2));
    assert_eq!(again[0].first_received_ms, START_MS);
}

#[test]
fn counts_survive_a_restart() {
    let mut harness = harness();
    harness.send_numbers("q", 5);
    let first = harness.receive("q", 1).remove(0);
    harness.open();
    assert_eq!(harness.counts("q"), [4, 0, 1]);
    harness.pass(30);
    let again = harness.receive("q", 1).remove(0);
    assert_eq!((again.message.id, again.receives), (first.message.id, 2));
}

#[test]
fn an_old_receipt_deletes_nothing() {
    let mut harness = harness();
    harness.send("q", "a");
    let first = harness.receive("q", 1).remove(0).receipt;
    harness.pass(30);
    let second = harness.receive("q", 1).remove(0).receipt;
    assert_eq!(harness.remove("q", first), Ok(()));
    assert_eq!(harness.counts("q"), [0, 0, 1]);
    assert_eq!(harness.hide("q", first, 0), Err(Error::NotInFlight));
    assert_eq!(harness.remove("q", second), Ok(()));
    assert_eq!(harness.remove("q", second), Ok(()), "it is gone already");
    assert_eq!(harness.hide("q", second, 0), Err(Error::NotInFlight));
    assert_eq!(harness.counts("q"), [0, 0, 0]);
}

#[test]
fn the_last_receipt_deletes_a_message_that_is_visible_again() {
    let mut harness = harness();
    harness.send("q", "a");
    let receipt = harness.receive("q", 1).remove(0).receipt;
    harness.pass(60);
    assert_eq!(harness.counts("q"), [1, 0, 0]);
    assert_eq!(harness.remove("q", receipt), Ok(()));
    assert_eq!(harness.counts("q"), [0, 0, 0]);
}

#[test]
fn a_message_is_hidden_for_longer_or_shown_at_once() {
    let mut harness = harness();
    harness.send("q", "a");
    let receipt = harness.receive("q", 1).remove(0).receipt;
    assert_eq!(harness.hide("q", receipt, 100), Ok(()));
    harness.pass(99);
    assert_eq!(harness.receive("q", 1), []);
    assert_eq!(harness.hide("q", receipt, 0), Ok(()));
    let receipt = harness.receive("q", 1).remove(0).receipt;
    let most = 12 * 60 * 60;
    harness.pass(1);
    assert_eq!(harness.hide("q", receipt, most), Err(Error::HiddenTooLong));
    assert_eq!(harness.hide("q", receipt, most - 1), Ok(()));
    harness.pass(most - 2);
    assert_eq!(harness.receive("q", 1), []);
    harness.pass(1);
    assert_eq!(harness.counts("q"), [1, 0, 0]);
    // Not received since: hidden once more.
    assert_eq!(harness.hide("q", receipt, 5), Ok(()));
    assert_eq!(harness.counts("q"), [0, 0, 1]);
}

#[test]
fn a_receive_without_visibility_leaves_messages_visible() {
    let mut harness = harness();
    harness.send("q", "a");
    let now = Receive { max: 1, visibility_ms: Some(0), ..Receive::default() };
    assert_eq!(harness.receive_by("q", now.clone()).len(), 1);
    harness.settle();
    let again = harness.receive_by("q", now);
    assert_eq!(again[0].receives, 2);
}

#[test]
fn receipts_are_of_one_queue() {
    let mut harness = harness();
    harness.create("other", |_| {});
    harness.send("q", "a");
    let receipt = harness.receive("q", 1).remove(0).receipt;
    assert_eq!(harness.remove("other", receipt), Err(Error::WrongQueue));
    assert_eq!(harness.counts("q"), [0, 0, 1]);
}

#[test]
fn a_message_is_kept_as_long_as_it_is_to_be() {
    let mut harness = Harness::new();
    harness.create("q", |attributes| attributes.retention_ms = 60_000);
    harness.send("q", "a");
    harness.pass(30);
    harness.send("q", "b");
    let in_flight = harness.receive("q", 1);
    assert_eq!(bodies(&in_flight), ["a"]);
    harness.pass(30);
    // The first was in flight when its time was over.
    assert_eq!(harness.counts("q"), [1, 0, 0]);
    harness.pass(30);
    assert_eq!(harness.counts("q"), [0, 0, 0]);
    assert_eq!(harness.rows(), 2, "the queue and its counts");
}

#[test]
fn a_message_that_is_too_large_is_refused_alone() {
    let mut harness = Harness::new();
    harness.create("q", |attributes| attributes.bytes_max = 3);
    let sendings = ["abc", "abcd"].map(|body| harness.sending(Content::text(body)));
    let sent = harness.send_all("q", sendings.into());
    assert!(sent[0].is_ok());
    assert_eq!(sent[1], Err(Error::TooLarge { most: 3 }));
    assert_eq!(harness.counts("q"), [1, 0, 0]);
}

#[test]
fn only_so_many_messages_are_in_flight() {
    let mut harness = harness();
    harness.settings.in_flight_max = 2;
    harness.open();
    harness.send_numbers("q", 3);
    let received = harness.receive("q", 2);
    let receive = Receive { max: 1, ..Receive::default() };
    let refused =
        harness.get(|reply| crate::Request::Receive { queue: "q".into(), receive, reply });
    assert_eq!(refused, Err(Error::OverLimit));
    assert_eq!(harness.remove("q", received[0].receipt), Ok(()));
    assert_eq!(harness.receive("q", 1).len(), 1);
}

#[test]
fn a_delivery_that_is_repeated_counts_once() {
    let mut harness = harness();
    let sending = harness.sending(Content::text("record"));
    let sending = crate::Sending { key: Some("id".to_owned()), ..sending };
    let first = harness.send_all("q", vec![sending.clone()]).remove(0).expect("sent");
    harness.open();
    let second = harness.send_all("q", vec![sending.clone()]).remove(0).expect("sent");
    assert_eq!((first.known, second.known, first.id), (false, true, second.id));
    harness.pass(300);
    assert!(!harness.send_all("q", vec![sending]).remove(0).expect("sent").known);
    harness.pass(301);
    assert_eq!(harness.counts("q"), [2, 0, 0]);
    assert_eq!(harness.rows(), 2 + 2 * 2, "no deduplication record is left");
}
