//! Rows that cannot be read or understood, found by looking at all of them.

use std::fmt;

use everstep_store::{Row, Scan, Shard, Space, Store};

/// Rows and bytes that are in memory at a time.
const ROWS_AT_A_TIME: usize = 1000;
const BYTES_AT_A_TIME: usize = 4 << 20;

/// One row, or all rows of a place from some on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Whose row it is, as far as that is known.
    pub name: String,
    pub what: String,
}

impl Damage {
    #[must_use]
    pub fn new(name: impl Into<String>, what: impl Into<String>) -> Self {
        Self { name: name.into(), what: what.into() }
    }

    /// Of a row whose owner is not known.
    #[must_use]
    pub fn of_row((shard, space): (Shard, Space), key: &[u8], what: impl Into<String>) -> Self {
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        Self::new(format!("shard {} {} row {key}", shard.0, space.name()), what)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

/// Takes what is wrong with a row.
pub type Damaged<'d> = &'d mut dyn FnMut(Damage);

/// Visits all rows of a place in order; how many there were. If some cannot be read, those behind them in the same place
/// are not visited.
pub fn visit_rows(
    store: &dyn Store,
    place: (Shard, Space),
    damaged: Damaged<'_>,
    visit: &mut dyn FnMut(Row, Damaged<'_>),
) -> u64 {
    let (mut from, mut count) = (Vec::new(), 0);
    loop {
        let scan = Scan::between(&from, &[], ROWS_AT_A_TIME).up_to_bytes(BYTES_AT_A_TIME);
        let rows = match store.scan(place.0, place.1, scan) {
            Ok(rows) => rows,
            Err(error) => {
                damaged(Damage::of_row(place, &from, format!("from here on: {error}")));
                return count;
            }
        };
        let Some((last, _)) = rows.last() else { return count };
        from = [last.as_slice(), &[0]].concat();
        count += rows.len() as u64;
        for row in rows {
            visit(row, damaged);
        }
    }
}

#[cfg(test)]
mod tests {
    use everstep_store::{Batch, MemoryStore};

    use super::*;

    #[test]
    fn every_row_is_visited() {
        let store = MemoryStore::new(1);
        let mut batch = Batch::new(Shard(0));
        let rows = ROWS_AT_A_TIME as u64 * 2 + 1;
        for number in 0..rows {
            batch.put(Space::Journal, number.to_be_bytes().to_vec(), vec![0; 10]);
        }
        store.commit(batch, Box::new(|done| done.expect("it is written")));
        let (mut damages, mut seen) = (Vec::new(), 0);
        let place = (Shard(0), Space::Journal);
        let count =
            visit_rows(&store, place, &mut |damage| damages.push(damage), &mut |row, damaged| {
                seen += 1;
                if row.0.ends_with(&[7]) && seen < 10 {
                    damaged(Damage::of_row(place, &row.0[6..], "odd"));
                }
            });
        assert_eq!((count, seen), (rows, rows));
        let said: Vec<String> = damages.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["shard 0 journal row 0007: odd"]);
    }
}
