//! What goes wrong in the engines is told, and what is final ends the process; steps go to the log.

use std::sync::Arc;

use everstep_executions::{Error, ExecutionId, Observer, Prepared, Step};
use everstep_invocations as invocations;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::frontend::Frontend;
use super::log_events::LogEvents;
use super::teller::Teller;
use crate::hush::Hush;

pub(crate) struct Watch {
    failed: UnboundedSender<anyhow::Error>,
    log: Option<Arc<LogEvents>>,
    teller: Option<Teller>,
    hush: Hush,
    frontend: Arc<dyn Frontend>,
}

impl Watch {
    /// And where the error arrives that ends everything.
    pub(crate) fn new(
        log: Option<Arc<LogEvents>>,
        teller: Option<Teller>,
        frontend: Arc<dyn Frontend>,
    ) -> (Arc<Self>, UnboundedReceiver<anyhow::Error>) {
        let (failed, receiver) = unbounded_channel();
        (Arc::new(Self { failed, log, teller, hush: Hush::default(), frontend }), receiver)
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
        self.frontend.write(&format!("error: execution {id:?} cannot go on: {error}\n"));
    }

    fn failed(&self, error: &Error) {
        let _ = self.failed.send(error.clone().into());
    }
}

impl invocations::Observer for Watch {
    fn wants_changes(&self) -> bool {
        self.teller.is_some()
    }

    fn changed(&self, invocation: &invocations::Invocation) {
        if let Some(teller) = &self.teller {
            teller.changed(invocation);
        }
    }

    fn delivery_failed(
        &self,
        id: invocations::InvocationId,
        target: &invocations::Target,
        why: &str,
    ) {
        if let Some(others) = self.hush.others(&target.0) {
            self.frontend.write(&format!(
                "warning: the record of invocation {id} does not reach {}: {why}; it is tried again{others}\n",
                target.0
            ));
        }
    }

    fn stranded(&self, id: invocations::InvocationId, error: &invocations::Error) {
        self.frontend.write(&format!("error: invocation {id} cannot go on: {error}\n"));
    }

    fn failed(&self, error: &invocations::Error) {
        let _ = self.failed.send(error.clone().into());
    }
}
