//! States from which no end can be reached.

use super::{Report, reach};
use everstep_source::{Diagnostic, Place};

use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::model::{Machine, StateId};
use crate::rule::Rule;

pub(super) fn check(machine: &Machine, report: Report<'_>) {
    machine.each_scope(&Place::root(), &mut |machine, place| {
        let reached = reach::from(machine, [machine.start_at], reach::all);
        let ending = can_end(machine);
        let stuck = |index: &usize| reached[*index] && !ending[*index];
        let Some(first) = (0..machine.states.len()).find(stuck) else { return };
        let count = (0..machine.states.len()).filter(stuck).count();
        let state = &machine.states[first];
        let others = match count - 1 {
            0 => "it leads only to itself".to_owned(),
            1 => "it and another state lead only to each other".to_owned(),
            more => format!("it and {more} other states lead only to each other"),
        };
        let mut diagnostic = Diagnostic::new(
            Rule::LoopWithoutExit,
            state.name_span,
            place.field("States").field(&state.name),
            format!("from `{}` the machine can never end: {others}", state.name),
        )
        .hint("lead out of the loop by a Choice, or end it by TimeoutSeconds");
        if place.pointer.is_empty() && !machine.states.iter().any(reach::is_terminal) {
            diagnostic = diagnostic
                .service("Workflow has no terminal state")
                .service_code(ServiceCode::MissingEndState)
                .service_location(None);
        }
        report(diagnostic);
    });
}

/// Backwards from the terminal states.
fn can_end(machine: &Machine) -> Vec<bool> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); machine.states.len()];
    let mut open = Vec::new();
    for (index, state) in machine.states.iter().enumerate() {
        let mut leads_nowhere = false;
        for StateId(next) in reach::all(state) {
            match before.get_mut(next as usize) {
                Some(list) => list.push(index),
                // An error of its own; what was meant may well end.
                None => leads_nowhere = true,
            }
        }
        if reach::is_terminal(state) || leads_nowhere {
            open.push(index);
        }
    }
    let mut ending = vec![false; machine.states.len()];
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut ending[index], true) {
            open.extend(&before[index]);
        }
    }
    ending
}
