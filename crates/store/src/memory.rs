//! A store that forgets: for tests, and for runs that need not last.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::rows::{self, Rows};
use crate::{Batch, Done, Result, Row, Scan, Shard, Space, Store};

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
        let mut rows = self.rows();
        let outcome = rows::judge(&rows, &batch);
        if outcome.is_ok() {
            rows::change(&mut rows, batch);
        }
        drop(rows);
        done(outcome);
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.rows().get(&(shard, space, key.to_vec())).cloned())
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>> {
        Ok(rows::scan(&self.rows(), shard, space, scan))
    }
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
