//! `States.TaskFailed` used as if it covered timeouts.

use super::Report;
use everstep_source::{Place, Span};

use crate::diagnostic::Diagnostic;
use crate::error_name::{self, TASK_FAILED, TIMEOUT};
use crate::model::Machine;
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| {
        let retry: Vec<_> = state.retry().iter().map(|r| (&*r.error_equals, r.span)).collect();
        check_list(&retry, "retried", &place.field("Retry"), report);
        let catch: Vec<_> = state.catch().iter().map(|c| (&*c.error_equals, c.span)).collect();
        check_list(&catch, "caught", &place.field("Catch"), report);
    });
}

fn check_list(handlers: &[(&[String], Span)], done: &str, place: &Place, report: Report<'_>) {
    let timeouts = handlers
        .iter()
        .flat_map(|(names, _)| *names)
        .any(|name| error_name::matches(name, TIMEOUT));
    let wildcard =
        handlers.iter().position(|(names, _)| names.iter().any(|name| name == TASK_FAILED));
    if let (false, Some(index)) = (timeouts, wildcard) {
        report(
            Diagnostic::new(
                Rule::TaskFailedExcludesTimeout,
                handlers[index].1,
                place.index(index),
                format!(
                    "`{TASK_FAILED}` matches everything but timeouts: they are not {done} here"
                ),
            )
            .hint(format!("add {TIMEOUT}, or use States.ALL")),
        );
    }
}
