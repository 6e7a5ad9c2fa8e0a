//! A store that remembers what it was given, and gives the like of it to another.

use std::sync::{Arc, Mutex, PoisonError};

use everstep_store::{Batch, Done, Result, Row, Scan, Shard, Space, Store};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Batches that are remembered.
const REMEMBERED: usize = 4096;

pub(crate) struct Tap {
    store: Arc<dyn Store>,
    seen: Mutex<Vec<Batch>>,
}

impl Tap {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, seen: Mutex::default() }
    }

    /// Makes batches of the shape of those that were seen.
    pub(crate) fn replay(&self) -> Replay {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let ours = |batch: &Batch| batch.shard != Shard::CATALOG && id_of(batch).is_some();
        let shapes: Vec<Batch> = seen.into_iter().filter(ours).collect();
        assert!(!shapes.is_empty(), "nothing was seen");
        Replay { shapes, next: 0, shards: self.shards(), ids: Pcg64Mcg::seed_from_u64(7) }
    }
}

impl Store for Tap {
    fn shards(&self) -> u16 {
        self.store.shards()
    }

    fn commit(&self, batch: Batch, done: Done) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() < REMEMBERED {
            seen.push(batch.clone());
        }
        drop(seen);
        self.store.commit(batch, done);
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.store.get(shard, space, key)
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>> {
        self.store.scan(shard, space, scan)
    }
}

/// The same rows and bytes, of executions that never were.
pub(crate) struct Replay {
    shapes: Vec<Batch>,
    next: usize,
    shards: u16,
    ids: Pcg64Mcg,
}

impl Replay {
    pub(crate) fn batch(&mut self) -> Batch {
        self.next = (self.next + 1) % self.shapes.len();
        let mut batch = self.shapes[self.next].clone();
        let old = id_of(&batch).expect("shapes have ids").to_vec();
        let mut new = [0; 16];
        self.ids.fill_bytes(&mut new);
        batch.shard = Shard(u16::from_be_bytes([new[0], new[1]]) % self.shards);
        // The other store has no owner: that its row is missing costs the same lookup.
        batch.expectations.iter_mut().for_each(|it| it.value = None);
        let expected = batch.expectations.iter_mut().map(|it| &mut it.key);
        for key in expected.chain(batch.writes.iter_mut().map(|it| &mut it.key)) {
            if let Some(at) = key.windows(16).position(|window| window == old) {
                key[at..at + 16].copy_from_slice(&new);
            }
        }
        batch
    }

    /// Bytes of a batch, on average.
    pub(crate) fn bytes(&self) -> usize {
        self.shapes.iter().map(Batch::size).sum::<usize>() / self.shapes.len()
    }

    pub(crate) fn rows(&self) -> usize {
        self.shapes.iter().map(|batch| batch.writes.len()).sum::<usize>() / self.shapes.len()
    }
}

fn id_of(batch: &Batch) -> Option<&[u8]> {
    let row = batch.writes.iter().find(|write| write.space == Space::Executions)?;
    Some(&row.key)
}
