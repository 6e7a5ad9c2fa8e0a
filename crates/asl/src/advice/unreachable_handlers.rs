//! Retriers and catchers that can never match, because an earlier one takes everything.

use super::Report;
use everstep_source::{Diagnostic, Place, Span};

use crate::error_name::{self, ALL, RUNTIME};
use crate::model::Machine;
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| {
        let retry = state.retry().iter().map(|retrier| (&*retrier.error_equals, retrier.span));
        check_list(retry, Rule::UnreachableRetrier, "retrier", &place.field("Retry"), report);
        let catch = state.catch().iter().map(|catcher| (&*catcher.error_equals, catcher.span));
        check_list(catch, Rule::UnreachableCatcher, "catcher", &place.field("Catch"), report);
    });
}

fn check_list<'m>(
    handlers: impl Iterator<Item = (&'m [String], Span)>,
    rule: Rule,
    what: &str,
    place: &Place,
    report: Report<'_>,
) {
    let mut earlier: Vec<&str> = Vec::new();
    for (index, (names, span)) in handlers.enumerate() {
        let place = place.index(index);
        for name in names {
            let diagnostic = |message| Diagnostic::new(rule, span, place.clone(), message);
            if let Some(taken) = earlier.iter().find(|taken| error_name::covers(taken, name)) {
                let reason = if *taken == name {
                    "an earlier one names it too".to_owned()
                } else {
                    format!("`{taken}` in an earlier one matches it first")
                };
                report(
                    diagnostic(format!("this {what} never sees `{name}`: {reason}"))
                        .hint(format!("put the {what} with the narrower names first")),
                );
            } else if name == RUNTIME {
                report(
                    diagnostic(format!(
                        "this {what} never sees `{RUNTIME}`: it always ends the execution"
                    ))
                    .hint("check the data before the state that fails, by a Choice state"),
                );
            }
        }
        // `States.ALL` before others is an error of its own.
        earlier.extend(names.iter().map(String::as_str).filter(|name| *name != ALL));
    }
}
