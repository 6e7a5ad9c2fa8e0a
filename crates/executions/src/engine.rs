//! The engine: shards on threads, and the ways to reach them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};

use everstep_shards::{Clock, Lanes};
use everstep_store::{Shard as StoreShard, Store};

use crate::error::{Error, Result};
use crate::message::{Message, Reply};
use crate::observer::Observer;
use crate::pool::Threads;
use crate::reader::Reader;
use crate::revision::{Prepared, Revision};
use crate::settings::Settings;
use crate::shard::Shard;
use crate::shared::{Parts, Shared};
use crate::task::TaskRunner;

/// A handle on all executions of a store. It does not hold the task runner, which may therefore hold it.
pub struct Engine {
    reader: Reader,
    lanes: Arc<Lanes<Message>>,
    settings: Settings,
    /// Once it is started.
    pool: OnceLock<Arc<Threads>>,
    /// Shards that have dispatched again what they found at the start.
    recovered: Arc<AtomicUsize>,
}

impl Engine {
    /// An engine that is yet to be started. It reads, prepares revisions and takes messages, which wait for
    /// [`Engine::start`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        let lanes = Arc::new(Lanes::new(store.shards(), clock, &settings.shards));
        let reader = Reader::with_key(store, settings.token_key);
        let (pool, recovered) = (OnceLock::new(), Arc::default());
        Self { reader, lanes, settings, pool, recovered }
    }

    /// Takes over all shards of the store. When it returns, everything that is stored is known and what was
    /// due has begun to happen. Called once; runner and observer are dropped at the end of
    /// [`Engine::shut_down`].
    pub fn start(&self, runner: Arc<dyn TaskRunner>, observer: Arc<dyn Observer>) -> Result<()> {
        let seed = self.settings.shards.seed();
        let (store, settings) = (self.reader.store.clone(), self.settings.clone());
        let parts = Parts { store, runner, observer, settings };
        let (reader, mailbox) = (self.reader.clone(), self.lanes.clone());
        let failure = self.lanes.failure().clone();
        let pool = Arc::new(Threads::start().map_err(|error| {
            let why = format!("a thread cannot be started: {error}");
            Error::from(everstep_store::Error::Failed(why.into()))
        })?);
        let _ = self.pool.set(pool.clone());
        let shared = Arc::new(Shared::with(parts, reader, mailbox, pool, failure));
        let (outside, recovered) = (shared.clone(), self.recovered.clone());
        let open = move |number, now_ms| -> Result<Owned> {
            let shard = Shard::open(StoreShard(number), shared.clone(), seed, now_ms)?;
            Ok(Owned { shard, shared: shared.clone(), recovered: Some(recovered.clone()) })
        };
        self.lanes.start("executions", &outside, open)
    }

    /// [`Engine::new`] and [`Engine::start`] in one, for runners that do not need the engine.
    pub fn open(parts: Parts, clock: Arc<dyn Clock>) -> Result<Self> {
        let Parts { store, runner, observer, settings } = parts;
        let engine = Self::new(store, clock, settings);
        engine.start(runner, observer)?;
        Ok(engine)
    }

    /// Makes a revision durable and ready to run.
    pub fn prepare(&self, revision: Revision) -> Result<Arc<Prepared>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let done = Box::new(move |outcome| {
            let _ = sender.send(outcome);
        });
        let prepared = self.reader.revisions.keep(revision, done)?;
        receiver.recv().map_err(|_| Error::Stopped)??;
        Ok(prepared)
    }

    /// As [`Engine::prepare`], for async callers: `done` is called when the revision is durable. Waits
    /// only if too much is on its way to the store.
    pub fn prepare_with(
        &self,
        revision: Revision,
        done: Box<dyn FnOnce(Result<()>) + Send>,
    ) -> Result<Arc<Prepared>> {
        let done = Box::new(move |outcome: everstep_store::Result<()>| {
            done(outcome.map_err(Error::from));
        });
        self.reader.revisions.keep(revision, done)
    }

    /// Sends a request; its reply is called when it is answered. Refused with [`Error::Busy`] if too many wait already. Never waits.
    pub fn send(&self, message: Message) {
        self.lanes.send(message);
    }

    /// Sends a request and waits for its answer. Not for the threads of an async runtime.
    pub fn ask<T: Send + 'static>(&self, message: impl FnOnce(Reply<T>) -> Message) -> Result<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.send(message(Box::new(move |answer| {
            let _ = sender.send(answer);
        })));
        receiver.recv().unwrap_or(Err(Error::Stopped))
    }

    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// Whether all that was open at the start has been dispatched again.
    #[must_use]
    pub fn is_recovered(&self) -> bool {
        self.recovered.load(Ordering::Acquire) == usize::from(self.reader.store.shards())
    }

    /// Why nothing can be done any more, if so.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.lanes.failure().get().cloned().map(Error::from)
    }

    /// Stops taking messages, waits until all that was taken is durable, and drops the runner and the
    /// observer. Only the first call does anything.
    pub fn shut_down(&self) {
        if let Some(pool) = self.pool.get() {
            pool.stop();
        }
        self.lanes.shut_down(&*self.reader.store);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl everstep_shards::Message for Message {
    fn shard(&self, shards: u16) -> u16 {
        self.id().shard(shards).0
    }

    fn refuse(self, refused: everstep_shards::Refused) {
        self.refuse(refused.into());
    }

    /// A stop, and what a shard waits for to go on.
    fn is_urgent(&self) -> bool {
        matches!(self, Self::Stop { .. } | Self::Decided(_) | Self::Loaded(_))
    }
}

/// A shard on its thread. What goes wrong with single executions is reported to the observer.
struct Owned {
    shard: Shard,
    shared: Arc<Shared>,
    /// Counts it once it has recovered.
    recovered: Option<Arc<AtomicUsize>>,
}

impl everstep_shards::Shard for Owned {
    type Message = Message;

    fn handle(&mut self, message: Message, now_ms: i64) {
        self.shard.handle(message, now_ms);
    }

    fn tick(&mut self, now_ms: i64) -> Option<i64> {
        let (next, troubles) = self.shard.tick(now_ms);
        for (id, error) in troubles {
            self.shared.observer.stuck(id, &error);
        }
        if self.shard.is_recovered()
            && let Some(recovered) = self.recovered.take()
        {
            recovered.fetch_add(1, Ordering::Release);
        }
        next
    }
}
