//! States and what is around them.

use everstep_asl::model::State;
use everstep_asl::{Machine, Place};

/// A state with the states it is inside of.
#[derive(Debug, Clone)]
pub struct Found<'m> {
    pub state: &'m State,
    pub place: Place,
    /// The Parallel and Map states around it, the nearest first.
    pub around: Vec<&'m State>,
}

/// Every state of a machine, each followed by those inside it, in the order of the definition.
pub fn each(machine: &Machine) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    collect(machine, &Place::root(), &[], &mut found);
    found
}

fn collect<'m>(
    machine: &'m Machine,
    place: &Place,
    around: &[&'m State],
    found: &mut Vec<Found<'m>>,
) {
    for state in &machine.states {
        let place = place.field("States").field(&state.name);
        found.push(Found { state, place: place.clone(), around: around.to_vec() });
        let mut inner = vec![state];
        inner.extend(around);
        for (machine, place) in state.scopes(&place) {
            collect(machine, &place, &inner, found);
        }
    }
}
