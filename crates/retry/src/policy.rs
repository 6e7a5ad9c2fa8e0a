//! A policy, and its verdict on a failure.

use serde::{Deserialize, Serialize};

use crate::class::Class;

/// The first rule that matches decides, and no other; each has a counter of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    pub rules: Vec<Rule>,
    /// Errors that are never tried again, whatever the rules say.
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

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Jitter {
    None,
    /// The increment over the base, more or less by a fifth.
    Azure,
    /// Half of it for certain, half of it by chance.
    Equal,
    /// Anything from nothing to all of it.
    Full,
    /// So much of the base on top, at most.
    UpTo(f64),
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
    /// What becomes of a failure. `so_far` has the retries that each rule has had; `unit` gives a number
    /// from 0 up to 1 and is called at most once.
    pub fn verdict(
        &self,
        _error: &str,
        _class: Class,
        _so_far: &[u32],
        _unit: impl FnOnce() -> f64,
    ) -> Verdict {
        Verdict::Exhausted
    }
}
