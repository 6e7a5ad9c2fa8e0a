//! Stops the execution that a cancelled task has started. The cancellation is confirmed once that is durable: a crash
//! before brings it back.

use everstep_executions::ExecutionId;

use super::{Busy, PAUSE_MS};

/// All that can reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelInput {
    /// Answers [`CancelRequest::Find`].
    Found(Option<ExecutionId>),
    /// Answers [`CancelRequest::Stop`]. An execution that is over or gone counts as stopped.
    Stopped(Result<(), Busy>),
    /// It is [`Cancel::next_due_ms`] or later.
    TimePassed,
}

/// All that it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelRequest {
    /// Finds the execution that the attempt has started and waits for, if there is one.
    Find,
    Stop(ExecutionId),
    /// Confirms the cancellation.
    Finish,
}

#[derive(Debug, Default)]
pub struct Cancel {
    child: Option<ExecutionId>,
    paused_until_ms: Option<i64>,
}

impl Cancel {
    #[must_use]
    pub fn open() -> (Self, CancelRequest) {
        (Self::default(), CancelRequest::Find)
    }

    pub fn handle(&mut self, input: CancelInput, now_ms: i64) -> Option<CancelRequest> {
        match input {
            CancelInput::Found(child) => {
                self.child = child;
                Some(self.stop())
            }
            CancelInput::Stopped(Ok(())) => Some(CancelRequest::Finish),
            CancelInput::Stopped(Err(Busy)) => {
                self.paused_until_ms = Some(now_ms.saturating_add(PAUSE_MS));
                None
            }
            CancelInput::TimePassed => {
                let due = self.paused_until_ms.take_if(|until| *until <= now_ms);
                due.map(|_| self.stop())
            }
        }
    }

    /// When [`CancelInput::TimePassed`] is wanted, if it is.
    #[must_use]
    pub fn next_due_ms(&self) -> Option<i64> {
        self.paused_until_ms
    }

    fn stop(&self) -> CancelRequest {
        self.child.map_or(CancelRequest::Finish, CancelRequest::Stop)
    }
}
