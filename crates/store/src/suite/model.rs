//! Random changes, compared with a map.

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};
use std::{env, mem};

use super::{Subject, all, get, scan, send};
use crate::random::Random;
use crate::{Batch, Expectation, Result, Row, Scan, Shard, Space, Store};

/// Set to repeat a run; a failing run prints its own.
const SEED: &str = "EVERSTEP_SEED";

/// Small rows, crashes and clean ends in turn.
pub fn random_changes_match_a_model(subject: &mut impl Subject) {
    Run::new(subject, Sizes { steps: 1500, value_bytes: 60, crashes: true }).go();
}

/// Enough bytes to leave memory and be merged, where a store does so.
pub fn large_changes_match_a_model(subject: &mut impl Subject) {
    Run::new(subject, Sizes { steps: 400, value_bytes: 100_000, crashes: false }).go();
}

#[derive(Clone, Copy)]
struct Sizes {
    steps: usize,
    value_bytes: usize,
    /// A crash in one process can be had only while nothing happens in the background.
    crashes: bool,
}

type Model = BTreeMap<(Shard, Space, Vec<u8>), Vec<u8>>;

struct Run<'s, S> {
    subject: &'s mut S,
    store: Arc<dyn Store>,
    sizes: Sizes,
    random: Random,
    seed: u64,
    model: Model,
    /// Outcomes on their way, and whether each must be good.
    waiting: Vec<(mpsc::Receiver<Result<()>>, bool)>,
}

impl<'s, S: Subject> Run<'s, S> {
    fn new(subject: &'s mut S, sizes: Sizes) -> Self {
        let seed = env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_116);
        // Shown only if the test fails.
        println!("{SEED}={seed}");
        let store = subject.open();
        let random = Random::new(seed);
        Self { subject, store, sizes, random, seed, model: Model::new(), waiting: Vec::new() }
    }

    fn go(&mut self) {
        for _ in 0..self.sizes.steps {
            match self.random.below(100) {
                0..80 => self.change(),
                80..88 => self.compare_row(),
                88..96 => self.compare_scan(),
                _ if self.subject.lasts() => self.reopen(),
                _ => self.compare_all(),
            }
        }
        self.settle();
        self.compare_all();
    }

    fn change(&mut self) {
        let batch = self.batch();
        let as_expected = batch.expectations.iter().all(|it| {
            let row = (batch.shard, it.space, it.key.clone());
            self.model.get(&row) == it.value.as_ref()
        });
        if as_expected {
            for write in &batch.writes {
                let row = (batch.shard, write.space, write.key.clone());
                match &write.value {
                    Some(value) => self.model.insert(row, value.clone()),
                    None => self.model.remove(&row),
                };
            }
        }
        self.waiting.push((send(&*self.store, batch), as_expected));
        if self.random.one_in(10) {
            self.settle();
        }
    }

    fn batch(&mut self) -> Batch {
        let mut batch = Batch::new(self.shard());
        for _ in 0..self.random.below(3) {
            let (space, key) = (self.space(), self.key());
            let row = (batch.shard, space, key.clone());
            let value = match self.random.one_in(4) {
                true => Some(b"wrong".to_vec()),
                false => self.model.get(&row).cloned(),
            };
            batch.expectations.push(Expectation { space, key, value });
        }
        for _ in 0..self.random.below(6) {
            let (space, key) = (self.space(), self.key());
            if self.random.one_in(3) {
                batch.remove(space, key);
            } else {
                let length = self.random.below(self.sizes.value_bytes);
                batch.put(space, key, self.random.bytes(length));
            }
        }
        batch
    }

    fn shard(&mut self) -> Shard {
        self.random.pick(&[Shard(0), Shard(1), Shard::CATALOG])
    }

    fn space(&mut self) -> Space {
        self.random.pick(&Space::ALL)
    }

    /// Few, so that they meet; short and of few bytes, so that some are prefixes of others.
    fn key(&mut self) -> Vec<u8> {
        let length = self.random.below(4);
        (0..length).map(|_| self.random.pick(&[0, b'a', 0xff])).collect()
    }

    fn settle(&mut self) {
        for (outcome, good) in mem::take(&mut self.waiting) {
            let outcome = outcome.recv().expect("a batch was dropped without being done");
            assert_eq!(outcome.is_ok(), good, "{outcome:?}; {SEED}={}", self.seed);
        }
    }

    fn compare_row(&mut self) {
        self.settle();
        let (shard, space, key) = (self.shard(), self.space(), self.key());
        let found = get(&*self.store, shard, space, &key);
        let expected = self.model.get(&(shard, space, key.clone()));
        assert!(found.as_ref() == expected, "{shard:?} {space:?} {key:?}; {SEED}={}", self.seed);
    }

    fn compare_scan(&mut self) {
        self.settle();
        let (shard, space) = (self.shard(), self.space());
        let (from, to) = (self.key(), self.key());
        let limit = self.random.below(10);
        let reverse = self.random.one_in(2);
        let asked = Scan { reverse, ..Scan::between(&from, &to, limit) };
        let found = scan(&*self.store, shard, space, asked);
        let mut expected = self.rows(shard, space);
        expected.retain(|(key, _)| *key >= from && (to.is_empty() || *key < to));
        if asked.reverse {
            expected.reverse();
        }
        expected.truncate(limit);
        assert!(found == expected, "{shard:?} {space:?} {asked:?}; {SEED}={}", self.seed);
    }

    fn compare_all(&mut self) {
        self.settle();
        for shard in [Shard(0), Shard(1), Shard::CATALOG] {
            for space in Space::ALL {
                let found = all(&*self.store, shard, space);
                let same = found == self.rows(shard, space);
                assert!(same, "{shard:?} {space:?} differs; {SEED}={}", self.seed);
            }
        }
    }

    fn reopen(&mut self) {
        self.settle();
        // Stands in while the place is empty.
        let store = mem::replace(&mut self.store, Arc::new(crate::MemoryStore::new(1)));
        if self.sizes.crashes && self.random.one_in(2) {
            self.subject.crash(store);
        } else {
            drop(store);
        }
        self.store = self.subject.open();
        self.compare_all();
    }

    fn rows(&self, shard: Shard, space: Space) -> Vec<Row> {
        let rows =
            self.model.iter().filter(|((of, within, _), _)| (*of, *within) == (shard, space));
        rows.map(|((.., key), value)| (key.clone(), value.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Forgetful;

    impl Subject for Forgetful {
        fn open(&mut self) -> Arc<dyn Store> {
            Arc::new(crate::MemoryStore::new(2))
        }
    }

    /// A comparison that never fails proves nothing.
    #[test]
    #[should_panic(expected = "differs")]
    fn a_lost_row_is_noticed() {
        random_changes_match_a_model(&mut Forgetful);
    }
}
