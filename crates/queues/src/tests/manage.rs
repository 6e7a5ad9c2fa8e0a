//! Queues themselves.

use super::harness::{Harness, creation};
use crate::attributes::Attributes;
use crate::error::Error;
use crate::reader;
use crate::request::{Change, Created, Request};

fn create(harness: &mut Harness, name: &str, delay_ms: i64) -> crate::Result<Created> {
    let attributes = Attributes { delay_ms, ..Attributes::of(name) };
    let creation = Box::new(creation(name, attributes));
    harness.get(|reply| Request::Create { creation, reply })
}

#[test]
fn a_queue_is_created_once() {
    let mut harness = Harness::new();
    assert_eq!(create(&mut harness, "q", 0), Ok(Created { existed: false }));
    assert_eq!(create(&mut harness, "q", 0), Ok(Created { existed: true }));
    assert_eq!(create(&mut harness, "q", 5), Err(Error::Exists("DelaySeconds")));
    let name = "a/b".to_owned();
    assert_eq!(create(&mut harness, &name, 0), Err(Error::InvalidName(name)));
    harness.open();
    assert_eq!(create(&mut harness, "q", 0), Ok(Created { existed: true }));
}

#[test]
fn a_configuration_brings_a_queue_up_to_date() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    let attributes = Attributes { delay_ms: 7, ..Attributes::of("q") };
    let creation = Box::new(crate::Creation { update: true, ..creation("q", attributes) });
    let updated = harness.get(|reply| Request::Create { creation, reply });
    assert_eq!(updated, Ok(Created { existed: true }));
    assert_eq!(harness.standing("q").record.attributes.delay_ms, 7);
}

#[test]
fn queues_are_listed_by_name() {
    let mut harness = Harness::new();
    for name in ["b", "a-2", "a-1", "a-3", "c"] {
        harness.create(name, |_| {});
    }
    let list = |prefix: &str, after: Option<&str>, limit| -> Vec<String> {
        let found = reader::list(&*harness.store, prefix, after, limit).expect("readable");
        found.into_iter().map(|record| record.name).collect()
    };
    assert_eq!(list("", None, 9), ["a-1", "a-2", "a-3", "b", "c"]);
    assert_eq!(list("a-", None, 2), ["a-1", "a-2"]);
    assert_eq!(list("a-", Some("a-2"), 2), ["a-3"]);
    assert_eq!(list("", Some("a-3"), 1), ["b"]);
    assert_eq!(list("b", Some("a-3"), 9), ["b"]);
    assert_eq!(list("x", None, 9), [""; 0]);
}

#[test]
fn tags_are_set_and_removed() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    let change = |harness: &mut Harness, change| {
        let queue = "q".to_owned();
        harness.get(|reply| Request::Change { queue, change, reply }).expect("changed");
    };
    let tags = [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    change(&mut harness, Change::Tag(tags.into()));
    change(&mut harness, Change::Untag(vec!["a".to_owned()]));
    harness.open();
    let left: Vec<_> = harness.standing("q").record.tags.into_iter().collect();
    assert_eq!(left, [("b".to_owned(), "2".to_owned())]);
}

#[test]
fn nothing_is_left_of_a_queue_that_is_deleted() {
    let mut harness = Harness::new();
    harness.create("q.fifo", |_| {});
    for number in 0..1200 {
        harness.send_fifo("q.fifo", "g", &number.to_string(), "x");
    }
    harness.receive("q.fifo", 10);
    harness.get(|reply| Request::Delete { queue: "q.fifo".to_owned(), reply }).expect("deleted");
    harness.open();
    let gone = harness.get(|reply| Request::Stand { queue: "q.fifo".to_owned(), reply });
    assert_eq!(gone, Err(Error::NoSuchQueue("q.fifo".to_owned())));
    harness.create("q.fifo", |_| {});
    harness.send_fifo("q.fifo", "g", "1", "new");
    harness.settle();
    assert_eq!(harness.counts("q.fifo"), [1, 0, 0]);
    assert_eq!(harness.rows(), 6, "queue, counts, message, its place, its id and the id's place");
}

#[test]
fn a_purge_removes_all_messages_at_once() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    harness.send_numbers("q", 1200);
    let receipt = harness.receive("q", 1).remove(0).receipt;
    harness.get(|reply| Request::Purge { queue: "q".to_owned(), reply }).expect("purged");
    assert_eq!(harness.counts("q"), [0, 0, 0]);
    assert_eq!(harness.receive("q", 10), []);
    assert_eq!(harness.remove("q", receipt), Ok(()));
    harness.send("q", "new");
    harness.pass(60);
    assert_eq!(harness.counts("q"), [1, 0, 0]);
    assert_eq!(harness.rows(), 4);
}

#[test]
fn messages_are_looked_at_without_being_received() {
    let mut harness = Harness::new();
    harness.create("q", |_| {});
    for body in ["a", "b", "c"] {
        harness.send("q", body);
    }
    harness.receive("q", 1);
    let peek = |harness: &Harness, limit| -> Vec<(String, bool)> {
        let peeked = reader::peek(&*harness.store, "q", limit).expect("readable");
        let shown =
            |peeked: crate::Peeked| (peeked.message.content.body, peeked.hidden_until_ms.is_some());
        peeked.into_iter().map(shown).collect()
    };
    let of = |body: &str, hidden| (body.to_owned(), hidden);
    assert_eq!(peek(&harness, 9), [of("b", false), of("c", false), of("a", true)]);
    assert_eq!(peek(&harness, 2), [of("b", false), of("c", false)]);
    assert_eq!(harness.counts("q"), [2, 0, 1]);
}
