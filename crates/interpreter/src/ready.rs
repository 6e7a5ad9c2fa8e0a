//! What can continue without an input from outside: a function of the state alone, so that a decision can be left
//! unfinished and taken up again, also after a crash.

use everstep_history::FrameId;

use crate::execution::{Execution, Frame, Phase, Status};

impl Execution {
    /// Whether there is more to decide at once.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.status == Status::Running && self.any_ready(FrameId::ROOT, &mut |_| true)
    }

    /// Frames that can continue, outer ones first.
    pub(crate) fn ready_frames(&self) -> Vec<FrameId> {
        let mut ready = Vec::new();
        if self.status == Status::Running {
            self.any_ready(FrameId::ROOT, &mut |frame| {
                ready.push(frame);
                false
            });
        }
        ready
    }

    /// Whether a frame can continue, or one inside it.
    pub(crate) fn is_frame_ready(&self, id: FrameId) -> bool {
        self.is_live(id) && self.any_ready(id, &mut |_| true)
    }

    /// Whether a frame still counts: nothing around it has failed or is over.
    pub(crate) fn is_live(&self, id: FrameId) -> bool {
        let Some(frame) = self.frame(id) else { return false };
        let Some(parent) = frame.parent else { return true };
        let counts = match self.frame(parent.frame).map(|frame| &frame.phase) {
            Some(Phase::Map(map)) => map.running.contains(&id),
            Some(Phase::Parallel { .. }) => true,
            _ => false,
        };
        counts && self.is_live(parent.frame)
    }

    /// Visits frames that can continue until one is found.
    fn any_ready(&self, id: FrameId, found: &mut dyn FnMut(FrameId) -> bool) -> bool {
        let Some(frame) = self.frame(id) else { return false };
        (self.can_continue(frame) && found(id))
            || match &frame.phase {
                Phase::Parallel { children, .. } => {
                    children.iter().any(|child| self.any_ready(*child, found))
                }
                Phase::Map(map) => map.running.iter().any(|child| self.any_ready(*child, found)),
                _ => false,
            }
    }

    /// Whether a frame can continue, provided that it still counts.
    fn can_continue(&self, frame: &Frame) -> bool {
        match &frame.phase {
            Phase::Entering | Phase::Running | Phase::Ended { .. } => true,
            Phase::Parallel { remaining, .. } => *remaining == 0,
            Phase::Map(map) => map.distributed || self.can_fill(map),
            // Stopped by a failure, and the execution was redriven since.
            Phase::MapRun(run) => run.over,
            Phase::Task(_) | Phase::Retrying { .. } | Phase::Waiting { .. } | Phase::Failed => {
                false
            }
        }
    }
}
