//! What goes wrong in the engine is told, and what is final ends the process; steps go to the log.

use std::io::Write as _;
use std::sync::Arc;

use everstep_runtime::{Error, ExecutionId, Observer, Prepared, Step};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::log_events::LogEvents;
use super::teller::Teller;

pub(crate) struct Watch {
    failed: UnboundedSender<Error>,
    log: Option<Arc<LogEvents>>,
    teller: Option<Teller>,
}

impl Watch {
    /// And where the error arrives that ends everything.
    pub(crate) fn new(
        log: Option<Arc<LogEvents>>,
        teller: Option<Teller>,
    ) -> (Self, UnboundedReceiver<Error>) {
        let (failed, receiver) = unbounded_channel();
        (Self { failed, log, teller }, receiver)
    }
}

impl Observer for Watch {
    fn wants_steps(&self, of: &Prepared) -> bool {
        self.teller.is_some() || self.log.is_some() && of.revision.logging.is_some()
    }

    fn stepped(&self, step: Step) {
        if let Some(teller) = &self.teller {
            teller.stepped(&step);
        }
        if let Some(log) = &self.log
            && step.prepared.revision.logging.is_some()
        {
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
