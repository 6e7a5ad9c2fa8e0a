//! Retriers and catchers.

use everstep_expr::jsonata;

use super::{Assign, ResultPath, Target};
use crate::source::Span;

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
    /// Seconds before retry `attempt` (the first is 0), before jitter:
    /// `IntervalSeconds × BackoffRate^attempt`, at most `MaxDelaySeconds`.
    #[must_use]
    pub fn delay_seconds(&self, attempt: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most 99,999,999")]
        let interval = self.interval_seconds as f64;
        let power = i32::try_from(attempt).unwrap_or(i32::MAX);
        let delay = interval * self.backoff_rate.powi(power);
        #[expect(clippy::cast_precision_loss, reason = "less than 31,622,400")]
        self.max_delay_seconds.map_or(delay, |max| delay.min(max as f64))
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
