//! Executions that did not succeed, on their way to whom their machine names.

use std::fmt;
use std::sync::Arc;

use everstep_shards::{Mailbox, Result, row};
use minicbor::{Decode, Encode};

use crate::id::ExecutionId;
use crate::message::Message;
use crate::summary::Standing;
use crate::task::request_id;

/// An execution that did not succeed, to be told to [`Ending::target`]. Until [`Failed::told`] is durable it
/// comes again after each start: who drops it has not told it.
#[derive(Clone)]
pub struct Failed {
    pub execution: ExecutionId,
    pub execution_arn: Arc<str>,
    pub started_ms: i64,
    /// The step that ended it: an execution that is redriven may fail again.
    pub sequence: u32,
    pub ending: Ending,
    pub(crate) mailbox: Arc<dyn Mailbox<Message>>,
}

/// How an execution stood when it failed, which a redrive may have changed since.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Ending {
    /// Who is to be told, as the machine said when the execution was started.
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

impl Failed {
    /// A UUID that names this end of this execution for ever.
    #[must_use]
    pub fn id(&self) -> String {
        let Self { execution_arn, started_ms, sequence, .. } = self;
        request_id(&format!("{execution_arn} {started_ms} {sequence}"))
    }

    /// It has arrived, or is durable where it goes on from.
    pub fn told(&self) {
        let (id, started_ms, sequence) = (self.execution, self.started_ms, self.sequence);
        self.mailbox.post(Message::Told { id, started_ms, sequence });
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

impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failed")
            .field("execution", &self.execution_arn)
            .field("sequence", &self.sequence)
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}
