//! Fail states that do not say what failed.

use super::Report;
use crate::error_name;
use crate::model::{Kind, Machine, Text};
use crate::rule::Rule;
use everstep_source::Diagnostic;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| {
        let Kind::Fail(fail) = &state.kind else { return };
        let missing = match (&fail.error, &fail.cause) {
            (None, None) => Some("neither `Error` nor `Cause`"),
            (None, Some(_)) => Some("no `Error`"),
            (Some(_), None) => Some("no `Cause`"),
            (Some(_), Some(_)) => None,
        };
        if let Some(missing) = missing {
            report(
                Diagnostic::new(
                    Rule::FailWithoutError,
                    state.name_span,
                    place.clone(),
                    format!("the Fail state `{}` has {missing}", state.name),
                )
                .hint("the specification asks for both: a name to match, a text to read"),
            );
        }
        if let Some(Text::Literal(name)) = &fail.error
            && error_name::is_reserved(name)
            && !error_name::is_predefined(name)
        {
            report(
                Diagnostic::new(
                    Rule::ReservedErrorName,
                    state.name_span,
                    place.field("Error"),
                    format!("`{name}` begins like the language's own errors, but is none of them"),
                )
                .hint("choose a name without `States.`"),
            );
        }
    });
}
