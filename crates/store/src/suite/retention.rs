//! Old rows are removed a few at a time while others write.

use std::thread;

use super::{Subject, all, commit, put, scan};
use crate::{Batch, Scan, Shard, Space, Store};

const SHARD: Shard = Shard(0);
const OLD: u32 = 2000;
const STEP: usize = 100;

pub fn rows_are_removed_in_steps_while_others_write(subject: &mut impl Subject) {
    let store = subject.open();
    for chunk in 0..OLD / 100 {
        let mut batch = Batch::new(SHARD);
        for row in 0..100 {
            batch.put(Space::Journal, key(b'a', chunk * 100 + row), vec![b'x'; 100]);
        }
        commit(&*store, batch).expect("commits");
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            for row in 0..OLD / 10 {
                commit(&*store, put(SHARD, Space::Journal, &key(b'b', row), b"")).expect("commits");
            }
        });
        remove_old(&*store);
    });
    let rows = all(&*store, SHARD, Space::Journal);
    assert!(rows.iter().all(|(key, _)| key[0] == b'b'), "an old row is still there");
    assert_eq!(rows.len(), (OLD / 10) as usize, "a row that was written meanwhile is missing");
}

fn key(kind: u8, row: u32) -> Vec<u8> {
    [&[kind][..], &row.to_be_bytes()].concat()
}

fn remove_old(store: &dyn Store) {
    for step in 0.. {
        let rows = scan(store, SHARD, Space::Journal, Scan::between(b"a", b"b", STEP));
        if rows.is_empty() {
            assert_eq!(step, OLD as usize / STEP, "a step took more or less than it asked for");
            return;
        }
        let mut batch = Batch::new(SHARD);
        rows.into_iter().for_each(|(key, _)| batch.remove(Space::Journal, key));
        commit(store, batch).expect("commits");
    }
}
