//! The changes of a group, as one statement has them: each row once, in columns.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use everstep_store::{Batch, Shard, Space};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::statement::Shape;

/// Rows of a commit by which it is recognised afterwards.
const TRACES: usize = 8;

type Place<'g> = (Space, Shard, &'g [u8]);

/// Rows by space, shard and key, each with what becomes of it.
pub(crate) struct Changes<'g> {
    rows: BTreeMap<Place<'g>, Option<&'g [u8]>>,
    bytes: usize,
}

/// Parameters of the statement, in its order.
pub(crate) struct Columns<'g> {
    pub(crate) shape: Shape,
    pub(crate) shards: Vec<i16>,
    spaces: Vec<Column<'g>>,
}

enum Column<'g> {
    Shards(Vec<i16>),
    Bytes(Vec<&'g [u8]>),
}

/// A row as it must be after a commit: to see whether the commit is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) shard: Shard,
    pub(crate) space: Space,
    pub(crate) key: Vec<u8>,
    /// Of its value; none if it was removed.
    digest: Option<u64>,
    /// The same, if the commit that is under way has happened.
    next: Option<Option<u64>>,
}

impl<'g> Changes<'g> {
    /// Of several changes to a row the last one counts.
    pub(crate) fn merge(batches: impl Iterator<Item = &'g Batch>) -> Self {
        let mut changes = Self { rows: BTreeMap::new(), bytes: 0 };
        for batch in batches {
            changes.bytes += batch.size();
            let row = |write: &'g everstep_store::Write| {
                ((write.space, batch.shard, write.key.as_slice()), write.value.as_deref())
            };
            changes.rows.extend(batch.writes.iter().map(row));
        }
        changes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of all changes, merged or not.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn rows(
        &self,
    ) -> impl Iterator<Item = (Shard, Space, &'g [u8], Option<&'g [u8]>)> + '_ {
        self.rows.iter().map(|((space, shard, key), value)| (*shard, *space, *key, *value))
    }

    pub(crate) fn columns(&self) -> Columns<'g> {
        let mut shape = Shape::default();
        for ((space, ..), value) in &self.rows {
            let bit = 1 << *space as u8;
            if value.is_some() { shape.puts |= bit } else { shape.removals |= bit }
        }
        let mut shards: Vec<i16> = self.rows.keys().map(|(_, shard, _)| number(*shard)).collect();
        shards.sort_unstable();
        shards.dedup();
        let mut spaces = Vec::new();
        for space in Space::ALL {
            if shape.has_puts(space) {
                let rows =
                    || self.of(space).filter_map(|(shard, key, value)| Some((shard, key, value?)));
                spaces.push(Column::Shards(rows().map(|(shard, ..)| shard).collect()));
                spaces.push(Column::Bytes(rows().map(|(_, key, _)| key).collect()));
                spaces.push(Column::Bytes(rows().map(|(.., value)| value).collect()));
            }
            if shape.has_removals(space) {
                let rows = || self.of(space).filter(|(.., value)| value.is_none());
                spaces.push(Column::Shards(rows().map(|(shard, ..)| shard).collect()));
                spaces.push(Column::Bytes(rows().map(|(_, key, _)| key).collect()));
            }
        }
        Columns { shape, shards, spaces }
    }

    fn of(&self, space: Space) -> impl Iterator<Item = (i16, &'g [u8], Option<&'g [u8]>)> + '_ {
        let first = (space, Shard(0), &[][..]);
        let rows = self.rows.range(first..).take_while(move |((of, ..), _)| *of == space);
        rows.map(|((_, shard, key), value)| (number(*shard), *key, *value))
    }

    /// Some of the rows, spread over all.
    pub(crate) fn traces(&self) -> Vec<Trace> {
        let step = self.rows.len().div_ceil(TRACES).max(1);
        let trace = |(shard, space, key, value): (Shard, Space, &[u8], Option<&[u8]>)| Trace {
            shard,
            space,
            key: key.to_vec(),
            digest: value.map(digest),
            next: None,
        };
        self.rows().step_by(step).map(trace).collect()
    }
}

impl Trace {
    /// These changes are under way now.
    pub(crate) fn expect(&mut self, changes: &Changes<'_>) {
        let value = changes.rows.get(&(self.space, self.shard, self.key.as_slice()));
        self.next = value.map(|value| value.map(digest));
    }

    pub(crate) fn is_left_by(&self, value: Option<&[u8]>) -> bool {
        let found = value.map(digest);
        found == self.digest || Some(found) == self.next
    }
}

impl Columns<'_> {
    /// With the claim of each shard.
    pub(crate) fn parameters<'p>(&'p self, claims: &'p Vec<Uuid>) -> Vec<&'p (dyn ToSql + Sync)> {
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&self.shards, claims];
        for column in &self.spaces {
            parameters.push(match column {
                Column::Shards(shards) => shards,
                Column::Bytes(bytes) => bytes,
            });
        }
        parameters
    }
}

/// As the tables have it: the catalog's is -1.
pub(crate) fn number(shard: Shard) -> i16 {
    shard.0.cast_signed()
}

fn digest(value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(shard: u16, changes: &[(Space, &str, Option<&str>)]) -> Batch {
        let mut batch = Batch::new(Shard(shard));
        for (space, key, value) in changes {
            match value {
                Some(value) => {
                    batch.put(*space, key.as_bytes().to_vec(), value.as_bytes().to_vec());
                }
                None => batch.remove(*space, key.as_bytes().to_vec()),
            }
        }
        batch
    }

    fn check(batches: &[Batch], expected: &[(i16, Space, &str, Option<&str>)]) {
        let changes = Changes::merge(batches.iter());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it is text");
        let found: Vec<_> = changes
            .rows()
            .map(|(shard, space, key, value)| (number(shard), space, text(key), value.map(text)))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(shard, space, key, value)| {
                (*shard, *space, (*key).to_owned(), value.map(str::to_owned))
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_last_change_to_a_row_counts() {
        use Space::{Lists, Wakes};
        check(
            &[
                batch(1, &[(Wakes, "a", Some("1")), (Lists, "x", None), (Lists, "x", Some("2"))]),
                batch(1, &[(Wakes, "a", None), (Wakes, "b", Some("3"))]),
                batch(u16::MAX, &[(Wakes, "a", Some("4"))]),
            ],
            &[
                (1, Lists, "x", Some("2")),
                (1, Wakes, "a", None),
                (1, Wakes, "b", Some("3")),
                (-1, Wakes, "a", Some("4")),
            ],
        );
    }

    #[test]
    fn columns_follow_the_statement() {
        use Space::{Journal, Wakes};
        let batches =
            [batch(2, &[(Wakes, "a", Some("1")), (Wakes, "b", None), (Journal, "c", Some("2"))])];
        let columns = Changes::merge(batches.iter()).columns();
        assert_eq!(columns.shape, Shape { puts: 1 << 1 | 1 << 3, removals: 1 << 3 });
        assert_eq!(columns.shards, [2]);
        let claims = vec![Uuid::nil()];
        let statement = crate::statement::commit(columns.shape);
        assert_eq!(columns.parameters(&claims).len(), statement.types.len());
    }

    #[test]
    fn a_commit_is_recognised_by_its_rows() {
        let rows: Vec<String> = (0..100).map(|row| row.to_string()).collect();
        let writes: Vec<_> =
            rows.iter().map(|row| (Space::Journal, &**row, Some("value"))).collect();
        let batches = [batch(0, &writes), batch(0, &[(Space::Wakes, "gone", None)])];
        let traces = Changes::merge(batches.iter()).traces();
        assert!(traces.len() <= TRACES && traces.len() > TRACES / 2, "{}", traces.len());
        assert!(traces[0].is_left_by(Some(b"value")));
        assert!(!traces[0].is_left_by(Some(b"other")) && !traces[0].is_left_by(None));
        let batches = [batch(
            0,
            &[(Space::Journal, "0", Some("next")), (Space::Wakes, "gone", Some("back"))],
        )];
        let next = Changes::merge(batches.iter());
        let mut trace = traces[0].clone();
        trace.expect(&next);
        assert!(trace.is_left_by(Some(b"value")) && trace.is_left_by(Some(b"next")));
        assert!(!trace.is_left_by(Some(b"other")) && !trace.is_left_by(None));
    }
}
