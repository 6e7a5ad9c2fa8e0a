//! How many bytes an execution holds: what its frames were given, what they have assigned, and the results that
//! Parallel and Map states collect. Kept as events are applied.

use everstep_history::{FrameId, Payload};

use crate::execution::{Execution, Frame, Phase};

impl Execution {
    /// About how many bytes of data it holds.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub(crate) fn hold(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
    }

    pub(crate) fn release(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }

    /// Gives a frame another input.
    pub(crate) fn give(&mut self, id: FrameId, input: &Payload) {
        let Some(frame) = self.frame_mut(id) else { return };
        let old = std::mem::replace(&mut frame.input, input.clone());
        self.release(old.weight());
        self.hold(input.weight());
    }
}

impl Frame {
    pub(crate) fn held_bytes(&self) -> usize {
        let variables = self.variables.iter().map(|(_, value)| value.weight());
        self.input.weight() + variables.sum::<usize>() + self.phase.held_bytes()
    }
}

impl Phase {
    pub(crate) fn held_bytes(&self) -> usize {
        let all = |results: &[Option<Payload>]| results.iter().flatten().map(Payload::weight).sum();
        match self {
            Self::Parallel { results, .. } => all(results),
            Self::Map(map) => {
                let selected: usize = map.selected.iter().map(Payload::weight).sum();
                let results: usize = all(&map.results);
                map.items.weight() + selected + results
            }
            Self::MapRun(run) => run.plan.inputs.weight(),
            Self::Ended { output } => output.weight(),
            _ => 0,
        }
    }
}
