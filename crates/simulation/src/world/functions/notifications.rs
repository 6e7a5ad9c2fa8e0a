//! Failures of executions, on their way to functions.

use everstep_executions::Notification;
use everstep_invocations::InvocationId;

use super::super::World;
use crate::Fault;
use crate::functions::engine::{Mode, acceptance};
use crate::functions::{Ask, Reply};

impl World {
    /// The failure becomes an event whose key is its own, so that it is accepted once.
    pub(in super::super) fn notify(&mut self, notification: Notification) {
        if self.fault == Some(Fault::ForgetsNotifications) {
            return self.notified(&notification);
        }
        let function =
            notification.ending.target.strip_prefix("function:").unwrap_or_default().to_owned();
        let source = notification.execution_arn.split(':').nth(6).unwrap_or_default().to_owned();
        let key = notification.id();
        let id = InvocationId::of_key(&source, &key);
        let acceptance = acceptance(id, &function, &source, Some(key), Mode::Asynchronous);
        let ask = Ask::Accept { acceptance: Box::new(acceptance), watched: false };
        let delay = self.dice.between(0, 1000);
        let number = self.send_to_functions(id, ask, delay);
        self.plans.notices.insert(number, notification);
    }

    /// Whether the request was a notification; it is repeated until it is accepted.
    pub(super) fn notice_replied(&mut self, number: u64, reply: &Reply) -> bool {
        let Some(notification) = self.plans.notices.remove(&number) else { return false };
        if reply.is_ok() {
            self.notified(&notification);
        } else {
            self.notify(notification);
        }
        true
    }

    fn notified(&mut self, notification: &Notification) {
        let key = (notification.execution, notification.started_ms, notification.sequence);
        let notified = self.evidence.notified.entry(key).or_default();
        notified.answered = Some(self.evidence.generation);
        notified.invocation = Some(notification.id());
        notification.delivered();
    }
}
