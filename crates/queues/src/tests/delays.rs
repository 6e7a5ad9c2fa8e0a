//! Messages that cannot be received before their time.

use super::harness::{Harness, bodies};
use crate::content::Content;
use crate::error::Error;

fn send_later(harness: &mut Harness, body: &str, seconds: i64) {
    let sending = harness.sending(Content::text(body));
    let sending = crate::Sending { delay_ms: Some(seconds * 1000), ..sending };
    harness.send_all("q", vec![sending]).remove(0).expect("sent");
}

#[test]
fn a_delayed_message_is_received_at_its_time() {
    let mut harness = Harness::new();
    harness.create("q", |attributes| attributes.delay_ms = 10_000);
    harness.send("q", "usual");
    send_later(&mut harness, "late", 20);
    send_later(&mut harness, "now", 0);
    assert_eq!(harness.counts("q"), [1, 2, 0]);
    assert_eq!(bodies(&harness.receive("q", 10)), ["now"]);
    harness.pass(9);
    assert_eq!(harness.counts("q"), [0, 2, 1]);
    harness.open();
    harness.pass(1);
    assert_eq!(bodies(&harness.receive("q", 10)), ["usual"]);
    harness.pass(10);
    assert_eq!(bodies(&harness.receive("q", 10)), ["late"]);
    assert_eq!(harness.counts("q"), [0, 0, 3]);
}

#[test]
fn many_delayed_messages_become_ready() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    for number in 0..1000 {
        send_later(&mut harness, &number.to_string(), 1 + number % 3);
    }
    harness.pass(2);
    assert_eq!(harness.counts("q"), [667, 333, 0]);
    harness.pass(1);
    assert_eq!(harness.counts("q"), [1000, 0, 0]);
}

#[test]
fn a_clock_that_is_set_back_delays_what_is_sent_later_and_loses_nothing() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    send_later(&mut harness, "a", 10);
    harness.pass(10);
    harness.now_ms -= 3_600_000;
    send_later(&mut harness, "b", 10);
    harness.pass(10);
    assert_eq!(bodies(&harness.receive("q", 10)), ["a", "b"]);
}

#[test]
fn messages_of_a_fifo_queue_do_not_overtake_each_other() {
    let mut harness = Harness::new();
    harness.create("q.fifo", |attributes| attributes.delay_ms = 100_000);
    harness.send_fifo("q.fifo", "g", "1", "first");
    let change = crate::Change::Attributes(Box::new(|attributes| crate::Attributes {
        delay_ms: 0,
        ..attributes
    }));
    let queue = "q.fifo".to_owned();
    harness.get(|reply| crate::Request::Change { queue, change, reply }).expect("changed");
    harness.open();
    harness.send_fifo("q.fifo", "g", "2", "second");
    assert_eq!(harness.receive("q.fifo", 10), []);
    harness.pass(100);
    assert_eq!(bodies(&harness.receive("q.fifo", 10)), ["first", "second"]);
    let sending = harness.sending(super::harness::fifo_content("g", "3", "x"));
    let sending = crate::Sending { delay_ms: Some(1000), ..sending };
    let (queue, sendings) = ("q.fifo".to_owned(), vec![sending]);
    let refused = harness.get(|reply| crate::Request::Send { queue, sendings, reply });
    assert_eq!(refused, Err(Error::DelayInFifo));
}
