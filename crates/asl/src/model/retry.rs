//! Retriers and catchers.

use everstep_source::Span;

use everstep_expr::jsonata;
use everstep_retry::Delay;

use super::{Assign, ResultPath, Target};

#[derive(Debug, Clone)]
pub struct Retrier {
    pub span: Span,
    pub comment: Option<String>,
    pub error_equals: Vec<String>,
    pub interval_seconds: u64,
    pub max_attempts: u64,
    pub backoff_rate: f64,
    pub max_delay_seconds: Option<u64>,
    pub jitter: Jitter,
}

impl Retrier {
    /// `IntervalSeconds × BackoffRate^n`, at most `MaxDelaySeconds`.
    #[must_use]
    pub fn delay(&self) -> Delay {
        Delay::Exponential {
            base_ms: self.interval_seconds.saturating_mul(1000),
            rate: self.backoff_rate,
            max_ms: self.max_delay_seconds.map(|seconds| seconds.saturating_mul(1000)),
            jitter: match self.jitter {
                Jitter::None => everstep_retry::Jitter::None,
                Jitter::Full => everstep_retry::Jitter::Full,
            },
        }
    }

    /// Seconds before retry `attempt` (the first is 0), before jitter.
    #[must_use]
    pub fn delay_seconds(&self, attempt: u64) -> f64 {
        self.delay().nominal_ms(u32::try_from(attempt).unwrap_or(u32::MAX)) / 1000.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Jitter {
    #[default]
    None,
    Full,
}

#[derive(Debug, Clone)]
pub struct Catcher {
    pub span: Span,
    pub comment: Option<String>,
    pub error_equals: Vec<String>,
    pub next: Target,
    /// Only in JSONPath.
    pub result_path: ResultPath,
    pub assign: Option<Assign>,
    /// Only in JSONata.
    pub output: Option<jsonata::Template>,
}

impl Retrier {
    /// All waits together, before jitter; infinite if they are too many to count.
    #[must_use]
    pub fn total_delay_seconds(&self) -> f64 {
        // At most 99,999,999 each.
        let (attempts, interval) = (self.max_attempts as f64, self.interval_seconds as f64);
        if self.backoff_rate <= 1.0 {
            return attempts * self.delay_seconds(0);
        }
        // At most 31,622,400.
        let cap = self.max_delay_seconds.map_or(f64::INFINITY, |seconds| seconds as f64);
        // The waits that stay below the cap form a geometric series.
        let growing =
            ((cap / interval).ln() / self.backoff_rate.ln()).ceil().max(0.0).min(attempts);
        let series = interval * (self.backoff_rate.powf(growing) - 1.0) / (self.backoff_rate - 1.0);
        if growing < attempts { series + (attempts - growing) * cap } else { series }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retrier(interval: u64, attempts: u64, rate: f64, cap: Option<u64>) -> Retrier {
        Retrier {
            span: Span::default(),
            comment: None,
            error_equals: vec!["States.ALL".to_owned()],
            interval_seconds: interval,
            max_attempts: attempts,
            backoff_rate: rate,
            max_delay_seconds: cap,
            jitter: Jitter::None,
        }
    }

    /// The closed form is the sum of the waits.
    #[test]
    fn the_total_is_the_sum() {
        for (interval, attempts, rate, cap) in [
            (1, 3, 2.0, None),
            (3, 2, 1.5, None),
            (2, 5, 2.0, Some(10)),
            (10, 4, 2.0, Some(5)),
            (5, 7, 1.0, None),
            (5, 7, 1.0, Some(3)),
            (1, 0, 2.0, None),
        ] {
            let retrier = retrier(interval, attempts, rate, cap);
            let sum: f64 = (0..attempts).map(|attempt| retrier.delay_seconds(attempt)).sum();
            let total = retrier.total_delay_seconds();
            assert!((sum - total).abs() < 1e-6, "{retrier:?}: {sum} and {total}");
        }
    }

    #[test]
    fn the_waits_of_the_specifications_example() {
        let retrier = retrier(3, 2, 1.5, None);
        assert_eq!((retrier.delay_seconds(0), retrier.delay_seconds(1)), (3.0, 4.5));
    }

    #[test]
    fn huge_schedules_are_cheap() {
        assert!(retrier(1, 99_999_999, 2.0, None).total_delay_seconds().is_infinite());
        assert!(retrier(1, 99_999_999, 2.0, Some(60)).total_delay_seconds() > 5e9);
    }
}
