//! Notifications of executions that did not succeed, on their way to the destination that their machine names.

use std::fmt;
use std::sync::Arc;

use everstep_shards::{Mailbox, Result, row};
use minicbor::{Decode, Encode};

use crate::id::ExecutionId;
use crate::message::Message;
use crate::summary::Standing;
use crate::task::request_id;

/// A notification that an execution did not succeed, for [`Ending::target`]. The engine repeats it until
/// [`Notification::delivered`] is durable: after a pause if [`Notification::retry`] is called, and after each
/// start.
#[derive(Clone)]
pub struct Notification {
    pub execution: ExecutionId,
    pub execution_arn: Arc<str>,
    pub started_ms: i64,
    /// The step that ended it: an execution that is redriven may fail again.
    pub sequence: u32,
    pub ending: Ending,
    pub(crate) mailbox: Arc<dyn Mailbox<Message>>,
}

/// One end of one execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotificationId {
    pub(crate) execution: ExecutionId,
    pub(crate) sequence: u32,
    pub(crate) started_ms: i64,
}

/// How an execution stood when it failed, which a redrive may have changed since.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Ending {
    /// The destination, as the machine named it when the execution was started.
    #[n(0)]
    pub target: String,
    #[n(1)]
    pub standing: Standing,
    #[n(2)]
    pub stopped_ms: i64,
    #[n(3)]
    pub redrives: u32,
    #[n(4)]
    pub redriven_ms: Option<i64>,
    #[n(5)]
    pub error: Option<String>,
    #[n(6)]
    pub cause: Option<String>,
}

impl Notification {
    /// A UUID that names this end of this execution for ever.
    #[must_use]
    pub fn id(&self) -> String {
        let Self { execution_arn, started_ms, sequence, .. } = self;
        request_id(&format!("{execution_arn} {started_ms} {sequence}"))
    }

    /// The notification has arrived, or is durable elsewhere.
    pub fn delivered(&self) {
        self.mailbox.post(Message::Notified(self.key()));
    }

    /// The notification has not arrived: it comes again after a pause, which grows with each failure.
    pub fn retry(&self) {
        self.mailbox.post(Message::NotNotified(self.key()));
    }

    pub(crate) fn key(&self) -> NotificationId {
        let Self { execution, sequence, started_ms, .. } = *self;
        NotificationId { execution, sequence, started_ms }
    }
}

impl Ending {
    pub(crate) fn encoded(&self) -> Vec<u8> {
        row::encode(self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        row::decode("a row of the outbox", bytes)
    }
}

impl fmt::Debug for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notification")
            .field("execution", &self.execution_arn)
            .field("sequence", &self.sequence)
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}
