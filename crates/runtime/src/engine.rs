//! The engine: shards on threads, and the ways to reach them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use everstep_store::{Batch, Shard as StoreShard};

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::message::{Message, Postbox, Reply};
use crate::reader::Reader;
use crate::revision::{Prepared, Revision};
use crate::shard::Shard;
use crate::world::{Parts, World};

/// Messages that a thread takes before it looks at the time again.
const TAKEN_AT_A_TIME: usize = 256;
/// A thread looks at the time at least this often: clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub struct Engine {
    world: Arc<World>,
    router: Arc<Router>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Finds the thread of an execution.
struct Router {
    shards: u16,
    lanes: Vec<Lane>,
}

struct Lane {
    sender: Sender<Envelope>,
    waiting: Arc<AtomicUsize>,
}

enum Envelope {
    Message(Message),
    Stop,
}

impl Engine {
    /// Takes over all shards of a store. When it returns, everything that is stored is known and what was
    /// due has begun to happen.
    pub fn open(parts: Parts, clock: Arc<dyn Clock>) -> Result<Self> {
        let shards = parts.store.shards();
        let workers = workers(&parts);
        let seed = parts.settings.seed.unwrap_or_else(entropy);
        let (lanes, receivers): (Vec<Lane>, Vec<_>) = (0..workers).map(|_| Lane::new()).unzip();
        let router = Arc::new(Router { shards, lanes });
        let world = Arc::new(World::new(parts, router.clone()));
        let (ready, opened) = mpsc::channel();
        let mut threads = Vec::new();
        for (index, receiver) in receivers.into_iter().enumerate() {
            let (world, clock, ready) = (world.clone(), clock.clone(), ready.clone());
            let waiting = router.lanes[index].waiting.clone();
            let numbers: Vec<u16> =
                (0..shards).filter(|n| usize::from(*n) % workers == index).collect();
            let work = move || {
                let mut shards = Vec::new();
                for number in numbers {
                    match Shard::open(StoreShard(number), world.clone(), seed, clock.now_ms()) {
                        Ok(shard) => shards.push(shard),
                        Err(error) => {
                            let _ = ready.send(Err(error));
                            return;
                        }
                    }
                }
                let _ = ready.send(Ok(()));
                drop(ready);
                Worker { shards, workers, receiver, waiting, world, clock }.run();
            };
            let named = thread::Builder::new().name(format!("shards-{index}"));
            threads.push(named.spawn(work).map_err(|error| {
                Error::damaged(&format!("a thread cannot be started: {error}"))
            })?);
        }
        drop(ready);
        let engine = Self { world, router, threads: Mutex::new(threads) };
        for _ in 0..workers {
            opened.recv().unwrap_or(Err(Error::Stopped))?;
        }
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
        let lane = self.router.lane(message.id());
        if lane.waiting.load(Ordering::Relaxed) >= self.world.settings.queue_max {
            message.refuse(Error::Busy);
        } else {
            lane.send(message);
        }
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
        for lane in &self.router.lanes {
            let _ = lane.sender.send(Envelope::Stop);
        }
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
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

fn workers(parts: &Parts) -> usize {
    let wanted = match parts.settings.workers {
        0 => thread::available_parallelism().map_or(1, usize::from),
        set => set,
    };
    wanted.clamp(1, usize::from(parts.store.shards()))
}

/// A number that the next process does not have.
fn entropy() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

impl Lane {
    fn new() -> (Self, Receiver<Envelope>) {
        let (sender, receiver) = mpsc::channel();
        (Self { sender, waiting: Arc::default() }, receiver)
    }

    fn send(&self, message: Message) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if let Err(mpsc::SendError(Envelope::Message(message))) =
            self.sender.send(Envelope::Message(message))
        {
            message.refuse(Error::Stopped);
        }
    }
}

impl Router {
    fn lane(&self, id: ExecutionId) -> &Lane {
        &self.lanes[usize::from(id.shard(self.shards).0) % self.lanes.len()]
    }
}

/// What the engine says to itself is never refused: it is bounded by what it has taken on.
impl Postbox for Router {
    fn post(&self, id: ExecutionId, message: Message) {
        self.lane(id).send(message);
    }
}

/// A thread and its shards: those whose number leaves its own when divided by the number of threads.
struct Worker {
    shards: Vec<Shard>,
    workers: usize,
    receiver: Receiver<Envelope>,
    waiting: Arc<AtomicUsize>,
    world: Arc<World>,
    clock: Arc<dyn Clock>,
}

impl Worker {
    fn run(mut self) {
        loop {
            let wait = self.tick();
            let mut next = match self.receiver.recv_timeout(wait) {
                Ok(envelope) => Some(envelope),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut taken = 0;
            while let Some(envelope) = next.take() {
                match envelope {
                    Envelope::Stop => return self.refuse_the_rest(),
                    // A message may have come after the one before it was answered: it has its own time.
                    Envelope::Message(message) => self.handle(message, self.clock.now_ms()),
                }
                taken += 1;
                if taken < TAKEN_AT_A_TIME {
                    next = self.receiver.try_recv().ok();
                }
            }
        }
    }

    fn handle(&mut self, message: Message, now_ms: i64) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let shard = message.id().shard(self.world.store.shards()).0;
        self.shards[usize::from(shard) / self.workers].handle(message, now_ms);
    }

    /// Lets time pass in each shard; how long until there is more to do.
    fn tick(&mut self) -> Duration {
        let now_ms = self.clock.now_ms();
        let mut wait = LOOK_EVERY;
        for shard in &mut self.shards {
            let (next, troubles) = shard.tick(now_ms);
            for (id, error) in troubles {
                self.world.observer.stranded(id, &error);
            }
            if let Some(next) = next {
                let until = u64::try_from(next.saturating_sub(now_ms)).unwrap_or(0);
                wait = wait.min(Duration::from_millis(until));
            }
        }
        wait
    }

    fn refuse_the_rest(&self) {
        while let Ok(Envelope::Message(message)) = self.receiver.try_recv() {
            message.refuse(Error::Stopped);
        }
    }
}
