//! Time and randomness, as given to one evaluation, and how long it may take.

use std::cell::RefCell;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::effort::{Effort, Stopwatch};

/// What is not deterministic, made deterministic: the moment of the event that caused this
/// evaluation, and a stream of draws from the seed that came with it. The same event gives
/// the same values, so a replay gives the same result.
#[derive(Debug)]
pub struct Entropy {
    now_ms: i64,
    draws: RefCell<Pcg64Mcg>,
    effort: Effort,
}

impl Entropy {
    #[must_use]
    pub fn new(now_ms: i64, seed: u64) -> Self {
        let draws = RefCell::new(Pcg64Mcg::seed_from_u64(seed));
        Self { now_ms, draws, effort: Effort::default() }
    }

    /// The same, where others wait.
    #[must_use]
    pub fn timed(self, stopwatch: Stopwatch) -> Self {
        Self { effort: Effort::timed(stopwatch), ..self }
    }

    /// How long the expressions of the state at hand may take.
    #[must_use]
    pub fn effort(&self) -> &Effort {
        &self.effort
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// The next 64 random bits.
    pub fn next_u64(&self) -> u64 {
        self.draws.borrow_mut().next_u64()
    }

    /// The next number in `0.0 <= x < 1.0`.
    pub fn next_unit(&self) -> f64 {
        unit(self.next_u64())
    }

    /// The next version 4 UUID, in lowercase.
    pub fn next_uuid(&self) -> String {
        let high = (self.next_u64() & !0xf000) | 0x4000;
        let low = (self.next_u64() & (u64::MAX >> 2)) | (1 << 63);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// The 53 upper bits as a fraction.
// 53 bits are exactly what an f64 holds.
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_draws() {
        let (a, b) = (Entropy::new(7, 42), Entropy::new(7, 42));
        assert_eq!(a.next_uuid(), b.next_uuid());
        assert_eq!(a.next_u64(), b.next_u64());
    }

    #[test]
    fn uuids_are_version_4() {
        let entropy = Entropy::new(0, 1);
        for _ in 0..100 {
            let uuid = entropy.next_uuid();
            assert_eq!(uuid.len(), 36);
            assert_eq!(uuid.as_bytes()[14], b'4');
            assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{uuid}");
        }
    }
}
