//! Errors that a catcher expects, swallowed first by a broad retrier.

use super::Report;
use everstep_source::{Diagnostic, Place};

use crate::Dialect;
use crate::error_name::{self, ALL, TASK_FAILED};
use crate::handling::{self, Raised};
use crate::model::{Machine, State};
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| check_state(state, place, report));
}

fn check_state(state: &State, place: &Place, report: Report<'_>) {
    for (index, catcher) in state.catch().iter().enumerate() {
        for name in catcher.error_equals.iter().filter(|name| !error_name::is_reserved(name)) {
            // A retrier that names the error was thought about.
            let Some((retries, wildcard)) = broadly_retried(state, name) else { continue };
            report(
                Diagnostic::new(
                    Rule::BusinessErrorRetried,
                    catcher.span,
                    place.field("Catch").index(index),
                    format!(
                        "`{name}` is retried {} before this catcher sees it, because `{wildcard}` matches it too",
                        times(retries)
                    ),
                )
                .hint(format!(
                    "if trying again cannot help, put {{\"ErrorEquals\": [\"{name}\"], \"MaxAttempts\": 0}} first in Retry"
                )),
            );
        }
    }
}

/// How often a wildcard retries an error in every dialect, and which wildcard.
fn broadly_retried<'s>(state: &'s State, error: &str) -> Option<(u64, &'s str)> {
    let in_dialect = |dialect| {
        let retrier = handling::retrier(state, Raised::named(error), dialect)?;
        let broad = matches!(retrier.pattern, ALL | TASK_FAILED);
        let retries = retrier.handler.max_attempts;
        (broad && retries > 0).then_some((retries, retrier.pattern))
    };
    let found = in_dialect(Dialect::default())?;
    Dialect::EACH.into_iter().all(|dialect| in_dialect(dialect).is_some()).then_some(found)
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}
