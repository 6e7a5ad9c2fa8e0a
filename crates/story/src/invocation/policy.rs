//! A retry policy as text, one line for each rule; `everstep explain` has the whole table.

use everstep_retry::{Class, Policy, Rule};

use everstep_source::words;

/// Delays that are listed one by one.
const SHOWN: u32 = 3;

/// `RateLimitError: 10 times, after 0–30 s, … 0–10 min`, and so on. Spaces inside a delay do not break.
#[must_use]
pub fn describe(policy: &Policy) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if !policy.non_retryable.is_empty() {
        lines.push(format!("{}: never", policy.non_retryable.join(", ")));
    }
    for rule in &policy.rules {
        let all = rule.errors.iter().any(|name| name == Class::ALL);
        lines.push(match (all, lines.is_empty()) {
            (true, true) => times(rule),
            (true, false) => format!("others: {}", times(rule)),
            (false, _) => format!("{}: {}", rule.errors.join(", "), times(rule)),
        });
    }
    if policy.rules.is_empty() {
        lines = vec!["never".to_owned()];
    }
    lines
}

/// As [`describe`], of the `policy` that the server's operations answer for a function or an invocation.
#[must_use]
pub fn of(function: &serde_json::Value) -> Vec<String> {
    let policy = serde_json::from_value::<Policy>(function["policy"].clone());
    policy.map(|policy| describe(&policy)).unwrap_or_default()
}

fn times(rule: &Rule) -> String {
    match rule.retries_max {
        Some(0) => "never".to_owned(),
        Some(number) => {
            format!("{}, {}", words::times(u64::from(number)), waits(rule, Some(number)))
        }
        None => format!("without limit, {}", waits(rule, None)),
    }
}

/// `after 4 s, 8 s, 16 s`; where there are more, the first two and the last.
fn waits(rule: &Rule, retries: Option<u32>) -> String {
    let wait = |so_far: u32| range(rule.delay.range_ms(so_far));
    let last = retries.map_or(u32::MAX, |retries| retries.saturating_sub(1));
    let first = wait(0);
    if first == wait(last) && (last == 0 || first == wait(1)) {
        let each = if last > 0 { " each" } else { "" };
        return match first.as_str() {
            "0\u{a0}s" => "without delay".to_owned(),
            same => format!("after {same}{each}"),
        };
    }
    let listed = if last < SHOWN { last + 1 } else { SHOWN - 1 };
    let mut delays: Vec<String> = (0..listed).map(wait).collect();
    if last >= SHOWN {
        delays.push(format!("… {}", wait(last)));
    }
    format!("after {}", delays.join(", "))
}

fn range((least, most): (u64, u64)) -> String {
    everstep_source::duration::range(least, most).replace(' ', "\u{a0}")
}

#[cfg(test)]
mod tests {
    use everstep_retry::{Delay, Jitter};

    use super::*;

    fn check(policy: &Policy, expected: &[&str]) {
        let found: Vec<String> =
            describe(policy).iter().map(|line| line.replace('\u{a0}', " ")).collect();
        assert_eq!(found, expected, "{policy:?}");
    }

    fn rule(errors: &[&str], retries_max: Option<u32>, delay: Delay) -> Rule {
        Rule { errors: errors.iter().map(|name| (*name).to_owned()).collect(), retries_max, delay }
    }

    #[test]
    fn policies() {
        check(&Policy::default(), &["never"]);
        check(&Policy::lambda(2), &["twice, after 1 min, 2 min"]);
        let fixed = |retries, ms| Policy::of_all(retries, Delay::Fixed { ms });
        check(&fixed(Some(0), 0), &["never"]);
        check(&fixed(Some(1), 0), &["once, without delay"]);
        check(&fixed(Some(1), 1500), &["once, after 1.5 s"]);
        check(&fixed(Some(4), 10_000), &["4 times, after 10 s each"]);
        check(&fixed(Some(3), 0), &["3 times, without delay"]);
        check(&fixed(None, 1000), &["without limit, after 1 s each"]);
        let azure = Delay::Azure { min_ms: 4000, max_ms: 900_000 };
        check(&Policy::of_all(Some(5), azure), &["5 times, after 4 s, 7.2–8.8 s, … 29.6–42.4 s"]);
    }

    #[test]
    fn rules() {
        let full = |base_ms| Delay::Exponential {
            base_ms,
            rate: 2.0,
            max_ms: Some(600_000),
            jitter: Jitter::Full,
        };
        let policy = Policy {
            rules: vec![
                rule(&["RateLimitError", "Http.*"], Some(10), full(30_000)),
                rule(&[Class::ALL], Some(2), Delay::Fixed { ms: 5000 }),
            ],
            non_retryable: vec!["CardRefused".to_owned()],
        };
        check(
            &policy,
            &[
                "CardRefused: never",
                "RateLimitError, Http.*: 10 times, after 0–30 s, 0 s – 1 min, … 0 s – 10 min",
                "others: twice, after 5 s each",
            ],
        );
    }
}
