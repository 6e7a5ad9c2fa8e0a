//! Messages that wait are rows: a window of them is in memory.

use std::collections::HashSet;
use std::sync::Arc;

use everstep_store::MemoryStore;

use super::harness::{Harness, bodies};
use crate::settings::Settings;

const WINDOW: usize = 50;

fn harness() -> Harness {
    let settings = Settings { ready_max: WINDOW, fifo_ready_max: WINDOW, ..Settings::default() };
    Harness::on(Arc::new(MemoryStore::new(2)), settings)
}

fn resident(harness: &Harness) -> usize {
    harness.shards.iter().map(crate::Shard::resident).sum()
}

#[test]
fn many_messages_are_received_once_each_in_their_order() {
    let mut harness = harness();
    harness.create("q", |_| {});
    harness.send_numbers("q", 1000);
    assert_eq!((harness.counts("q"), resident(&harness)), ([1000, 0, 0], WINDOW));
    let mut seen = Vec::new();
    for round in 0..100 {
        let received = harness.receive("q", 10);
        seen.extend(bodies(&received).into_iter().map(str::to_owned));
        received.iter().for_each(|one| harness.remove("q", one.receipt).expect("deleted"));
        assert!(resident(&harness) <= WINDOW);
        if round % 30 == 0 {
            harness.open();
        }
    }
    assert_eq!(seen, (0..1000).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(harness.rows(), 2);
}

#[test]
fn what_returns_is_received_before_what_is_newer() {
    let mut harness = harness();
    harness.create("q", |_| {});
    harness.send_numbers("q", 200);
    for _ in 0..12 {
        harness.receive("q", 10);
    }
    harness.pass(30);
    assert_eq!(harness.counts("q"), [200, 0, 0]);
    assert!(resident(&harness) <= WINDOW);
    let mut all = HashSet::new();
    for _ in 0..20 {
        for one in harness.receive("q", 10) {
            assert!(all.insert(one.message.content.body.clone()));
            harness.remove("q", one.receipt).expect("deleted");
        }
    }
    assert_eq!((all.len(), harness.counts("q")), (200, [0, 0, 0]));
}

#[test]
fn groups_beyond_the_window_are_reached_as_it_moves() {
    let mut harness = harness();
    harness.create("q.fifo", |_| {});
    for number in 0..300 {
        let (group, id) = ((number % 60).to_string(), number.to_string());
        harness.send_fifo("q.fifo", &group, &id, &id);
    }
    let mut seen: Vec<u32> = Vec::new();
    while harness.counts("q.fifo") != [0, 0, 0] {
        let received = harness.receive("q.fifo", 3);
        assert!(!received.is_empty());
        for one in &received {
            seen.push(one.message.content.body.parse().expect("a number"));
            harness.remove("q.fifo", one.receipt).expect("deleted");
        }
    }
    for group in 0..60 {
        let of_group: Vec<u32> = seen.iter().copied().filter(|n| n % 60 == group).collect();
        assert!(of_group.len() == 5 && of_group.is_sorted(), "{group}: {of_group:?}");
    }
}
