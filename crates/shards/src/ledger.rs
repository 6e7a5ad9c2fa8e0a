//! The commits of a shard by its owner.
//!
//! A shard may have several owners, each of other rows: each has a key under which it says so. Every commit
//! expects to find its owner there, so nothing counts of one whose rows were taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use everstep_store::{Batch, Expectation, Shard, Space, Store};

use crate::Effect;
use crate::effect::follow;

pub struct Ledger<E: Effect> {
    store: Arc<dyn Store>,
    outside: Arc<E::Outside>,
    shard: Shard,
    ownership: Expectation,
    /// The last commit handed over, and the last acknowledged.
    last: u64,
    acknowledged: Arc<AtomicU64>,
}

impl<E: Effect> Ledger<E> {
    /// Takes the shard over from its previous owner. Commits need not wait until that is durable; if it
    /// fails, so does the engine. `owner` is drawn at random, so no other owner has it.
    pub fn take_over(
        store: Arc<dyn Store>,
        outside: Arc<E::Outside>,
        shard: Shard,
        key: &[u8],
        owner: [u64; 2],
    ) -> Self {
        let owner = owner.map(u64::to_be_bytes).concat();
        let mut batch = Batch::new(shard);
        batch.put(Space::Catalog, key.to_vec(), owner.clone());
        let failing = outside.clone();
        let done = move |outcome| follow::<E>(Vec::new(), outcome, &failing);
        store.commit(batch, Box::new(done));
        let (space, key, value) = (Space::Catalog, key.to_vec(), Some(owner));
        let ownership = Expectation { space, key, value };
        Self { store, outside, shard, ownership, last: 0, acknowledged: Arc::default() }
    }

    /// Hands a batch over, and returns its number. When it is durable it counts as acknowledged, and its
    /// effects follow.
    pub fn commit(&mut self, mut batch: Batch, effects: Vec<E>) -> u64 {
        self.last += 1;
        if !batch.writes.is_empty() {
            batch.expectations.push(self.ownership.clone());
        }
        let (number, acknowledged) = (self.last, self.acknowledged.clone());
        let outside = self.outside.clone();
        let done = move |outcome: everstep_store::Result<()>| {
            if outcome.is_ok() {
                acknowledged.store(number, Ordering::Release);
            }
            follow(effects, outcome, &outside);
        };
        self.store.commit(batch, Box::new(done));
        number
    }

    /// Effects that follow from a commit that was handed over before: at once if it is acknowledged.
    pub fn follow(&mut self, number: u64, effects: Vec<E>) {
        if effects.is_empty() {
        } else if self.is_acknowledged(number) {
            follow(effects, Ok(()), &self.outside);
        } else {
            // An empty batch is done when all before it are.
            self.commit(Batch::new(self.shard), effects);
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

    use everstep_store::{Behaviour, CrashingStore};

    use super::*;
    use crate::{Error, Failure, Outside};

    /// Notes what has become of effects.
    #[derive(Default)]
    struct Notes {
        failure: Failure,
        notes: Mutex<Vec<String>>,
    }

    impl Notes {
        fn add(&self, note: String) {
            self.notes.lock().expect("no thread panics").push(note);
        }

        fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.notes.lock().expect("no thread panics"))
        }
    }

    impl Outside for Notes {
        fn latch(&self) -> &Failure {
            &self.failure
        }

        fn failed(&self, error: &Error) {
            self.add(format!("failed: {error}"));
        }
    }

    struct Note(&'static str, Arc<Notes>);

    impl Effect for Note {
        type Outside = Notes;

        fn run(self, outside: &Notes) {
            outside.add(self.0.to_owned());
        }

        fn refuse(self, _error: &Error) {
            self.1.add(format!("no {}", self.0));
        }
    }

    fn owned(store: &Arc<CrashingStore>, notes: &Arc<Notes>, owner: u64) -> Ledger<Note> {
        let (store, notes) = (store.clone(), notes.clone());
        Ledger::take_over(store, notes, Shard(0), b"owner", [owner, 0])
    }

    fn put(ledger: &mut Ledger<Note>, key: &'static str) -> u64 {
        let mut batch = Batch::new(Shard(0));
        batch.put(Space::Journal, key.into(), Vec::new());
        let effect = Note(key, ledger.outside.clone());
        ledger.commit(batch, vec![effect])
    }

    fn store() -> Arc<CrashingStore> {
        Arc::new(CrashingStore::new(1, 1, Behaviour::default()))
    }

    #[test]
    fn effects_follow_when_their_commit_is_durable() {
        let (store, notes) = (store(), Arc::<Notes>::default());
        let mut ledger = owned(&store, &notes, 1);
        assert_eq!((put(&mut ledger, "x"), put(&mut ledger, "y")), (1, 2));
        let late = Note("after x", notes.clone());
        ledger.follow(1, vec![late]);
        assert!(ledger.is_acknowledged(0) && !ledger.is_acknowledged(1));
        assert_eq!(notes.take(), [""; 0]);
        store.settle(2);
        assert!(ledger.is_acknowledged(1) && !ledger.is_acknowledged(2));
        assert_eq!(notes.take(), ["x"]);
        store.settle(2);
        assert_eq!(notes.take(), ["y", "after x"]);
        let last = ledger.last();
        let late = Note("after y", notes.clone());
        ledger.follow(2, vec![late]);
        ledger.follow(9, Vec::new());
        assert_eq!((notes.take(), ledger.last()), (vec!["after y".to_owned()], last));
    }

    #[test]
    fn nothing_counts_of_one_whose_rows_were_taken_over() {
        let (store, old, new) = (store(), Arc::<Notes>::default(), Arc::<Notes>::default());
        let mut first = owned(&store, &old, 1);
        let mut second = owned(&store, &new, 2);
        let number = put(&mut first, "x");
        put(&mut first, "y");
        put(&mut second, "z");
        store.settle(usize::MAX);
        assert!(!first.is_acknowledged(number));
        let lost = Error::Store(everstep_store::Error::Unexpected { space: Space::Catalog });
        assert_eq!(old.take(), [format!("failed: {lost}"), "no x".to_owned(), "no y".to_owned()]);
        assert_eq!((old.failure(), new.failure()), (Some(&lost), None));
        assert_eq!(new.take(), ["z"]);
        assert_eq!(store.durable_row(Shard(0), Space::Journal, b"x"), None);
    }
}
