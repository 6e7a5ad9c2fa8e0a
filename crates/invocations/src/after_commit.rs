//! What follows a commit: nothing leaves before it.

use std::sync::Arc;

use everstep_shards::{Effect, Mailbox};

use crate::concurrency::Permit;
use crate::error::Result;
use crate::function::{Attempt, Outcome, Receipt};
use crate::id::{AttemptId, InvocationId};
use crate::invocation::Invocation;
use crate::message::{Message, Reply};
use crate::shared::Shared;

pub(crate) enum AfterCommit {
    Start(Box<Attempt>, Permit),
    Kill(AttemptId),
    Post(Message),
    Answer(Box<dyn FnOnce(Result<()>) + Send>),
    Observe(Box<Invocation>),
}

impl AfterCommit {
    /// An answer that is known, once it counts.
    pub(crate) fn reply<T: Send + 'static>(reply: Reply<T>, answer: Result<T>) -> Self {
        Self::Answer(Box::new(move |outcome| reply(outcome.and(answer))))
    }
}

impl Effect for AfterCommit {
    type Outside = Shared;

    fn run(self, shared: &Shared) {
        match self {
            Self::Start(attempt, permit) => {
                let running = Running {
                    invocation: attempt.invocation,
                    attempt: attempt.id,
                    mailbox: shared.mailbox.clone(),
                    _permit: permit,
                    reported: false,
                };
                let done = move |outcome, receipt| running.end(outcome, receipt);
                shared.functions.start(*attempt, Box::new(done));
            }
            Self::Kill(attempt) => shared.functions.kill(attempt),
            Self::Post(message) => shared.mailbox.post(message),
            Self::Answer(answer) => answer(Ok(())),
            Self::Observe(invocation) => shared.observer.changed(&invocation),
        }
    }

    fn refuse(self, error: &everstep_shards::Error) {
        if let Self::Answer(answer) = self {
            answer(Err(error.clone().into()));
        }
    }
}

/// An attempt that a worker has. If it is dropped before it reports, it was interrupted.
struct Running {
    invocation: InvocationId,
    attempt: AttemptId,
    mailbox: Arc<dyn Mailbox<Message>>,
    _permit: Permit,
    reported: bool,
}

impl Running {
    fn end(mut self, outcome: Outcome, receipt: Receipt) {
        self.report(outcome, receipt);
    }

    fn report(&mut self, outcome: Outcome, receipt: Receipt) {
        self.reported = true;
        let (id, attempt) = (self.invocation, self.attempt);
        self.mailbox.post(Message::Ended { id, attempt, outcome, receipt });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reported {
            self.report(Outcome::interrupted(), Box::new(|_| {}));
        }
    }
}
