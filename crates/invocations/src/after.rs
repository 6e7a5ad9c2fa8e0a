//! What follows a commit: nothing leaves before it.

use std::sync::Arc;

use crate::concurrency::Permit;
use crate::error::{Error, Result};
use crate::function::{Attempt, Outcome, Receipt};
use crate::id::{AttemptId, InvocationId};
use crate::invocation::Invocation;
use crate::message::{Message, Postbox, Reply};
use crate::world::World;

pub(crate) enum After {
    Start(Box<Attempt>, Permit),
    Kill(AttemptId),
    Post(Message),
    Answer(Box<dyn FnOnce(Result<()>) + Send>),
    Observe(Box<Invocation>),
}

impl After {
    /// An answer that is known, once it counts.
    pub(crate) fn reply<T: Send + 'static>(reply: Reply<T>, answer: Result<T>) -> Self {
        Self::Answer(Box::new(move |outcome| reply(outcome.and(answer))))
    }

    /// What is to follow a commit, or does not because there was none.
    pub(crate) fn follow(all: Vec<Self>, commit: everstep_store::Result<()>, world: &World) {
        match commit {
            Ok(()) => all.into_iter().for_each(|after| after.run(world)),
            Err(error) => {
                let error = world.fail(error.into());
                all.into_iter().for_each(|after| after.refuse(&error));
            }
        }
    }

    pub(crate) fn run(self, world: &World) {
        match self {
            Self::Start(attempt, permit) => {
                let running = Running {
                    invocation: attempt.invocation,
                    attempt: attempt.id,
                    postbox: world.postbox.clone(),
                    _permit: permit,
                    told: false,
                };
                let done = move |outcome, receipt| running.end(outcome, receipt);
                world.functions.start(*attempt, Box::new(done));
            }
            Self::Kill(attempt) => world.functions.kill(attempt),
            Self::Post(message) => world.postbox.post(message.id(), message),
            Self::Answer(answer) => answer(Ok(())),
            Self::Observe(invocation) => world.observer.changed(&invocation),
        }
    }

    pub(crate) fn refuse(self, error: &Error) {
        if let Self::Answer(answer) = self {
            answer(Err(error.clone()));
        }
    }
}

/// An attempt that a worker has. If it is dropped without a word, it was interrupted.
struct Running {
    invocation: InvocationId,
    attempt: AttemptId,
    postbox: Arc<dyn Postbox>,
    _permit: Permit,
    told: bool,
}

impl Running {
    fn end(mut self, outcome: Outcome, receipt: Receipt) {
        self.tell(outcome, receipt);
    }

    fn tell(&mut self, outcome: Outcome, receipt: Receipt) {
        self.told = true;
        let (id, attempt) = (self.invocation, self.attempt);
        self.postbox.post(id, Message::Ended { id, attempt, outcome, receipt });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.told {
            self.tell(Outcome::interrupted(), Box::new(|_| {}));
        }
    }
}
