//! Which states of a machine can be reached, and from where.

use crate::model::{Kind, Machine, State, StateId, Transition};

/// Every state that can be reached from `starts` by the edges that `follow` gives.
pub(super) fn from<'m, I>(
    machine: &'m Machine,
    starts: impl IntoIterator<Item = StateId>,
    follow: impl Fn(&'m State) -> I,
) -> Vec<bool>
where
    I: IntoIterator<Item = StateId>,
{
    let mut seen = vec![false; machine.states.len()];
    let mut open: Vec<StateId> = starts.into_iter().collect();
    while let Some(id) = open.pop() {
        // Targets that do not exist are errors of their own.
        let Some(state) = machine.states.get(id.0 as usize) else { continue };
        if !std::mem::replace(&mut seen[id.0 as usize], true) {
            open.extend(follow(state));
        }
    }
    seen
}

/// Everything that can follow a state, errors included.
pub(super) fn all(state: &State) -> impl Iterator<Item = StateId> {
    state.successors().map(|target| target.id)
}

/// What follows a state if nothing fails.
pub(super) fn without_errors(state: &State) -> impl Iterator<Item = StateId> {
    let caught = state.catch().len();
    let total = state.successors().count();
    state.successors().take(total - caught).map(|target| target.id)
}

/// Whether the machine ends with this state.
pub(super) fn is_terminal(state: &State) -> bool {
    matches!(state.kind, Kind::Succeed | Kind::Fail(_))
        || matches!(state.transition(), Some(Transition::End))
}
