//! A thread and its shards.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::lanes::{Envelope, Letter, Message, Shard, Urgent};
use crate::{Clock, Error, Outside, Refused};

/// Messages that a thread takes before it looks at the time again.
const TAKEN_AT_A_TIME: usize = 256;
/// A thread looks at the time at least this often: clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Worker<S: Shard> {
    owned: Vec<S>,
    share: Share,
    queue: Queue<S::Message>,
    clock: Arc<dyn Clock>,
    /// The shard whose turn it is.
    current: u16,
}

/// What waits for a thread.
pub(crate) struct Queue<M: Message> {
    pub(crate) receiver: Receiver<Envelope<M>>,
    pub(crate) urgent: Arc<Urgent<M>>,
    pub(crate) waiting: Arc<AtomicUsize>,
}

/// Which shards are a thread's: those whose number leaves its own when divided by the number of threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) index: usize,
    pub(crate) workers: usize,
    pub(crate) shards: u16,
}

impl Share {
    fn numbers(self) -> impl Iterator<Item = u16> {
        (0..self.shards).skip(self.index).step_by(self.workers)
    }
}

/// How shards are opened, and where the outcome goes.
pub(crate) struct Opening<F, O, E> {
    pub(crate) open: F,
    pub(crate) outside: Arc<O>,
    pub(crate) ready: Sender<Result<(), E>>,
}

impl<S: Shard> Worker<S> {
    pub(crate) fn new(share: Share, queue: Queue<S::Message>, clock: Arc<dyn Clock>) -> Self {
        Self { owned: Vec::new(), share, queue, clock, current: 0 }
    }

    /// All that the thread does. A panic of a shard is a failure of the engine.
    pub(crate) fn work<O: Outside, E: From<Error>>(
        mut self,
        opening: Opening<impl Fn(u16, i64) -> Result<S, E>, O, E>,
    ) {
        let Opening { open, outside, ready } = opening;
        let opened = match catch_unwind(AssertUnwindSafe(|| self.open(open))) {
            Ok(opened) => opened,
            Err(panic) => Err(outside.fail(Error::panicked(self.current, &*panic)).into()),
        };
        let is_open = opened.is_ok();
        let _ = ready.send(opened);
        drop(ready);
        if is_open {
            match catch_unwind(AssertUnwindSafe(|| self.run())) {
                Ok(()) => return,
                Err(panic) => drop(outside.fail(Error::panicked(self.current, &*panic))),
            }
        }
        self.owned.clear();
        self.refuse_all(&*outside);
    }

    fn open<E>(&mut self, open: impl Fn(u16, i64) -> Result<S, E>) -> Result<(), E> {
        for number in self.share.numbers() {
            self.current = number;
            self.owned.push(open(number, self.clock.now_ms())?);
        }
        Ok(())
    }

    fn run(&mut self) {
        loop {
            let wait = self.tick();
            let mut next = match self.queue.receiver.recv_timeout(wait) {
                Ok(envelope) => Some(envelope),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut taken = 0;
            while let Some(envelope) = self.queue.urgent.pop().or_else(|| next.take()) {
                match envelope {
                    Envelope::Stop => return,
                    Envelope::Look => {}
                    // A message may have come after the one before it was answered: it has its own time.
                    Envelope::Message(letter) => self.handle(letter),
                }
                taken += 1;
                if taken < TAKEN_AT_A_TIME && next.is_none() {
                    next = self.queue.receiver.try_recv().ok();
                }
            }
        }
    }

    fn handle(&mut self, letter: Letter<S::Message>) {
        self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
        let Some(message) = letter.open() else { return };
        self.current = message.shard(self.share.shards);
        let index = usize::from(self.current) / self.share.workers;
        self.owned[index].handle(message, self.clock.now_ms());
    }

    /// Lets time pass in each shard; how long until there is more to do.
    fn tick(&mut self) -> Duration {
        let now_ms = self.clock.now_ms();
        let mut wait = LOOK_EVERY;
        for (number, shard) in self.share.numbers().zip(&mut self.owned) {
            self.current = number;
            if let Some(next) = shard.tick(now_ms) {
                let until = u64::try_from(next.saturating_sub(now_ms)).unwrap_or(0);
                wait = wait.min(Duration::from_millis(until));
            }
        }
        wait
    }

    /// The shards are gone: answers every message until the engine is stopped.
    fn refuse_all(&self, outside: &impl Outside) {
        while let Ok(envelope) = self.queue.receiver.recv() {
            for envelope in
                std::iter::once(envelope).chain(std::iter::from_fn(|| self.queue.urgent.pop()))
            {
                let letter = match envelope {
                    Envelope::Stop => return,
                    Envelope::Look => continue,
                    Envelope::Message(letter) => letter,
                };
                self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
                if let Some(message) = letter.open() {
                    message.refuse(outside.latch().refusal(Refused::Stopped));
                }
            }
        }
    }
}
