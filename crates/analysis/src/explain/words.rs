//! Retries, bounds and what catchers pass on, in words.

use everstep_asl::model::{Jitter, Retrier};

use super::handling::{Caught, Receives, Retried};
use super::time::Bound;
use everstep_source::words::count;

/// Delays that are listed; the rest is summarised.
const DELAYS_SHOWN: usize = 6;

pub(super) fn duration(seconds: f64) -> String {
    // Saturates.
    everstep_source::duration::exact((seconds * 1000.0).round() as u64)
}

pub(super) fn bound(bound: &Bound) -> String {
    match bound {
        Bound::Seconds(seconds) => format!("at most {}", duration(*seconds)),
        Bound::Unknown(why) => format!("no upper limit: {why}"),
    }
}

/// `3 times, after 2 s, 4 s and 8 s`
pub(super) fn retries(retried: &Retried) -> String {
    let times = match retried.max_attempts {
        0 => return "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        times => format!("{times} times"),
    };
    format!("{times}, after {}", delays(retried))
}

fn delays(retried: &Retried) -> String {
    let shown = retried.delays_seconds.iter().take(DELAYS_SHOWN);
    let word = |seconds: f64| {
        let from = if retried.full_jitter { "0–" } else { "" };
        format!("{from}{}", duration(seconds))
    };
    let mut words: Vec<String> = shown.map(|seconds| word(*seconds)).collect();
    let same = words.iter().all(|word| *word == words[0]);
    let last = retried.last_delay_seconds.map_or("and so on".to_owned(), word);
    if words.len() > 1 && same && last == words[0] {
        return format!("{last} each");
    }
    if retried.max_attempts > DELAYS_SHOWN as u64 {
        words.truncate(DELAYS_SHOWN - 1);
        return format!("{}, … {last}", words.join(", "));
    }
    words.join(", ")
}

/// All waits together, where there are several.
pub(super) fn total(retried: &Retried) -> Option<String> {
    if retried.max_attempts < 2 {
        return None;
    }
    let total = retried.total_delay_seconds.map_or("unlimited".to_owned(), duration);
    let at_most = if retried.full_jitter { "at most " } else { "" };
    Some(format!("{at_most}{total} in total"))
}

/// A retrier in one line, for the machine's own page.
pub(super) fn retrier(retrier: &Retrier, index: usize) -> String {
    let listed = retrier.max_attempts.min(DELAYS_SHOWN as u64);
    let last = retrier.max_attempts.checked_sub(1).map(|last| retrier.delay_seconds(last));
    retries(&Retried {
        index,
        matched: String::new(),
        max_attempts: retrier.max_attempts,
        delays_seconds: (0..listed).map(|attempt| retrier.delay_seconds(attempt)).collect(),
        total_delay_seconds: None,
        last_delay_seconds: last.filter(|last| last.is_finite()),
        full_jitter: retrier.jitter == Jitter::Full,
    })
}

/// What the state after a catcher gets.
pub(super) fn receives(caught: &Caught) -> String {
    let input = match &caught.receives {
        Receives::Error => "receives the error instead of the input".to_owned(),
        Receives::InputWithError { path } => {
            format!("receives the input with the error at {path}")
        }
        Receives::Input => "receives the input without the error".to_owned(),
        Receives::Output => "receives the Output of the catcher".to_owned(),
    };
    if caught.assigns.is_empty() {
        return input;
    }
    let names: Vec<String> = caught.assigns.iter().map(|name| format!("${name}")).collect();
    format!("{input}; assigns {}", names.join(", "))
}

pub(super) fn attempts(attempts: u64) -> String {
    count(usize::try_from(attempts).unwrap_or(usize::MAX), "attempt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(attempts: u64, delays: &[f64], full_jitter: bool, expected: &str) {
        let retried = Retried {
            index: 0,
            matched: "States.ALL".to_owned(),
            max_attempts: attempts,
            delays_seconds: delays.to_vec(),
            total_delay_seconds: None,
            last_delay_seconds: delays.last().copied(),
            full_jitter,
        };
        assert_eq!(retries(&retried), expected);
    }

    #[test]
    fn retries_are_listed_or_shortened() {
        check(0, &[], false, "never");
        check(1, &[1.0], false, "once, after 1 s");
        check(2, &[3.0, 4.5], false, "twice, after 3 s, 4.5 s");
        check(3, &[5.0, 5.0, 5.0], false, "3 times, after 5 s each");
        check(2, &[1.0, 2.0], true, "twice, after 0–1 s, 0–2 s");
        let long: Vec<f64> = (0..10).map(|power| 2_f64.powi(power)).collect();
        check(10, &long, false, "10 times, after 1 s, 2 s, 4 s, 8 s, 16 s, … 8 min 32 s");
    }
}
