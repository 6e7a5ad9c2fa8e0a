//! What follows a commit: nothing leaves the engine before it.

use std::sync::Arc;

use everstep_history::Attempt;

use crate::error::{Error, Result};
use crate::failed::Failed;
use crate::id::ExecutionId;
use crate::observer::Step;
use crate::task::{Cancelled, Receipt, Task};
use crate::world::World;

pub(crate) enum After {
    Dispatch(Box<Task>),
    /// What step `sequence` no longer waits for.
    Cancel {
        id: ExecutionId,
        arn: Arc<str>,
        attempts: Vec<Attempt>,
        sequence: u32,
    },
    Tell(Box<Failed>),
    Answer(Answer),
    Observe(Box<Step>),
}

pub(crate) type Answer = Box<dyn FnOnce(Result<()>) + Send>;

impl After {
    /// An answer that is known, once it counts.
    pub(crate) fn reply<T: Send + 'static>(
        reply: crate::message::Reply<T>,
        answer: Result<T>,
    ) -> Self {
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
            Self::Dispatch(task) => world.runner.dispatch(*task),
            Self::Cancel { id, arn, attempts, sequence } => {
                let postbox = world.postbox.clone();
                let receipt = Arc::new(Receipt { execution: id, sequence, postbox });
                cancel(world, &arn, &attempts, &receipt);
            }
            Self::Tell(failed) => world.runner.tell(*failed),
            Self::Answer(answer) => answer(Ok(())),
            Self::Observe(step) => world.observer.stepped(*step),
        }
    }

    pub(crate) fn refuse(self, error: &Error) {
        if let Self::Answer(answer) = self {
            answer(Err(error.clone()));
        }
    }
}

fn cancel(world: &World, arn: &Arc<str>, attempts: &[Attempt], receipt: &Arc<Receipt>) {
    for attempt in attempts {
        world.runner.cancel(Cancelled {
            execution: receipt.execution,
            execution_arn: arn.clone(),
            attempt: *attempt,
            _receipt: receipt.clone(),
        });
    }
}
