//! Threads that own shards, and the ways to reach them.
//!
//! A shard has one owner, which takes its messages one at a time and lets time pass in between; a thread
//! owns several shards.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use everstep_store::{Batch, Store};

use crate::worker::{Opening, Queue, Share, Worker};
use crate::{Clock, Error, Failure, Mailbox, Outside, Refused, Settings};

/// What a thread owns.
pub trait Shard {
    type Message: Message;

    /// Takes a message. Must not wait.
    fn handle(&mut self, message: Self::Message, now_ms: i64);

    /// Lets time pass; when there is more to do, if that is known.
    fn tick(&mut self, now_ms: i64) -> Option<i64>;
}

pub trait Message: Send + 'static {
    /// The shard it is for, of so many.
    fn shard(&self, shards: u16) -> u16;

    /// Answers the sender that it cannot be done.
    fn refuse(self, refused: Refused);

    /// Whether it goes ahead of others, however many wait.
    fn is_urgent(&self) -> bool {
        false
    }
}

/// The ways to the shards of an engine.
pub struct Lanes<M: Message> {
    shards: u16,
    lanes: Vec<Lane<M>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    clock: Arc<dyn Clock>,
    queue_max: usize,
    failure: Failure,
    is_stopped: AtomicBool,
}

struct Lane<M: Message> {
    sender: Sender<Envelope<M>>,
    /// Until its thread takes it.
    receiver: Mutex<Option<Receiver<Envelope<M>>>>,
    waiting: Arc<AtomicUsize>,
    urgent: Arc<Urgent<M>>,
}

/// What goes ahead of others.
pub(crate) struct Urgent<M: Message>(Mutex<VecDeque<Envelope<M>>>);

impl<M: Message> Urgent<M> {
    fn push(&self, envelope: Envelope<M>) {
        self.queue().push_back(envelope);
    }

    pub(crate) fn pop(&self) -> Option<Envelope<M>> {
        self.queue().pop_front()
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Envelope<M>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) enum Envelope<M: Message> {
    Message(Letter<M>),
    /// Something urgent has come.
    Look,
    Stop,
}

/// A message on its way. If it is dropped it is refused, so that every message is answered even if its
/// thread is gone.
pub(crate) struct Letter<M: Message>(Option<M>);

impl<M: Message> Letter<M> {
    pub(crate) fn open(mut self) -> Option<M> {
        self.0.take()
    }
}

impl<M: Message> Drop for Letter<M> {
    fn drop(&mut self) {
        if let Some(message) = self.0.take() {
            message.refuse(Refused::Stopped);
        }
    }
}

impl<M: Message> Lanes<M> {
    /// Lanes to so many shards. What is sent before they are started waits.
    #[must_use]
    pub fn new(shards: u16, clock: Arc<dyn Clock>, settings: &Settings) -> Self {
        let wanted = match settings.workers {
            0 => thread::available_parallelism().map_or(1, usize::from),
            set => set,
        };
        let lanes = (0..wanted.clamp(1, usize::from(shards))).map(|_| Lane::new()).collect();
        Self {
            shards,
            lanes,
            threads: Mutex::default(),
            clock,
            queue_max: settings.queue_max,
            failure: Failure::default(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Starts the threads, which open their shards; returns when all have. `name` is what threads are
    /// called, with a number. `outside` must have the failure of these lanes.
    ///
    /// # Errors
    ///
    /// The first of `open`, or that the threads cannot be started.
    pub fn start<S, E>(
        &self,
        name: &str,
        outside: &Arc<impl Outside>,
        open: impl Fn(u16, i64) -> Result<S, E> + Clone + Send + 'static,
    ) -> Result<(), E>
    where
        S: Shard<Message = M> + 'static,
        E: From<Error> + From<Refused> + Send + 'static,
    {
        let (ready, opened) = mpsc::channel();
        for (index, lane) in self.lanes.iter().enumerate() {
            let Some(receiver) = lane.take_receiver() else {
                return Err(Refused::Stopped.into());
            };
            let share = Share { index, workers: self.lanes.len(), shards: self.shards };
            let queue =
                Queue { receiver, urgent: lane.urgent.clone(), waiting: lane.waiting.clone() };
            let clock = self.clock.clone();
            let opening =
                Opening { open: open.clone(), outside: outside.clone(), ready: ready.clone() };
            let thread = thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(move || Worker::new(share, queue, clock).work(opening));
            let thread = thread.map_err(|error| {
                let why = format!("a thread cannot be started: {error}");
                Error::Store(everstep_store::Error::Failed(why.into()))
            })?;
            self.threads().push(thread);
        }
        drop(ready);
        for _ in &self.lanes {
            opened.recv().unwrap_or_else(|_| Err(Refused::Stopped.into()))?;
        }
        Ok(())
    }

    /// Sends a request. Refused with [`Refused::Busy`] if too many wait already. Never waits.
    pub fn send(&self, message: M) {
        let lane = self.lane(&message);
        if message.is_urgent() || lane.waiting.load(Ordering::Relaxed) < self.queue_max {
            lane.send(message);
        } else if self.is_stopped.load(Ordering::Relaxed) {
            message.refuse(Refused::Stopped);
        } else {
            message.refuse(self.failure.refusal(Refused::Busy));
        }
    }

    /// The failure of the engine, to be shared with what can fail.
    #[must_use]
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Stops taking messages, and waits until the threads have ended and all that they have committed is
    /// durable. Only the first call does anything.
    pub fn shut_down(&self, store: &dyn Store) {
        if self.is_stopped.swap(true, Ordering::AcqRel) {
            return;
        }
        for lane in &self.lanes {
            let _ = lane.sender.send(Envelope::Stop);
            // Of one that was never started.
            drop(lane.take_receiver());
        }
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            let _ = thread.join();
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let done = Box::new(move |_| {
            let _ = sender.send(());
        });
        // An empty batch is done when all before it are.
        store.commit(Batch::new(everstep_store::Shard::CATALOG), done);
        let _ = receiver.recv();
    }

    fn lane(&self, message: &M) -> &Lane<M> {
        &self.lanes[usize::from(message.shard(self.shards)) % self.lanes.len()]
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Message> Mailbox<M> for Lanes<M> {
    fn post(&self, message: M) {
        self.lane(&message).send(message);
    }
}

impl<M: Message> Lane<M> {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        let urgent = Arc::new(Urgent(Mutex::default()));
        Self { sender, receiver: Mutex::new(Some(receiver)), waiting: Arc::default(), urgent }
    }

    fn take_receiver(&self) -> Option<Receiver<Envelope<M>>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn send(&self, message: M) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if message.is_urgent() {
            return self.send_urgently(Envelope::Message(Letter(Some(message))));
        }
        if self.sender.send(Envelope::Message(Letter(Some(message)))).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn send_urgently(&self, envelope: Envelope<M>) {
        self.urgent.push(envelope);
        if self.sender.send(Envelope::Look).is_err() {
            // The thread is gone: what waits is refused.
            while self.urgent.pop().is_some() {}
        }
    }
}
