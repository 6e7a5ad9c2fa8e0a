//! Choice states that may match nothing.

use super::Report;
use crate::model::{Kind, Machine};
use crate::rule::Rule;
use everstep_source::Diagnostic;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| {
        if let Kind::Choice(choice) = &state.kind
            && choice.default.is_none()
        {
            report(
                Diagnostic::new(
                    Rule::ChoiceWithoutDefault,
                    state.name_span,
                    place.clone(),
                    format!(
                        "if no rule of `{}` matches, the execution fails and nothing can catch it",
                        state.name
                    ),
                )
                .hint("add a Default, if only to a Fail state that says what was unexpected"),
            );
        }
    });
}
