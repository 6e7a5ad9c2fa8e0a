//! Compensating tasks that are tried only once: if the undoing fails, nothing undoes it.

use super::{Report, reach};
use everstep_source::{Diagnostic, Place};

use crate::model::{Kind, Machine, State};
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    check_scope(machine, &Place::root(), false, report);
}

/// `compensating`: the whole scope runs only after a failure.
fn check_scope(machine: &Machine, place: &Place, compensating: bool, report: Report<'_>) {
    let normal = reach::from(machine, [machine.start_at], reach::without_errors);
    let reached = reach::from(machine, [machine.start_at], reach::all);
    for (index, state) in machine.states.iter().enumerate() {
        let place = place.field("States").field(&state.name);
        let compensating = compensating || (reached[index] && !normal[index]);
        if compensating && state.retry().is_empty() {
            report_task(state, &place, report);
        }
        // A Parallel or Map that is retried as a whole retries what is inside.
        let inside = compensating && state.retry().is_empty();
        for (inner, at) in state.scopes(&place) {
            check_scope(inner, &at, inside, report);
        }
    }
}

fn report_task(state: &State, place: &Place, report: Report<'_>) {
    if !matches!(state.kind, Kind::Task(_)) {
        return;
    }
    report(
        Diagnostic::new(
            Rule::CompensationWithoutRetry,
            state.name_span,
            place.clone(),
            format!("`{}` runs only after a failure, and is tried only once", state.name),
        )
        .hint("what cleans up must not give up at the first error: add Retry"),
    );
}
