//! What follows a commit: nothing leaves before it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_shards::{Effect, Mailbox};

use crate::concurrency::Permit;
use crate::error::Result;
use crate::function::{Attempt, Claim, Outcome, Receipt};
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
                    claimed: Arc::default(),
                    reported: false,
                };
                let claim = running.claim();
                let done = move |outcome, receipt| running.end(outcome, receipt);
                shared.functions.start(*attempt, claim, Box::new(done));
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

/// An attempt that waits for a worker or has one. If it is dropped before it reports, it was interrupted, or has
/// not run if no worker took it.
struct Running {
    invocation: InvocationId,
    attempt: AttemptId,
    mailbox: Arc<dyn Mailbox<Message>>,
    _permit: Permit,
    claimed: Arc<Mutex<Claimed>>,
    reported: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Claimed {
    #[default]
    No,
    /// It was asked for; the answer may be on its way.
    Yes,
    /// It is not wanted any more, so there is nothing to report.
    Refused,
}

impl Running {
    fn claim(&self) -> Claim {
        let (id, attempt, mailbox) = (self.invocation, self.attempt, self.mailbox.clone());
        let claimed = self.claimed.clone();
        Box::new(move |receipt| {
            *lock(&claimed) = Claimed::Yes;
            let receipt: Receipt = Box::new(move |answer| {
                if answer.is_err() {
                    *lock(&claimed) = Claimed::Refused;
                }
                receipt(answer);
            });
            mailbox.post(Message::Claim { id, attempt, receipt });
        })
    }

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
        let claimed = *lock(&self.claimed);
        let outcome = match claimed {
            _ if self.reported => return,
            Claimed::No => Outcome::Throttled,
            Claimed::Yes => Outcome::Interrupted,
            Claimed::Refused => return,
        };
        self.report(outcome, Box::new(|_| {}));
    }
}

fn lock(claimed: &Mutex<Claimed>) -> MutexGuard<'_, Claimed> {
    claimed.lock().unwrap_or_else(PoisonError::into_inner)
}
