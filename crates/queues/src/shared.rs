//! What all shards share.

use std::sync::Arc;

use everstep_shards::{Failure, Mailbox, Outside};
use everstep_store::Store;

use crate::observer::Observer;
use crate::request::Request;
use crate::settings::Settings;

/// What the shards of [`crate::Queues`] are made of.
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub observer: Arc<dyn Observer>,
    pub settings: Settings,
}

/// Held by shards and by commits on their way, and by nothing else.
pub struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) mailbox: Arc<dyn Mailbox<Request>>,
    pub(crate) settings: Settings,
    failure: Failure,
}

impl Shared {
    #[must_use]
    pub fn new(parts: Parts, mailbox: Arc<dyn Mailbox<Request>>) -> Self {
        Self::with(parts, mailbox, Failure::default())
    }

    pub(crate) fn with(parts: Parts, mailbox: Arc<dyn Mailbox<Request>>, failure: Failure) -> Self {
        let Parts { store, observer, settings } = parts;
        Self { store, observer, mailbox, settings, failure }
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
