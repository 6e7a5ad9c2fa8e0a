//! The engine: shards on threads, and the ways to reach them.

use std::sync::{Arc, mpsc};

use everstep_shards::{Clock, Lanes, Refused, entropy};
use everstep_store::{Batch, Shard as StoreShard};

use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::message::{Message, Postbox, Reply};
use crate::reader::Reader;
use crate::revision::{Prepared, Revision};
use crate::shard::Shard;
use crate::world::{Parts, World};

pub struct Engine {
    world: Arc<World>,
    lanes: Arc<Lanes<Message>>,
}

impl Engine {
    /// Takes over all shards of a store. When it returns, everything that is stored is known and what was
    /// due has begun to happen.
    pub fn open(parts: Parts, clock: Arc<dyn Clock>) -> Result<Self> {
        let seed = parts.settings.seed.unwrap_or_else(entropy);
        let lanes = Arc::new(Lanes::new(parts.store.shards(), parts.settings.workers));
        let world = Arc::new(World::new(parts, Arc::new(Router(lanes.clone()))));
        let engine = Self { world: world.clone(), lanes };
        let open = move |number, now_ms| -> Result<Owned> {
            let shard = Shard::open(StoreShard(number), world.clone(), seed, now_ms)?;
            Ok(Owned { shard, world: world.clone() })
        };
        engine.lanes.start("shards", &clock, open, Error::damaged)?;
        Ok(engine)
    }

    /// Makes a revision durable and ready to run.
    pub fn prepare(&self, revision: Revision) -> Result<Arc<Prepared>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let done = Box::new(move |outcome| {
            let _ = sender.send(outcome);
        });
        let prepared = self.world.prepare(revision, done)?;
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
        self.world.prepare(revision, Box::new(move |outcome| done(outcome.map_err(Error::from))))
    }

    /// Sends a request; its reply is called when it is answered. Refused with [`Error::Busy`] if too many
    /// wait already. Never waits.
    pub fn send(&self, message: Message) {
        self.lanes.send(message, self.world.settings.queue_max);
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
        Reader::new(self.world.clone())
    }

    /// Why nothing can be done any more, if so.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.world.failure().cloned()
    }

    /// Stops taking messages, and waits until all that was taken is durable.
    pub fn shut_down(&self) {
        self.lanes.stop();
        let (sender, receiver) = mpsc::sync_channel(1);
        let done = Box::new(move |_| {
            let _ = sender.send(());
        });
        self.world.store.commit(Batch::new(StoreShard::CATALOG), done);
        let _ = receiver.recv();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Brings messages to the shards, for the shards themselves and for those whom they have asked.
struct Router(Arc<Lanes<Message>>);

impl Postbox for Router {
    fn post(&self, _id: ExecutionId, message: Message) {
        self.0.post(message);
    }
}

impl everstep_shards::Message for Message {
    fn shard(&self, shards: u16) -> u16 {
        self.id().shard(shards).0
    }

    fn refuse(self, refused: Refused) {
        self.refuse(match refused {
            Refused::Busy => Error::Busy,
            Refused::Stopped => Error::Stopped,
        });
    }
}

/// A shard on its thread. What goes wrong with single executions is told.
struct Owned {
    shard: Shard,
    world: Arc<World>,
}

impl everstep_shards::Shard for Owned {
    type Message = Message;

    fn handle(&mut self, message: Message, now_ms: i64) {
        self.shard.handle(message, now_ms);
    }

    fn tick(&mut self, now_ms: i64) -> Option<i64> {
        let (next, troubles) = self.shard.tick(now_ms);
        for (id, error) in troubles {
            self.world.observer.stranded(id, &error);
        }
        next
    }
}
