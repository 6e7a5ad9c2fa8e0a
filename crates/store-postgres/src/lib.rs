//! The store on PostgreSQL: rows in tables, one statement for each group of batches, and claims that keep
//! everybody out who is not the owner.
//!
//! docs/design/store-postgres.md holds the design. It must not know what rows mean.

mod address;
mod beat;
mod changes;
mod claim;
mod connect;
mod failure;
mod fault;
mod health;
mod open;
mod password;
mod reads;
mod schema;
mod session;
mod statement;
mod tls;
mod wait;
mod writer;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use everstep_store::group::Queue;
use everstep_store::{Batch, Done, Result, Row, Scan, Shard, Space, Store};
use tokio::runtime::Runtime;
use uuid::Uuid;

pub use address::{Address, InvalidAddress};
pub use open::{OpenError, Options};

use changes::number;
use connect::Connections;
use health::Health;
use reads::Reads;
use schema::Meta;
use wait::wait;

/// Connections that a store needs: one for commits, one for beats, the others for reads.
pub const CONNECTIONS: usize = 2 + reads::CONNECTIONS;

/// An open store. Dropping it writes what was handed over, and gives the shards free.
pub struct PostgresStore {
    shared: Arc<Shared>,
    reads: Reads,
    writer: Option<JoinHandle<()>>,
}

/// What the threads and tasks of a store share.
pub(crate) struct Shared {
    connections: Arc<Connections>,
    meta: Meta,
    queue: Arc<Queue>,
    health: Arc<Health>,
    /// How long the database may be out of reach before the store gives up.
    patience: Duration,
    abandoned: AtomicBool,
    /// Taken when the last owner is gone.
    runtime: Option<Runtime>,
}

impl Shared {
    /// Runs a future on the store's own thread, and waits for it on this one.
    fn run<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let runtime = self.runtime.as_ref().expect("it is taken with the last owner");
        let joined = wait(runtime.spawn(future), None);
        joined.and_then(std::result::Result::ok).expect("the store's own tasks do not panic")
    }

    /// A pooler mixes up prepared statements.
    fn stop_preparing(&self) {
        if self.connections.stop_preparing() {
            self.health.say(
                "warning: a connection pooler mixes up prepared statements: they are not used any more, at the cost of some \
                 speed (prepare=off in the URL says so from the start)",
            );
        }
    }

    /// How many shards this node has, with the catalog's.
    fn owned(&self) -> usize {
        usize::from(self.meta.shards) + 1
    }

    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // May be dropped on a thread of another runtime, which must not be blocked.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl PostgresStore {
    /// Opens the store in a database, makes its tables if there are none, and takes it over.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached or used, or another server works on it.
    pub fn open(address: Address, options: Options) -> std::result::Result<Self, OpenError> {
        open::open(address, options)
    }

    /// Which cluster the database is of. Drawn when its tables were made.
    #[must_use]
    pub fn cluster(&self) -> Uuid {
        self.shared.meta.cluster
    }

    /// From now on the store is closed as a crash would close it: the shards are not given free. For tests.
    #[doc(hidden)]
    pub fn abandon(&self) {
        self.shared.abandoned.store(true, Ordering::Relaxed);
    }
}

impl Store for PostgresStore {
    fn shards(&self) -> u16 {
        self.shared.meta.shards
    }

    fn commit(&self, batch: Batch, done: Done) {
        self.shared.queue.push(batch, done);
    }

    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let rows =
            self.reads.rows(&self.shared, &statement::get(space), &[&number(shard), &key])?;
        rows.first().map(|row| self.value(row, 0)).transpose()
    }

    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>> {
        let sql = statement::scan(space, &scan);
        let bounded = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let (limit, bytes) = (bounded(scan.limit), bounded(scan.bytes_max));
        let shard = number(shard);
        let mut parameters: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> =
            vec![&shard, &scan.from, &scan.to, &limit];
        if scan.bytes_max != usize::MAX {
            parameters.push(&bytes);
        }
        let rows = self.reads.rows(&self.shared, &sql, &parameters)?;
        rows.iter().map(|row| Ok((self.value(row, 0)?, self.value(row, 1)?))).collect()
    }

    fn trouble(&self) -> Option<String> {
        self.shared.health.trouble()
    }
}

impl PostgresStore {
    fn value(&self, row: &tokio_postgres::Row, at: usize) -> Result<Vec<u8>> {
        let value = row.try_get(at);
        value.map_err(|error| {
            failure::read(&self.shared.connections.address, &fault::describe(&error))
        })
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.shared.queue.close();
        // A callback may hold the last reference: then the writer itself is here, and ends when it is done.
        if !self.shared.queue.is_taker() {
            // A writer that panicked has said so.
            let _ = self.writer.take().map(JoinHandle::join);
        }
    }
}
