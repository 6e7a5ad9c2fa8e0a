//! What is stored of executions, read beside the shards: by any thread, without waiting for them.

use std::sync::Arc;

use everstep_history::{Event, journal};
use everstep_store::{Scan, Space, Store, after_prefix};

use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::layout;
use crate::revision::{Prepared, Revisions};
use crate::shard::slot;
use crate::summary::Summary;

#[derive(Clone)]
pub struct Reader {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) revisions: Arc<Revisions>,
}

impl Reader {
    /// Reads a store, whether or not an engine runs on it.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        let revisions = Arc::new(Revisions::new(store.clone()));
        Self { store, revisions }
    }

    pub(crate) fn shard(&self, id: ExecutionId) -> everstep_store::Shard {
        id.shard(self.store.shards())
    }

    pub fn summary(&self, id: ExecutionId) -> Result<Option<Summary>> {
        let row = self.store.get(self.shard(id), Space::Executions, &layout::execution(id))?;
        Ok(row.map(|row| Summary::decode(&row)).transpose()?)
    }

    /// What an execution runs by.
    pub fn prepared(&self, summary: &Summary) -> Result<Arc<Prepared>> {
        self.revisions.find(summary.revision)
    }

    /// All that has happened in an execution.
    pub fn events(&self, id: ExecutionId) -> Result<Vec<Event>> {
        match self.summary(id)? {
            Some(summary) => Ok(slot::events(&*self.store, self.shard(id), &summary)?.0),
            None => Ok(Vec::new()),
        }
    }

    /// The notes beside an execution whose keys begin so, in the order of their keys.
    pub fn notes(&self, id: ExecutionId, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut from = layout::note(id, prefix);
        let (to, own) = (after_prefix(&from), layout::note(id, &[]).len());
        let mut notes = Vec::new();
        loop {
            const ROWS: usize = 1000;
            let scan = Scan::between(&from, &to, ROWS);
            let rows = self.store.scan(self.shard(id), Space::Catalog, scan)?;
            let last = rows.last().filter(|_| rows.len() == ROWS);
            let next = last.map(|(key, _)| [key.as_slice(), &[0]].concat());
            notes.extend(rows.into_iter().map(|(key, text)| (key[own..].to_vec(), text)));
            let Some(next) = next else { return Ok(notes) };
            from = next;
        }
    }

    /// What happened in the first step and in the last one: enough to know input, output and failure.
    pub fn first_and_last(&self, summary: &Summary) -> Result<Option<(Vec<Event>, Vec<Event>)>> {
        let (id, from) = (summary.id(), layout::steps(summary.started_ms, summary.id()));
        let to = after_prefix(&from);
        let one = |scan| -> Result<Option<Vec<Event>>> {
            let rows = self.store.scan(self.shard(id), Space::Journal, scan)?;
            let decoded = rows.first().map(|(_, record)| journal::decode(record));
            decoded.transpose().map_err(|error| {
                Error::damaged(&format!("a step of an execution cannot be read: {error}"))
            })
        };
        let first = one(Scan::between(&from, &to, 1))?;
        let last = one(Scan::between(&from, &to, 1).reversed())?;
        Ok(first.zip(last))
    }
}
