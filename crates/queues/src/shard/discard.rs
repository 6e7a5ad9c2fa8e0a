//! Rows of queues that were deleted or purged are removed little by little.

use everstep_store::{Batch, Scan, Space, after_prefix, each_row};

use super::Shard;
use crate::error::{Error, Result};
use crate::id::RowsId;
use crate::layout::{self, ORDERS, PARTS, Part};
use crate::queue::Step;

/// Rows, and bytes of them, that are read and removed at a time.
const ROWS_AT_A_TIME: usize = 500;
const BYTES_AT_A_TIME: usize = 1 << 20;

/// Rows to be removed.
pub(super) struct Discarded {
    rows: RowsId,
    /// The commit that discarded them: until it is durable, the store may not show all of them.
    commit: u64,
    /// How many kinds of rows are gone, and where to continue with the next.
    kinds: usize,
    from: Option<Vec<u8>>,
}

impl Shard {
    pub(super) fn discard(&mut self, step: &mut Step, rows: RowsId) {
        step.batch.put(Space::Queues, layout::discarded(rows), Vec::new());
        self.discarded.push_back(Discarded { rows, commit: step.commit, kinds: 0, from: None });
    }

    pub(super) fn find_discarded(&mut self) -> Result<()> {
        let shared = self.shared.clone();
        let (from, to) = (vec![Part::Discarded as u8], layout::end(Part::Discarded));
        let place = (self.shard, Space::Queues);
        each_row(&*shared.store, place, (&from, &to), ROWS_AT_A_TIME, |(key, _)| {
            let rows = layout::parse_discarded(&key);
            let rows = rows.ok_or_else(|| Error::damaged("discarded rows have an odd key"))?;
            self.discarded.push_back(Discarded { rows, commit: 0, kinds: 0, from: None });
            Ok::<_, Error>(())
        })
    }

    /// Whether there are rows that can be removed now.
    pub(super) fn has_discarded(&self) -> bool {
        self.discarded.front().is_some_and(|first| self.ledger.is_acknowledged(first.commit))
    }

    /// Removes a page of rows.
    pub(super) fn remove_discarded(&mut self) -> Result<()> {
        if !self.has_discarded() {
            return Ok(());
        }
        let Some(mut first) = self.discarded.pop_front() else { return Ok(()) };
        let mut batch = Batch::new(self.shard);
        match kind(first.kinds, first.rows) {
            Some((space, prefix)) => {
                let low = first.from.take().unwrap_or_else(|| prefix.clone());
                let high = after_prefix(&prefix);
                let scan = Scan::between(&low, &high, ROWS_AT_A_TIME).up_to_bytes(BYTES_AT_A_TIME);
                let found = self.shared.store.scan(self.shard, space, scan)?;
                match found.last() {
                    Some((last, _)) => first.from = Some([last.as_slice(), &[0]].concat()),
                    None => first.kinds += 1,
                }
                found.into_iter().for_each(|(key, _)| batch.remove(space, key));
                self.discarded.push_front(first);
            }
            None => batch.remove(Space::Queues, layout::discarded(first.rows)),
        }
        if !batch.writes.is_empty() {
            self.ledger.commit(batch, Vec::new());
        }
        Ok(())
    }
}

/// A kind of rows that queues have: where they are, and how their keys begin.
fn kind(number: usize, rows: RowsId) -> Option<(Space, Vec<u8>)> {
    let parts = PARTS.into_iter().map(|part| (Space::Queues, layout::of(part, rows)));
    let orders =
        ORDERS.into_iter().map(|order| (Space::QueueOrders, layout::in_order(order, rows)));
    parts.chain(orders).nth(number)
}
