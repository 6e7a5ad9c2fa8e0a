//! Invocations, as the rest of the program knows them: shards on threads, and the ways to reach them.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use everstep_shards::{Clock, Lanes, Mailbox, Quarantined, Register};
use everstep_store::{Shard as StoreShard, Store};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::{Map, Value};

use crate::concurrency::Concurrency;
use crate::destination::Destinations;
use crate::error::{Error, Result};
use crate::function::Functions;
use crate::id::{AttemptId, HomeId, InvocationId};
use crate::intake::{self, Intake};
use crate::message::{Acceptance, Accepted, Call, Finished, Message, Mode, Reply, Resend};
use crate::observer::Observer;
use crate::reader::{self, Bookmark, Filter, Page, Shown};
use crate::request::{self, Redrive, Request};
use crate::session::Session;
use crate::settings::Settings;
use crate::shard::Shard;
use crate::shared::{Parts, Shared};

/// Dead letters that are asked for at a time.
const LETTERS_AT_A_TIME: usize = 100;

/// A handle on all invocations of a store. It holds neither functions nor destinations, which may therefore
/// hold it.
pub struct Invocations {
    store: Arc<dyn Store>,
    lanes: Arc<Lanes<Message>>,
    concurrency: Arc<Concurrency>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    quarantine: Register<InvocationId>,
    seed: u64,
    chance: Mutex<Pcg64Mcg>,
}

impl Invocations {
    /// An engine that is yet to be started. It reads, and takes requests, which wait for
    /// [`Invocations::start`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        let seed = settings.shards.seed();
        let lanes = Arc::new(Lanes::new(store.shards(), clock.clone(), &settings.shards));
        let concurrency = Concurrency::new(lanes.clone());
        let chance = Mutex::new(Pcg64Mcg::seed_from_u64(seed.rotate_left(32)));
        let quarantine = Register::default();
        Self { store, lanes, concurrency, clock, settings, quarantine, seed, chance }
    }

    /// Takes over all shards of the store. When it returns, what is due soon is known and has begun to
    /// happen. Called once; what it is given is dropped at the end of [`Invocations::shut_down`].
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn start(
        &self,
        functions: Arc<dyn Functions>,
        destinations: Arc<dyn Destinations>,
        observer: Arc<dyn Observer>,
    ) -> Result<()> {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let settings = self.settings.clone();
        let parts = Parts { store, functions, destinations, observer, clock, settings };
        let (mailbox, failure) = (self.lanes.clone(), self.lanes.failure().clone());
        let (concurrency, quarantine) = (self.concurrency.clone(), self.quarantine.clone());
        let shared = Shared::with(parts, mailbox, concurrency, quarantine, failure);
        let (shared, seed) = (Arc::new(shared), self.seed);
        let outside = shared.clone();
        let open =
            move |number, now_ms| Shard::open(StoreShard(number), shared.clone(), seed, now_ms);
        self.lanes.start("invocations", &outside, open)
    }

    /// [`Invocations::new`] and [`Invocations::start`] in one, for functions that do not need the engine.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn open(parts: Parts) -> Result<Self> {
        let Parts { store, functions, destinations, observer, clock, settings } = parts;
        let engine = Self::new(store, clock, settings);
        engine.start(functions, destinations, observer)?;
        Ok(engine)
    }

    /// Takes an event to be run, with retries. The reply comes when the acceptance is durable: then nothing
    /// loses it. [`Error::Busy`] if too many wait already. Never waits.
    pub fn accept(&self, request: Request, reply: Reply<Accepted>) {
        let mode = if request.unparseable { Mode::Unparseable } else { Mode::Asynchronous };
        self.begin(request, mode, reply, None);
    }

    /// Runs a function synchronously: it is never retried, and no destination is notified.
    ///
    /// Without a key nothing is written down, and the call is refused with [`Error::Throttled`] if there is
    /// no slot. With one the first call runs, when there is a slot, and all others with that key are given
    /// its answer, a failure too.
    ///
    /// `client_context` is what the caller passes to the code beside the event. It is not written down, so a
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
            return self.begin(request, Mode::Synchronous, Box::new(|_| {}), Some(reply));
        }
        if let Err(error) = request.check(self.settings.payload_bytes_max) {
            return reply(Err(error));
        }
        let ids = (InvocationId::drawn(self.draw()), AttemptId::drawn(self.draw()));
        let call = Call { ids, request, client_context: client_context.unwrap_or_default() };
        self.send(Message::Call { call: Box::new(call), reply });
    }

    fn begin(
        &self,
        request: Request,
        mode: Mode,
        reply: Reply<Accepted>,
        watcher: Option<Reply<Finished>>,
    ) {
        let refused = request.check(self.settings.payload_bytes_max).err();
        let backlog = self.concurrency.waiting(&request.function);
        let refused =
            refused.or_else(|| (backlog >= self.settings.backlog_max).then_some(Error::Busy));
        let Request { function, payload, source, key, unparseable: _ } = request;
        let id = match &key {
            Some(key) => InvocationId::of_key(&source.name, key),
            None => InvocationId::drawn(self.draw()),
        };
        let acceptance =
            Acceptance { id, function, payload, source, key, mode, session: None, handling: None };
        let message = Message::Accept { acceptance: Box::new(acceptance), reply, watcher };
        match refused {
            Some(error) => message.refuse(error),
            None => self.send(message),
        }
    }

    /// Takes several events in one commit, with the notes of who sends them. The reply says of each whether it was
    /// known, and comes when all of it is durable. [`Error::Busy`] if too many wait already. Never waits.
    ///
    /// An event that is not JSON, or is too large, is not for this: nothing is accepted then.
    pub fn accept_all(&self, intake: Intake, reply: Reply<Vec<Accepted>>) {
        let bytes_max = self.settings.payload_bytes_max;
        let refused = intake.items.iter().find_map(|(acceptance, _)| {
            let Acceptance { payload, mode, function, .. } = acceptance;
            let checked = request::check(payload, *mode == Mode::Unparseable, bytes_max);
            let full = || self.concurrency.waiting(function) >= self.settings.backlog_max;
            checked.err().or_else(|| full().then_some(Error::Busy))
        });
        match refused {
            Some(error) => reply(Err(error)),
            None => self.send(Message::AcceptAll { intake: Box::new(intake), reply }),
        }
    }

    /// What is noted at a home, by key. Waits for the store.
    pub fn notes(&self, home: HomeId) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        intake::notes(&*self.store, home)
    }

    /// How an invocation ends, when it does.
    pub fn wait(&self, id: InvocationId, reply: Reply<Finished>) {
        self.send(Message::Watch { id, reply });
    }

    /// Sends a dead letter back, and says what it becomes. [`Error::WrongState`] if it is none any more.
    pub fn redrive_one(&self, id: InvocationId, reply: Reply<InvocationId>) {
        self.send(Message::Redrive { id, redrive: Resend::default(), reply });
    }

    /// Ends an invocation. [`Error::WrongState`] if it is over.
    pub fn cancel(&self, id: InvocationId, reply: Reply<()>) {
        self.send(Message::Cancel { id, reply });
    }

    /// Lets an invocation that is quarantined continue; whether it was.
    pub fn release(&self, id: InvocationId, reply: Reply<bool>) {
        self.send(Message::Release { id, reply });
    }

    /// How many invocations are quarantined.
    #[must_use]
    pub fn quarantined_count(&self) -> usize {
        self.quarantine.len()
    }

    /// At most `limit` invocations that are quarantined, those that came first, and why.
    #[must_use]
    pub fn quarantined(&self, limit: usize) -> Vec<(InvocationId, Quarantined)> {
        self.quarantine.first(limit)
    }

    /// An invocation with its event and its answer. Waits for the store.
    pub fn show(&self, id: InvocationId) -> Result<Option<Shown>> {
        reader::show(&*self.store, id)
    }

    /// At most `limit` invocations after `after`, latest first. A page may be short and still not the last:
    /// that one has no bookmark. Waits for the store.
    pub fn list(&self, filter: &Filter, after: Option<Bookmark>, limit: usize) -> Result<Page> {
        reader::list(&*self.store, filter, after, limit)
    }

    /// A session, by the id of the invocation that began it. Waits for the store.
    pub fn session(&self, id: InvocationId) -> Result<Option<Session>> {
        reader::session(&*self.store, id)
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
            request.check(self.settings.payload_bytes_max)?;
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

    /// Removes dead letters and returns their ids. Those with deliveries to be made are kept, unless
    /// `undelivered` ones go too. Waits until all is durable.
    pub fn purge(
        &self,
        filter: &Filter,
        undelivered: bool,
        dry_run: bool,
    ) -> Result<Vec<InvocationId>> {
        let purged = self.each_letter(filter, None, dry_run, |id, reply| {
            let reply = Box::new(move |done: Result<()>| reply(done.map(|()| id)));
            Message::Purge { id, undelivered, reply }
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
        self.lanes.send(message);
    }

    fn draw(&self) -> [u64; 2] {
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        [chance.next_u64(), chance.next_u64()]
    }

    /// Why nothing can be done any more, if so.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.lanes.failure().get().cloned().map(Error::from)
    }

    /// Begins nothing new, waits for what runs, at most for `grace`, and stops when all that was taken is
    /// durable. What waits stays waiting; what still runs will have been interrupted. Functions, destinations
    /// and the observer are dropped. Only the first call does anything.
    pub fn shut_down(&self, grace: Duration) {
        self.concurrency.close();
        self.concurrency.wait_idle(grace);
        self.lanes.shut_down(&*self.store);
    }
}

impl Drop for Invocations {
    fn drop(&mut self) {
        self.shut_down(Duration::ZERO);
    }
}

impl everstep_shards::Message for Message {
    fn shard(&self, shards: u16) -> u16 {
        self.id().shard(shards).0
    }

    fn refuse(self, refused: everstep_shards::Refused) {
        self.refuse(refused.into());
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
