//! What a store must do: keep rows in order, change many of them at once, and say when that is
//! durable.
//!
//! A row is a key and a value, both bytes, in a [`Space`] of a [`Shard`]. The store knows nothing of
//! what they mean: not executions, not events, not time. It promises what is written at each method
//! of [`Store`], [`suite`] holds every implementation to it, and all else is built on those promises.

mod batch;
mod crashing;
mod error;
pub mod group;
mod memory;
mod pages;
mod random;
mod rows;
mod space;
pub mod suite;

pub use batch::{Batch, Expectation, Write};
pub use crashing::{Behaviour, CrashingStore};
pub use error::{Error, Result};
pub use memory::MemoryStore;
pub use pages::each_row;
pub use rows::Rows;
pub use space::{Shard, Space};

/// The longest key that every store takes.
pub const KEY_BYTES_MAX: usize = 2048;

/// The largest value that every store takes.
pub const VALUE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most bytes of keys and values that every store takes in one batch.
pub const BATCH_BYTES_MAX: usize = 512 * 1024 * 1024;

/// A row: key and value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Called exactly once for each batch, when its fate is known, from whatever thread knows it. It must
/// be short and must not wait: the next commit is behind it.
pub type Done = Box<dyn FnOnce(Result<()>) + Send>;

/// Rows in order, changed by atomic batches.
///
/// All methods may be called from any thread. None may be called from an async runtime's thread
/// without care: each can wait for a disk.
pub trait Store: Send + Sync {
    /// How many shards the rows are spread over; fixed when the store was made.
    fn shards(&self) -> u16;

    /// Takes a batch to be made durable, and waits while too many are on their way.
    ///
    /// Batches take effect in the order in which they were handed over, each wholly or not at all,
    /// after a crash as well: if one has survived, so have all before it. `done(Ok)` is called only
    /// when the batch would survive the loss of power; batches are done in order. Its expectations
    /// are judged in that order too, against all batches before it, acknowledged or not: one that
    /// fails changes nothing ([`Error::Unexpected`]), and those behind it go on. So does one that is
    /// too large ([`Error::TooLarge`]).
    ///
    /// Any other error is final: nothing that was not acknowledged may be relied upon, though it may
    /// have become durable, and every later batch fails the same way until the store is opened again.
    fn commit(&self, batch: Batch, done: Done);

    /// The value of a row. Sees every acknowledged batch; it may see later ones or not.
    fn get(&self, shard: Shard, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// At most `limit` rows in the order of their keys, compared as bytes; [`Scan`] says which. Sees
    /// every acknowledged batch; of one that is on its way it may see a part.
    fn scan(&self, shard: Shard, space: Space, scan: Scan<'_>) -> Result<Vec<Row>>;

    /// Why the store cannot be used at the moment, if so: whoever calls it waits. It may pass.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// Which rows to read: those from `from` on and before `to`.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'s> {
    /// The lowest key, if there is one.
    pub from: &'s [u8],
    /// The first key that is too high; empty if none is.
    pub to: &'s [u8],
    pub limit: usize,
    /// Once the values have this many bytes together, no more rows are read. There may be more then, even if there
    /// are fewer than `limit`.
    pub bytes_max: usize,
    /// From the highest key down.
    pub reverse: bool,
}

impl<'s> Scan<'s> {
    /// From the lowest key up.
    #[must_use]
    pub fn between(from: &'s [u8], to: &'s [u8], limit: usize) -> Self {
        Self { from, to, limit, bytes_max: usize::MAX, reverse: false }
    }

    /// Reads no more rows once their values have so many bytes.
    #[must_use]
    pub fn up_to_bytes(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// Of rows in the order of the scan, those that it is about.
    pub fn cut<E>(
        self,
        rows: impl Iterator<Item = std::result::Result<Row, E>>,
    ) -> std::result::Result<Vec<Row>, E> {
        let mut bytes = 0;
        let mut found = Vec::new();
        for row in rows.take(self.limit) {
            let row = row?;
            bytes += row.1.len();
            found.push(row);
            if bytes >= self.bytes_max {
                break;
            }
        }
        Ok(found)
    }

    #[must_use]
    pub fn reversed(self) -> Self {
        Self { reverse: true, ..self }
    }
}

/// The first key that is above every key with this prefix; empty if there is none.
#[must_use]
pub fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    end
}
