//! What follows a commit: nothing leaves the engine before it.

use std::sync::Arc;

use everstep_history::Attempt;

use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::message::Message;
use crate::task::{Cancelled, Task};
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
    Answer(Answer),
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

    pub(crate) fn run(self, world: &World) {
        match self {
            Self::Dispatch(task) => world.runner.dispatch(*task),
            Self::Cancel { id, arn, attempts, sequence } => {
                cancel(world, id, &arn, &attempts);
                world.postbox.post(id, Message::Delivered { id, sequence });
            }
            Self::Answer(answer) => answer(Ok(())),
        }
    }

    pub(crate) fn refuse(self, error: &Error) {
        if let Self::Answer(answer) = self {
            answer(Err(error.clone()));
        }
    }
}

fn cancel(world: &World, execution: ExecutionId, arn: &Arc<str>, attempts: &[Attempt]) {
    for attempt in attempts {
        let (execution_arn, attempt) = (arn.clone(), *attempt);
        world.runner.cancel(Cancelled { execution, execution_arn, attempt });
    }
}
