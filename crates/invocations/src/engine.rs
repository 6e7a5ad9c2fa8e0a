//! Invocations, as the rest of the program knows them: shards on threads, and the ways to reach them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use everstep_store::{Batch, Shard as StoreShard};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::id::{AttemptId, InvocationId};
use crate::message::{Acceptance, Accepted, Finished, Manner, Message, Postbox, Reply, Resend};
use crate::reader::{self, Bookmark, Filter, Page, Shown};
use crate::request::{Redrive, Request};
use crate::session::Session;
use crate::shard::Shard;
use crate::synchronous;
use crate::world::{Parts, World};

/// Messages that a thread takes before it looks at the time again.
const TAKEN_AT_A_TIME: usize = 256;
/// A thread looks at the time at least this often: clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Dead letters that are asked for at a time.
const LETTERS_AT_A_TIME: usize = 100;

/// All invocations of a store.
pub struct Invocations {
    world: Arc<World>,
    router: Arc<Router>,
    clock: Arc<dyn Clock>,
    chance: Mutex<Pcg64Mcg>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Finds the thread of an invocation.
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

impl Invocations {
    /// Takes over all shards of a store. When it returns, what is due soon is known and has begun to
    /// happen.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn open(parts: Parts) -> Result<Self> {
        let (shards, clock) = (parts.store.shards(), parts.clock.clone());
        let workers = workers(&parts);
        let seed = parts.settings.seed.unwrap_or_else(entropy);
        let (lanes, receivers): (Vec<Lane>, Vec<_>) = (0..workers).map(|_| Lane::new()).unzip();
        let router = Arc::new(Router { shards, lanes });
        let world = Arc::new(World::new(parts, router.clone()));
        let (ready, opened) = mpsc::channel();
        let mut threads = Vec::new();
        for (index, receiver) in receivers.into_iter().enumerate() {
            let waiting = router.lanes[index].waiting.clone();
            let numbers = (0..shards).filter(|n| usize::from(*n) % workers == index).collect();
            let worker = Worker {
                shards: Vec::new(),
                workers,
                receiver,
                waiting,
                world: world.clone(),
                clock: clock.clone(),
            };
            let ready = ready.clone();
            let named = thread::Builder::new().name(format!("invocations-{index}"));
            let work = move || worker.open_and_run(numbers, seed, ready);
            threads.push(named.spawn(work).map_err(|error| {
                Error::damaged(&format!("a thread cannot be started: {error}"))
            })?);
        }
        drop(ready);
        let chance = Mutex::new(Pcg64Mcg::seed_from_u64(seed.rotate_left(32)));
        let engine = Self { world, router, clock, chance, threads: Mutex::new(threads) };
        for _ in 0..workers {
            opened.recv().unwrap_or(Err(Error::Stopped))?;
        }
        Ok(engine)
    }

    /// Takes an event to be run, with retries. The reply comes when the acceptance is durable: then nothing
    /// loses it. [`Error::Busy`] if too many wait already. Never waits.
    pub fn accept(&self, request: Request, reply: Reply<Accepted>) {
        let manner = if request.unparseable { Manner::Unparseable } else { Manner::Asynchronous };
        self.begin(request, manner, reply, None);
    }

    /// Runs a function once, for somebody who waits: it is never retried, and no destination is told.
    ///
    /// Without a key nothing is written down, and the call is refused with [`Error::Throttled`] if there is
    /// no slot. With one the first call runs, when there is a slot, and all others with that key are given
    /// its answer, a failure too.
    pub fn invoke(&self, request: Request, reply: Reply<Finished>) {
        if request.key.is_some() {
            return self.begin(request, Manner::Synchronous, Box::new(|_| {}), Some(reply));
        }
        if let Err(error) = request.check(self.world.settings.payload_bytes_max) {
            return reply(Err(error));
        }
        let ids = (InvocationId::drawn(self.draw()), AttemptId::drawn(self.draw()));
        synchronous::call(&self.world, request, ids, reply);
    }

    fn begin(
        &self,
        request: Request,
        manner: Manner,
        reply: Reply<Accepted>,
        watcher: Option<Reply<Finished>>,
    ) {
        let refused = request.check(self.world.settings.payload_bytes_max).err();
        let backlog = self.world.concurrency.waiting(&request.function);
        let refused =
            refused.or_else(|| (backlog >= self.world.settings.backlog_max).then_some(Error::Busy));
        let Request { function, payload, source, key, unparseable: _ } = request;
        let id = match &key {
            Some(key) => InvocationId::of_key(&source.name, key),
            None => InvocationId::drawn(self.draw()),
        };
        let acceptance = Acceptance { id, function, payload, source, key, manner, session: None };
        let message = Message::Accept { acceptance: Box::new(acceptance), reply, watcher };
        match refused {
            Some(error) => message.refuse(error),
            None => self.send(message),
        }
    }

    /// How an invocation ends, when it does.
    pub fn wait(&self, id: InvocationId, reply: Reply<Finished>) {
        self.send(Message::Watch { id, reply });
    }

    /// Ends an invocation. [`Error::WrongState`] if it is over.
    pub fn cancel(&self, id: InvocationId, reply: Reply<()>) {
        self.send(Message::Cancel { id, reply });
    }

    /// An invocation with its event and its answer. Waits for the store.
    pub fn show(&self, id: InvocationId) -> Result<Option<Shown>> {
        reader::show(&*self.world.store, id)
    }

    /// At most `limit` invocations after `after`, latest first. A page may be short and still not the last:
    /// that one has no bookmark. Waits for the store.
    pub fn list(&self, filter: &Filter, after: Option<Bookmark>, limit: usize) -> Result<Page> {
        reader::list(&*self.world.store, filter, after, limit)
    }

    /// A session, by the id of the invocation that began it. Waits for the store.
    pub fn session(&self, id: InvocationId) -> Result<Option<Session>> {
        reader::session(&*self.world.store, id)
    }

    /// Sends dead letters back: which, and what each has become (nothing in a dry run). Each is sent back
    /// once, even if this is interrupted and asked for again. Waits until all is durable.
    pub fn redrive(
        &self,
        filter: &Filter,
        redrive: &Redrive,
    ) -> Result<Vec<(InvocationId, Option<InvocationId>)>> {
        let (start_ms, mut count) = (self.clock.now_ms(), 0u64);
        if let Some(payload) = &redrive.payload {
            let request = Request {
                function: String::new(),
                payload: payload.clone(),
                source: crate::Source::new(crate::SourceKind::Redrive, ""),
                key: None,
                unparseable: false,
            };
            request.check(self.world.settings.payload_bytes_max)?;
        }
        self.each_letter(filter, redrive.limit, redrive.dry_run, |id, reply| {
            let spaced_ms = redrive.spacing_ms.saturating_mul(count);
            count += 1;
            let held = i64::try_from(spaced_ms).unwrap_or(i64::MAX);
            let resend = Resend {
                latest: redrive.latest,
                payload: redrive.payload.clone(),
                not_before_ms: (held > 0).then(|| start_ms.saturating_add(held)),
            };
            Message::Redrive { id, redrive: resend, reply }
        })
    }

    /// Throws dead letters away: which. Those that somebody has yet to be told of are left. Waits until all
    /// is durable.
    pub fn purge(&self, filter: &Filter, dry_run: bool) -> Result<Vec<InvocationId>> {
        let purged = self.each_letter(filter, None, dry_run, |id, reply| {
            let reply = Box::new(move |done: Result<()>| reply(done.map(|()| id)));
            Message::Purge { id, reply }
        })?;
        Ok(purged.into_iter().map(|(id, _)| id).collect())
    }

    /// Asks something of each dead letter that is meant; letters that are none any more are left out.
    fn each_letter(
        &self,
        filter: &Filter,
        limit: Option<usize>,
        dry_run: bool,
        mut message: impl FnMut(InvocationId, Reply<InvocationId>) -> Message,
    ) -> Result<Vec<(InvocationId, Option<InvocationId>)>> {
        let filter = Filter { dead: true, ..filter.clone() };
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let left = limit.map_or(LETTERS_AT_A_TIME, |limit| limit - all.len());
            if left == 0 {
                return Ok(all);
            }
            let page = self.list(&filter, after, left.min(LETTERS_AT_A_TIME))?;
            let (sender, receiver) = mpsc::channel();
            for invocation in &page.invocations {
                if dry_run {
                    all.push((invocation.id, None));
                    continue;
                }
                let (id, sender) = (invocation.id, sender.clone());
                let reply = Box::new(move |into| {
                    let _ = sender.send((id, into));
                });
                let message = message(id, reply);
                self.router.post(id, message);
            }
            drop(sender);
            for (id, into) in receiver {
                match into {
                    Ok(into) => all.push((id, Some(into))),
                    Err(Error::WrongState | Error::NotFound) => {}
                    Err(error) => return Err(error),
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Sends a request. Refused with [`Error::Busy`] if too many wait already.
    fn send(&self, message: Message) {
        let lane = self.router.lane(message.id());
        if lane.waiting.load(Ordering::Relaxed) >= self.world.settings.queue_max {
            message.refuse(Error::Busy);
        } else {
            lane.send(message);
        }
    }

    fn draw(&self) -> [u64; 2] {
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        [chance.next_u64(), chance.next_u64()]
    }

    /// Why nothing can be done any more, if so.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.world.failure().cloned()
    }

    /// Begins nothing new, waits for what runs, at most for `grace`, and stops when all that was taken is
    /// durable. What waits stays waiting; what still runs will have been interrupted.
    pub fn shut_down(&self, grace: Duration) {
        self.world.concurrency.close();
        self.world.concurrency.wait_idle(grace);
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

impl Drop for Invocations {
    fn drop(&mut self) {
        self.shut_down(Duration::ZERO);
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
    fn lane(&self, id: InvocationId) -> &Lane {
        &self.lanes[usize::from(id.shard(self.shards).0) % self.lanes.len()]
    }
}

/// What the engine says to itself is never refused: it is bounded by what it has taken on.
impl Postbox for Router {
    fn post(&self, id: InvocationId, message: Message) {
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
    fn open_and_run(mut self, numbers: Vec<u16>, seed: u64, ready: Sender<Result<()>>) {
        for number in numbers {
            let now_ms = self.clock.now_ms();
            match Shard::open(StoreShard(number), self.world.clone(), seed, now_ms) {
                Ok(shard) => self.shards.push(shard),
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return;
                }
            }
        }
        let _ = ready.send(Ok(()));
        drop(ready);
        self.run();
    }

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
                    Envelope::Message(message) => self.handle(message),
                }
                taken += 1;
                if taken < TAKEN_AT_A_TIME {
                    next = self.receiver.try_recv().ok();
                }
            }
        }
    }

    fn handle(&mut self, message: Message) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let shard = message.id().shard(self.world.store.shards()).0;
        self.shards[usize::from(shard) / self.workers].handle(message, self.clock.now_ms());
    }

    /// Lets time pass in each shard; how long until there is more to do.
    fn tick(&mut self) -> Duration {
        let now_ms = self.clock.now_ms();
        let mut wait = LOOK_EVERY;
        for shard in &mut self.shards {
            if let Some(next_ms) = shard.tick(now_ms) {
                let until = u64::try_from(next_ms.saturating_sub(now_ms)).unwrap_or(0);
                wait = wait.min(Duration::from_millis(until));
            }
        }
        wait
    }

    fn refuse_the_rest(&mut self) {
        for shard in &mut self.shards {
            shard.give_up(&Error::Stopped);
        }
        while let Ok(Envelope::Message(message)) = self.receiver.try_recv() {
            message.refuse(Error::Stopped);
        }
    }
}
