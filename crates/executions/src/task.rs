//! Tasks as they leave the engine, and what comes back.

use std::fmt;
use std::sync::Arc;

use everstep_asl::model::Resource;
use everstep_interpreter::{
    Attempt, Failure, FailureStage, FrameId, MapRun, Payload, attempt_name,
};

use everstep_shards::Mailbox;

use crate::id::{ExecutionId, digest};
use crate::message::{Message, Reply};
use crate::notification::Notification;

/// Does the work that executions ask for.
///
/// All methods are called on the thread that commits, so none may wait: take what is given and return.
pub trait TaskRunner: Send + Sync {
    /// Called once the attempt is durable, and once more after each crash that came before its result
    /// was: with the same name, token and request id, and with [`Task::again`] set. Whatever it does, the
    /// first result that is recorded counts and no other.
    fn dispatch(&self, task: Task);

    /// The attempt's result no longer counts. Called once that is durable, and again after a crash that
    /// came before `cancelled` was dropped: a runner that needs time keeps it until the attempt has stopped.
    /// The attempt may be unknown here, or long over.
    fn cancel(&self, cancelled: Cancelled);

    /// An execution did not succeed, and its machine names a destination for that. Called once the failure is
    /// durable, and again after [`Notification::retry`] and after each start until
    /// [`Notification::delivered`] is durable.
    fn notify(&self, _notification: Notification) {}

    /// Whether an activity that a definition names does not exist. Called before an execution that may
    /// enter it continues.
    fn lacks_activity(&self, _arn: &str) -> bool {
        false
    }
}

/// One attempt of one task, to be run.
#[derive(Clone)]
pub struct Task {
    pub execution: ExecutionId,
    pub execution_arn: Arc<str>,
    pub attempt: Attempt,
    pub state: Arc<str>,
    pub job: Job,
    /// It may have been dispatched before: a crash hides whether it was, and how far it got.
    pub again: bool,
    /// When it was recorded that it began, if it was: only of one that is dispatched [`Task::again`]. A worker may
    /// have the task of an activity, or the crash came before it got it.
    pub started_ms: Option<i64>,
    pub(crate) mailbox: Arc<dyn Mailbox<Message>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    Call {
        resource: Arc<Resource>,
        parameters: Payload,
        credentials: Option<Payload>,
    },
    /// A child execution for each input of a distributed Map.
    MapRun {
        frame: FrameId,
        plan: MapRun,
    },
}

/// An attempt whose result no longer counts.
#[derive(Debug, Clone)]
pub struct Cancelled {
    pub execution: ExecutionId,
    pub execution_arn: Arc<str>,
    pub attempt: Attempt,
    /// Shared by all that one step has cancelled.
    pub(crate) _receipt: Arc<Receipt>,
}

/// Says that a step's cancellations have been seen to, when the last of them is dropped.
pub(crate) struct Receipt {
    pub(crate) execution: ExecutionId,
    pub(crate) sequence: u32,
    pub(crate) mailbox: Arc<dyn Mailbox<Message>>,
}

impl Drop for Receipt {
    fn drop(&mut self) {
        let (id, sequence) = (self.execution, self.sequence);
        self.mailbox.post(Message::Delivered { id, sequence });
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receipt({:?}, {})", self.execution, self.sequence)
    }
}

/// What is said of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// A worker has taken it.
    Started {
        worker: Option<Arc<str>>,
    },
    /// It has been handed on, and the result will come from elsewhere.
    Submitted {
        output: Payload,
    },
    Succeeded {
        output: Payload,
    },
    Failed {
        failure: Failure,
        stage: FailureStage,
    },
    /// Its code has failed, and chose the name of the error itself.
    Raised {
        failure: Failure,
    },
    /// What became of the children of a distributed Map, in the order of their inputs; no more have
    /// failed than may.
    MapRunFinished {
        children: Vec<Result<Payload, Failure>>,
    },
    MapRunFailed {
        failure: Failure,
    },
}

impl From<Failure> for Report {
    fn from(failure: Failure) -> Self {
        Self::Failed { failure, stage: FailureStage::Run }
    }
}

impl Task {
    /// A task that no execution has asked for: what is said of it goes to `mailbox`.
    #[must_use]
    pub fn alone(
        execution_arn: &str,
        state: &str,
        job: Job,
        mailbox: Arc<dyn Mailbox<Message>>,
    ) -> Self {
        Self {
            execution: ExecutionId::of(execution_arn),
            execution_arn: execution_arn.into(),
            attempt: Attempt { frame: FrameId::ROOT, number: 0 },
            state: state.into(),
            job,
            again: false,
            started_ms: None,
            mailbox,
        }
    }

    /// The same task with another mailbox for its reports: `wrap` gets the current one.
    #[must_use]
    pub fn with_mailbox(
        mut self,
        wrap: impl FnOnce(Arc<dyn Mailbox<Message>>) -> Arc<dyn Mailbox<Message>>,
    ) -> Self {
        self.mailbox = wrap(self.mailbox);
        self
    }

    /// What names the attempt for ever.
    #[must_use]
    pub fn attempt_name(&self) -> String {
        attempt_name(&self.execution_arn, self.attempt)
    }

    /// A UUID that names the attempt for ever.
    #[must_use]
    pub fn request_id(&self) -> String {
        request_id(&self.attempt_name())
    }

    pub fn report(&self, report: Report) {
        self.post(report, None);
    }

    /// Reports, and learns when the report is durable or why it does not count.
    pub fn report_then(&self, report: Report, reply: Reply<()>) {
        self.post(report, Some(reply));
    }

    fn post(&self, report: Report, reply: Option<Reply<()>>) {
        let (id, attempt) = (self.execution, self.attempt);
        self.mailbox.post(Message::Report { id, attempt, report, reply });
    }

    pub fn succeed(&self, output: Payload) {
        self.report(Report::Succeeded { output });
    }

    pub fn fail(&self, failure: Failure) {
        self.report(failure.into());
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("execution", &self.execution_arn)
            .field("attempt", &self.attempt)
            .field("state", &self.state)
            .field("job", &self.job)
            .field("again", &self.again)
            .finish_non_exhaustive()
    }
}

/// The request id of an attempt, by its name.
#[must_use]
pub fn request_id(attempt_name: &str) -> String {
    uuid(digest(attempt_name.as_bytes()))
}

/// Version 8: the bits are the user's own.
fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
