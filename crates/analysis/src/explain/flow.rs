//! States in the order in which they run.

use std::sync::Arc;

use everstep_asl::Machine;
use everstep_asl::model::{State, StateId};

/// From the start along the transitions, each way to its end before the next one; states that
/// nothing leads to come last.
pub(super) fn order(machine: &Machine) -> Vec<&State> {
    let mut ids = reached(machine);
    let mut seen = vec![false; machine.states.len()];
    for id in &ids {
        seen[id.0 as usize] = true;
    }
    let all = (0..machine.states.len()).filter_map(|at| u32::try_from(at).ok()).map(StateId);
    ids.extend(all.filter(|id| !seen[id.0 as usize]));
    ids.into_iter().map(|id| machine.state(id)).collect()
}

fn reached(machine: &Machine) -> Vec<StateId> {
    let mut seen = vec![false; machine.states.len()];
    let mut order = Vec::new();
    let mut open = vec![machine.start_at];
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut seen[id.0 as usize], true) {
            continue;
        }
        order.push(id);
        let next: Vec<StateId> = machine.state(id).successors().map(|target| target.id).collect();
        open.extend(next.into_iter().rev());
    }
    order
}

/// The states that can be reached, each before all that follow it; or, if there is no such order,
/// the names of states that lead back to themselves.
pub(super) fn topological(machine: &Machine) -> Result<Vec<StateId>, Vec<Arc<str>>> {
    let reached = reached(machine);
    let mut before = vec![0_usize; machine.states.len()];
    for target in reached.iter().flat_map(|id| machine.state(*id).successors()) {
        before[target.id.0 as usize] += 1;
    }
    let mut ready: Vec<StateId> =
        reached.iter().copied().filter(|id| before[id.0 as usize] == 0).collect();
    let mut order = Vec::new();
    while let Some(id) = ready.pop() {
        order.push(id);
        for target in machine.state(id).successors() {
            let left = &mut before[target.id.0 as usize];
            *left -= 1;
            if *left == 0 {
                ready.push(target.id);
            }
        }
    }
    if order.len() == reached.len() { Ok(order) } else { Err(repeated(machine, &reached, &order)) }
}

/// Of the states that could not be ordered, those that do not merely follow a loop.
fn repeated(machine: &Machine, reached: &[StateId], ordered: &[StateId]) -> Vec<Arc<str>> {
    let mut left = vec![false; machine.states.len()];
    reached.iter().for_each(|id| left[id.0 as usize] = true);
    ordered.iter().for_each(|id| left[id.0 as usize] = false);
    let mut after = vec![0_usize; machine.states.len()];
    let mut from: Vec<Vec<StateId>> = vec![Vec::new(); machine.states.len()];
    for id in reached.iter().filter(|id| left[id.0 as usize]) {
        for target in machine.state(*id).successors() {
            after[id.0 as usize] += 1;
            from[target.id.0 as usize].push(*id);
        }
    }
    let mut leaves: Vec<StateId> = reached
        .iter()
        .copied()
        .filter(|id| left[id.0 as usize] && after[id.0 as usize] == 0)
        .collect();
    while let Some(leaf) = leaves.pop() {
        left[leaf.0 as usize] = false;
        for id in &from[leaf.0 as usize] {
            after[id.0 as usize] -= 1;
            if after[id.0 as usize] == 0 {
                leaves.push(*id);
            }
        }
    }
    let loops = reached.iter().filter(|id| left[id.0 as usize]);
    loops.map(|id| Arc::clone(&machine.state(*id).name)).collect()
}
