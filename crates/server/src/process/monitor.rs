//! Observes the engines: problems go to the terminal, steps to the logs, and a final error ends the process.

use std::sync::Arc;

use everstep_executions::{Error, ExecutionId, Observer, Prepared, Step};
use everstep_invocations as invocations;
use everstep_queues as queues;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::error::Error as Fatal;
use super::frontend::Frontend;
use super::live_log::LiveLog;
use super::log_events::LogEvents;
use crate::rate_limit::RateLimit;

pub(super) struct Monitor {
    failed: UnboundedSender<Fatal>,
    log_events: Option<Arc<LogEvents>>,
    live_log: Option<LiveLog>,
    warnings: RateLimit,
    frontend: Arc<dyn Frontend>,
}

impl Monitor {
    /// With the channel that receives the error that ends the process.
    pub(super) fn new(
        log_events: Option<Arc<LogEvents>>,
        live_log: Option<LiveLog>,
        frontend: Arc<dyn Frontend>,
    ) -> (Arc<Self>, UnboundedReceiver<Fatal>) {
        let (failed, receiver) = unbounded_channel();
        let warnings = RateLimit::default();
        (Arc::new(Self { failed, log_events, live_log, warnings, frontend }), receiver)
    }
}

impl Observer for Monitor {
    fn wants_steps(&self, of: &Prepared) -> bool {
        self.live_log.is_some() || self.log_events.is_some() && of.revision.logging.is_some()
    }

    fn stepped(&self, step: Step) {
        if let Some(live_log) = &self.live_log {
            live_log.stepped(&step);
        }
        if let Some(log_events) = &self.log_events
            && step.prepared.revision.logging.is_some()
        {
            log_events.take(step);
        }
    }

    fn stuck(&self, id: ExecutionId, error: &Error) {
        self.frontend.write(&format!("error: execution {id:?} cannot continue: {error}\n"));
    }

    fn quarantined(&self, execution_arn: &str, why: &str) {
        self.frontend.write(&format!(
            "warning: execution {execution_arn} is quarantined: {why}\nhint: to let it continue, run `everstep \
             executions release {execution_arn}`; to end it, use `stop` instead of `release`\n"
        ));
    }

    fn failed(&self, error: &Error) {
        let _ = self.failed.send(error.clone().into());
    }
}

impl invocations::Observer for Monitor {
    fn wants_changes(&self) -> bool {
        self.live_log.is_some()
    }

    fn changed(&self, invocation: &invocations::Invocation) {
        if let Some(live_log) = &self.live_log {
            live_log.changed(invocation);
        }
    }

    fn delivery_failed(
        &self,
        id: invocations::InvocationId,
        target: &invocations::Target,
        why: &str,
    ) {
        if let Some(others) = self.warnings.admit(&target.to_string()) {
            self.frontend.write(&format!(
                "warning: the record of invocation {id} could not be delivered to {target}: {why}; it will be retried{others}\n"
            ));
        }
    }

    fn stuck(&self, id: invocations::InvocationId, error: &invocations::Error) {
        self.frontend.write(&format!("error: invocation {id} cannot continue: {error}\n"));
    }

    fn quarantined(&self, id: invocations::InvocationId, why: &str) {
        self.frontend.write(&format!(
            "warning: invocation {id} is quarantined: {why}\nhint: to let it continue, run `everstep invocations \
             release {id}`; to end it, use `cancel` instead of `release`\n"
        ));
    }

    fn failed(&self, error: &invocations::Error) {
        let _ = self.failed.send(error.clone().into());
    }
}

impl queues::Observer for Monitor {
    fn move_failed(&self, target: &str, error: &queues::Error) {
        if let Some(others) = self.warnings.admit(&format!("queue:{target}")) {
            self.frontend.write(&format!(
                "warning: a message could not be moved to the queue '{target}': {error}; it is kept, and it will be retried{others}\n"
            ));
        }
    }

    fn stuck(&self, queue: &str, error: &queues::Error) {
        self.frontend
            .write(&format!("error: a message of the queue '{queue}' cannot be read: {error}\n"));
    }

    fn failed(&self, error: &queues::Error) {
        let _ = self.failed.send(error.clone().into());
    }
}
