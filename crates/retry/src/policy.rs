//! A policy, and its verdict on a failure.

use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::delay::Delay;
use crate::error_name;

/// The first rule that matches decides, and no other; each has a counter of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    pub rules: Vec<Rule>,
    /// Errors that are never retried, whatever the rules say.
    pub non_retryable: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Exact names, `Error.User` and its kin, `Error.ALL`, or `prefix.*`.
    pub errors: Vec<String>,
    /// Retries, not attempts; without end if there is none.
    pub retries_max: Option<u32>,
    pub delay: Delay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Try again after so long; the rule's counter goes up by one.
    Retry {
        rule: usize,
        delay_ms: u64,
    },
    /// The rule that matched has no retry left, or none matches.
    Exhausted,
    NonRetryable,
}

impl Policy {
    /// Whatever the error is, so many retries.
    #[must_use]
    pub fn of_all(retries_max: Option<u32>, delay: Delay) -> Self {
        let errors = vec![Class::ALL.to_owned()];
        Self { rules: vec![Rule { errors, retries_max, delay }], non_retryable: Vec::new() }
    }

    /// Lambda's for asynchronous invocations: "1 minute before the second attempt, and two minutes
    /// before the third".
    #[must_use]
    pub fn lambda(retries_max: u32) -> Self {
        Self::of_all(Some(retries_max), Delay::Listed { ms: vec![60_000, 120_000] })
    }

    /// The same with every wait as [`Delay::scaled`] has it.
    #[must_use]
    pub fn scaled(&self, millionths: u64) -> Self {
        let scale = |rule: &Rule| Rule { delay: rule.delay.scaled(millionths), ..rule.clone() };
        let rules = self.rules.iter().map(scale).collect();
        Self { rules, non_retryable: self.non_retryable.clone() }
    }

    /// Whether a failure is retried, and when. `so_far` has the retries that each rule has had; `unit` gives a number
    /// from 0 up to 1 and is called at most once.
    pub fn verdict(
        &self,
        error: &str,
        class: Class,
        so_far: &[u32],
        unit: impl FnOnce() -> f64,
    ) -> Verdict {
        if named(&self.non_retryable, error, class) {
            return Verdict::NonRetryable;
        }
        let Some(rule) = self.rule_for(error, class) else { return Verdict::Exhausted };
        let so_far = so_far.get(rule).copied().unwrap_or(0);
        match self.rules[rule].next_ms(so_far, unit) {
            Some(delay_ms) => Verdict::Retry { rule, delay_ms },
            None => Verdict::Exhausted,
        }
    }

    /// The rule that decides on such a failure, by its index.
    #[must_use]
    pub fn rule_for(&self, error: &str, class: Class) -> Option<usize> {
        self.rules.iter().position(|rule| named(&rule.errors, error, class))
    }

    /// The most retries that a failure of any kind can have; without end if there is none. Errors may
    /// take turns, so that rules add up.
    #[must_use]
    pub fn retries_max(&self) -> Option<u32> {
        let add = |sum: u32, rule: &Rule| Some(sum.saturating_add(rule.retries_max?));
        self.rules.iter().try_fold(0, add)
    }
}

impl Rule {
    fn next_ms(&self, so_far: u32, unit: impl FnOnce() -> f64) -> Option<u64> {
        let left = self.retries_max.is_none_or(|max| so_far < max);
        left.then(|| self.delay.draw_ms(so_far, unit))
    }
}

fn named(patterns: &[String], error: &str, class: Class) -> bool {
    patterns.iter().any(|pattern| error_name::matches_failure(pattern, error, class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::Jitter;

    fn rule(errors: &[&str], retries_max: u32, base_ms: u64, rate: f64) -> Rule {
        Rule {
            errors: errors.iter().map(|name| (*name).to_owned()).collect(),
            retries_max: Some(retries_max),
            delay: Delay::Exponential { base_ms, rate, max_ms: None, jitter: Jitter::None },
        }
    }

    /// Fails one error after the other; the waits, and how it ends.
    fn check(policy: &Policy, errors: &[&str], waits: &[u64], end: Verdict) {
        let mut so_far = vec![0; policy.rules.len()];
        let mut waited = Vec::new();
        for error in errors {
            match policy.verdict(error, Class::User, &so_far, || 0.5) {
                Verdict::Retry { rule, delay_ms } => {
                    so_far[rule] += 1;
                    waited.push(delay_ms);
                }
                verdict => {
                    assert_eq!((&*waited, verdict), (waits, end), "{errors:?}");
                    return;
                }
            }
        }
        panic!("{errors:?} is still retried after {waited:?}");
    }

    /// The guide's complex retry scenario: ErrorA, ErrorB, ErrorC, ErrorB, ErrorB.
    #[test]
    fn each_rule_has_a_counter_of_its_own() {
        let policy = Policy {
            rules: vec![rule(&["ErrorA", "ErrorB"], 2, 1000, 2.0), rule(&["ErrorC"], 5, 5000, 1.0)],
            non_retryable: vec![],
        };
        let errors = ["ErrorA", "ErrorB", "ErrorC", "ErrorB"];
        check(&policy, &errors, &[1000, 2000, 5000], Verdict::Exhausted);
        assert_eq!(policy.retries_max(), Some(7));
    }

    #[test]
    fn the_first_rule_that_matches_decides_alone() {
        let policy = Policy {
            rules: vec![rule(&["Busy"], 1, 10, 1.0), rule(&["Error.ALL"], 9, 99, 1.0)],
            non_retryable: vec!["Bad.*".to_owned()],
        };
        check(&policy, &["Busy", "Busy"], &[10], Verdict::Exhausted);
        check(&policy, &["Other", "Bad.Input"], &[99], Verdict::NonRetryable);
        check(&policy, &["Bad.Input"], &[], Verdict::NonRetryable);
    }

    #[test]
    fn no_retries_and_no_end_of_them() {
        let delay = Delay::Fixed { ms: 7 };
        check(&Policy::of_all(Some(0), delay.clone()), &["X"], &[], Verdict::Exhausted);
        check(&Policy::default(), &["X"], &[], Verdict::Exhausted);
        check(&Policy::lambda(2), &["X", "X", "X"], &[60_000, 120_000], Verdict::Exhausted);
        let endless = Policy::of_all(None, delay);
        let verdict = endless.verdict("X", Class::Timeout, &[u32::MAX], || 0.0);
        assert_eq!(verdict, Verdict::Retry { rule: 0, delay_ms: 7 });
        assert_eq!(endless.retries_max(), None);
    }

    #[test]
    fn a_policy_in_another_time() {
        let slow = Policy { non_retryable: vec!["Bad".to_owned()], ..Policy::lambda(2) };
        let fast = slow.scaled(10_000);
        check(&fast, &["X", "X", "X"], &[600, 1200], Verdict::Exhausted);
        check(&fast, &["Bad"], &[], Verdict::NonRetryable);
    }

    /// An invocation keeps its policy as it was accepted.
    #[test]
    fn a_counter_that_is_missing_is_at_nothing() {
        let policy = Policy::lambda(1);
        let verdict = policy.verdict("X", Class::Runtime, &[], || 0.0);
        assert_eq!(verdict, Verdict::Retry { rule: 0, delay_ms: 60_000 });
    }
}
