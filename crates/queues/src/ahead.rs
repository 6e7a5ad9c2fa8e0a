//! What has been handed to the store and may not be visible in it yet.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

/// Changes of rows that are on their way. The store shows every acknowledged commit, and of later ones none, some or
/// all: so whoever reads it must look here too.
pub(crate) struct Ahead<K, V> {
    /// The commit, and the value or that the row is removed.
    changes: BTreeMap<K, (u64, Option<V>)>,
    /// In the order of commits.
    order: VecDeque<(u64, K)>,
}

impl<K, V> Default for Ahead<K, V> {
    fn default() -> Self {
        Self { changes: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<K: Copy + Ord, V: Clone> Ahead<K, V> {
    pub(crate) fn put(&mut self, key: K, commit: u64, value: Option<V>) {
        self.changes.insert(key, (commit, value));
        self.order.push_back((commit, key));
    }

    /// The row as it will be, if it is on its way.
    pub(crate) fn get(&self, key: K) -> Option<Option<&V>> {
        self.changes.get(&key).map(|(_, value)| value.as_ref())
    }

    /// Rows that were read from a part of the store, as they will be.
    pub(crate) fn merge(&self, rows: Vec<(K, V)>, read: RangeInclusive<K>) -> BTreeMap<K, V> {
        let mut merged: BTreeMap<K, V> = rows.into_iter().collect();
        for (key, (_, value)) in self.changes.range(read) {
            match value {
                Some(value) => merged.insert(*key, value.clone()),
                None => merged.remove(key),
            };
        }
        merged
    }

    /// The first row that will exist.
    pub(crate) fn first(&self) -> Option<K> {
        self.changes.iter().find(|(_, (_, value))| value.is_some()).map(|(key, _)| *key)
    }

    /// Forgets what is durable.
    pub(crate) fn settle(&mut self, is_acknowledged: impl Fn(u64) -> bool) {
        while let Some((commit, key)) = self.order.front().copied()
            && is_acknowledged(commit)
        {
            self.order.pop_front();
            if self.changes.get(&key).is_some_and(|(last, _)| *last == commit) {
                self.changes.remove(&key);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_its_way_counts_until_it_is_durable() {
        let mut ahead = Ahead::default();
        ahead.put(2, 1, Some('b'));
        ahead.put(3, 2, None);
        ahead.put(9, 2, Some('z'));
        let merged = ahead.merge(vec![(1, 'a'), (3, 'c')], 1..=5);
        assert_eq!(merged.into_iter().collect::<Vec<_>>(), [(1, 'a'), (2, 'b')]);
        assert_eq!((ahead.get(3), ahead.get(4), ahead.first()), (Some(None), None, Some(2)));
        ahead.put(2, 3, None);
        ahead.settle(|commit| commit <= 2);
        assert_eq!((ahead.get(3), ahead.get(2)), (None, Some(None)));
        ahead.settle(|_| true);
        assert!(ahead.is_empty());
    }
}
