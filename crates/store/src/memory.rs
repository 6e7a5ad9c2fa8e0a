//! A store that forgets: for tests, and for runs that need not last.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Batch, Done, Error, Expectation, Result, Row, Scan, Shard, Space, Store, Write};

type Rows = BTreeMap<(Shard, Space, Vec<u8>), Vec<u8>>;

/// Rows in memory. A batch is done before `commit` returns.
#[derive(Debug)]
pub struct MemoryStore {
    shards: u16,
    rows: Mutex<Rows>,
}

impl MemoryStore {
    #[must_use]
    pub fn new(shards: u16) -> Self {
        Self { shards, rows: Mutex::new(Rows::new()) }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn commit(&self, batch: Batch, done: Done) {
        let outcome = change(&mut self.rows(), batch);
        done(outcome);
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.rows().get(&(shard, space, key.to_vec())).cloned())
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>> {
        let rows = self.rows();
        let from = Bound::Included((shard, space, scan.from.to_vec()));
        let inside = rows
            .range((from, Bound::Unbounded))
            .take_while(|((of, within, _), _)| (*of, *within) == (shard, space))
            .take_while(|((.., key), _)| scan.to.is_empty() || key.as_slice() < scan.to)
            .map(|((.., key), value)| (key.clone(), value.clone()));
        Ok(if scan.reverse {
            let mut all: Vec<Row> = inside.collect();
            all.reverse();
            all.truncate(scan.limit);
            all
        } else {
            inside.take(scan.limit).collect()
        })
    }
}

fn change(rows: &mut Rows, batch: Batch) -> Result<()> {
    batch.check()?;
    let Batch { shard, expectations, writes } = batch;
    for Expectation { space, key, value } in expectations {
        if rows.get(&(shard, space, key)) != value.as_ref() {
            return Err(Error::Unexpected { space });
        }
    }
    for Write { space, key, value } in writes {
        match value {
            Some(value) => rows.insert((shard, space, key), value),
            None => rows.remove(&(shard, space, key)),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::MemoryStore;
    use crate::Store;
    use crate::suite::Subject;

    struct Memory;

    impl Subject for Memory {
        fn open(&mut self) -> Arc<dyn Store> {
            Arc::new(MemoryStore::new(4))
        }

        fn lasts(&self) -> bool {
            false
        }
    }

    crate::suite!(Memory);
}
