//! A small world to keep queues in: one thread, a virtual clock.

use std::collections::VecDeque;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_shards::Mailbox;
use everstep_store::{MemoryStore, Store};

use crate::attributes::{Attributes, Fifo, RedrivePolicy};
use crate::content::Content;
use crate::error::{Error, Result};
use crate::id::MessageId;
use crate::observer::Observer;
use crate::receipt::Receipt;
use crate::request::{Creation, Receive, Received, Reply, Request, Sending, Sent, Standing};
use crate::settings::Settings;
use crate::shard::Shard;
use crate::shared::{Parts, Shared};

pub(super) const START_MS: i64 = 1_700_000_000_000;
pub(super) const SECOND_MS: i64 = 1000;

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
pub(super) struct Post(pub(super) Mutex<VecDeque<Request>>);

impl Mailbox<Request> for Post {
    fn post(&self, request: Request) {
        locked(&self.0).push_back(request);
    }
}

#[derive(Default)]
pub(super) struct Notes(pub(super) Mutex<Vec<String>>);

impl Observer for Notes {
    fn move_failed(&self, target: &str, error: &Error) {
        locked(&self.0).push(format!("{target}: {error}"));
    }

    fn stuck(&self, queue: &str, error: &Error) {
        panic!("{queue}: {error}");
    }

    fn failed(&self, error: &Error) {
        locked(&self.0).push(format!("failed: {error}"));
    }
}

pub(super) struct Harness {
    pub(super) store: Arc<dyn Store>,
    pub(super) post: Arc<Post>,
    pub(super) notes: Arc<Notes>,
    pub(super) shards: Vec<Shard>,
    pub(super) settings: Settings,
    pub(super) now_ms: i64,
    drawn: u64,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new(3)), Settings::default())
    }

    pub(super) fn on(store: Arc<dyn Store>, settings: Settings) -> Self {
        let mut harness = Self {
            store,
            post: Arc::default(),
            notes: Arc::default(),
            shards: Vec::new(),
            settings,
            now_ms: START_MS,
            drawn: 0,
        };
        harness.open();
        harness
    }

    /// Begins a new life: of the old one only the store is left.
    pub(super) fn open(&mut self) {
        self.shards.clear();
        self.post = Arc::default();
        let (store, observer) = (self.store.clone(), self.notes.clone());
        let parts = Parts { store, observer, settings: self.settings.clone() };
        let shared = Arc::new(Shared::new(parts, self.post.clone()));
        self.drawn += 1;
        let (seed, now_ms) = (self.drawn, self.now_ms);
        let open = |number| {
            let shard = everstep_store::Shard(number);
            Shard::open(shard, shared.clone(), seed, now_ms).expect("it opens")
        };
        self.shards = (0..self.store.shards()).map(open).collect();
    }

    pub(super) fn handle(&mut self, request: Request) {
        let shard = usize::from(request.shard(self.store.shards()));
        self.shards[shard].handle(request, self.now_ms);
    }

    pub(super) fn handle_one(&mut self) -> bool {
        let request = locked(&self.post.0).pop_front();
        request.map(|request| self.handle(request)).is_some()
    }

    pub(super) fn tick(&mut self) -> Option<i64> {
        let now_ms = self.now_ms;
        self.shards.iter_mut().filter_map(|shard| shard.tick(now_ms)).min()
    }

    /// Lets everything happen that can happen now; when there will be more to do.
    pub(super) fn settle(&mut self) -> Option<i64> {
        for _ in 0..100_000 {
            let next_ms = self.tick();
            let mut busy = false;
            while self.handle_one() {
                busy = true;
            }
            if !busy && next_ms.is_none_or(|next_ms| next_ms > self.now_ms) {
                return next_ms;
            }
        }
        panic!("it never comes to rest");
    }

    /// Lets so many seconds pass.
    pub(super) fn pass(&mut self, seconds: i64) {
        let until_ms = self.now_ms + seconds * SECOND_MS;
        while let Some(next_ms) = self.settle()
            && next_ms <= until_ms
        {
            self.now_ms = next_ms;
        }
        self.now_ms = until_ms;
        self.settle();
    }

    pub(super) fn ask<T: Send + 'static>(
        &mut self,
        request: impl FnOnce(Reply<T>) -> Request,
    ) -> mpsc::Receiver<Result<T>> {
        let (sender, receiver) = mpsc::channel();
        self.handle(request(Box::new(move |answer| drop(sender.send(answer)))));
        receiver
    }

    /// The answer, which has come.
    pub(super) fn get<T: Send + 'static>(
        &mut self,
        request: impl FnOnce(Reply<T>) -> Request,
    ) -> Result<T> {
        self.ask(request).try_recv().expect("an answer")
    }

    pub(super) fn create(&mut self, name: &str, set: impl FnOnce(&mut Attributes)) {
        let mut attributes = Attributes::of(name);
        set(&mut attributes);
        let creation = Box::new(creation(name, attributes));
        self.get(|reply| Request::Create { creation, reply }).expect("created");
    }

    pub(super) fn sending(&mut self, content: Content) -> Sending {
        self.drawn += 1;
        let id = MessageId::drawn([self.drawn, self.drawn]);
        Sending { id, content, delay_ms: None, key: None }
    }

    pub(super) fn send_all(&mut self, name: &str, sendings: Vec<Sending>) -> Vec<Result<Sent>> {
        let queue = name.to_owned();
        self.get(|reply| Request::Send { queue, sendings, reply }).expect("answered")
    }

    pub(super) fn send(&mut self, name: &str, body: &str) -> Sent {
        let sending = self.sending(Content::text(body));
        self.send_all(name, vec![sending]).remove(0).expect("sent")
    }

    pub(super) fn send_numbers(&mut self, name: &str, count: u32) {
        for number in 0..count {
            self.send(name, &number.to_string());
        }
    }

    /// Into a group, with a deduplication id.
    pub(super) fn send_fifo(&mut self, name: &str, group: &str, id: &str, body: &str) -> Sent {
        let sending = self.sending(fifo_content(group, id, body));
        self.send_all(name, vec![sending]).remove(0).expect("sent")
    }

    pub(super) fn receive_by(&mut self, name: &str, receive: Receive) -> Vec<Received> {
        let queue = name.to_owned();
        self.get(|reply| Request::Receive { queue, receive, reply }).expect("received")
    }

    pub(super) fn receive(&mut self, name: &str, max: usize) -> Vec<Received> {
        self.receive_by(name, Receive { max, ..Receive::default() })
    }

    pub(super) fn remove(&mut self, name: &str, receipt: Receipt) -> Result<()> {
        let (queue, receipts) = (name.to_owned(), vec![receipt]);
        let removed = self.get(|reply| Request::Remove { queue, receipts, reply });
        removed.and_then(|mut removed| removed.remove(0))
    }

    pub(super) fn hide(&mut self, name: &str, receipt: Receipt, seconds: i64) -> Result<()> {
        let (queue, receipts) = (name.to_owned(), vec![(receipt, seconds * SECOND_MS)]);
        let hidden = self.get(|reply| Request::Hide { queue, receipts, reply });
        hidden.and_then(|mut hidden| hidden.remove(0))
    }

    pub(super) fn standing(&mut self, name: &str) -> Standing {
        let queue = name.to_owned();
        self.get(|reply| Request::Stand { queue, reply }).expect("it is there")
    }

    /// How many are ready, delayed and in flight.
    pub(super) fn counts(&mut self, name: &str) -> [u64; 3] {
        let Standing { ready, delayed, in_flight, .. } = self.standing(name);
        [ready, delayed, in_flight]
    }

    pub(super) fn rows(&self) -> usize {
        use everstep_store::{Scan, Shard as StoreShard, Space};
        let count = |number: u16, space| {
            let scan = Scan::between(&[], &[], usize::MAX);
            self.store.scan(StoreShard(number), space, scan).expect("readable").len()
        };
        let spaces = [Space::Queues, Space::QueueOrders];
        (0..self.store.shards()).flat_map(|n| spaces.map(|space| count(n, space))).sum()
    }
}

pub(super) fn creation(name: &str, attributes: Attributes) -> Creation {
    let set = Box::new(move |_| attributes);
    Creation { name: name.to_owned(), set, tags: Default::default(), update: false }
}

pub(super) fn fifo_content(group: &str, id: &str, body: &str) -> Content {
    Content {
        group: Some(group.to_owned()),
        deduplication_id: Some(id.to_owned()).filter(|id| !id.is_empty()),
        ..Content::text(body)
    }
}

pub(super) fn bodies(received: &[Received]) -> Vec<&str> {
    received.iter().map(|one| one.message.content.body.as_str()).collect()
}

pub(super) fn redrive(target: &str, receives_max: u32) -> Option<RedrivePolicy> {
    Some(RedrivePolicy { target: target.to_owned(), receives_max })
}

pub(super) fn content_based() -> Option<Fifo> {
    Some(Fifo { content_based: true, ..Fifo::default() })
}
