//! Many rows, read a page at a time.

use crate::{Error, Row, Scan, Shard, Space, Store};

/// Calls `each` with every row from one key up to another, in order. At most `rows` of them are in memory at
/// a time.
///
/// # Errors
///
/// The store's, or the first that `each` has.
pub fn each_row<E: From<Error>>(
    store: &dyn Store,
    (shard, space): (Shard, Space),
    (from, to): (&[u8], &[u8]),
    rows: usize,
    mut each: impl FnMut(Row) -> Result<(), E>,
) -> Result<(), E> {
    let mut from = from.to_vec();
    loop {
        let page = store.scan(shard, space, Scan::between(&from, to, rows))?;
        let last = page.last().filter(|_| page.len() == rows);
        let next = last.map(|(key, _)| [key.as_slice(), &[0]].concat());
        page.into_iter().try_for_each(&mut each)?;
        match next {
            Some(next) => from = next,
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, MemoryStore};

    #[test]
    fn every_row_is_read_once_whatever_the_page() {
        let store = MemoryStore::new(1);
        let mut batch = Batch::new(Shard(0));
        (0..10u8).for_each(|key| batch.put(Space::Journal, vec![key], Vec::new()));
        store.commit(batch, Box::new(|done| done.expect("it is written")));
        for rows in [1, 2, 3, 9, 10, 11] {
            let mut keys = Vec::new();
            let place = (Shard(0), Space::Journal);
            each_row::<Error>(&store, place, (&[2], &[9]), rows, |(key, _)| {
                keys.extend(key);
                Ok(())
            })
            .expect("readable");
            assert_eq!(keys, [2, 3, 4, 5, 6, 7, 8], "{rows}");
        }
    }
}
