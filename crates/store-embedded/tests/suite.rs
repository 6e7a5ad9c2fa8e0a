//! The suite that every store passes.

use std::sync::mpsc;

use everstep_store::{Batch, Result, Scan, Shard, Space, Store};
use everstep_store_embedded::{EmbeddedStore, Options};

fn commit(store: &EmbeddedStore, batch: Batch) -> Result<()> {
    let (sender, receiver) = mpsc::channel();
    store.commit(batch, Box::new(move |outcome| sender.send(outcome).expect("somebody waits")));
    receiver.recv().expect("called once")
}

#[test]
fn smoke() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store");
    let store = EmbeddedStore::open(&path, &Options::default()).expect("opens");
    let mut batch = Batch::new(Shard(3));
    batch.insert(Space::Executions, b"a".to_vec(), b"1".to_vec());
    commit(&store, batch.clone()).expect("commits");
    commit(&store, batch).expect_err("is there");
    drop(store);
    let store = EmbeddedStore::open(&path, &Options::default()).expect("opens");
    let all = store.scan(Shard(3), Space::Executions, Scan::between(b"", b"", 9)).expect("reads");
    assert_eq!(all, [(b"a".to_vec(), b"1".to_vec())]);
    assert_eq!(store.get(Shard(2), Space::Executions, b"a"), Ok(None));
}
