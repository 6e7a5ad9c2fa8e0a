//! Which batches of a group may happen.

use std::collections::HashMap;

use everstep_store::{Batch, Error, Expectation, Result, Shard, Space};
use fjall::Slice;

type Key<'g> = (Shard, Space, &'g [u8]);

/// A row that some batch of the group has an expectation of, as it is before the next batch.
enum Seen<'g> {
    Unread,
    Stored(Option<Slice>),
    Written(Option<&'g [u8]>),
}

/// One answer for each batch, each judged against the store and the batches before it. `read` reads
/// the store; its error is the error of all.
pub(crate) fn judge<'g, E>(
    group: impl Iterator<Item = &'g Batch> + Clone,
    mut read: impl FnMut(Shard, Space, &[u8]) -> std::result::Result<Option<Slice>, E>,
) -> std::result::Result<Vec<Result<()>>, E> {
    let mut seen = HashMap::new();
    for batch in group.clone() {
        let keys = batch.expectations.iter().map(|it| (batch.shard, it.space, it.key.as_slice()));
        seen.extend(keys.map(|key| (key, Seen::Unread)));
    }
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
fn unexpected<'g, E>(
    batch: &'g Batch,
    seen: &mut HashMap<Key<'g>, Seen<'g>>,
    read: &mut impl FnMut(Shard, Space, &[u8]) -> std::result::Result<Option<Slice>, E>,
) -> std::result::Result<Option<Space>, E> {
    for Expectation { space, key, value } in &batch.expectations {
        let row = seen.entry((batch.shard, *space, key)).or_insert(Seen::Unread);
        if matches!(row, Seen::Unread) {
            *row = Seen::Stored(read(batch.shard, *space, key)?);
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

fn note<'g>(batch: &'g Batch, seen: &mut HashMap<Key<'g>, Seen<'g>>) {
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
        let answers = judge(group.iter(), |_, _, key| {
            reads += 1;
            Ok::<_, ()>((key == b"there").then(|| "old".into()))
        });
        let found: Vec<bool> =
            answers.expect("reads do not fail").iter().map(Result::is_ok).collect();
        assert_eq!(found, expected, "{group:?}");
        let distinct = group.iter().flat_map(|batch| &batch.expectations).count();
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
