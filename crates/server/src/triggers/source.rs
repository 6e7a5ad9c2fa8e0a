//! Where items come from. Each kind of trigger that is not a timer and not a request implements this; what is accepted,
//! and when, is the driver's business.

use std::future::Future;
use std::pin::Pin;

use everstep_triggers::{Item, Settled};

pub(super) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A source of items. One is made for each life of a driver, so what it remembers is of this life.
pub(super) trait Source: Send + Sync {
    /// Reads at most so many items, together not much more than [`everstep_triggers::WRITE_BYTES_MAX`] bytes; waits if
    /// there are none, or gives none. Dropped when it is not wanted any more. The error says why it cannot be read.
    ///
    /// A source with positions gives what comes after this one, in order and without a gap. Another one gives nothing that
    /// it has given and that is not settled.
    fn fetch(&self, most: usize, after: Option<String>) -> Work<Result<Vec<Item>, String>>;

    /// What became of an item: it is accepted or over (both are durable), or was refused and should be brought again
    /// later. If it cannot be noted at the source the item comes again, which does no harm. The error is shown.
    fn settle(&self, handle: u64, settled: Settled) -> Work<Result<(), String>>;
}
