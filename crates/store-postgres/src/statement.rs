//! The statements: what they say, by the spaces they are about.
//!
//! One statement is one transaction. Every statement has a tag of its own as its first parameter, and fails if
//! it is run with another's: a pooler that mixes up prepared statements cannot make one of them write to the
//! table of another.

use std::hash::{DefaultHasher, Hash, Hasher};

use everstep_store::{Scan, Space};
use tokio_postgres::types::Type;

pub(crate) const SCHEMA: &str = "everstep";

pub(crate) struct Sql {
    pub(crate) text: String,
    /// The first parameter.
    pub(crate) tag: String,
    /// Of the other parameters.
    pub(crate) types: Vec<Type>,
    /// The same for the same text.
    pub(crate) number: u64,
}

impl Sql {
    /// `text` has `{guard}` where `LIMIT` takes a number, and `rows` is that number.
    fn new(text: &str, rows: &str, types: Vec<Type>) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let number = hasher.finish();
        let tag = format!("{number:016x}");
        let guard = format!("CASE WHEN $1 = '{tag}' THEN {rows} ELSE -1 END");
        Self { text: text.replace("{guard}", &guard), tag, types, number }
    }
}

/// The table of a space.
pub(crate) fn table(space: Space) -> String {
    format!("{SCHEMA}.{}", space.name().replace('-', "_"))
}

pub(crate) fn get(space: Space) -> Sql {
    let table = table(space);
    let text = format!("SELECT value FROM {table} WHERE shard = $2 AND key = $3 LIMIT {{guard}}");
    Sql::new(&text, "1", vec![Type::INT2, Type::BYTEA])
}

/// Rows by their places, each with its position among them. A row by row look-up, whatever the planner thinks
/// of the size of the table.
pub(crate) fn get_many(space: Space) -> Sql {
    let table = table(space);
    let text = format!(
        "SELECT (SELECT t.value FROM {table} t WHERE t.shard = u.shard AND t.key = u.key) \
         FROM unnest($2::int2[], $3::bytea[]) WITH ORDINALITY u(shard, key, at) ORDER BY u.at LIMIT {{guard}}"
    );
    Sql::new(&text, "1000000", vec![Type::INT2_ARRAY, Type::BYTEA_ARRAY])
}

/// Parameters: shard, from, to, limit, and bytes if they are bounded.
pub(crate) fn scan(space: Space, scan: &Scan<'_>) -> Sql {
    let table = table(space);
    let (order, beyond) = if scan.reverse { ("DESC", "<") } else { ("ASC", ">") };
    // `to` is a parameter also where there is no end, so that there are fewer forms.
    let end = if scan.to.is_empty() { "$4::bytea IS NOT NULL" } else { "key < $4" };
    let range = format!("shard = $2 AND key >= $3 AND {end}");
    let mut types = vec![Type::INT2, Type::BYTEA, Type::BYTEA, Type::INT8];
    if scan.bytes_max == usize::MAX {
        let text = format!(
            "SELECT key, value FROM {table} WHERE {range} ORDER BY key {order} LIMIT {{guard}}"
        );
        return Sql::new(&text, "$5", types);
    }
    // Row by row, so that nothing is read beyond the bytes.
    let next = format!("SELECT key, value FROM {table} WHERE {range}");
    let text = format!(
        "WITH RECURSIVE r(key, value, bytes, count) AS (\
         (SELECT f.key, f.value, octet_length(f.value)::int8, 1::int8 \
         FROM ({next} ORDER BY key {order} LIMIT 1) f WHERE $5::int8 > 0) \
         UNION ALL \
         SELECT n.key, n.value, r.bytes + octet_length(n.value), r.count + 1 FROM r, LATERAL (\
         {next} AND key {beyond} r.key ORDER BY key {order} LIMIT 1) n \
         WHERE r.bytes < $6 AND r.count < $5) \
         SELECT key, value FROM r ORDER BY count LIMIT {{guard}}"
    );
    types.push(Type::INT8);
    Sql::new(&text, "$5", types)
}

/// Which tables a commit changes: a bit for each space that rows are put into, and removed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Shape {
    pub(crate) puts: u64,
    pub(crate) removals: u64,
}

impl Shape {
    pub(crate) fn has_puts(self, space: Space) -> bool {
        self.puts & (1 << space as u8) != 0
    }

    pub(crate) fn has_removals(self, space: Space) -> bool {
        self.removals & (1 << space as u8) != 0
    }
}

/// A commit, which returns the shards whose claims hold; those of others are left as they are.
///
/// Parameters: shards and claims; then for each space, in order, shards, keys and values of what is put, shards
/// and keys of what is removed. No row is both.
pub(crate) fn commit(shape: Shape) -> Sql {
    let mut types = vec![Type::INT2_ARRAY, Type::UUID_ARRAY];
    // Locked, so that whoever claims a shard waits until this is over, or this finds the claim changed.
    let mut text = format!(
        "WITH held AS MATERIALIZED (SELECT o.shard FROM {SCHEMA}.owners o \
         JOIN unnest($2::int2[], $3::uuid[]) u(shard, claim) ON o.shard = u.shard AND o.claim = u.claim \
         FOR SHARE OF o)"
    );
    for space in Space::ALL {
        let (table, number, next) = (table(space), space as u8, types.len() + 2);
        if shape.has_puts(space) {
            let (a, b, c) = (next, next + 1, next + 2);
            text.push_str(&format!(
                ", put{number} AS (INSERT INTO {table} (shard, key, value) SELECT u.shard, u.key, u.value \
                 FROM unnest(${a}::int2[], ${b}::bytea[], ${c}::bytea[]) u(shard, key, value) \
                 JOIN held USING (shard) ON CONFLICT (shard, key) DO UPDATE SET value = excluded.value)"
            ));
            types.extend([Type::INT2_ARRAY, Type::BYTEA_ARRAY, Type::BYTEA_ARRAY]);
        }
        let next = types.len() + 2;
        if shape.has_removals(space) {
            // Looked up row by row, whatever the planner thinks of the size of the table.
            let (a, b) = (next, next + 1);
            text.push_str(&format!(
                ", removal{number} AS (DELETE FROM {table} WHERE ctid = ANY (ARRAY(\
                 SELECT (SELECT t.ctid FROM {table} t WHERE t.shard = u.shard AND t.key = u.key) \
                 FROM unnest(${a}::int2[], ${b}::bytea[]) u(shard, key) JOIN held USING (shard))))"
            ));
            types.extend([Type::INT2_ARRAY, Type::BYTEA_ARRAY]);
        }
    }
    text.push_str(" SELECT coalesce(array_agg(shard), '{}') FROM held LIMIT {guard}");
    Sql::new(&text, "1", types)
}
