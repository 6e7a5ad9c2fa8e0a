//! What is opened, what is refused, and how to go on.

use std::fs;
use std::path::Path;
use std::sync::{Arc, mpsc};

use everstep_store::suite::{Load, check_load, commit};
use everstep_store::{Batch, Shard, Space, Store};
use everstep_store_embedded::{EmbeddedStore, OpenError, Options};
use tempfile::TempDir;

fn open(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open(path, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(path: &Path) -> OpenError {
    EmbeddedStore::open(path, &Options::default()).err().expect("a refusal")
}

fn write(store: &EmbeddedStore, from: u64, to: u64) {
    let mut load = Load::new(store, from, 1, 100);
    while load.step().expect("commits") < to {}
}

/// A store with twenty batches, and its rows as they were after ten.
fn with_old_copy() -> (TempDir, TempDir) {
    let (directory, old) = (TempDir::new().expect("made"), TempDir::new().expect("made"));
    let store = open(directory.path());
    write(&store, 0, 10);
    drop(store);
    copy(&directory.path().join("rows"), old.path());
    let store = open(directory.path());
    write(&store, 10, 20);
    drop(store);
    (directory, old)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() { copy(&path, &target) } else { drop(fs::copy(&path, &target)) }
    }
}

fn accept_loss(path: &Path) -> EmbeddedStore {
    let options = Options { accept_loss: true, ..Options::default() };
    EmbeddedStore::open(path, &options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn shards_stay_as_they_were_made() {
    let directory = TempDir::new().expect("made");
    let path = directory.path().join("a/b");
    let options = Options { shards: 5, ..Options::default() };
    drop(EmbeddedStore::open(&path, &options).expect("opens"));
    assert_eq!(open(&path).shards(), 5);
    let format = fs::read_to_string(path.join("FORMAT")).expect("a format");
    let spaces = Space::ALL.len();
    let expected = format!("everstep store, format 1\nshards 5\nspaces {spaces}\nchecksum ");
    assert!(format.starts_with(&expected), "{format}");
    fs::write(path.join("FORMAT"), format.replace("shards 5", "shards 4")).expect("written");
    assert!(matches!(refused(&path), OpenError::Damaged { .. }), "a number that was changed");
}

#[test]
fn somebody_elses_directory_is_left_alone() {
    let directory = TempDir::new().expect("made");
    fs::write(directory.path().join("letter.txt"), "dear").expect("written");
    let error = refused(directory.path());
    assert!(matches!(error, OpenError::NotAStore { .. }), "{error}");
    assert_eq!(fs::read_dir(directory.path()).expect("read").count(), 1);
}

#[test]
fn an_unknown_format_is_refused() {
    let directory = TempDir::new().expect("made");
    fs::write(directory.path().join("FORMAT"), "everstep store, format 2\n").expect("written");
    let error = refused(directory.path()).to_string();
    assert!(error.contains("\"everstep store, format 2\""), "{error}");
    assert!(error.contains("\"everstep store, format 1\""), "{error}");
}

#[test]
fn an_interrupted_making_is_begun_again() {
    let directory = TempDir::new().expect("made");
    drop(open(directory.path()));
    fs::write(directory.path().join("FORMAT"), "everstep store, being made\n").expect("written");
    fs::remove_file(directory.path().join("rows/version")).expect("removed");
    let store = open(directory.path());
    write(&store, 0, 5);
    drop(store);
    assert_eq!(check_load(&open(directory.path()), 5), 5);
}

#[test]
fn a_store_without_its_mark_is_refused() {
    let directory = TempDir::new().expect("made");
    let store = open(directory.path());
    write(&store, 0, 5);
    drop(store);
    let mark = directory.path().join("high-water");
    for damage in [None, Some(""), Some("00000000000000000007 0123456789abcdef\n")] {
        match damage {
            None => fs::remove_file(&mark).expect("removed"),
            Some(text) => fs::write(&mark, text).expect("written"),
        }
        let error = refused(directory.path());
        assert!(matches!(error, OpenError::Lost { .. }), "{error}");
        drop(accept_loss(directory.path()));
        assert_eq!(check_load(&open(directory.path()), 5), 5);
    }
}

#[test]
fn an_older_copy_is_noticed() {
    let (directory, old) = with_old_copy();
    let rows = directory.path().join("rows");
    fs::remove_dir_all(&rows).expect("removed");
    copy(old.path(), &rows);
    for _ in 0..2 {
        match refused(directory.path()) {
            OpenError::Behind { store, mark, .. } => assert!(store < mark, "{store} {mark}"),
            error => panic!("{error}"),
        }
    }
    assert_eq!(check_load(&accept_loss(directory.path()), 10), 10);
    let store = open(directory.path());
    write(&store, 10, 15);
    drop(store);
    assert_eq!(check_load(&open(directory.path()), 15), 15);
}

#[test]
fn a_gap_can_be_accepted() {
    let (directory, _) = with_old_copy();
    let journal = directory.path().join("rows/0.jnl");
    let mut bytes = fs::read(&journal).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&journal, &bytes).expect("written");
    let error = refused(directory.path());
    assert!(matches!(error, OpenError::Lost { .. }), "{error}");
    assert_eq!(fs::read(&journal).expect("read"), bytes, "a refusal must change nothing");
    let left = check_load(&accept_loss(directory.path()), 0);
    assert!((1..20).contains(&left), "{left} batches are left");
    assert_eq!(check_load(&open(directory.path()), left), left);
}

#[test]
fn the_last_reference_may_be_dropped_by_a_callback() {
    let directory = TempDir::new().expect("made");
    let store = Arc::new(open(directory.path()));
    let (give, take) = mpsc::channel::<Arc<EmbeddedStore>>();
    let (done, wait) = mpsc::channel();
    let mut batch = Batch::new(Shard(0));
    batch.put(Space::Catalog, b"a".to_vec(), b"b".to_vec());
    store.commit(
        batch,
        Box::new(move |outcome| {
            drop(take.recv().expect("the last reference"));
            done.send(outcome).expect("somebody waits");
        }),
    );
    give.send(store).expect("the callback waits");
    assert_eq!(wait.recv(), Ok(Ok(())));
    // The writer closes the store after the callback.
    let reopened = loop {
        match EmbeddedStore::open(directory.path(), &Options::default()) {
            Err(OpenError::InUse { .. }) => std::thread::yield_now(),
            other => break other.unwrap_or_else(|error| panic!("{error}")),
        }
    };
    let value = reopened.get(Shard(0), Space::Catalog, b"a");
    assert_eq!(value, Ok(Some(b"b".to_vec())));
}

#[test]
fn a_callback_may_hand_over_more_than_may_wait() {
    const MORE: usize = 10_000;
    let directory = TempDir::new().expect("made");
    let store = Arc::new(open(directory.path()));
    let (sender, receiver) = mpsc::channel();
    let inner = Arc::clone(&store);
    let more = move |_| {
        for _ in 0..MORE {
            let sender = sender.clone();
            let done = move |outcome| sender.send(outcome).expect("somebody waits");
            inner.commit(Batch::new(Shard(0)), Box::new(done));
        }
    };
    store.commit(Batch::new(Shard(0)), Box::new(more));
    assert_eq!(receiver.iter().take(MORE).filter(Result::is_ok).count(), MORE);
    commit(&*store, Batch::new(Shard(0))).expect("continues");
}
