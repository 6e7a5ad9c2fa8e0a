//! A cache that is bounded in bytes: what was not used for longest is dropped first.

use std::collections::HashMap;
use std::hash::Hash;

/// However small they are: dropping one looks at all of them.
const ENTRIES_MAX: usize = 1024;

pub(crate) struct ByteCache<K, V> {
    bytes_max: usize,
    bytes: usize,
    /// Counts uses.
    now: u64,
    kept: HashMap<K, Kept<V>>,
}

struct Kept<V> {
    value: V,
    bytes: usize,
    used: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> ByteCache<K, V> {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, now: 0, kept: HashMap::new() }
    }

    pub(crate) fn get(&mut self, key: &K) -> Option<V> {
        self.now += 1;
        let kept = self.kept.get_mut(key)?;
        kept.used = self.now;
        Some(kept.value.clone())
    }

    /// Puts a value in, or says how large it has become. One that is larger than the whole cache is not kept.
    pub(crate) fn put(&mut self, key: &K, value: V, bytes: usize) {
        self.now += 1;
        self.remove(key);
        if bytes > self.bytes_max {
            return;
        }
        self.bytes += bytes;
        self.kept.insert(key.clone(), Kept { value, bytes, used: self.now });
        while self.bytes > self.bytes_max || self.kept.len() > ENTRIES_MAX {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &K) {
        self.bytes -= self.kept.remove(key).map_or(0, |kept| kept.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left after values of these sizes were put in, and `b` was used in between.
    fn check(sizes: &[(char, usize)], expected: &str) {
        let mut cache = ByteCache::new(10);
        for (key, bytes) in sizes {
            cache.put(key, (), *bytes);
            cache.get(&'b');
        }
        let mut left: Vec<char> = cache.kept.keys().copied().collect();
        left.sort_unstable();
        assert_eq!(left.into_iter().collect::<String>(), expected);
        assert_eq!(cache.bytes, cache.kept.values().map(|kept| kept.bytes).sum::<usize>());
    }

    #[test]
    fn what_was_not_used_for_longest_is_dropped() {
        check(&[('a', 4), ('b', 4), ('c', 4)], "bc");
        check(&[('a', 4), ('b', 4), ('b', 10)], "b");
        check(&[('a', 4), ('b', 4), ('b', 6)], "ab");
        check(&[('a', 4), ('b', 11)], "a");
        check(&[('a', 0), ('b', 0), ('c', 10)], "abc");
    }

    #[test]
    fn there_are_only_so_many() {
        let mut cache = ByteCache::new(10);
        (0..=ENTRIES_MAX).for_each(|key| cache.put(&key, (), 0));
        assert_eq!(cache.kept.len(), ENTRIES_MAX);
        assert!(cache.get(&0).is_none());
    }
}
