//! What happens when its time has come.

use everstep_asl::handling::Origin;
use everstep_history::{Event, FrameId};

use super::Decider;
use crate::execution::{Phase, TaskPhase, Timer, timed_out};
use crate::raised::RaisedFailure;
use crate::states;

impl Decider<'_> {
    pub(super) fn time_passed(&mut self) {
        while self.is_running()
            && !self.full
            && !self.is_turn_over()
            && let Some((due, timer)) = self.execution.timers.first().copied()
            && due <= self.now_ms
        {
            match timer {
                Timer::ExecutionDeadline => {
                    self.emit(Event::ExecutionTimedOut { at_ms: self.now_ms });
                }
                Timer::TaskDeadline(_) | Timer::Heartbeat(_) => self.tasks_timed_out(),
                Timer::Resume(frame) => self.resume(frame),
            }
            self.run();
        }
    }

    /// The time that a Wait state or a retry waited for has come.
    fn resume(&mut self, id: FrameId) {
        match self.execution.frame(id).map(|frame| &frame.phase) {
            Some(Phase::Retrying { .. }) => self.work(id),
            Some(Phase::Waiting { .. }) => states::wait::over(self, id),
            _ => {}
        }
        self.wake(id);
    }

    /// Tasks whose time is over have each timed out, before any of them fails the Map or Parallel state around all of
    /// them.
    fn tasks_timed_out(&mut self) {
        let mut failed = Vec::new();
        while (failed.is_empty() || !self.is_spent())
            && !self.full
            && let Some((due, timer)) = self.execution.timers.first().copied()
            && due <= self.now_ms
            && let Timer::TaskDeadline(frame) | Timer::Heartbeat(frame) = timer
        {
            let is_heartbeat = matches!(timer, Timer::Heartbeat(_));
            let Some(raised) = self.task_timed_out(frame, is_heartbeat) else { break };
            failed.push((frame, raised));
        }
        for (frame, raised) in failed {
            // The failure of another one may have stopped it.
            let phase = self.execution.frame(frame).map(|frame| &frame.phase);
            if self.is_running() && phase == Some(&Phase::Running) {
                self.fail(frame, raised);
            }
        }
    }

    fn task_timed_out(&mut self, frame: FrameId, heartbeat: bool) -> Option<RaisedFailure> {
        let Some(Phase::Task(task)) = self.execution.frame(frame).map(|frame| &frame.phase) else {
            return None;
        };
        let attempt = task.attempt;
        // "The interpreter fails the state with a States.Timeout Error Name", whichever of the two
        // it was; "States.HeartbeatTimeout is only available inside the Catch and Retry fields".
        let failure = timed_out(self.dialect(), || task.timeout_cause(heartbeat));
        let at_ms = self.now_ms;
        self.emit(Event::TaskTimedOut { attempt, at_ms, failure: failure.clone(), heartbeat });
        let origin = if heartbeat { Origin::MissedHeartbeat } else { Origin::Named };
        Some(RaisedFailure::new(failure, origin))
    }
}

impl TaskPhase {
    /// What took too long.
    fn timeout_cause(&self, heartbeat: bool) -> String {
        if heartbeat {
            let seconds = self.heartbeat_seconds.unwrap_or_default();
            return format!(
                "The task sent no heartbeat for longer than HeartbeatSeconds ({seconds} s)."
            );
        }
        let seconds = self.deadline_ms.unwrap_or_default().saturating_sub(self.scheduled_ms) / 1000;
        format!("The task ran longer than TimeoutSeconds ({seconds} s).")
    }
}
