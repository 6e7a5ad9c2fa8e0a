//! What batches promise: all or nothing, in order, done once.

use std::sync::mpsc;
use std::thread;

use super::{Subject, all, commit, get, put, send};
use crate::{Batch, Error, Expectation, KEY_BYTES_MAX, Result, Shard, Space};

const SHARD: Shard = Shard(1);
const SPACE: Space = Space::Executions;

fn expecting(mut batch: Batch, key: &[u8], value: Option<&[u8]>) -> Batch {
    let value = value.map(<[u8]>::to_vec);
    batch.expectations.push(Expectation { space: SPACE, key: key.to_vec(), value });
    batch
}

pub fn batches_are_all_or_nothing(subject: &mut impl Subject) {
    let store = subject.open();
    let mut batch = Batch::new(SHARD);
    for space in Space::ALL {
        batch.put(space, b"row".to_vec(), space.name().into());
    }
    commit(&*store, batch).expect("every space takes a row");
    for space in Space::ALL {
        let found = get(&*store, SHARD, space, b"row");
        assert_eq!(found.as_deref(), Some(space.name().as_bytes()), "{space:?}");
    }

    let mut refused = expecting(Batch::new(SHARD), b"row", None);
    for space in Space::ALL {
        refused.remove(space, b"row".to_vec());
        refused.put(space, b"other".to_vec(), Vec::new());
    }
    assert_eq!(commit(&*store, refused), Err(Error::Unexpected { space: SPACE }));
    for space in Space::ALL {
        assert_eq!(all(&*store, SHARD, space).len(), 1, "{space:?} was changed by a refused batch");
    }
}

pub fn expectations_are_judged_in_order(subject: &mut impl Subject) {
    let store = subject.open();
    let mut outcomes = Vec::new();
    // All on their way at once, so that most are judged before those ahead are acknowledged.
    for turn in 0..100u8 {
        let before = turn.checked_sub(1).map(|before| [before]);
        let step = put(SHARD, SPACE, b"step", &[turn]);
        let step = expecting(step, b"step", before.as_ref().map(<[u8; 1]>::as_slice));
        outcomes.push((turn, send(&*store, step.clone()), send(&*store, step)));
    }
    for (turn, first, again) in outcomes {
        assert_eq!(first.recv(), Ok(Ok(())), "step {turn} did not see the step before it");
        let unexpected = Ok(Err(Error::Unexpected { space: SPACE }));
        assert_eq!(again.recv(), unexpected, "step {turn} happened twice");
    }
    let removal = {
        let mut batch = Batch::new(SHARD);
        batch.remove(SPACE, b"step".to_vec());
        send(&*store, batch)
    };
    let gone = send(&*store, expecting(Batch::new(SHARD), b"step", None));
    assert_eq!(removal.recv(), Ok(Ok(())));
    assert_eq!(gone.recv(), Ok(Ok(())), "a removed row was expected to be missing");
    // Not there is not the same as empty.
    commit(&*store, put(SHARD, SPACE, b"empty", b"")).expect("an empty value");
    commit(&*store, expecting(Batch::new(SHARD), b"empty", Some(b""))).expect("is empty");
    commit(&*store, expecting(Batch::new(SHARD), b"empty", None)).expect_err("is there");
    // Every expectation counts, not only the first.
    let two = expecting(expecting(Batch::new(SHARD), b"empty", Some(b"")), b"step", Some(b"x"));
    commit(&*store, two).expect_err("the second expectation fails");
}

pub fn those_behind_an_unexpected_one_go_on(subject: &mut impl Subject) {
    let store = subject.open();
    let refused = expecting(put(SHARD, SPACE, b"a", b"refused"), b"nothing", Some(b"something"));
    let outcomes = [
        send(&*store, put(SHARD, SPACE, b"a", b"1")),
        send(&*store, refused),
        send(&*store, expecting(put(SHARD, SPACE, b"b", b"2"), b"a", Some(b"1"))),
    ];
    let outcomes = outcomes.map(|outcome| outcome.recv().expect("done").is_ok());
    assert_eq!(outcomes, [true, false, true]);
    assert_eq!(get(&*store, SHARD, SPACE, b"a").as_deref(), Some(&b"1"[..]));
    assert_eq!(get(&*store, SHARD, SPACE, b"b").as_deref(), Some(&b"2"[..]));
}

pub fn each_is_done_once_and_in_order(subject: &mut impl Subject) {
    const BATCHES: u32 = 2000;
    let store = subject.open();
    let (sender, receiver) = mpsc::channel();
    for number in 0..BATCHES {
        let mut batch = put(SHARD, SPACE, &number.to_be_bytes(), b"");
        if number % 3 == 0 {
            batch = expecting(batch, b"nothing", Some(b""));
        }
        let sender = sender.clone();
        let done =
            move |outcome: Result<()>| sender.send((number, outcome.is_ok())).expect("receives");
        store.commit(batch, Box::new(done));
    }
    drop((sender, store));
    let done: Vec<_> = receiver.into_iter().collect();
    let expected: Vec<_> = (0..BATCHES).map(|number| (number, number % 3 != 0)).collect();
    assert!(done == expected, "batches were not done once and in the order they were handed over");
}

pub fn the_last_change_counts(subject: &mut impl Subject) {
    let store = subject.open();
    let mut batch = Batch::new(SHARD);
    for value in [b"1", b"2", b"3"] {
        batch.put(SPACE, b"put".to_vec(), value.to_vec());
    }
    batch.put(SPACE, b"removed".to_vec(), b"1".to_vec());
    batch.remove(SPACE, b"removed".to_vec());
    batch.remove(SPACE, b"back".to_vec());
    batch.put(SPACE, b"back".to_vec(), b"1".to_vec());
    commit(&*store, batch).expect("commits");
    let rows = all(&*store, SHARD, SPACE);
    let expected = [(b"back".to_vec(), b"1".to_vec()), (b"put".to_vec(), b"3".to_vec())];
    assert_eq!(rows, expected);
    // The same of batches that follow each other closely.
    let changes = [Some(&b"4"[..]), None, Some(b"5"), None].map(|value| {
        let mut batch = Batch::new(SHARD);
        match value {
            Some(value) => batch.put(SPACE, b"put".to_vec(), value.to_vec()),
            None => batch.remove(SPACE, b"put".to_vec()),
        }
        send(&*store, batch)
    });
    changes.into_iter().for_each(|outcome| assert_eq!(outcome.recv(), Ok(Ok(()))));
    assert_eq!(get(&*store, SHARD, SPACE, b"put"), None);
}

pub fn empty_batches_are_done(subject: &mut impl Subject) {
    let store = subject.open();
    commit(&*store, Batch::new(SHARD)).expect("nothing is easily done");
    commit(&*store, expecting(Batch::new(SHARD), b"a", None)).expect("nothing is there");
    commit(&*store, expecting(Batch::new(SHARD), b"a", Some(b""))).expect_err("nothing is there");
    let mut removal = Batch::new(SHARD);
    removal.remove(SPACE, b"a".to_vec());
    commit(&*store, removal).expect("what is not there can be removed");
}

pub fn too_large_is_refused(subject: &mut impl Subject) {
    let store = subject.open();
    let longest = vec![b'k'; KEY_BYTES_MAX];
    commit(&*store, put(SHARD, SPACE, &longest, b"v")).expect("the longest key");
    assert_eq!(get(&*store, SHARD, SPACE, &longest).as_deref(), Some(&b"v"[..]));
    let longer = vec![b'k'; KEY_BYTES_MAX + 1];
    let error = Error::TooLarge { space: SPACE, bytes: longer.len() };
    assert_eq!(commit(&*store, put(SHARD, SPACE, &longer, b"v")), Err(error));
    assert_eq!(get(&*store, SHARD, SPACE, &longer), None);
    commit(&*store, put(SHARD, SPACE, b"after", b"v")).expect("those behind it go on");
}

pub fn many_threads_commit_at_once(subject: &mut impl Subject) {
    const THREADS: u8 = 8;
    const STEPS: u8 = 50;
    let store = subject.open();
    // A counter that each thread raises by comparing: every step succeeds for exactly one of them.
    commit(&*store, put(SHARD, SPACE, b"counter", &[0, 0])).expect("commits");
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..STEPS).for_each(|_| raise(&*store)));
        }
    });
    let counter = get(&*store, SHARD, SPACE, b"counter").expect("the counter");
    let expected = (u16::from(THREADS) * u16::from(STEPS)).to_be_bytes();
    assert_eq!(counter, expected, "two threads raised the counter from the same value");
}

fn raise(store: &dyn crate::Store) {
    loop {
        let old = get(store, SHARD, SPACE, b"counter").expect("the counter");
        let number = u16::from_be_bytes([old[0], old[1]]) + 1;
        let batch = put(SHARD, SPACE, b"counter", &number.to_be_bytes());
        match commit(store, expecting(batch, b"counter", Some(&old))) {
            Ok(()) => return,
            Err(Error::Unexpected { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
