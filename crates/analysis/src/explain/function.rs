//! The retry policy of one function: which errors are retried, after how long, and until when.

use everstep_config::model::{Function, InputType, Target};
use everstep_config::{Given, Origin};
use everstep_retry::{Delay, Jitter, Policy, Rule};
use serde::Serialize;

/// Retries whose waits are listed one by one.
const LISTED: u32 = 10;
/// Beyond this many, delays no longer change, or take longer than anyone waits.
const SUMMED: u32 = 100_000;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionFacts {
    pub name: String,
    pub from: String,
    pub runtime: String,
    pub runs: String,
    pub timeout_ms: Setting<u64>,
    pub concurrency: Setting<Option<u32>>,
    pub max_event_age_ms: Setting<Option<u64>>,
    pub retry: RetryFacts,
    pub on_success: Option<Setting<String>>,
    pub on_failure: Option<Setting<String>>,
    pub dead_letter: Option<Setting<String>>,
    pub next: Vec<String>,
    pub next_on_error: Vec<String>,
}

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting<T> {
    pub value: T,
    pub from: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryFacts {
    pub from: String,
    pub non_retryable: Vec<String>,
    pub rules: Vec<RuleFacts>,
    /// Whether every error finds a rule.
    pub all: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleFacts {
    pub errors: Vec<String>,
    /// None: for ever.
    pub max_retry_count: Option<u32>,
    pub jitter: bool,
    /// The first of them.
    pub waits: Vec<Wait>,
    /// All waits together; none if there is no end.
    pub total_ms: Option<Range>,
    /// The first retry that the event's age may prevent, and the first that it must, both counted
    /// from 1; attempts that take time make it sooner.
    pub age_may_prevent_retry: Option<u32>,
    pub age_prevents_retry: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    pub retry: u32,
    pub wait_ms: Range,
    /// Since the first failure, if attempts take no time.
    pub elapsed_ms: Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Range {
    pub least: u64,
    pub most: u64,
}

impl Range {
    fn of(delay: &Delay, so_far: u32) -> Self {
        let (least, most) = delay.range_ms(so_far);
        Self { least, most }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    fn times(self, times: u32) -> Self {
        let times = u64::from(times);
        Self { least: self.least.saturating_mul(times), most: self.most.saturating_mul(times) }
    }
}

impl FunctionFacts {
    pub fn new(function: &Function) -> Self {
        let age = function.max_event_age_ms.value;
        let next = |wanted: InputType| {
            let edges = function.next.iter().filter(|edge| edge.input_type == wanted);
            edges.map(|edge| edge.name.clone()).collect()
        };
        Self {
            name: function.name.clone(),
            from: function.line.to_string(),
            runtime: function.runtime.to_string(),
            runs: runs(function),
            timeout_ms: setting(&function.timeout_ms),
            concurrency: setting(&function.concurrency),
            max_event_age_ms: setting(&function.max_event_age_ms),
            retry: RetryFacts::new(&function.policy, age),
            on_success: function.on_success.as_ref().map(target),
            on_failure: function.on_failure.as_ref().map(target),
            dead_letter: function.dead_letter.as_ref().map(target),
            next: next(InputType::Scalar),
            next_on_error: next(InputType::Error),
        }
    }
}

impl RetryFacts {
    pub(super) fn new(given: &Given<Policy>, age_ms: Option<u64>) -> Self {
        let policy = &given.value;
        Self {
            from: given.origin.to_string(),
            non_retryable: policy.non_retryable.clone(),
            rules: policy.rules.iter().map(|rule| RuleFacts::new(rule, age_ms)).collect(),
            all: policy.rules.iter().any(|rule| rule.errors.iter().any(|name| is_all(name))),
        }
    }
}

fn is_all(name: &str) -> bool {
    name == everstep_retry::Class::ALL
}

/// The handler, the command or the address, secrets unseen.
fn runs(function: &Function) -> String {
    let command = || function.command.iter().map(|word| word.written()).collect::<Vec<_>>();
    match (&function.handler, &function.url) {
        (Some(handler), _) => handler.clone(),
        (_, Some(url)) => url.written().to_owned(),
        _ if function.command.is_empty() => {
            function.code_dir.join("bootstrap").display().to_string()
        }
        _ => command().join(" "),
    }
}

fn setting<T: Clone>(given: &Given<T>) -> Setting<T> {
    Setting { value: given.value.clone(), from: given.origin.to_string() }
}

fn target(given: &Given<Target>) -> Setting<String> {
    let Given { value, origin } = given;
    Setting { value: value.to_string(), from: Origin::to_string(origin) }
}

impl RuleFacts {
    fn new(rule: &Rule, age_ms: Option<u64>) -> Self {
        let listed = rule.retries_max.unwrap_or(LISTED).min(LISTED);
        let mut elapsed = Range::default();
        let waits = (0..listed).map(|so_far| {
            let wait_ms = Range::of(&rule.delay, so_far);
            elapsed = elapsed.plus(wait_ms);
            Wait { retry: so_far + 1, wait_ms, elapsed_ms: elapsed }
        });
        Self {
            errors: rule.errors.clone(),
            max_retry_count: rule.retries_max,
            jitter: has_jitter(&rule.delay),
            waits: waits.collect(),
            total_ms: rule.retries_max.map(|retries| total(&rule.delay, retries)),
            age_may_prevent_retry: age_ms.and_then(|age| beyond(rule, age, |sum| sum.most)),
            age_prevents_retry: age_ms.and_then(|age| beyond(rule, age, |sum| sum.least)),
        }
    }
}

fn has_jitter(delay: &Delay) -> bool {
    match delay {
        Delay::Azure { .. } => true,
        Delay::Exponential { jitter, .. } => *jitter != Jitter::None,
        Delay::Fixed { .. } | Delay::Listed { .. } => false,
    }
}

fn total(delay: &Delay, retries: u32) -> Range {
    let summed = retries.min(SUMMED);
    let sum = (0..summed).fold(Range::default(), |sum, n| sum.plus(Range::of(delay, n)));
    match summed.checked_sub(1) {
        Some(last) => sum.plus(Range::of(delay, last).times(retries - summed)),
        None => sum,
    }
}

/// The first retry that would come too late. Judged ahead: a wait that reaches the age is not begun, for
/// attempts take time too; with one of 60 s and an age of 60 s, Lambda makes one attempt.
fn beyond(rule: &Rule, age_ms: u64, bound: impl Fn(Range) -> u64) -> Option<u32> {
    let mut sum = Range::default();
    for so_far in 0..rule.retries_max.unwrap_or(SUMMED).min(SUMMED) {
        sum = sum.plus(Range::of(&rule.delay, so_far));
        if bound(sum) >= age_ms {
            return Some(so_far + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        policy: Policy,
        age_ms: u64,
        total: Option<(u64, u64)>,
        may: Option<u32>,
        must: Option<u32>,
    ) {
        let facts = RuleFacts::new(&policy.rules[0], Some(age_ms));
        let seen = facts.total_ms.map(|total| (total.least, total.most));
        let ages = (facts.age_may_prevent_retry, facts.age_prevents_retry);
        assert_eq!((seen, ages), (total, (may, must)), "{policy:?}");
    }

    #[test]
    fn totals_and_ages() {
        check(Policy::lambda(2), 21_600_000, Some((180_000, 180_000)), None, None);
        check(Policy::lambda(2), 60_001, Some((180_000, 180_000)), Some(2), Some(2));
        check(Policy::lambda(2), 60_000, Some((180_000, 180_000)), Some(1), Some(1));
        check(Policy::lambda(0), 60_000, Some((0, 0)), None, None);
        let azure = Delay::Azure { min_ms: 4000, max_ms: 900_000 };
        check(
            Policy::of_all(Some(3), azure.clone()),
            24_000,
            Some((21_600, 26_400)),
            Some(3),
            None,
        );
        check(Policy::of_all(None, azure), 3_600_000, None, Some(12), Some(13));
        let fixed = Delay::Fixed { ms: 1 };
        let many = u64::from(u32::MAX);
        check(Policy::of_all(Some(u32::MAX), fixed), u64::MAX, Some((many, many)), None, None);
    }
}
