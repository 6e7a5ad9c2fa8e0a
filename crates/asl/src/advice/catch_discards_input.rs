//! Catchers without `ResultPath`: the next state sees the error and nothing else.

use super::Report;
use crate::model::{Catcher, Kind, Machine, QueryLanguage, ResultPath};
use crate::rule::Rule;
use everstep_source::Diagnostic;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, scope, place| {
        for (index, catcher) in state.catch().iter().enumerate() {
            let next = scope.states.get(catcher.next.id.0 as usize);
            let needs_input =
                next.is_some_and(|next| !matches!(next.kind, Kind::Fail(_) | Kind::Succeed));
            if !needs_input || !discards(catcher, state.query_language) {
                continue;
            }
            let hint = match state.query_language {
                QueryLanguage::JsonPath => {
                    "add \"ResultPath\": \"$.error\" to keep the input beside the error"
                }
                QueryLanguage::Jsonata => {
                    "give the catcher an Output that merges $states.input and $states.errorOutput"
                }
            };
            report(
                Diagnostic::new(
                    Rule::CatchDiscardsInput,
                    catcher.span,
                    place.field("Catch").index(index),
                    format!(
                        "`{}` will see only the error: the input of `{}` is lost",
                        catcher.next.name, state.name
                    ),
                )
                .hint(hint),
            );
        }
    });
}

fn discards(catcher: &Catcher, language: QueryLanguage) -> bool {
    match language {
        QueryLanguage::JsonPath => {
            matches!(catcher.result_path, ResultPath::Replace) && catcher.assign.is_none()
        }
        QueryLanguage::Jsonata => catcher.output.is_none() && catcher.assign.is_none(),
    }
}
