//! The suite that every store passes: one function for each promise of [`Store`], which panics with a
//! message where it is broken.
//!
//! [`suite!`](crate::suite!) turns them into tests; a store brings a [`Subject`] that opens it.

mod batches;
mod load;
mod model;
mod reads;
mod retention;
mod survival;

use std::sync::{Arc, mpsc};

pub use batches::*;
pub use load::{Load, check_load};
pub use model::*;
pub use reads::*;
pub use retention::*;
pub use survival::*;

use crate::{Batch, Result, Row, Scan, Shard, Space, Store};

/// A place where a store can be.
pub trait Subject {
    /// Opens the store. It is empty the first time; later it holds what it held.
    fn open(&mut self) -> Arc<dyn Store>;

    /// Whether what was acknowledged is there when the store is opened again.
    fn lasts(&self) -> bool {
        true
    }

    /// Ends a store that has nothing on its way as a crash would, as far as one process can: without
    /// any work that closing does.
    fn crash(&mut self, store: Arc<dyn Store>) {
        drop(store);
    }
}

/// Makes a test of each promise. The expression makes a [`Subject`], once for each test.
#[macro_export]
macro_rules! suite {
    ($subject:expr) => {
        $crate::suite! { @tests $subject;
            batches_are_all_or_nothing
            expectations_are_judged_in_order
            those_behind_an_unexpected_one_go_on
            each_is_done_once_and_in_order
            the_last_change_counts
            empty_batches_are_done
            too_large_is_refused
            many_threads_commit_at_once
            keys_are_ordered_as_bytes
            a_scan_stops_at_its_bytes
            shards_and_spaces_are_apart
            scans_are_bounded
            a_prefix_is_scanned_whole
            values_of_any_size
            acknowledged_rows_are_read
            scans_beside_commits_see_what_was_acknowledged
            rows_are_removed_in_steps_while_others_write
            acknowledged_batches_survive
            random_changes_match_a_model
            large_changes_match_a_model
        }
    };
    (@tests $subject:expr; $($property:ident)*) => {
        $(
            #[test]
            fn $property() {
                $crate::suite::$property(&mut $subject);
            }
        )*
    };
}

/// Hands a batch over and waits for its fate.
///
/// # Errors
///
/// What the store says.
pub fn commit(store: &dyn Store, batch: Batch) -> Result<()> {
    send(store, batch).recv().expect("a batch was dropped without being done")
}

/// Hands a batch over.
fn send(store: &dyn Store, batch: Batch) -> mpsc::Receiver<Result<()>> {
    let (sender, receiver) = mpsc::channel();
    // Nobody listens any more if the test has failed.
    store.commit(batch, Box::new(move |outcome| drop(sender.send(outcome))));
    receiver
}

fn put(shard: Shard, space: Space, key: &[u8], value: &[u8]) -> Batch {
    let mut batch = Batch::new(shard);
    batch.put(space, key.to_vec(), value.to_vec());
    batch
}

fn all(store: &dyn Store, shard: Shard, space: Space) -> Vec<Row> {
    scan(store, shard, space, Scan::between(b"", b"", usize::MAX))
}

fn scan(store: &dyn Store, shard: Shard, space: Space, scan: Scan<'_>) -> Vec<Row> {
    store.scan(shard, space, scan).expect("a scan failed")
}

fn keys(rows: Vec<Row>) -> Vec<Vec<u8>> {
    rows.into_iter().map(|(key, _)| key).collect()
}

fn get(store: &dyn Store, shard: Shard, space: Space, key: &[u8]) -> Option<Vec<u8>> {
    store.get(shard, space, key).expect("a read failed")
}
