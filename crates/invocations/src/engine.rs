//! Invocations, as the rest of the program knows them: shards on threads, and the ways to reach them.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use everstep_shards::{Clock, Lanes, Refused, entropy};
use everstep_store::{Batch, Shard as StoreShard};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::id::{AttemptId, InvocationId};
use crate::message::{Acceptance, Accepted, Finished, Manner, Message, Postbox, Reply, Resend};
use crate::reader::{self, Bookmark, Filter, Page, Shown};
use crate::request::{Redrive, Request};
use crate::session::Session;
use crate::shard::Shard;
use crate::synchronous;
use crate::world::{Parts, World};

/// Dead letters that are asked for at a time.
const LETTERS_AT_A_TIME: usize = 100;

/// All invocations of a store.
pub struct Invocations {
    world: Arc<World>,
    lanes: Arc<Lanes<Message>>,
    clock: Arc<dyn Clock>,
    chance: Mutex<Pcg64Mcg>,
}

impl Invocations {
    /// Takes over all shards of a store. When it returns, what is due soon is known and has begun to
    /// happen.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn open(parts: Parts) -> Result<Self> {
        let clock = parts.clock.clone();
        let seed = parts.settings.seed.unwrap_or_else(entropy);
        let lanes = Arc::new(Lanes::new(parts.store.shards(), parts.settings.workers));
        let world = Arc::new(World::new(parts, Arc::new(Router(lanes.clone()))));
        let chance = Mutex::new(Pcg64Mcg::seed_from_u64(seed.rotate_left(32)));
        let engine = Self { world: world.clone(), lanes, clock: clock.clone(), chance };
        let open =
            move |number, now_ms| Shard::open(StoreShard(number), world.clone(), seed, now_ms);
        engine.lanes.start("invocations", &clock, open, Error::damaged)?;
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
    ///
    /// `client_context` is what the caller tells the code beside the event. It is not written down, so a
    /// call with a key cannot have one: [`Error::ContextWithKey`].
    pub fn invoke(
        &self,
        request: Request,
        client_context: Option<Map<String, Value>>,
        reply: Reply<Finished>,
    ) {
        if request.key.is_some() && client_context.is_some() {
            return reply(Err(Error::ContextWithKey));
        }
        if request.key.is_some() {
            return self.begin(request, Manner::Synchronous, Box::new(|_| {}), Some(reply));
        }
        if let Err(error) = request.check(self.world.settings.payload_bytes_max) {
            return reply(Err(error));
        }
        let ids = (InvocationId::drawn(self.draw()), AttemptId::drawn(self.draw()));
        let given = client_context.unwrap_or_default();
        synchronous::call(&self.world, request, given, ids, reply);
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

    /// Throws dead letters away: which. Those that somebody has yet to be told of are left, unless what is
    /// `untold` is to go too. Waits until all is durable.
    pub fn purge(&self, filter: &Filter, untold: bool, dry_run: bool) -> Result<Vec<InvocationId>> {
        let purged = self.each_letter(filter, None, dry_run, |id, reply| {
            let reply = Box::new(move |done: Result<()>| reply(done.map(|()| id)));
            Message::Purge { id, untold, reply }
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
                self.lanes.post(message);
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
        self.lanes.send(message, self.world.settings.queue_max);
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
        self.lanes.stop();
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

/// Brings messages to the shards, for the shards themselves.
struct Router(Arc<Lanes<Message>>);

impl Postbox for Router {
    fn post(&self, _id: InvocationId, message: Message) {
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

impl everstep_shards::Shard for Shard {
    type Message = Message;

    fn handle(&mut self, message: Message, now_ms: i64) {
        self.handle(message, now_ms);
    }

    fn tick(&mut self, now_ms: i64) -> Option<i64> {
        self.tick(now_ms)
    }
}
