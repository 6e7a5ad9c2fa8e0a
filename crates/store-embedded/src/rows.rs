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

/// fjall numbers keyspaces from one; its own is zero.
pub(crate) const KEYSPACES: usize = Space::ALL.len() + 1;

/// The least that fjall accepts; journals beyond it are emptied by flushing whatever they hold.
const JOURNALS_BYTES: u64 = 64 * 1024 * 1024;
/// A process may have 1,024 files open by default, and needs most of them for connections.
const OPEN_FILES: usize = 128;
/// One writes out memory, one merges files.
const WORKERS: usize = 2;

/// fjall makes a writer wait without an end for four sealed memtables or thirty runs, even when the
/// threads that would relieve it are gone. A commit seals at most two, so it never comes to that
/// from here.
const SEALED_MAX: usize = 1;
const RUNS_MAX: usize = 20;
const RELIEF: Duration = Duration::from_millis(1);

pub(crate) struct Rows {
    spaces: [Keyspace; Space::ALL.len()],
    meta: Keyspace,
    database: Database,
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
        let space = |space: Space| database.keyspace(space.name(), || policy(space, options));
        let [a, b, c, d, e, f, g] = Space::ALL.map(space);
        let spaces = [a?, b?, c?, d?, e?, f?, g?];
        let meta = database.keyspace(META, || small(options))?;
        Ok(Self { spaces, meta, database })
    }

    /// Opens what was created; fjall would quietly make anew what is not there.
    pub(crate) fn open(directory: &Path, options: &Options) -> Result<Self, Fault> {
        let database = open(directory, options.cache_bytes)?;
        let mut names = Space::ALL.map(Space::name).into_iter().chain([META]);
        match names.find(|name| !database.keyspace_exists(name)) {
            Some(name) => Err(Fault::Missing(name)),
            None => guarded(|| Self::assemble(database, options)),
        }
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

    /// Reads from a snapshot: a scan of the live rows could see half of a group.
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
            if scan.reverse {
                rows.rev().take(scan.limit).map(row).collect()
            } else {
                rows.take(scan.limit).map(row).collect()
            }
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
            for space in self.spaces.iter().chain([&self.meta]) {
                space.rotate_memtable()?;
            }
            self.wait_while(|space| space.tree.sealed_memtable_count() > 0)
        })
    }

    /// Waits until a commit would not have to wait inside fjall.
    fn relieve(&self) -> Result<(), Fault> {
        self.wait_while(|space| {
            let sealed = space.tree.sealed_memtable_count();
            sealed > SEALED_MAX || space.tree.l0_run_count() >= RUNS_MAX
        })
    }

    fn wait_while(&self, busy: impl Fn(&Keyspace) -> bool) -> Result<(), Fault> {
        for space in self.spaces.iter().chain([&self.meta]) {
            while busy(space) {
                // Fails when a background thread has: nobody would relieve us.
                self.database.persist(PersistMode::Buffer)?;
                thread::sleep(RELIEF);
            }
        }
        Ok(())
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
fn policy(space: Space, options: &Options) -> KeyspaceCreateOptions {
    match space {
        // Every start asks for a row that is not there: fjall's filters answer without a read.
        Space::Executions | Space::Journal | Space::Catalog => {
            KeyspaceCreateOptions::default().max_memtable_size(options.memtable_bytes)
        }
        // Only ever scanned.
        Space::Lists | Space::Wakes | Space::Closed | Space::Outbox => small(options),
    }
}

fn small(options: &Options) -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(options.memtable_bytes / 2)
        .filter_policy(FilterPolicy::disabled())
}
