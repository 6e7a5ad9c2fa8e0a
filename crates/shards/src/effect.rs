//! What follows a commit: nothing leaves an engine before what it rests on is durable.

use crate::{Error, Outside};

/// Something to be done once a commit is durable: an attempt is started, a caller answered.
pub trait Effect: Send + Sized + 'static {
    type Outside: Outside;

    /// Called when the commit is durable, on the thread that commits. Must not wait.
    fn run(self, outside: &Self::Outside);

    /// Called instead if the commit has failed. Answers waiting callers with the error.
    fn refuse(self, error: &Error);
}

/// Runs what follows a commit, or gives the engine up because there was none.
pub(crate) fn follow<E: Effect>(
    effects: Vec<E>,
    commit: everstep_store::Result<()>,
    outside: &E::Outside,
) {
    match commit {
        Ok(()) => effects.into_iter().for_each(|effect| effect.run(outside)),
        Err(error) => {
            let error = outside.fail(error.into());
            effects.into_iter().for_each(|effect| effect.refuse(&error));
        }
    }
}
