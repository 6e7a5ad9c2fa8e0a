//! Errors that a catcher expects, swallowed first by a broad retrier.

use super::Report;
use everstep_source::Place;

use crate::diagnostic::Diagnostic;
use crate::error_name::{self, ALL, TASK_FAILED};
use crate::model::{Machine, Retrier, State};
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| check_state(state, place, report));
}

fn check_state(state: &State, place: &Place, report: Report<'_>) {
    for (index, catcher) in state.catch().iter().enumerate() {
        for name in catcher.error_equals.iter().filter(|name| !error_name::is_reserved(name)) {
            // The first retrier that matches decides: one that names the error was thought about.
            let first = state.retry().iter().find(|retrier| matches(retrier, name));
            let Some(broad) = first.filter(|retrier| is_broad(retrier) && retrier.max_attempts > 0)
            else {
                continue;
            };
            let wildcard =
                if broad.error_equals.iter().any(|n| n == ALL) { ALL } else { TASK_FAILED };
            report(
                Diagnostic::new(
                    Rule::BusinessErrorRetried,
                    catcher.span,
                    place.field("Catch").index(index),
                    format!(
                        "`{name}` is retried {} before this catcher sees it, because `{wildcard}` matches it too",
                        times(broad.max_attempts)
                    ),
                )
                .hint(format!(
                    "if trying again cannot help, put {{\"ErrorEquals\": [\"{name}\"], \"MaxAttempts\": 0}} first in Retry"
                )),
            );
        }
    }
}

fn matches(retrier: &Retrier, error: &str) -> bool {
    retrier.error_equals.iter().any(|pattern| error_name::matches(pattern, error))
}

fn is_broad(retrier: &Retrier) -> bool {
    retrier.error_equals.iter().any(|name| name == ALL || name == TASK_FAILED)
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}
