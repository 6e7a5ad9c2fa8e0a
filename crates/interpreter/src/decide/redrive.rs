//! How an execution continues from where it was stopped: by the end of a turn, or by a failure before a redrive.

use everstep_history::{Event, FrameId};

use super::Decider;
use crate::execution::Phase;
use crate::states;

impl Decider<'_> {
    pub(super) fn redrive(&mut self) {
        let count = self.execution.redrives + 1;
        self.emit(Event::ExecutionRedriven { at_ms: self.now_ms, count });
        self.wake_stopped(FrameId::ROOT);
    }

    /// Continues what had not ended in a frame.
    pub(super) fn continue_frame(&mut self, id: FrameId) {
        if !self.execution.is_live(id) {
            return;
        }
        let Some(frame) = self.execution.frame(id) else { return };
        match &frame.phase {
            Phase::Parallel { remaining: 0, .. } => states::parallel::branch_ended(self, id),
            Phase::Parallel { .. } => {
                for child in self.execution.children_of(id) {
                    self.wake_stopped(child);
                }
            }
            Phase::Map(map) if map.distributed => states::map::continue_run(self, id),
            Phase::Map(map) if map.next > 0 => states::map::continue_iterations(self, id),
            Phase::MapRun(_) => states::map::redrive_run(self, id),
            Phase::Entering | Phase::Ended { .. } => self.wake(id),
            _ => {
                self.work(id);
                self.wake(id);
            }
        }
    }
}
