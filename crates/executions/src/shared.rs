//! What all shards of an engine share.

use std::sync::Arc;

use everstep_shards::{Failure, InFlight, Mailbox, Outside, Register};
use everstep_store::{Done, Store};

use crate::error::Result;
use crate::id::ExecutionId;
use crate::message::Message;
use crate::observer::Observer;
use crate::pace::Pace;
use crate::reader::Reader;
use crate::revision::{Prepared, Revision, Revisions};
use crate::settings::Settings;
use crate::task::TaskRunner;
use crate::work::{Inline, Pool};

/// What an engine is made of.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub runner: Arc<dyn TaskRunner>,
    pub observer: Arc<dyn Observer>,
    pub settings: Settings,
}

/// Held by shards and by commits on their way, and by nothing else: when the shards are gone, so are the
/// runner and the observer.
pub struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runner: Arc<dyn TaskRunner>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) mailbox: Arc<dyn Mailbox<Message>>,
    pub(crate) pool: Arc<dyn Pool>,
    pub(crate) pace: Pace,
    pub(crate) revisions: Arc<Revisions>,
    pub(crate) in_flight: Arc<dyn InFlight>,
    pub(crate) quarantine: Register<ExecutionId>,
    pub(crate) settings: Settings,
    failure: Failure,
}

impl Shared {
    /// What takes long is done at once.
    #[must_use]
    pub fn new(parts: Parts, mailbox: Arc<dyn Mailbox<Message>>) -> Self {
        let reader = Reader::with_key(parts.store.clone(), parts.settings.token_key);
        Self::with(parts, reader, mailbox, Arc::new(Inline), Failure::default())
    }

    /// Shares what is read and why it failed with `reader` and `failure`.
    pub(crate) fn with(
        parts: Parts,
        reader: Reader,
        mailbox: Arc<dyn Mailbox<Message>>,
        pool: Arc<dyn Pool>,
        failure: Failure,
    ) -> Self {
        let Parts { store, runner, observer, settings } = parts;
        let Reader { revisions, quarantine, .. } = reader;
        let (pace, in_flight) = (Pace::default(), settings.shards.in_flight.clone());
        Self {
            store,
            runner,
            observer,
            mailbox,
            pool,
            pace,
            revisions,
            in_flight,
            quarantine,
            settings,
            failure,
        }
    }

    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader {
            store: self.store.clone(),
            revisions: self.revisions.clone(),
            quarantine: self.quarantine.clone(),
        }
    }

    /// Makes a revision ready to run, and durable: `done` is called then.
    pub fn prepare(&self, revision: Revision, done: Done) -> Result<Arc<Prepared>> {
        self.revisions.keep(revision, done)
    }
}

impl Outside for Shared {
    fn latch(&self) -> &Failure {
        &self.failure
    }

    fn failed(&self, error: &everstep_shards::Error) {
        self.observer.failed(&error.clone().into());
    }
}
