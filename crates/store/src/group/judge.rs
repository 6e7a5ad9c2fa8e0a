//! Which batches of a group may happen.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use crate::{Batch, Error, Expectation, Result, Shard, Space};

/// Where a row is.
pub type Place<'g> = (Shard, Space, &'g [u8]);

type Rows<'g, V> = HashMap<Place<'g>, Seen<'g, V>>;

/// A row that some batch of the group has an expectation of, as it is before the next batch.
enum Seen<'g, V> {
    Unread,
    Stored(Option<V>),
    Written(Option<&'g [u8]>),
}

/// The rows that the batches of a group have expectations of, each once.
#[must_use]
pub fn expected<'g>(group: impl Iterator<Item = &'g Batch>) -> HashSet<Place<'g>> {
    let places = |batch: &'g Batch| {
        batch.expectations.iter().map(|it| (batch.shard, it.space, it.key.as_slice()))
    };
    group.flat_map(places).collect()
}

/// One answer for each batch, each judged against the store and the batches before it. `read` reads
/// a row of the store, at most once each.
///
/// # Errors
///
/// That of `read`: it is the error of all.
pub fn judge<'g, V: Deref<Target = [u8]>, E>(
    group: impl Iterator<Item = &'g Batch> + Clone,
    mut read: impl FnMut(Place<'_>) -> std::result::Result<Option<V>, E>,
) -> std::result::Result<Vec<Result<()>>, E> {
    let mut seen: Rows<'g, V> =
        expected(group.clone()).into_iter().map(|place| (place, Seen::Unread)).collect();
    let mut answers = Vec::new();
    for batch in group {
        let mut answer = batch.check();
        if answer.is_ok() {
            let unexpected = unexpected(batch, &mut seen, &mut read)?;
            answer = unexpected.map_or(Ok(()), |space| Err(Error::Unexpected { space }));
        }
        if answer.is_ok() && !seen.is_empty() {
            note(batch, &mut seen);
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// The space of the first row that is not as the batch expects it.
fn unexpected<'g, V: Deref<Target = [u8]>, E>(
    batch: &'g Batch,
    seen: &mut Rows<'g, V>,
    read: &mut impl FnMut(Place<'_>) -> std::result::Result<Option<V>, E>,
) -> std::result::Result<Option<Space>, E> {
    for Expectation { space, key, value } in &batch.expectations {
        let row = seen.entry((batch.shard, *space, key)).or_insert(Seen::Unread);
        if matches!(row, Seen::Unread) {
            *row = Seen::Stored(read((batch.shard, *space, key))?);
        }
        let found = match row {
            Seen::Unread => None,
            Seen::Stored(value) => value.as_deref(),
            Seen::Written(value) => *value,
        };
        if found != value.as_deref() {
            return Ok(Some(*space));
        }
    }
    Ok(None)
}

fn note<'g, V>(batch: &'g Batch, seen: &mut Rows<'g, V>) {
    for write in &batch.writes {
        if let Some(row) = seen.get_mut(&(batch.shard, write.space, write.key.as_slice())) {
            *row = Seen::Written(write.value.as_deref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space = Space::Executions;

    fn put(key: &str, value: &str) -> Batch {
        let mut batch = Batch::new(Shard(1));
        batch.put(SPACE, key.into(), value.into());
        batch
    }

    fn expect(mut batch: Batch, key: &str, value: Option<&str>) -> Batch {
        let value = value.map(Into::into);
        batch.expectations.push(Expectation { space: SPACE, key: key.into(), value });
        batch
    }

    /// In a store where every row is missing but `there`, which is "old".
    fn check(group: &[Batch], expected: &[bool]) {
        let mut reads = 0;
        let answers = judge(group.iter(), |(_, _, key)| {
            reads += 1;
            Ok::<_, ()>((key == b"there").then(|| b"old".to_vec()))
        });
        let found: Vec<bool> =
            answers.expect("reads do not fail").iter().map(Result::is_ok).collect();
        assert_eq!(found, expected, "{group:?}");
        let distinct = super::expected(group.iter()).len();
        assert!(reads <= distinct, "{reads} reads");
    }

    #[test]
    fn each_sees_those_before_it() {
        check(&[put("a", "1")], &[true]);
        check(
            &[expect(put("a", "1"), "a", None), expect(put("a", "2"), "a", None)],
            &[true, false],
        );
        check(&[put("a", "1"), expect(put("a", "2"), "a", Some("1"))], &[true, true]);
        check(&[expect(put("b", "1"), "there", Some("old"))], &[true]);
        check(&[put("there", "new"), expect(put("b", "1"), "there", Some("old"))], &[true, false]);
    }

    #[test]
    fn one_that_fails_changes_nothing() {
        let refused = expect(put("a", "1"), "there", None);
        check(&[refused, expect(put("b", "1"), "a", None)], &[false, true]);
    }

    #[test]
    fn a_removed_row_is_missing() {
        let mut removal = Batch::new(Shard(1));
        removal.remove(SPACE, b"there".to_vec());
        check(&[removal, expect(put("b", "1"), "there", None)], &[true, true]);
    }

    #[test]
    fn other_shards_are_apart() {
        let mut other = put("a", "1");
        other.shard = Shard(2);
        check(&[other, expect(put("a", "1"), "a", None)], &[true, true]);
    }
}
