//! The store of a single node: rows in one directory, written by one process.
//!
//! [fjall] keeps the rows. What this crate adds is one thread that commits for all who wait
//! ([`EmbeddedStore::commit`](everstep_store::Store::commit)), and safeguards: a directory belongs to
//! one process, a format is known or refused, and a store that has lost acknowledged work says so
//! when it is opened. docs/design/storage.md holds the design.
//!
//! It must not know what rows mean.

mod directory;
mod error;
mod failure;
mod files;
mod journals;
mod mark;
mod rows;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use everstep_store::group::Queue;
use everstep_store::{Batch, Done, Result, Row, Scan, Shard, Space, Store};

pub use error::OpenError;

use directory::{Directory, Lock};
use mark::Mark;
use rows::Rows;
use writer::Writer;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many shards a new store has; one that exists keeps its own.
    pub shards: u16,
    /// Memory for rows that were read.
    pub cache_bytes: u64,
    /// How many bytes of changes to one kind of rows become a file. All changes that have yet to
    /// become files have about eight times as much at most.
    pub memtable_bytes: u64,
    /// Continue although acknowledged work is missing.
    pub accept_loss: bool,
    /// Makes a store where there is none.
    pub create: bool,
}

impl Default for Options {
    fn default() -> Self {
        const MEBIBYTE: u64 = 1024 * 1024;
        Self {
            shards: 16,
            cache_bytes: 16 * MEBIBYTE,
            memtable_bytes: 8 * MEBIBYTE,
            accept_loss: false,
            create: true,
        }
    }
}

/// An open store. Dropping it writes what was handed over, and gives the directory free.
pub struct EmbeddedStore {
    directory: PathBuf,
    shards: u16,
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
    rows: Arc<Rows>,
    /// After the rows: nobody else may open them while they are.
    _lock: Arc<Lock>,
}

impl EmbeddedStore {
    /// Opens the store in a directory, and makes one if the directory is empty or missing and the options allow that.
    ///
    /// # Errors
    ///
    /// If the directory is not a store's, is in use, cannot be written, or holds less than was
    /// acknowledged.
    pub fn open(directory: &Path, options: &Options) -> std::result::Result<Self, OpenError> {
        let opened = Directory::open(directory, options)?;
        let (lock, rows) = (Arc::new(opened.lock), Arc::new(opened.rows));
        let queue = Arc::new(Queue::default());
        let directory = opened.path;
        let on_failure = {
            let (queue, directory) = (Arc::clone(&queue), directory.clone());
            move |error| queue.fail(failure::mark(&directory, &error))
        };
        let mark = Mark::keep(opened.mark, opened.number, on_failure)
            .map_err(|error| OpenError::Io { path: directory.clone(), error })?;
        let writer = Writer {
            directory: directory.clone(),
            queue: Arc::clone(&queue),
            number: opened.number,
            mark,
            rows: Arc::clone(&rows),
        };
        let held = Arc::clone(&lock);
        let thread = thread::Builder::new().name("store writer".to_owned()).spawn(move || {
            writer.run();
            drop(held);
        });
        let writer = thread.map_err(|error| OpenError::Io { path: directory.clone(), error })?;
        Ok(Self {
            directory,
            shards: opened.shards,
            queue,
            writer: Some(writer),
            rows,
            _lock: lock,
        })
    }
}

impl Store for EmbeddedStore {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn commit(&self, batch: Batch, done: Done) {
        self.queue.push(batch, done);
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value = self.rows.get(shard, space, key);
        let value = value.map_err(|fault| failure::read(&self.directory, &fault))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>> {
        self.rows.scan(shard, space, scan).map_err(|fault| failure::read(&self.directory, &fault))
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.queue.close();
        // A callback may hold the last reference: then the writer itself is here, and closes what is
        // left when it is done.
        if !self.queue.is_taker() {
            // A writer that panicked has said so.
            let _ = self.writer.take().map(JoinHandle::join);
        }
    }
}
