//! What all shards of an engine share.

use std::sync::{Arc, OnceLock};

use everstep_store::{Done, Ledger, Shard, Store};

use crate::after::After;
use crate::error::{Error, Result};
use crate::layout;
use crate::message::Postbox;
use crate::observer::Observer;
use crate::reader::Reader;
use crate::revision::{Prepared, Revision, Revisions};
use crate::settings::Settings;
use crate::task::TaskRunner;

/// What an engine is made of.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub runner: Arc<dyn TaskRunner>,
    pub observer: Arc<dyn Observer>,
    pub settings: Settings,
}

/// Held by shards and by commits on their way, and by nothing else: when the shards are gone, so are the
/// runner and the observer.
pub struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runner: Arc<dyn TaskRunner>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) postbox: Arc<dyn Postbox>,
    pub(crate) revisions: Arc<Revisions>,
    pub(crate) settings: Settings,
    failure: Arc<OnceLock<Error>>,
}

impl World {
    #[must_use]
    pub fn new(parts: Parts, postbox: Arc<dyn Postbox>) -> Self {
        let reader = Reader::new(parts.store.clone());
        Self::with(parts, reader, postbox, Arc::default())
    }

    /// Shares what is read and why it failed with `reader` and `failure`.
    pub(crate) fn with(
        parts: Parts,
        reader: Reader,
        postbox: Arc<dyn Postbox>,
        failure: Arc<OnceLock<Error>>,
    ) -> Self {
        let Parts { store, runner, observer, settings } = parts;
        let revisions = reader.revisions;
        Self { store, runner, observer, postbox, revisions, settings, failure }
    }

    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader { store: self.store.clone(), revisions: self.revisions.clone() }
    }

    /// Makes a revision ready to run, and durable: `done` is called then.
    pub fn prepare(&self, revision: Revision, done: Done) -> Result<Arc<Prepared>> {
        self.revisions.keep(revision, done)
    }

    /// Makes the caller the owner of a shard's executions.
    pub(crate) fn take_over(self: &Arc<Self>, shard: Shard, owner: Vec<u8>) -> Ledger {
        let world = self.clone();
        let done = Box::new(move |outcome| After::follow(Vec::new(), outcome, &world));
        Ledger::take_over(self.store.clone(), shard, layout::OWNER, owner, done)
    }

    /// Why nothing can be done any more, if so. The first error of a commit is the last word: what was
    /// decided in memory may not be what is stored, so all of it is given up.
    #[must_use]
    pub fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    pub(crate) fn fail(&self, error: Error) -> Error {
        let mut first = false;
        let failure = self.failure.get_or_init(|| {
            first = true;
            error
        });
        if first {
            self.observer.failed(failure);
        }
        failure.clone()
    }
}
