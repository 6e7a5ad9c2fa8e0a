//! States that nothing leads to.

use super::{Report, reach};
use everstep_source::{Diagnostic, Place};

use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::model::Machine;
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_scope(&Place::root(), &mut |machine, place| {
        let reached = reach::from(machine, [machine.start_at], reach::all);
        // The service refuses a state only if no transition at all names it.
        let mut named = vec![false; machine.states.len()];
        for target in machine.states.iter().flat_map(reach::all).chain([machine.start_at]) {
            if let Some(named) = named.get_mut(target.0 as usize) {
                *named = true;
            }
        }
        // Without a start nothing can be reached, which is an error of its own.
        let starts = machine.states.get(machine.start_at.0 as usize).is_some();
        let ends = machine.states.iter().any(reach::is_terminal);
        for (index, state) in
            machine.states.iter().enumerate().filter(|(index, _)| !reached[*index])
        {
            if !starts && named[index] {
                continue;
            }
            let mut diagnostic = Diagnostic::new(
                Rule::UnreachableState,
                state.name_span,
                place.field("States").field(&state.name),
                format!("nothing leads to the state `{}`", state.name),
            )
            .hint("remove it, or name it in a Next, Default or Catch");
            if !named[index] && ends {
                diagnostic = diagnostic
                    .service(format!("State \"{}\" is not reachable.", state.name))
                    .service_code(ServiceCode::MissingTransitionTarget);
            }
            report(diagnostic);
        }
    });
}
