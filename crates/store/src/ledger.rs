//! The commits of a shard, by the one who owns it.
//!
//! A shard may have several owners, each of other rows: each has a key under which it says so. Every commit
//! expects to find its owner there, so nothing counts of one whose rows were taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Batch, Done, Expectation, Result, Shard, Space, Store};

pub struct Ledger {
    store: Arc<dyn Store>,
    shard: Shard,
    ownership: Expectation,
    /// The last commit handed over, and the last acknowledged.
    last: u64,
    acknowledged: Arc<AtomicU64>,
}

impl Ledger {
    /// Takes the shard over from whoever had it. `done` is told what became of that; commits need not wait
    /// for it.
    pub fn take_over(
        store: Arc<dyn Store>,
        shard: Shard,
        key: &[u8],
        owner: Vec<u8>,
        done: Done,
    ) -> Self {
        let mut batch = Batch::new(shard);
        batch.put(Space::Catalog, key.to_vec(), owner.clone());
        store.commit(batch, done);
        let (space, key, value) = (Space::Catalog, key.to_vec(), Some(owner));
        let ownership = Expectation { space, key, value };
        Self { store, shard, ownership, last: 0, acknowledged: Arc::default() }
    }

    /// Hands a batch over, and says what its number is. `then` is called as [`Store::commit`] says: when it
    /// is, a commit that was good counts as acknowledged.
    pub fn commit(
        &mut self,
        mut batch: Batch,
        then: impl FnOnce(Result<()>) + Send + 'static,
    ) -> u64 {
        self.last += 1;
        if !batch.writes.is_empty() {
            batch.expectations.push(self.ownership.clone());
        }
        let (number, acknowledged) = (self.last, self.acknowledged.clone());
        let done = move |outcome: Result<()>| {
            if outcome.is_ok() {
                acknowledged.store(number, Ordering::Release);
            }
            then(outcome);
        };
        self.store.commit(batch, Box::new(done));
        number
    }

    /// Calls `then` when a commit is acknowledged: at once if it is.
    pub fn after(&mut self, number: u64, then: impl FnOnce(Result<()>) + Send + 'static) {
        if self.is_acknowledged(number) {
            then(Ok(()));
        } else {
            // An empty batch is done when all before it are.
            self.commit(Batch::new(self.shard), then);
        }
    }

    /// The number of the last commit that was handed over.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    #[must_use]
    pub fn is_acknowledged(&self, number: u64) -> bool {
        number <= self.acknowledged.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Error, MemoryStore};

    fn owned(store: &Arc<dyn Store>, owner: &str) -> Ledger {
        let done = Box::new(|outcome: Result<()>| outcome.expect("it is taken over"));
        Ledger::take_over(store.clone(), Shard(0), b"owner", owner.into(), done)
    }

    fn put(ledger: &mut Ledger, key: &str) -> (u64, Option<Result<()>>) {
        let mut batch = Batch::new(Shard(0));
        batch.put(Space::Journal, key.into(), Vec::new());
        let told = Arc::new(Mutex::new(None));
        let tell = told.clone();
        let number =
            ledger.commit(batch, move |outcome| *tell.lock().expect("lock") = Some(outcome));
        let told = told.lock().expect("lock").take();
        (number, told)
    }

    #[test]
    fn commits_are_numbered_and_acknowledged() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
        let mut ledger = owned(&store, "a");
        assert!(ledger.is_acknowledged(0) && !ledger.is_acknowledged(1));
        assert_eq!(put(&mut ledger, "x"), (1, Some(Ok(()))));
        assert!(ledger.is_acknowledged(1) && ledger.last() == 1);
        let called = Arc::new(AtomicU64::new(0));
        let call = called.clone();
        ledger.after(1, move |outcome| call.store(outcome.is_ok().into(), Ordering::Relaxed));
        assert_eq!(called.load(Ordering::Relaxed), 1);
        assert_eq!(ledger.last(), 1, "there was nothing to wait for");
    }

    #[test]
    fn nothing_counts_of_one_whose_rows_were_taken_over() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(1));
        let mut first = owned(&store, "a");
        let mut second = owned(&store, "b");
        let (number, outcome) = put(&mut first, "x");
        assert!(matches!(outcome, Some(Err(Error::Unexpected { .. }))), "{outcome:?}");
        assert!(!first.is_acknowledged(number));
        assert_eq!(put(&mut second, "y").1, Some(Ok(())));
        assert_eq!(store.get(Shard(0), Space::Journal, b"x"), Ok(None));
    }
}
