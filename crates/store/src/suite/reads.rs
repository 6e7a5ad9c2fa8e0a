//! What reads promise: order, bounds, and nothing of anybody else.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use super::{Subject, all, commit, get, keys, put, scan, send};
use crate::{Batch, Scan, Shard, Space, after_prefix};

const SHARD: Shard = Shard(2);
const SPACE: Space = Space::Lists;

/// In the order in which a store has them.
fn awkward_keys() -> Vec<Vec<u8>> {
    let long = |byte| vec![byte; 300];
    let keys: [&[u8]; 14] = [
        b"",
        b"\0",
        b"\0\0",
        b"\0\x01",
        b"\x01",
        b"A",
        b"a",
        b"a\0",
        b"a\0\0",
        b"aa",
        b"ab",
        b"b",
        b"\xff",
        b"\xff\xff",
    ];
    let mut keys: Vec<_> = keys.iter().map(|key| key.to_vec()).collect();
    keys.extend([long(0), long(b'a'), long(0xff), b"a\xff".to_vec(), b"\xff\0".to_vec()]);
    keys.sort();
    keys
}

pub fn keys_are_ordered_as_bytes(subject: &mut impl Subject) {
    let store = subject.open();
    let sorted = awkward_keys();
    // Neither up nor down.
    let (odd, even): (Vec<_>, Vec<_>) = sorted.iter().enumerate().partition(|(at, _)| at % 2 == 1);
    for (_, key) in even.into_iter().rev().chain(odd) {
        commit(&*store, put(SHARD, SPACE, key, key)).expect("commits");
    }
    let rows = all(&*store, SHARD, SPACE);
    assert!(rows.iter().all(|(key, value)| key == value), "a row has another row's value");
    assert_eq!(keys(rows), sorted);
    for key in &sorted {
        assert_eq!(get(&*store, SHARD, SPACE, key).as_ref(), Some(key));
    }
}

pub fn a_scan_stops_at_its_bytes(subject: &mut impl Subject) {
    let store = subject.open();
    for key in [b"a", b"b", b"c", b"d"] {
        commit(&*store, put(SHARD, SPACE, key, &[0; 100])).expect("commits");
    }
    let found = |bytes_max, reverse| {
        let asked = Scan { reverse, ..Scan::between(b"", b"", 3) }.up_to_bytes(bytes_max);
        keys(scan(&*store, SHARD, SPACE, asked))
    };
    assert_eq!(found(0, false), [b"a"], "there is always a row");
    assert_eq!(found(101, false), [b"a", b"b"]);
    assert_eq!(found(200, true), [b"d", b"c"]);
    assert_eq!(found(1000, false), [b"a", b"b", b"c"]);
}

pub fn shards_and_spaces_are_apart(subject: &mut impl Subject) {
    let store = subject.open();
    let shards = [Shard(0), Shard(1), Shard(store.shards() - 1), Shard::CATALOG];
    for (shard, space) in places(&shards) {
        let mut batch = Batch::new(shard);
        for key in [&b""[..], b"\0", b"same", b"\xff\xff\xff"] {
            let value = format!("{} {}", shard.0, space.name());
            batch.put(space, key.to_vec(), value.into());
        }
        commit(&*store, batch).expect("commits");
    }
    for (shard, space) in places(&shards) {
        let own = format!("{} {}", shard.0, space.name()).into_bytes();
        for reverse in [false, true] {
            let every = Scan { reverse, ..Scan::between(b"", b"", usize::MAX) };
            let rows = scan(&*store, shard, space, every);
            assert_eq!(rows.len(), 4, "{shard:?} {space:?}");
            assert!(rows.iter().all(|(_, value)| *value == own), "{shard:?} {space:?}: {rows:?}");
        }
    }
    let mut removal = Batch::new(Shard(0));
    removal.remove(Space::Journal, b"same".to_vec());
    commit(&*store, removal).expect("commits");
    for (shard, space) in places(&shards) {
        let gone = (shard, space) == (Shard(0), Space::Journal);
        assert_eq!(get(&*store, shard, space, b"same").is_none(), gone, "{shard:?} {space:?}");
    }
}

fn places(shards: &[Shard]) -> impl Iterator<Item = (Shard, Space)> {
    shards.iter().flat_map(|shard| Space::ALL.map(|space| (*shard, space)))
}

pub fn scans_are_bounded(subject: &mut impl Subject) {
    let store = subject.open();
    let sorted = awkward_keys();
    let mut batch = Batch::new(SHARD);
    sorted.iter().for_each(|key| batch.put(SPACE, key.clone(), Vec::new()));
    commit(&*store, batch).expect("commits");

    let mut bounds = sorted.clone();
    bounds.extend([b"a\0\x01".to_vec(), b"c".to_vec(), vec![0xff; 301]]);
    for from in &bounds {
        for to in &bounds {
            let inside = |key: &&Vec<u8>| *key >= from && (to.is_empty() || *key < to);
            let up: Vec<_> = sorted.iter().filter(inside).cloned().collect();
            let down: Vec<_> = up.iter().rev().cloned().collect();
            for limit in [0, 1, 3, usize::MAX] {
                let between = Scan::between(from, to, limit);
                let expected = &up[..limit.min(up.len())];
                assert_eq!(keys(scan(&*store, SHARD, SPACE, between)), expected, "{between:?}");
                let expected = &down[..limit.min(down.len())];
                let between = between.reversed();
                assert_eq!(keys(scan(&*store, SHARD, SPACE, between)), expected, "{between:?}");
            }
        }
    }
}

pub fn a_prefix_is_scanned_whole(subject: &mut impl Subject) {
    let store = subject.open();
    let sorted = awkward_keys();
    let mut batch = Batch::new(Shard::CATALOG);
    sorted.iter().for_each(|key| batch.put(SPACE, key.clone(), Vec::new()));
    commit(&*store, batch).expect("commits");
    for prefix in [&b""[..], b"\0", b"a", b"a\0", b"\xff", b"\xff\xff", b"none"] {
        let expected: Vec<_> =
            sorted.iter().filter(|key| key.starts_with(prefix)).cloned().collect();
        let end = after_prefix(prefix);
        let rows = scan(&*store, Shard::CATALOG, SPACE, Scan::between(prefix, &end, usize::MAX));
        assert_eq!(keys(rows), expected, "{prefix:?}");
    }
}

pub fn values_of_any_size(subject: &mut impl Subject) {
    let store = subject.open();
    let sizes = [0, 1, 255, 4095, 4096, 65_535, 65_536, 1024 * 1024];
    let value = |size: usize| (0..size).map(|at| (at * 31 % 251) as u8).collect::<Vec<u8>>();
    for size in sizes {
        let key = (size as u64).to_be_bytes();
        commit(&*store, put(SHARD, Space::Journal, &key, &value(size))).expect("commits");
    }
    for size in sizes {
        let found = get(&*store, SHARD, Space::Journal, &(size as u64).to_be_bytes());
        assert!(found == Some(value(size)), "a value of {size} bytes is not as it was written");
    }
    let rows = all(&*store, SHARD, Space::Journal);
    assert!(rows.iter().map(|(_, value)| value.len()).eq(sizes), "a scan has other values");
}

pub fn acknowledged_rows_are_read(subject: &mut impl Subject) {
    let store = subject.open();
    for number in 0..200u32 {
        let key = number.to_be_bytes();
        commit(&*store, put(SHARD, SPACE, &key, b"x")).expect("commits");
        assert!(get(&*store, SHARD, SPACE, &key).is_some(), "row {number} was acknowledged");
        let last = scan(&*store, SHARD, SPACE, Scan::between(b"", b"", 1).reversed());
        assert_eq!(keys(last), [key], "a scan does not see what was acknowledged");
    }
}

pub fn scans_beside_commits_see_what_was_acknowledged(subject: &mut impl Subject) {
    const ROWS: u8 = 20;
    let store = subject.open();
    let acknowledged = AtomicU32::new(0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let least = acknowledged.load(Ordering::Acquire);
                let rows = all(&*store, SHARD, SPACE);
                let all_there = least == 0 || rows.len() == usize::from(ROWS);
                let none_older =
                    rows.iter().all(|(_, turn)| turn.as_slice() >= &least.to_be_bytes()[..]);
                assert!(all_there && none_older, "turn {least} was acknowledged: {rows:?}");
            }
        });
        let outcomes: Vec<_> = (1..=300u32)
            .map(|turn| {
                let mut batch = Batch::new(SHARD);
                for row in 0..ROWS {
                    batch.put(SPACE, vec![row], turn.to_be_bytes().to_vec());
                }
                (turn, send(&*store, batch))
            })
            .collect();
        let done = outcomes.into_iter().all(|(turn, outcome)| {
            let done = outcome.recv() == Ok(Ok(()));
            acknowledged.store(turn, Ordering::Release);
            done
        });
        stop.store(true, Ordering::Relaxed);
        assert!(done, "a batch failed");
    });
}
