//! What goes wrong in the engine is told, and what is final ends the process; steps go to the log.

use std::io::Write as _;
use std::sync::Arc;

use everstep_runtime::{Error, ExecutionId, Observer, Step};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::log_events::LogEvents;

pub(crate) struct Watch {
    failed: UnboundedSender<Error>,
    log: Option<Arc<LogEvents>>,
}

impl Watch {
    /// And where the error arrives that ends everything.
    pub(crate) fn new(log: Option<Arc<LogEvents>>) -> (Self, UnboundedReceiver<Error>) {
        let (failed, receiver) = unbounded_channel();
        (Self { failed, log }, receiver)
    }
}

impl Observer for Watch {
    fn wants_steps(&self) -> bool {
        self.log.is_some()
    }

    fn stepped(&self, step: Step) {
        if let Some(log) = &self.log {
            log.take(step);
        }
    }

    fn stranded(&self, id: ExecutionId, error: &Error) {
        let _ = writeln!(std::io::stderr(), "error: execution {id:?} cannot go on: {error}");
    }

    fn failed(&self, error: &Error) {
        let _ = self.failed.send(error.clone());
    }
}
