//! One call of a function, and what comes of it.

use std::sync::{Arc, Weak};

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::oneshot;

use crate::error::Error;
use crate::worker::answer::{Answer, accepted, refusal};

#[derive(Debug, Clone, Default)]
pub struct Call {
    /// What the code sees as its request id.
    pub request_id: String,
    /// JSON.
    pub payload: Bytes,
    /// JSON for the header `Lambda-Runtime-Client-Context`. Some clients exit on any shape but
    /// `{"custom":{"name":"string"}}`.
    pub client_context: Option<String>,
    pub trace_id: Option<String>,
    /// The ARN by which the function was named, if it was.
    pub function_arn: Option<String>,
    /// From 1; logs are tagged with it.
    pub attempt: u32,
}

/// How a call ended, in which process, and the receipt for that process.
#[derive(Debug)]
pub struct Ended {
    pub outcome: Outcome,
    /// The process that had the call, if one had.
    pub worker_pid: Option<u32>,
    /// The last lines that it wrote for this call.
    pub log: Vec<String>,
    pub receipt: Receipt,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// What the function returned: valid JSON.
    Succeeded {
        payload: Bytes,
    },
    Failed {
        error: Box<Error>,
    },
    /// As many calls as may wait are waiting already, or the function may not run at all.
    Throttled,
    /// There is no function of that name.
    NotFound,
    /// The caller went away, or the host is shutting down. The code may have run, or started to.
    Cancelled,
}

impl From<Outcome> for Ended {
    /// Without a process.
    fn from(outcome: Outcome) -> Self {
        let (worker_pid, log, receipt) = (None, Vec::new(), Receipt::default());
        Self { outcome, worker_pid, log, receipt }
    }
}

/// A process that has answered waits for the receipt of its answer. Dropped, the receipt says that the answer is
/// safe.
#[derive(Debug, Default)]
pub struct Receipt(Option<Waiting>);

#[derive(Debug)]
struct Waiting {
    reply: oneshot::Sender<Answer>,
    _here: Arc<()>,
}

/// Whether a receipt is still out.
pub(crate) type Outstanding = Weak<()>;

impl Receipt {
    pub(crate) fn new(reply: oneshot::Sender<Answer>) -> (Self, Outstanding) {
        let here = Arc::new(());
        let outstanding = Arc::downgrade(&here);
        (Self(Some(Waiting { reply, _here: here })), outstanding)
    }

    /// Says that the answer came too late to count.
    pub fn refuse(mut self) {
        self.reply(|| {
            let why = "another result of this event counts";
            refusal(StatusCode::FORBIDDEN, "InvalidStateTransition", why)
        });
    }

    fn reply(&mut self, answer: impl FnOnce() -> Answer) {
        if let Some(waiting) = self.0.take() {
            // The connection may be gone.
            let _ = waiting.reply.send(answer());
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.reply(accepted);
    }
}
