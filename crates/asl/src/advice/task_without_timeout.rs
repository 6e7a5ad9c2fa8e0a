//! Tasks that do not say how long they may run.

use super::Report;
use crate::model::{Kind, Machine, Pattern, Resource};
use crate::rule::Rule;
use everstep_source::Diagnostic;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_state(&mut |state, _, place| {
        let Kind::Task(task) = &state.kind else { return };
        if task.timeout.is_some() {
            return;
        }
        let waits = matches!(*task.resource, Resource::Activity { .. })
            || task.resource.pattern() != Pattern::RequestResponse;
        let hint = if waits {
            "somebody else finishes this task, or never does: give it a TimeoutSeconds"
        } else {
            "give it a TimeoutSeconds a little above its longest good run"
        };
        report(
            Diagnostic::new(
                Rule::TaskWithoutTimeout,
                state.name_span,
                place.clone(),
                format!(
                    "`{}` does not say how long it may run: the language gives it 60 s, AWS more than three years",
                    state.name
                ),
            )
            .hint(hint),
        );
    });
}
