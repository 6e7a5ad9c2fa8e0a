//! What is stored of executions, read beside the shards: by any thread, without waiting for them.

use std::ops::ControlFlow;
use std::sync::Arc;

use everstep_history::{Event, journal};
use everstep_interpreter::TokenKey;
use everstep_shards::{Quarantined, Register};
use everstep_store::{Scan, Space, Store, after_prefix};

use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::layout;
use crate::revision::{Prepared, Revisions};
use crate::shard::load::Steps;
use crate::summary::Summary;

#[derive(Clone)]
pub struct Reader {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) revisions: Arc<Revisions>,
    pub(crate) quarantine: Register<ExecutionId>,
}

impl Reader {
    /// Reads a store, whether or not an engine runs on it.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_key(store, TokenKey::default())
    }

    /// The same for one who runs what is stored, with the key of its task tokens.
    pub(crate) fn with_key(store: Arc<dyn Store>, token_key: TokenKey) -> Self {
        let revisions = Arc::new(Revisions::new(store.clone(), token_key));
        Self { store, revisions, quarantine: Register::default() }
    }

    pub(crate) fn shard(&self, id: ExecutionId) -> everstep_store::Shard {
        id.shard(self.store.shards())
    }

    pub fn summary(&self, id: ExecutionId) -> Result<Option<Summary>> {
        let row = self.store.get(self.shard(id), Space::Executions, &layout::execution(id))?;
        Ok(row.map(|row| Summary::decode(&row)).transpose()?)
    }

    /// How many executions are quarantined, as far as an engine runs.
    #[must_use]
    pub fn quarantined_count(&self) -> usize {
        self.quarantine.len()
    }

    /// At most `limit` executions that are quarantined, those that came first, and why.
    pub fn quarantined(&self, limit: usize) -> Result<Vec<(Summary, Quarantined)>> {
        let found = self.quarantine.first(limit).into_iter();
        let summary = |(id, held)| Ok(self.summary(id)?.map(|summary| (summary, held)));
        found.map(summary).filter_map(Result::transpose).collect()
    }

    /// The execution whose id begins so, if there is one.
    pub fn starting_with(&self, id: &[u8]) -> Result<Option<ExecutionId>> {
        let mut first = [0; 16];
        let known = id.len().min(first.len());
        first[..known].copy_from_slice(&id[..known]);
        let shard = everstep_shards::keys::shard_of(&first, self.store.shards());
        let rows = self.store.scan(
            shard,
            Space::Executions,
            Scan::between(&id[..known], &after_prefix(&id[..known]), 1),
        )?;
        Ok(rows.first().and_then(|(key, _)| ExecutionId::from_bytes(key)))
    }

    /// What an execution runs by.
    pub fn prepared(&self, summary: &Summary) -> Result<Arc<Prepared>> {
        self.revisions.find(summary.revision)
    }

    /// All that has happened in an execution. It may be more than fits into memory: see [`Self::each_step`].
    pub fn events(&self, id: ExecutionId) -> Result<Vec<Event>> {
        let mut all = Vec::new();
        if let Some(summary) = self.summary(id)? {
            self.each_step(&summary, |_, mut events| {
                all.append(&mut events);
                ControlFlow::Continue(())
            })?;
        }
        Ok(all)
    }

    /// Visits the steps of an execution in order, each with its number, until `visit` breaks off. Only some of them are
    /// in memory at a time.
    pub fn each_step(
        &self,
        summary: &Summary,
        visit: impl FnMut(u32, Vec<Event>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.each_step_from(summary, 0, visit)
    }

    /// As [`Self::each_step`], beginning with the step of a number.
    pub fn each_step_from(
        &self,
        summary: &Summary,
        number: u32,
        mut visit: impl FnMut(u32, Vec<Event>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (mut steps, shard) = (Steps::of(summary).from(number), self.shard(summary.id()));
        while !steps.is_over() {
            for (number, events) in (steps.number()..).zip(steps.next(&*self.store, shard)?) {
                if visit(number, events).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The events of one step; nothing if there is no such step.
    pub fn step(&self, summary: &Summary, number: u32) -> Result<Option<Vec<Event>>> {
        let mut found = None;
        self.each_step_from(summary, number, |_, events| {
            found = Some(events);
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The first event of an execution about which something can be said.
    pub fn find_event<T>(
        &self,
        summary: &Summary,
        mut find: impl FnMut(Event) -> Option<T>,
    ) -> Result<Option<T>> {
        let mut found = None;
        self.each_step(summary, |_, events| {
            found = events.into_iter().find_map(&mut find);
            if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
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

    /// Some of the notes beside an execution whose keys begin so, in the order of their keys: at most `count`, and none
    /// before `from`.
    pub fn notes_from(
        &self,
        id: ExecutionId,
        prefix: &[u8],
        from: &[u8],
        count: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let (from, to) =
            (layout::note(id, from.max(prefix)), after_prefix(&layout::note(id, prefix)));
        let own = layout::note(id, &[]).len();
        let rows =
            self.store.scan(self.shard(id), Space::Catalog, Scan::between(&from, &to, count))?;
        Ok(rows.into_iter().map(|(key, text)| (key[own..].to_vec(), text)).collect())
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
