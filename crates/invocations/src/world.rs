//! What all shards share.

use std::sync::{Arc, OnceLock};

use everstep_store::{Ledger, Shard, Store};

use crate::after::After;
use crate::concurrency::Concurrency;
use crate::destination::Destinations;
use crate::error::Error;
use crate::function::Functions;
use crate::layout;
use crate::message::Postbox;
use crate::observer::Observer;
use crate::settings::Settings;
use everstep_shards::Clock;

/// What [`crate::Invocations`] are made of.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub functions: Arc<dyn Functions>,
    pub destinations: Arc<dyn Destinations>,
    pub observer: Arc<dyn Observer>,
    pub clock: Arc<dyn Clock>,
    pub settings: Settings,
}

/// Held by shards, by commits on their way and by calls that wait for a slot, and by nothing else: when the
/// shards are gone, so are functions, destinations and the observer.
pub struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) functions: Arc<dyn Functions>,
    pub(crate) destinations: Arc<dyn Destinations>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) postbox: Arc<dyn Postbox>,
    pub(crate) concurrency: Arc<Concurrency>,
    pub(crate) settings: Settings,
    failure: Arc<OnceLock<Error>>,
}

impl World {
    #[must_use]
    pub fn new(parts: Parts, postbox: Arc<dyn Postbox>) -> Self {
        let concurrency = Concurrency::new(postbox.clone());
        Self::with(parts, postbox, concurrency, Arc::default())
    }

    /// Shares its slots and why it failed with `concurrency` and `failure`.
    pub(crate) fn with(
        parts: Parts,
        postbox: Arc<dyn Postbox>,
        concurrency: Arc<Concurrency>,
        failure: Arc<OnceLock<Error>>,
    ) -> Self {
        let Parts { store, functions, destinations, observer, settings, clock: _ } = parts;
        Self { store, functions, destinations, observer, postbox, concurrency, settings, failure }
    }

    /// Makes the caller the owner of a shard's invocations.
    pub(crate) fn take_over(self: &Arc<Self>, shard: Shard, owner: Vec<u8>) -> Ledger {
        let world = self.clone();
        let done = Box::new(move |outcome| After::follow(Vec::new(), outcome, &world));
        Ledger::take_over(self.store.clone(), shard, layout::OWNER, owner, done)
    }

    /// Why nothing can be done any more, if so. The first error of a commit is the last word: what was
    /// decided in memory may not be what is stored, so all of it is given up.
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
            self.concurrency.close();
            self.observer.failed(failure);
        }
        failure.clone()
    }
}
