//! What goes wrong in the engine is told, and what is final ends the process.

use std::io::Write as _;

use everstep_runtime::{Error, ExecutionId, Observer};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub(crate) struct Watch {
    failed: UnboundedSender<Error>,
}

impl Watch {
    /// And where the error arrives that ends everything.
    pub(crate) fn new() -> (Self, UnboundedReceiver<Error>) {
        let (failed, receiver) = unbounded_channel();
        (Self { failed }, receiver)
    }
}

impl Observer for Watch {
    fn stranded(&self, id: ExecutionId, error: &Error) {
        let _ = writeln!(std::io::stderr(), "error: execution {id:?} cannot go on: {error}");
    }

    fn failed(&self, error: &Error) {
        let _ = self.failed.send(error.clone());
    }
}
