//! Queues, as the rest of the program knows them: shards on threads, and the ways to reach them.

use std::sync::{Arc, Mutex, PoisonError};

use everstep_shards::{Clock, Lanes, Mailbox};
use everstep_store::{Shard as StoreShard, Store};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::content::Content;
use crate::error::{Error, Result};
use crate::id::MessageId;
use crate::move_task::MoveTaskId;
use crate::observer::Observer;
use crate::reader::{self, Description, Peeked};
use crate::receipt::Receipt;
use crate::request::{
    Change, Created, Creation, Receive, Received, Reply, Request, Sending, Sent, Standing,
};
use crate::settings::Settings;
use crate::shard::Shard;
use crate::shared::{Parts, Shared};

/// A handle on all queues of a store. Methods with a reply never wait; the reply comes when what it says is durable,
/// or with [`Error::Busy`] if too many requests wait already.
pub struct Queues {
    store: Arc<dyn Store>,
    lanes: Arc<Lanes<Request>>,
    settings: Settings,
    seed: u64,
    chance: Mutex<Pcg64Mcg>,
}

impl Queues {
    /// An engine that is yet to be started. It reads, and takes requests, which wait for [`Queues::start`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        let seed = settings.shards.seed();
        let lanes = Arc::new(Lanes::new(store.shards(), clock, &settings.shards));
        let chance = Mutex::new(Pcg64Mcg::seed_from_u64(seed.rotate_left(16)));
        Self { store, lanes, settings, seed, chance }
    }

    /// Takes over all shards of the store.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn start(&self, observer: Arc<dyn Observer>) -> Result<()> {
        let (store, settings) = (self.store.clone(), self.settings.clone());
        let parts = Parts { store, observer, settings };
        let (mailbox, failure) = (self.lanes.clone(), self.lanes.failure().clone());
        let shared = Arc::new(Shared::with(parts, mailbox, failure));
        let (outside, seed) = (shared.clone(), self.seed);
        let open =
            move |number, now_ms| Shard::open(StoreShard(number), shared.clone(), seed, now_ms);
        self.lanes.start("queues", &outside, open)
    }

    /// Creates a queue. One that exists with the same settings is left as it is.
    pub fn create(&self, creation: Creation, reply: Reply<Created>) {
        self.lanes.send(Request::Create { creation: Box::new(creation), reply });
    }

    /// Changes the settings or the tags of a queue.
    pub fn change(&self, queue: &str, change: Change, reply: Reply<()>) {
        self.lanes.send(Request::Change { queue: queue.to_owned(), change, reply });
    }

    /// Deletes a queue and its messages.
    pub fn delete(&self, queue: &str, reply: Reply<()>) {
        self.lanes.send(Request::Delete { queue: queue.to_owned(), reply });
    }

    /// Removes all messages of a queue, those in flight too.
    pub fn purge(&self, queue: &str, reply: Reply<()>) {
        self.lanes.send(Request::Purge { queue: queue.to_owned(), reply });
    }

    /// The settings of a queue, how many messages it has, and the age of the oldest.
    pub fn standing(&self, queue: &str, reply: Reply<Standing>) {
        self.lanes.send(Request::Stand { queue: queue.to_owned(), reply });
    }

    /// A message to be sent.
    #[must_use]
    pub fn sending(&self, content: Content) -> Sending {
        let id = MessageId::drawn(self.draw());
        Sending { id, content, delay_ms: None, key: None }
    }

    /// Sends messages, each with an answer of its own. When the reply comes nothing loses those that were sent.
    pub fn send(&self, queue: &str, sendings: Vec<Sending>, reply: Reply<Vec<Result<Sent>>>) {
        self.lanes.send(Request::Send { queue: queue.to_owned(), sendings, reply });
    }

    /// Receives messages, which are hidden from others then. If there is none, waits for one.
    pub fn receive(&self, queue: &str, receive: Receive, reply: Reply<Vec<Received>>) {
        self.lanes.send(Request::Receive { queue: queue.to_owned(), receive, reply });
    }

    /// Deletes messages that were received, each with an answer of its own.
    pub fn remove(&self, queue: &str, receipts: Vec<Receipt>, reply: Reply<Vec<Result<()>>>) {
        self.lanes.send(Request::Remove { queue: queue.to_owned(), receipts, reply });
    }

    /// Hides messages that were received for so many milliseconds from now on. With 0 they can be received again.
    pub fn hide(&self, queue: &str, receipts: Vec<(Receipt, i64)>, reply: Reply<Vec<Result<()>>>) {
        self.lanes.send(Request::Hide { queue: queue.to_owned(), receipts, reply });
    }

    /// Moves all messages of a queue that can be received to another one, or back to where they came from.
    pub fn start_move(
        &self,
        queue: &str,
        destination: Option<String>,
        per_second: Option<u32>,
        reply: Reply<MoveTaskId>,
    ) {
        let queue = queue.to_owned();
        self.lanes.send(Request::StartMove { queue, destination, per_second, reply });
    }

    /// Answers how many messages were moved. [`Error::NoSuchTask`] if it is over.
    pub fn cancel_move(&self, queue: &str, task: MoveTaskId, reply: Reply<u64>) {
        self.lanes.send(Request::CancelMove { queue: queue.to_owned(), task, reply });
    }

    /// A queue as it is stored. Waits for the store.
    pub fn find(&self, name: &str) -> Result<Option<Description>> {
        reader::find(&*self.store, name)
    }

    /// At most `limit` queues whose names begin with `prefix` and come after `after`, by name. Waits for the store.
    pub fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Description>> {
        reader::list(&*self.store, prefix, after, limit)
    }

    /// The first messages of a queue, without receiving them. Waits for the store.
    pub fn peek(&self, queue: &str, limit: usize) -> Result<Vec<Peeked>> {
        reader::peek(&*self.store, queue, limit)
    }

    /// Answers all receives that wait, and lets no more wait: the process is about to stop.
    pub fn stop_waiting(&self) {
        for shard in 0..self.store.shards() {
            self.lanes.post(Request::StopWaiting { shard });
        }
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

    /// Stops when all that was taken is durable. Only the first call does anything.
    pub fn shut_down(&self) {
        self.lanes.shut_down(&*self.store);
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl everstep_shards::Message for Request {
    fn shard(&self, shards: u16) -> u16 {
        self.shard(shards)
    }

    fn refuse(self, refused: everstep_shards::Refused) {
        self.refuse(refused.into());
    }
}

impl everstep_shards::Shard for Shard {
    type Message = Request;

    fn handle(&mut self, request: Request, now_ms: i64) {
        self.handle(request, now_ms);
    }

    fn tick(&mut self, now_ms: i64) -> Option<i64> {
        self.tick(now_ms)
    }
}
