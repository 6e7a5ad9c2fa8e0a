//! What follows a commit: nothing leaves the engine before it.

use std::sync::Arc;

use everstep_history::Attempt;
use everstep_shards::Effect;

use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::message::Message;
use crate::notification::Notification;
use crate::observer::Step;
use crate::shared::Shared;
use crate::task::{Cancelled, Receipt, Task};

pub(crate) enum AfterCommit {
    Dispatch(Box<Task>),
    /// What step `sequence` no longer waits for.
    Cancel {
        id: ExecutionId,
        arn: Arc<str>,
        attempts: Vec<Attempt>,
        sequence: u32,
    },
    Notify(Box<Notification>),
    Post(Message),
    Answer(Answer),
    Observe(Box<Step>),
}

pub(crate) type Answer = Box<dyn FnOnce(Result<()>) + Send>;

impl AfterCommit {
    /// Answers a caller who waits for it with an error.
    pub(crate) fn answer(self, error: &Error) {
        if let Self::Answer(answer) = self {
            answer(Err(error.clone()));
        }
    }

    /// An answer that is known, once it counts.
    pub(crate) fn reply<T: Send + 'static>(
        reply: crate::message::Reply<T>,
        answer: Result<T>,
    ) -> Self {
        Self::Answer(Box::new(move |outcome| reply(outcome.and(answer))))
    }
}

impl Effect for AfterCommit {
    type Outside = Shared;

    fn run(self, shared: &Shared) {
        match self {
            Self::Dispatch(task) => shared.runner.dispatch(*task),
            Self::Cancel { id, arn, attempts, sequence } => {
                let mailbox = shared.mailbox.clone();
                let receipt = Arc::new(Receipt { execution: id, sequence, mailbox });
                cancel(shared, &arn, &attempts, &receipt);
            }
            Self::Notify(notification) => shared.mailbox.post(Message::Notify(notification)),
            Self::Post(message) => shared.mailbox.post(message),
            Self::Answer(answer) => answer(Ok(())),
            Self::Observe(step) => shared.observer.stepped(*step),
        }
    }

    fn refuse(self, error: &everstep_shards::Error) {
        self.answer(&error.clone().into());
    }
}

fn cancel(shared: &Shared, arn: &Arc<str>, attempts: &[Attempt], receipt: &Arc<Receipt>) {
    for attempt in attempts {
        shared.runner.cancel(Cancelled {
            execution: receipt.execution,
            execution_arn: arn.clone(),
            attempt: *attempt,
            _receipt: receipt.clone(),
        });
    }
}
