//! The rows in fjall: where each lies, how it is read, how a group of changes is made durable.
//!
//! The only module that knows fjall's keyspaces. It must not know groups' batches, callers or marks.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::Duration;

use everstep_store::{Row, Scan, Shard, Space, Write};
use fjall::config::FilterPolicy;
use fjall::{
    AbstractTree, CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch,
    PersistMode, Readable, Slice,
};

use crate::Options;

/// Where the number of the last commit is. Bytes that no JSON text holds, so that it can be found in
/// a damaged journal as well.
pub(crate) const COMMIT_KEY: &[u8] = b"\xff\xfeeverstep commit\xfe\xff";

const META: &str = "meta";

/// What a store has whose directory does not say: it was made before there were more.
pub(crate) const SPACES_AT_FIRST: usize = 7;

/// The least that fjall accepts; journals beyond it are emptied by flushing whatever they hold.
const JOURNALS_BYTES: u64 = 64 * 1024 * 1024;
/// A process may have 1,024 files open by default, and needs most of them for connections.
const OPEN_FILES: usize = 128;
/// If there are more, the first does not merge files, and keeps a core busy by handing that work back
/// to the queue until another takes it.
const WORKERS: usize = 1;

/// fjall makes a writer wait without an end for four sealed memtables or thirty runs, even when the
/// thread that would relieve it is gone. The writer waits before it comes to that, and looks.
const SEALED_MAX: usize = 2;
const RUNS_MAX: usize = 20;
const RELIEF: Duration = Duration::from_millis(1);

/// All changes in memory, in parts of what one space may have: more than all of them have when none is
/// full.
const MEMTABLES: u64 = 8;

pub(crate) struct Rows {
    /// One for each, in their order.
    spaces: Vec<Keyspace>,
    meta: Keyspace,
    database: Database,
    /// Changes to one space above which they are to become a file.
    memtable_bytes: u64,
}

/// What fjall says, or that it panicked.
#[derive(Debug)]
pub(crate) enum Fault {
    Fjall(fjall::Error),
    /// A space that must be there is not.
    Missing(&'static str),
    Panic(String),
}

impl From<fjall::Error> for Fault {
    fn from(error: fjall::Error) -> Self {
        Self::Fjall(error)
    }
}

/// Files that were damaged in a way that fjall does not foresee make it panic.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Fault::Panic(text.unwrap_or_default()))
    })
}

impl Rows {
    pub(crate) fn create(directory: &Path, options: &Options) -> Result<Self, Fault> {
        guarded(|| Self::assemble(open(directory, options.cache_bytes)?, options))
    }

    fn assemble(database: Database, options: &Options) -> Result<Self, Fault> {
        let space = |space: Space| database.keyspace(space.name(), || policy(is_looked_up(space)));
        let spaces: Vec<Keyspace> = Space::ALL.into_iter().map(space).collect::<Result<_, _>>()?;
        let meta = database.keyspace(META, || policy(false))?;
        Ok(Self { spaces, meta, database, memtable_bytes: options.memtable_bytes })
    }

    /// Opens what was created; fjall would quietly make anew what is not there, which is right only for
    /// spaces beyond the first `spaces`: those that the store has not had yet.
    pub(crate) fn open(directory: &Path, options: &Options, spaces: usize) -> Result<Self, Fault> {
        let database = open(directory, options.cache_bytes)?;
        let mut names = Space::ALL.map(Space::name).into_iter().take(spaces).chain([META]);
        match names.find(|name| !database.keyspace_exists(name)) {
            Some(name) => Err(Fault::Missing(name)),
            None => guarded(|| Self::assemble(database, options)),
        }
    }

    /// As stores were made at first, with a row.
    #[cfg(test)]
    pub(crate) fn create_as_at_first(directory: &Path) -> Result<(), Fault> {
        let database = open(directory, Options::default().cache_bytes)?;
        for space in &Space::ALL[..SPACES_AT_FIRST] {
            database.keyspace(space.name(), || policy(is_looked_up(*space)))?;
        }
        let meta = database.keyspace(META, || policy(false))?;
        let catalog = database.keyspace(Space::Catalog.name(), || policy(true))?;
        let batch = OwnedWriteBatch::with_capacity(database, 2);
        let mut batch = batch.durability(Some(PersistMode::SyncData));
        batch.insert(&meta, COMMIT_KEY, 1u64.to_be_bytes());
        batch.insert(&catalog, full_key(Shard(1), b"old"), b"row");
        Ok(batch.commit()?)
    }

    /// The number of the last commit.
    pub(crate) fn number(&self) -> Result<Option<u64>, Fault> {
        let value = guarded(|| Ok(self.meta.get(COMMIT_KEY)?))?;
        Ok(value.and_then(|value| Some(u64::from_be_bytes(value.as_ref().try_into().ok()?))))
    }

    pub(crate) fn get(
        &self,
        shard: Shard,
        space: Space,
        key: &[u8],
    ) -> Result<Option<Slice>, Fault> {
        let key = full_key(shard, key);
        guarded(|| Ok(self.space(space).get(&key)?))
    }

    /// Reads from a snapshot, which is mostly whole: now and then fjall shows a part of a group that it is
    /// putting into memory, because its background threads made a later number visible.
    pub(crate) fn scan(
        &self,
        shard: Shard,
        space: Space,
        scan: Scan<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let Some(range) = range(shard, scan) else { return Ok(Vec::new()) };
        guarded(|| {
            let rows = self.database.snapshot().range(self.space(space), range);
            let row = |guard: fjall::Guard| {
                let (key, value) = guard.into_inner()?;
                Ok((key[SHARD_BYTES..].to_vec(), value.to_vec()))
            };
            if scan.reverse { scan.cut(rows.rev().map(row)) } else { scan.cut(rows.map(row)) }
        })
    }

    pub(crate) fn changes(&self, number: u64, capacity: usize) -> Changes<'_> {
        let batch = OwnedWriteBatch::with_capacity(self.database.clone(), capacity + 1);
        let mut batch = batch.durability(Some(PersistMode::SyncData));
        batch.insert(&self.meta, COMMIT_KEY, number.to_be_bytes());
        Changes { rows: self, batch, key: Vec::new() }
    }

    /// Writes out all that is only in journals.
    pub(crate) fn flush(&self) -> Result<(), Fault> {
        guarded(|| {
            for space in self.keyspaces() {
                space.rotate_memtable()?;
            }
            self.wait_while(|| self.sealed() > 0)
        })
    }

    /// Seals what is full, and waits until a commit would not have to wait inside fjall and there is
    /// memory for it.
    fn relieve(&self) -> Result<(), Fault> {
        for space in self.keyspaces() {
            self.wait_while(|| {
                let sealed = space.tree.sealed_memtable_count();
                sealed > SEALED_MAX || space.tree.l0_run_count() >= RUNS_MAX
            })?;
            let full = space.tree.active_memtable().size() > self.memtable_bytes;
            if full && space.tree.sealed_memtable_count() < SEALED_MAX {
                space.rotate_memtable()?;
            }
        }
        while self.database.write_buffer_size() > MEMTABLES * self.memtable_bytes {
            if self.sealed() == 0 {
                let largest = self.keyspaces().max_by_key(|it| it.tree.active_memtable().size());
                largest.map_or(Ok(false), Keyspace::rotate_memtable)?;
            }
            self.pause()?;
        }
        Ok(())
    }

    fn wait_while(&self, busy: impl Fn() -> bool) -> Result<(), Fault> {
        while busy() {
            self.pause()?;
        }
        Ok(())
    }

    /// Fails when fjall's thread has: nobody would relieve us.
    fn pause(&self) -> Result<(), Fault> {
        self.database.persist(PersistMode::Buffer)?;
        thread::sleep(RELIEF);
        Ok(())
    }

    fn sealed(&self) -> usize {
        self.keyspaces().map(|space| space.tree.sealed_memtable_count()).sum()
    }

    fn keyspaces(&self) -> impl Iterator<Item = &Keyspace> {
        self.spaces.iter().chain([&self.meta])
    }

    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[space as usize]
    }
}

/// Changes that become durable together.
pub(crate) struct Changes<'r> {
    rows: &'r Rows,
    batch: OwnedWriteBatch,
    key: Vec<u8>,
}

impl Changes<'_> {
    pub(crate) fn add(&mut self, shard: Shard, write: Write) {
        let space = self.rows.space(write.space);
        self.key.clear();
        self.key.extend_from_slice(&shard.0.to_be_bytes());
        self.key.extend_from_slice(&write.key);
        match write.value {
            Some(value) => self.batch.insert(space, self.key.as_slice(), value),
            None => self.batch.remove(space, self.key.as_slice()),
        }
    }

    /// Returns when the changes would survive the loss of power.
    pub(crate) fn commit(self) -> Result<(), Fault> {
        guarded(|| {
            self.rows.relieve()?;
            Ok(self.batch.commit()?)
        })
    }
}

const SHARD_BYTES: usize = 2;

/// The shard comes first, so that the rows of a shard lie together.
fn full_key(shard: Shard, key: &[u8]) -> Vec<u8> {
    let mut full = Vec::with_capacity(SHARD_BYTES + key.len());
    full.extend_from_slice(&shard.0.to_be_bytes());
    full.extend_from_slice(key);
    full
}

type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The keys of a scan; none if it ends before it begins.
fn range(shard: Shard, scan: Scan<'_>) -> Option<Range> {
    let to = match (scan.to, shard.0.checked_add(1)) {
        ([], Some(next)) => Bound::Excluded(next.to_be_bytes().to_vec()),
        ([], None) => Bound::Unbounded,
        (to, _) if scan.from >= to => return None,
        (to, _) => Bound::Excluded(full_key(shard, to)),
    };
    Some((Bound::Included(full_key(shard, scan.from)), to))
}

fn open(directory: &Path, cache_bytes: u64) -> Result<Database, Fault> {
    guarded(|| {
        let builder = Database::builder(directory)
            .cache_size(cache_bytes)
            // fjall checks a compressed record by compressing it again: another version of the
            // compressor could not read the journal.
            .journal_compression(CompressionType::None)
            .max_journaling_size(JOURNALS_BYTES)
            .max_cached_files(Some(OPEN_FILES))
            .worker_threads(WORKERS);
        Ok(builder.open()?)
    })
}

/// How a space is kept. Fixed when it is made.
///
/// fjall would ask its thread to seal a full memtable after every commit until that is done, and both
/// would wait for each other for ever once a thousand such requests are waiting; so it never asks.
fn policy(filters: bool) -> KeyspaceCreateOptions {
    let options = KeyspaceCreateOptions::default().max_memtable_size(u64::MAX);
    if filters { options } else { options.filter_policy(FilterPolicy::disabled()) }
}

/// Whether rows are asked for that are not there, as every start does: filters answer that without a
/// read. The others are only ever scanned.
fn is_looked_up(space: Space) -> bool {
    match space {
        Space::Executions
        | Space::Journal
        | Space::Catalog
        | Space::Invocations
        | Space::Queues => true,
        Space::Lists
        | Space::Wakes
        | Space::Closed
        | Space::Outbox
        | Space::InvocationOrders
        | Space::Triggers
        | Space::QueueOrders => false,
    }
}
