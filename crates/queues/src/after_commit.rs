//! What follows a commit: nothing leaves before it.

use everstep_shards::Effect;

use crate::error::Result;
use crate::request::{Reply, Request};
use crate::shared::Shared;

pub(crate) enum AfterCommit {
    Post(Request),
    Answer(Box<dyn FnOnce(Result<()>) + Send>),
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
            Self::Post(request) => shared.mailbox.post(request),
            Self::Answer(answer) => answer(Ok(())),
        }
    }

    fn refuse(self, error: &everstep_shards::Error) {
        match self {
            Self::Post(request) => request.refuse(error.clone().into()),
            Self::Answer(answer) => answer(Err(error.clone().into())),
        }
    }
}
