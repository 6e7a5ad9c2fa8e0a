//! What all shards share.

use std::sync::Arc;

use everstep_shards::{Clock, Failure, Mailbox, Outside, Register};
use everstep_store::Store;

use crate::concurrency::Concurrency;
use crate::destination::Destinations;
use crate::function::Functions;
use crate::id::InvocationId;
use crate::message::Message;
use crate::observer::Observer;
use crate::settings::Settings;

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
pub struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) functions: Arc<dyn Functions>,
    pub(crate) destinations: Arc<dyn Destinations>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) mailbox: Arc<dyn Mailbox<Message>>,
    pub(crate) concurrency: Arc<Concurrency>,
    pub(crate) settings: Settings,
    pub(crate) quarantine: Register<InvocationId>,
    failure: Failure,
}

impl Shared {
    #[must_use]
    pub fn new(parts: Parts, mailbox: Arc<dyn Mailbox<Message>>) -> Self {
        let concurrency = Concurrency::new(mailbox.clone());
        Self::with(parts, mailbox, concurrency, Register::default(), Failure::default())
    }

    /// Shares its slots, what is quarantined and why it failed with those that are given.
    pub(crate) fn with(
        parts: Parts,
        mailbox: Arc<dyn Mailbox<Message>>,
        concurrency: Arc<Concurrency>,
        quarantine: Register<InvocationId>,
        failure: Failure,
    ) -> Self {
        let Parts { store, functions, destinations, observer, settings, clock: _ } = parts;
        Self {
            store,
            functions,
            destinations,
            observer,
            mailbox,
            concurrency,
            settings,
            quarantine,
            failure,
        }
    }
}

impl Outside for Shared {
    fn latch(&self) -> &Failure {
        &self.failure
    }

    fn failed(&self, error: &everstep_shards::Error) {
        self.concurrency.close();
        self.observer.failed(&error.clone().into());
    }
}
