//! The failure of an engine: the first is final.
//!
//! A commit that fails, or a shard that panics, leaves memory ahead of the store or broken. Nothing that was
//! decided since can be trusted, so the whole engine gives up, and the next start reads what the store has.

use std::sync::{Arc, OnceLock};

use crate::{Error, Refused};

/// Why an engine has failed, if it has. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Failure(Arc<OnceLock<Error>>);

impl Failure {
    #[must_use]
    pub fn get(&self) -> Option<&Error> {
        self.0.get()
    }

    /// How requests are refused: because of the failure, or `otherwise`.
    pub(crate) fn refusal(&self, otherwise: Refused) -> Refused {
        self.get().cloned().map_or(otherwise, Refused::Failed)
    }
}

/// What the shards of an engine share, and through which they act.
pub trait Outside: Send + Sync + 'static {
    /// Where the failure is kept.
    fn latch(&self) -> &Failure;

    /// Called once, when the engine fails, on whichever thread found out. Must not wait.
    fn failed(&self, error: &Error);

    /// Why nothing can be done any more, if so.
    fn failure(&self) -> Option<&Error> {
        self.latch().get()
    }

    /// Gives the engine up. Returns the failure, which is an earlier one if there was one.
    fn fail(&self, error: Error) -> Error {
        let mut first = false;
        let failure = self.latch().0.get_or_init(|| {
            first = true;
            error
        });
        if first {
            self.failed(failure);
        }
        failure.clone()
    }
}
