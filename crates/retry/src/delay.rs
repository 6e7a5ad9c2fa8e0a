//! How long to wait before a retry.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Delay {
    Fixed {
        ms: u64,
    },
    /// Azure's `exponentialBackoff`: the minimum at first, then the minimum plus a randomised power of
    /// two of it; once at the maximum, always the maximum.
    Azure {
        min_ms: u64,
        max_ms: u64,
    },
    /// `base × rate^n`, at most `max`.
    Exponential {
        base_ms: u64,
        rate: f64,
        max_ms: Option<u64>,
        jitter: Jitter,
    },
    /// One for each retry, the last for all that follow: Lambda waits one minute, then two.
    Listed {
        ms: Vec<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Jitter {
    #[default]
    None,
    /// The increment over the base, more or less by a fifth.
    Azure,
    /// Half of it for certain, half of it by chance.
    Equal,
    /// Anything from nothing to all of it.
    Full,
    /// So much of it on top, at most.
    UpTo(f64),
}

const MILLION: u128 = 1_000_000;

impl Delay {
    /// Milliseconds before the next retry, if there were `so_far` before it. `unit` gives a number
    /// from 0 up to 1; it is called at most once, and not at all where nothing is left to chance.
    #[must_use]
    pub fn draw_ms(&self, so_far: u32, unit: impl FnOnce() -> f64) -> u64 {
        whole(self.spread(so_far).draw(unit))
    }

    /// The shortest and the longest that [`Self::draw_ms`] can give.
    #[must_use]
    pub fn range_ms(&self, so_far: u32) -> (u64, u64) {
        let spread = self.spread(so_far);
        (whole(spread.draw(|| 0.0)), whole(spread.draw(|| 1.0)))
    }

    /// The wait before jitter, which is not rounded.
    #[must_use]
    pub fn nominal_ms(&self, so_far: u32) -> f64 {
        match self {
            Self::Exponential { base_ms, rate, max_ms, .. } => {
                grown(float(*base_ms), *rate, so_far).min(max_ms.map_or(f64::INFINITY, float))
            }
            other => other.spread(so_far).draw(|| 0.5),
        }
    }

    /// The same in another time: every wait takes so many millionths of what it took. Rounded to whole
    /// milliseconds, as all of them are.
    #[must_use]
    pub fn scaled(&self, millionths: u64) -> Self {
        let scale = |ms: &u64| {
            let scaled = (u128::from(*ms) * u128::from(millionths) + MILLION / 2) / MILLION;
            u64::try_from(scaled).unwrap_or(u64::MAX)
        };
        match self {
            Self::Fixed { ms } => Self::Fixed { ms: scale(ms) },
            Self::Azure { min_ms, max_ms } => {
                Self::Azure { min_ms: scale(min_ms), max_ms: scale(max_ms) }
            }
            Self::Exponential { base_ms, rate, max_ms, jitter } => Self::Exponential {
                base_ms: scale(base_ms),
                rate: *rate,
                max_ms: max_ms.as_ref().map(scale),
                jitter: *jitter,
            },
            Self::Listed { ms } => Self::Listed { ms: ms.iter().map(scale).collect() },
        }
    }

    fn spread(&self, so_far: u32) -> Spread {
        match self {
            Self::Fixed { ms } => Spread::exact(float(*ms)),
            Self::Listed { ms } => {
                let index = usize::try_from(so_far).unwrap_or(usize::MAX);
                let found = ms.get(index).or(ms.last());
                Spread::exact(found.map_or(0.0, float))
            }
            // Even the least growth after a capped delay (0.8 × 2) exceeds the most before it (1.2):
            // what has once reached the maximum stays there, and no history is needed for that.
            Self::Azure { min_ms, max_ms } => match so_far.checked_sub(1) {
                None => Spread::exact(float((*min_ms).min(*max_ms))),
                Some(doublings) => {
                    let increment = grown(float(*min_ms), 2.0, doublings);
                    Spread::fifth(float(*min_ms), increment, float(*max_ms))
                }
            },
            Self::Exponential { base_ms, rate, max_ms, jitter } => {
                let base = float(*base_ms);
                let max = max_ms.map_or(f64::INFINITY, float);
                jitter.spread(base, grown(base, *rate, so_far), max)
            }
        }
    }
}

impl Jitter {
    /// Half, full and no jitter are drawn from the wait that the maximum allows; what is added on top
    /// must not exceed it either.
    fn spread(self, base: f64, wait: f64, max: f64) -> Spread {
        let capped = wait.min(max);
        match self {
            Self::None => Spread::exact(capped),
            Self::Full => Spread { least: 0.0, most: capped, max },
            Self::Equal => Spread { least: capped / 2.0, most: capped, max },
            Self::Azure => Spread::fifth(base, wait - base, max),
            Self::UpTo(part) => Spread { least: wait, most: wait * (1.0 + part), max },
        }
    }
}

/// Evenly from the least to the most, and what exceeds the maximum is the maximum.
struct Spread {
    least: f64,
    most: f64,
    max: f64,
}

impl Spread {
    fn exact(wait: f64) -> Self {
        Self { least: wait, most: wait, max: f64::INFINITY }
    }

    fn fifth(base: f64, increment: f64, max: f64) -> Self {
        Self { least: base + 0.8 * increment, most: base + 1.2 * increment, max }
    }

    fn draw(&self, unit: impl FnOnce() -> f64) -> f64 {
        if self.least >= self.most || self.least >= self.max {
            return self.least.min(self.max);
        }
        // Infinity times zero is not a number.
        let most = self.most.min(f64::MAX);
        (self.least + (most - self.least) * unit()).min(self.max)
    }
}

fn grown(base: f64, rate: f64, times: u32) -> f64 {
    // Nothing grows to nothing, even if the power is infinite.
    if base == 0.0 {
        return 0.0;
    }
    base * rate.powi(i32::try_from(times).unwrap_or(i32::MAX))
}

// Exact up to 285,000 years.
fn float(ms: impl std::borrow::Borrow<u64>) -> f64 {
    *ms.borrow() as f64
}

// Saturates, as it should.
fn whole(ms: f64) -> u64 {
    ms.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 10_000;

    /// A number from 0 up to 1, by its seed (splitmix64).
    fn unit(seed: u64) -> f64 {
        let mut x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn certain() -> f64 {
        panic!("nothing is left to chance here")
    }

    fn check(delay: &Delay, expected: &[u64]) {
        for (so_far, expected) in (0..).zip(expected) {
            assert_eq!(delay.draw_ms(so_far, certain), *expected, "{delay:?} after {so_far}");
            assert_eq!(delay.range_ms(so_far), (*expected, *expected));
        }
    }

    fn exponential(base_ms: u64, rate: f64, max_ms: Option<u64>, jitter: Jitter) -> Delay {
        Delay::Exponential { base_ms, rate, max_ms, jitter }
    }

    #[test]
    fn without_jitter_delays_are_exact() {
        check(&Delay::Fixed { ms: 2000 }, &[2000, 2000, 2000]);
        check(&Delay::Listed { ms: vec![60_000, 120_000] }, &[60_000, 120_000, 120_000]);
        check(&Delay::Listed { ms: vec![] }, &[0, 0]);
        check(&exponential(1000, 2.0, None, Jitter::None), &[1000, 2000, 4000, 8000]);
        check(&exponential(3000, 1.5, Some(5000), Jitter::None), &[3000, 4500, 5000, 5000]);
        check(&exponential(0, 2.0, None, Jitter::Full), &[0, 0, 0]);
    }

    #[test]
    fn time_can_be_scaled() {
        let listed = Delay::Listed { ms: vec![60_000, 120_000] };
        check(&listed.scaled(10_000), &[600, 1200, 1200]);
        check(&listed.scaled(0), &[0, 0]);
        check(&listed.scaled(1_000_000), &[60_000, 120_000]);
        check(&Delay::Fixed { ms: 15 }.scaled(100_000), &[2, 2]);
        check(&Delay::Fixed { ms: u64::MAX }.scaled(2_000_000), &[u64::MAX]);
        let exponential = exponential(3000, 1.5, Some(5000), Jitter::None);
        check(&exponential.scaled(500_000), &[1500, 2250, 2500, 2500]);
        let azure = Delay::Azure { min_ms: 4000, max_ms: 900_000 };
        assert_eq!(azure.scaled(2_000_000), Delay::Azure { min_ms: 8000, max_ms: 1_800_000 });
    }

    /// Nominally 1, 2, 3, 5, 9, 17 times the minimum.
    #[test]
    fn azures_backoff_is_as_azure_has_it() {
        let delay = Delay::Azure { min_ms: 4000, max_ms: 900_000 };
        let nominal: Vec<f64> = (0..6).map(|so_far| delay.nominal_ms(so_far) / 4000.0).collect();
        assert_eq!(nominal, [1.0, 2.0, 3.0, 5.0, 9.0, 17.0]);
        for seed in 0..u64::from(DRAWS) {
            let delays: Vec<u64> = (0..20)
                .map(|so_far| delay.draw_ms(so_far, || unit(seed * 20 + u64::from(so_far))))
                .collect();
            assert_eq!(delays[0], 4000);
            assert!((7200..=8800).contains(&delays[1]), "{delays:?}");
            assert!((10_400..=13_600).contains(&delays[2]), "{delays:?}");
            let capped = delays.iter().position(|ms| *ms >= 900_000).expect("it grows");
            assert!(delays[capped..].iter().all(|ms| *ms == 900_000), "{delays:?}");
            assert!(delays[..=capped].is_sorted(), "{delays:?}");
        }
        assert_eq!(delay.range_ms(1), (7200, 8800));
        assert_eq!(delay.range_ms(u32::MAX), (900_000, 900_000));
    }

    #[test]
    fn azures_minimum_may_be_its_maximum() {
        check(&Delay::Azure { min_ms: 5000, max_ms: 5000 }, &[5000, 5000, 5000]);
        check(&Delay::Azure { min_ms: 0, max_ms: 5000 }, &[0, 0, 0]);
    }

    /// Kolmogorov and Smirnov: the greatest distance from the even distribution over the range. With
    /// so many draws, one time in a hundred it would be beyond 1.63 / √n.
    fn check_even(delay: &Delay, so_far: u32, least: f64, most: f64) {
        let n = f64::from(DRAWS);
        let mut draws: Vec<u64> =
            (0..u64::from(DRAWS)).map(|seed| delay.draw_ms(so_far, || unit(seed))).collect();
        draws.sort_unstable();
        let distance = (0..).zip(&draws).fold(0.0_f64, |worst, (rank, ms)| {
            let expected = (float(ms) - least) / (most - least);
            let below = (expected - f64::from(rank) / n).abs();
            let above = (f64::from(rank + 1) / n - expected).abs();
            worst.max(below).max(above)
        });
        assert!(distance < 1.63 / n.sqrt(), "{delay:?}: {distance}");
        assert_eq!(delay.range_ms(so_far), (whole(least), whole(most)), "{delay:?}");
    }

    #[test]
    fn each_jitter_is_spread_evenly_over_its_range() {
        let jittered = |jitter| exponential(100_000, 3.0, None, jitter);
        check_even(&jittered(Jitter::Full), 2, 0.0, 900_000.0);
        check_even(&jittered(Jitter::Equal), 2, 450_000.0, 900_000.0);
        check_even(&jittered(Jitter::Azure), 2, 740_000.0, 1_060_000.0);
        check_even(&jittered(Jitter::UpTo(0.5)), 2, 900_000.0, 1_350_000.0);
        check_even(&Delay::Azure { min_ms: 100_000, max_ms: 10_000_000 }, 3, 420_000.0, 580_000.0);
        // The maximum comes before what is drawn from it.
        let capped = exponential(100_000, 3.0, Some(500_000), Jitter::Full);
        check_even(&capped, 2, 0.0, 500_000.0);
    }

    #[test]
    fn nothing_exceeds_the_maximum() {
        for jitter in [Jitter::None, Jitter::Azure, Jitter::Equal, Jitter::Full, Jitter::UpTo(0.5)]
        {
            let delay = exponential(1000, 2.0, Some(10_000), jitter);
            for so_far in 0..100 {
                assert!(delay.draw_ms(so_far, || unit(so_far.into())) <= 10_000, "{jitter:?}");
            }
            let endless = exponential(1000, 2.0, None, jitter);
            assert_eq!(endless.draw_ms(u32::MAX, || 0.5), u64::MAX, "{jitter:?}");
        }
        assert_eq!(exponential(1, 2.0, None, Jitter::None).draw_ms(u32::MAX, certain), u64::MAX);
    }
}
