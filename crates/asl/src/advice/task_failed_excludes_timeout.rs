//! `States.TaskFailed` used as if it covered timeouts.

use super::Report;
use everstep_source::{Diagnostic, Place, Span};

use crate::Dialect;
use crate::error_name::{TASK_FAILED, TIMEOUT};
use crate::handling::{self, Raised};
use crate::model::Machine;
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| {
        let timeout = Raised::named(TIMEOUT);
        if !in_every_dialect(|dialect| handling::retrier(state, timeout, dialect).is_some()) {
            let retry = state.retry().iter().map(|one| (&*one.error_equals, one.span));
            check_list(retry, "retried", &place.field("Retry"), report);
        }
        if !in_every_dialect(|dialect| handling::catcher(state, timeout, dialect).is_some()) {
            let catch = state.catch().iter().map(|one| (&*one.error_equals, one.span));
            check_list(catch, "caught", &place.field("Catch"), report);
        }
    });
}

fn in_every_dialect(is_so: impl Fn(Dialect) -> bool) -> bool {
    Dialect::EACH.into_iter().all(is_so)
}

fn check_list<'m>(
    handlers: impl Iterator<Item = (&'m [String], Span)>,
    done: &str,
    place: &Place,
    report: Report<'_>,
) {
    let has_wildcard = |names: &[String]| names.iter().any(|name| name == TASK_FAILED);
    let wildcard = handlers.enumerate().find(|(_, (names, _))| has_wildcard(names));
    if let Some((index, (_, span))) = wildcard {
        report(
            Diagnostic::new(
                Rule::TaskFailedExcludesTimeout,
                span,
                place.index(index),
                format!(
                    "`{TASK_FAILED}` matches everything but timeouts: they are not {done} here"
                ),
            )
            .hint(format!("add {TIMEOUT}, or use States.ALL")),
        );
    }
}
