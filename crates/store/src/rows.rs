//! Rows in memory, in order: what stores that keep nothing on a disk are made of.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Bound;

use crate::{Batch, Error, Expectation, Result, Row, Scan, Shard, Space, Write};

/// Rows by shard, space and key.
pub type Rows = BTreeMap<(Shard, Space, Vec<u8>), Vec<u8>>;

/// As [`crate::Store::scan`] says.
pub(crate) fn scan(rows: &Rows, shard: Shard, space: Space, scan: Scan<'_>) -> Vec<Row> {
    let from = Bound::Included((shard, space, scan.from.to_vec()));
    let inside = rows
        .range((from, Bound::Unbounded))
        .take_while(|((of, within, _), _)| (*of, *within) == (shard, space))
        .take_while(|((.., key), _)| scan.to.is_empty() || key.as_slice() < scan.to)
        .map(|((.., key), value)| (key.clone(), value.clone()));
    let found = if scan.reverse {
        let mut all: Vec<Row> = inside.collect();
        all.reverse();
        scan.cut(all.into_iter().map(Ok::<_, Infallible>))
    } else {
        scan.cut(inside.map(Ok))
    };
    let Ok(found) = found;
    found
}

/// Whether a batch may happen: its sizes, and the rows that it expects.
pub(crate) fn judge(rows: &Rows, batch: &Batch) -> Result<()> {
    batch.check()?;
    for Expectation { space, key, value } in &batch.expectations {
        if rows.get(&(batch.shard, *space, key.clone())) != value.as_ref() {
            return Err(Error::Unexpected { space: *space });
        }
    }
    Ok(())
}

pub(crate) fn change(rows: &mut Rows, batch: Batch) {
    for Write { space, key, value } in batch.writes {
        match value {
            Some(value) => rows.insert((batch.shard, space, key), value),
            None => rows.remove(&(batch.shard, space, key)),
        };
    }
}
